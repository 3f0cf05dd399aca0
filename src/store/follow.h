// follow.h - what follows from a settle, in its own transaction: the end of a job's run is an event
// that triggers may match (domain/run.h), so it is made exactly once, or the run has not ended. An
// occurrence that waited for the run is due then (schedule.h).
//
// Whoever settles calls follow_settled() behind queue_settle_check(): the engine, its sweeps, who
// reports from outside, and a person's actions. It looks at nothing but settles of runs that ended;
// a batch that has none costs a look at each row's flag. All that ended together comes in by the
// one door in one set, one accept each: what is refused (the chain of events is too deep, too many
// triggers listen) is logged and counted, and neither the settle nor another event fails for it.
#pragma once

#include "store/queue.h"

Err follow_settled(Tx *tx, const SettleBatch *batch, Error *error) MUST_USE;

// follow_settle sends settles as they go out everywhere: what recurs is decided (recur.h), and what
// goes back to its lane goes to that of its handler (handover.h).
Err follow_settle(Tx *tx, SettleBatch *batch, Error *error) MUST_USE;

// follow_settle_now does so, syncs, checks, and makes what follows.
Err follow_settle_now(Tx *tx, SettleBatch *batch, Error *error) MUST_USE;
