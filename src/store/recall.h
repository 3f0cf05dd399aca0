// recall.h - which deliveries an event calls off (a trigger's cancelOn), and which deferred runs of
// an entity there are.
//
// A delivery whose trigger has cancelOn is filed under the key (domain/dedup.h) of its match
// values; an event of cancelOn's kind with the same values calls off all that live. A deferred run
// is filed under its job and its entity (domain/defer.h); of those, what runs already is spared.
//
// An entity may be deferred anew ten times a second for weeks, so its file is kept short: whoever
// calls off an entity's runs takes those out of it that are over. Two nodes that call off the same
// at once wait for each other: the later one sees what the earlier has made.
#pragma once

#include "store/queue.h"
#include "store/tx.h"

typedef struct RecallKey {
    int64_t tenant;
    Uuid key;      // dedup_key() of the rule's number and the match values, or deferral_key()
    Uuid delivery; // when filed
    bool is_deferral;
    size_t *called; // of a call: where it is told how many were cancelled; NULL
} RecallKey;

void recall_file(Tx *tx, const RecallKey *keys, size_t count);

// recall_lock keeps other nodes from calling off what these keys name, of those that are
// deferrals, until this transaction ends. It sorts them.
void recall_lock(Tx *tx, RecallKey *keys, size_t count);

// recall_call cancels what the keys name, which it sorts. Of several that are equal one is told.
Err recall_call(Tx *tx, RecallKey *keys, size_t count, Error *error) MUST_USE;

extern const Statement *const recall_statements[]; // ends with NULL
