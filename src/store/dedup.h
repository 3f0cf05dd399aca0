// dedup.h - keys that are taken: who holds one, and who came too late.
#pragma once

#include "store/tx.h"

// DEDUP_SCOPE_EVENT is the scope of an event's identity. A trigger's keys have its id as scope,
// which cannot contain a "#".
#define DEDUP_SCOPE_EVENT S("#event")

typedef struct DedupKey {
    int64_t tenant;
    Str scope;
    Sha256 hash;
    Uuid wanted_by; // a delivery or an event
    size_t order;   // among equal keys of one batch the lowest wins
    bool is_won;    // result
    Uuid holder;    // result: wanted_by when won
    Str public_id;  // result: of the delivery that holds it; none when it is purged or an event
} DedupKey;

// dedup_take takes the keys that are free, in an order that all nodes share, so that two of them
// never wait for each other. keys is reordered. The results may refer to the transaction's arena.
Err dedup_take(Tx *tx, DedupKey **keys, size_t count, Error *error) MUST_USE;

extern const Statement *const dedup_statements[]; // ends with NULL
