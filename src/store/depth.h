// depth.h - how deep each lane is: how many deliveries stand in it by state, and since when the
// oldest send waits. Summed from the counters; nothing is counted on request.
#pragma once

#include "base/clock.h"
#include "domain/delivery.h"
#include "store/db.h"

typedef struct Depth {
    int64_t lane;
    int64_t n[DELIVERY_STATE_COUNT];
    unsigned known; // a bit for each state that the lane ever had
    Instant due_at; // of the first send that nobody has claimed; INSTANT_NONE
} Depth;

// depth_live is how many of a lane still have something before them.
int64_t depth_live(const Depth *depth);

// Depths are those of all lanes, by number, as they were read last: one thread's own, all zero to
// begin with. Where reading them takes long they are read seldom, so that whoever watches closely
// does not wear the store down: a twentieth of the time goes into it at most.
typedef struct Depths {
    Arena arena;
    Depth *rows;
    size_t count;
    Instant read_at; // monotonic
    Span took;
} Depths;

Err depths_renew(Depths *depths, Db *db, const Clock *clock, Error *error) MUST_USE;
void depths_done(Depths *depths);

extern const Statement *const depth_statements[]; // ends with NULL
