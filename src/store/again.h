// again.h - what an event that is stored has made so far, for who decides it anew (M12).
//
// A replay asks every rule again. What has made a delivery of the event does not make another, with
// or without a dedup key; what new ones there are get their ids behind the others. The second
// decision stands behind the first.
#pragma once

#include "store/db.h"

typedef struct Again {
    const int64_t *fired; // rules that made a delivery of it, by number
    size_t fired_count;
    unsigned last; // the place of its last delivery; 0: there is none
    Str facts;     // what the others decided, packed (domain/decision.h); none
} Again;

// again_load reads it; ret is NULL where the event is not stored.
Err again_load(Db *db, Arena *arena, int64_t tenant, Uuid event, const Again **ret,
               Error *error) MUST_USE;

bool again_has_fired(const Again *again, int64_t rule);

extern const Statement *const again_statements[]; // ends with NULL
