// overdue.h - deliveries that fell due without a send: leases that ran out, and answers that never
// came. They are picked here; what becomes of them is decided elsewhere (engine/sweep.c).
//
// What a node sends is the front of its lane: no index is needed to find it, and none is written.
// What somebody outside has lies beside the expiries, in the order in which the leases end.
#pragma once

#include "store/queue.h"

// Overdue is one of them.
typedef struct Overdue {
    QueueRow row;
    int64_t version;
    const Trigger *trigger; // of a lapsed lease: the version it was made under; NULL: unreadable
    Origin origin;          // of the queue's
} Overdue;

typedef struct OverdueList {
    Overdue *at; // in the transaction's arena
    size_t count;
} OverdueList;

// overdue_is_lapsed: its attempt ended nobody knows how.
bool overdue_is_lapsed(const Overdue *overdue);

// LeaseLook is where to look for leases of nodes: those that ran out, and whatever their time,
// those of a node that is gone and, where only one process can have the store open, all but its
// own.
typedef struct LeaseLook {
    const int64_t *lanes;
    size_t lane_count;
    int limit;
    int64_t gone;  // a node; 0: none is known to be
    int64_t alone; // the node that is alone; 0: there may be others
} LeaseLook;

// OVERDUE_FRONT_MAX is how far into a lane overdue_leases() looks: what is being sent lies before.
enum { OVERDUE_FRONT_MAX = 10000 };
Err overdue_leases(Tx *tx, const LeaseLook *look, OverdueList *ret, Error *error) MUST_USE;

// overdue_others finds up to limit of each: leases of those outside that ran out, waiting and
// parked deliveries whose answer never came, and those of the queue that await nothing that Peal
// knows, which are unsound.
Err overdue_others(Tx *tx, int limit, OverdueList *ret, Error *error) MUST_USE;

void overdue_drop(OverdueList *list); // lets go of the versions

extern const Statement *const overdue_statements[]; // ends with NULL
