// act.h - what a person does to deliveries: RETRY, DISCARD, CANCEL or COMPLETE, one or many at
// once.
//
// It looks before it writes: what is not there, or does not stand as the action needs it, is told
// of and left as it was. Many cost as many round trips as one.
#pragma once

#include "store/queue.h"

// Acted is what became of one.
typedef struct Acted {
    Err err;             // ERR_OK; ERR_NOT_FOUND, ERR_CONFLICT: nothing was changed
    DeliveryState state; // that did not allow it, where it is there
    bool moved_on;       // it did allow it, and then another node changed it
} Acted;

// act_all acts on deliveries in the order of their ids, with a note (none). Only the store's own
// failures are errors.
Err act_all(Tx *tx, int64_t tenant, const Uuid *ids, size_t count, DeliveryAction action, Str note,
            Acted *ret, Error *error) MUST_USE;

// act_one acts on one; what became of it is the error.
Err act_one(Tx *tx, int64_t tenant, Uuid id, DeliveryAction action, Str note,
            Error *error) MUST_USE;

extern const Statement *const act_statements[]; // ends with NULL
