// move.h - one change of where a delivery stands.
//
// Whoever moves a delivery says so once, to the transaction that does it (store/tx.h). Counters,
// the engine's wake-up after the commit and the journal all follow from it; nothing else is told.
#pragma once

#include "base/id.h"
#include "domain/delivery.h"

enum { MOVE_NOWHERE = -1 }; // where a delivery comes from that was not there

typedef struct Move {
    int64_t tenant, lane, rule, site;
    int64_t from_lane; // where it stood in another lane; 0: in the same
    Uuid delivery;
    int from, to; // DeliveryState, or MOVE_NOWHERE
    int attempt;  // number of the last attempt
    DeliveryReason reason;
    Instant due_at;      // of the next send; INSTANT_NONE
    bool is_delivered;   // a send arrived …
    Span took;           // … so long after it was first due
    bool is_failed;      // an attempt failed
    bool is_untried;     // from sending, and nothing was sent: its attempt is an earlier one
    Str targets;         // what each of several was told by its attempt (domain/told.h); none
    bool is_handed_over; // to another lane, and else as it was: told, but not journalled
    bool is_quiet; // a claim: counted, but neither journalled nor told, for it decides nothing
} Move;
