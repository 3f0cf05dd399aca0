// handover.h - jobs go by name: whatever of a job's runs still stands to be done goes to the
// handler that the job has now, however long ago it was made.
//
// When a job's handler is edited, what waits in its last lane is handed over with the save
// (handover_all): that also reaches the lanes of workers, which no node claims from. A million of
// other jobs' runs may stand in that lane: HANDOVER_LOOK rows of it are looked at, and what lies
// behind is left to an operation (operation.h), which hands it over in slices. What was under way
// at that moment is handed over when it comes back to its lane (handover_settles), and a node that
// has claimed such a run gives it back for that (handover_lane). No attempt is spent.
//
// An automation is such a job, and what triggers made of it are such runs: they go with it, and
// with the trigger, where that names another automation. What a trigger made by itself, before it
// had one, is no run, and stays.
//
// A job that is deleted has no handler any more: its runs stay where they are, until one of its
// name is made. Likewise what a trigger made, when either of them is made anew, or it names one
// that there is.
#pragma once

#include "domain/trigger.h"
#include "store/queue.h"

enum { HANDOVER_LOOK = 1000 };

// handover_lane is the lane of the handler that a run has now; 0: it stays where it is.
int64_t handover_lane(const Registry *registry, const Trigger *made_under, int64_t lane);

// handover_all hands over what waits in the lane of the handler that a job had until now, as
// tx->registry still has it. saved is as it was just saved.
Err handover_all(Tx *tx, int64_t tenant, const Trigger *saved, Error *error) MUST_USE;

// handover_trigger hands over what waits of a trigger that runs another automation from now on.
Err handover_trigger(Tx *tx, int64_t tenant, Str id, Str automation, Error *error) MUST_USE;

// handover_these hands over those of the deliveries that wait and whose handler is another by now,
// and tells how many. It is a slice of an operation.
Err handover_these(Tx *tx, int64_t tenant, const Uuid *ids, size_t count, size_t *ret_moved,
                   Error *error) MUST_USE;

// handover_settles lets those runs of a batch that go back to their lane go to that of their
// handler. Whoever settles calls it first.
Err handover_settles(Tx *tx, SettleBatch *batch, Error *error) MUST_USE;

extern const Statement *const handover_statements[]; // ends with NULL
