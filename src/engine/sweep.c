#include "engine/state.h"

// The sweep finds what fell due without a send: leases that lapsed because whoever held them died
// or stalled, and answers that never came. A round renews the leases of its own flights before it
// sweeps, in the same transaction: after an outage they look lapsed too.
//
// Where only this process can have the store open, whoever held a lease when it started is dead:
// those need not lapse first.

enum { SWEEP_MAX = 500 };

static Err run(Tx *tx, Sweep sweep, DutyReport *ret, Error *error)
{
    TRY(queue_sweep(tx, &sweep, error));
    ret->tally = (Tally){ .lapsed = sweep.lapsed,
                          .retried = sweep.retried,
                          .parked = sweep.parked,
                          .expired = sweep.expired };
    return ERR_OK;
}

Err sweep_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    return run(tx, (Sweep){ .limit = SWEEP_MAX }, ret, error);
}

Err orphans_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    return run(tx, (Sweep){ .limit = SWEEP_MAX, .is_orphaned = true }, ret, error);
}

void sweep_take(Engine *engine, const DutyReport *report)
{
    const Tally *tally = &report->tally;
    if (tally->retried + tally->parked + tally->expired > 0)
        engine->wants_probe = true;
}
