// sweep.h - what becomes of deliveries that fell due without a send: leases that lapsed, because
// whoever held them died or stalled, and answers that never came.
//
// The store picks (store/queue.h), domain/ decides, and a settle writes it, guarded as any other.
#pragma once

#include "store/queue.h"

typedef struct Sweep {
    const int64_t *lanes; // to look for leases in
    size_t lane_count;
    int limit;                            // of either
    int64_t alone;                        // see LapsedLook
    int lapsed, retried, parked, expired; // result: how many of each it met
} Sweep;

// sweep_leases: nobody knows what came of those attempts; they count, and are tried again.
Err sweep_leases(Tx *tx, Sweep *sweep, Error *error) MUST_USE;
Err sweep_expiries(Tx *tx, Sweep *sweep, Error *error) MUST_USE;
