// recall.h - which deliveries an event calls off (a trigger's cancelOn).
//
// A delivery whose trigger has cancelOn is filed under the key (domain/dedup.h) of its match
// values; an event of cancelOn's kind with the same values calls off all that live.
#pragma once

#include "store/queue.h"
#include "store/tx.h"

typedef struct RecallKey {
    int64_t tenant;
    Uuid key;      // dedup_key() of the rule's number and the match values
    Uuid delivery; // when filed
} RecallKey;

void recall_file(Tx *tx, const RecallKey *keys, size_t count);

// recall_call cancels what the keys name, which it sorts.
Err recall_call(Tx *tx, RecallKey *keys, size_t count, Error *error) MUST_USE;

extern const Statement *const recall_statements[]; // ends with NULL
