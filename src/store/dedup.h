// dedup.h - keys that are taken: who holds one, and who came too late.
#pragma once

#include "store/tx.h"

typedef struct DedupKey {
    int64_t tenant;
    Uuid key;       // dedup_key()
    Uuid wanted_by; // a delivery or an event
    size_t order;   // among equal keys of one batch the lowest wins
    bool is_won;    // result
    Uuid holder;    // result: wanted_by when won
    Str public_id;  // result: of the delivery that holds it; none when it is purged or an event
} DedupKey;

// dedup_take takes the keys that are free, in an order that all nodes share, so that two of them
// never wait for each other. keys is reordered. The results may refer to the transaction's arena.
Err dedup_take(Tx *tx, DedupKey **keys, size_t count, Error *error) MUST_USE;

// dedup_look finds who holds each key, and takes nothing: holder is none where it is free.
Err dedup_look(Db *db, Arena *arena, DedupKey *const *keys, size_t count, Error *error) MUST_USE;

extern const Statement *const dedup_statements[]; // ends with NULL
