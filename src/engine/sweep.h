// sweep.h - what becomes of deliveries that fell due without a send: leases that lapsed, because
// whoever held them died or stalled, and answers that never came.
//
// The store picks (store/overdue.h), domain/ decides, and a settle writes it, guarded as any other.
#pragma once

#include "channels/channel.h"
#include "store/overdue.h"

typedef struct Sweep {
    const int64_t *lanes; // to look for leases in
    size_t lane_count;
    int limit;                            // of either
    int64_t alone;                        // see LeaseLook
    const ChannelType *const *types;      // that say which lanes are ordered; NULL: Peal's
    int lapsed, retried, parked, expired; // result: so many of each were met in addition
} Sweep;

// sweep_leases is for those of nodes: nobody knows what came of their attempts; they count, and are
// tried again. sweep_others is for the rest, expiries and the leases of those outside.
Err sweep_leases(Tx *tx, Sweep *sweep, Error *error) MUST_USE;
Err sweep_others(Tx *tx, Sweep *sweep, Error *error) MUST_USE;
