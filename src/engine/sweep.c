#include "engine/state.h"

// The sweep finds what fell due without a send: leases that lapsed because whoever held them died
// or stalled, and answers that never came. A round renews the leases of its own flights before it
// sweeps, in the same transaction: after an outage they look lapsed too.
//
// Where only this process can have the store open, whoever held a lease when it started is dead:
// those need not lapse first.

enum { SWEEP_MAX = 500 };

// A lease that ran out is in no index: those that are being sent are the front of their lane, and
// every few seconds the lanes are looked at, where another node may have left some.
static Err run(Tx *tx, Sweep sweep, bool looks, DutyReport *ret, Error *error)
{
    const Registry *registry = tx->registry;
    int64_t *lanes = ARENA_ARRAY(&tx->arena, int64_t, registry->lane_count);
    for (size_t i = 0; looks && i < registry->lane_count; i++)
        lanes[sweep.lane_count++] = registry->lanes[i].lane;
    sweep.lanes = lanes;
    TRY(queue_sweep(tx, &sweep, error));
    ret->tally = (Tally){ .lapsed = sweep.lapsed,
                          .retried = sweep.retried,
                          .parked = sweep.parked,
                          .expired = sweep.expired };
    return ERR_OK;
}

Err sweep_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    return run(tx, (Sweep){ .limit = SWEEP_MAX }, !options->is_only_node, ret, error);
}

Err orphans_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    return run(tx, (Sweep){ .limit = SWEEP_MAX, .alone = options->node }, true, ret, error);
}

void sweep_take(Engine *engine, const DutyReport *report)
{
    const Tally *tally = &report->tally;
    if (tally->retried + tally->parked + tally->expired > 0)
        engine->wants_probe = true;
}
