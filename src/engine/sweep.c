#include "engine/sweep.h"

#include "engine/state.h"
#include "store/lane.h"

// A lease that ran out is in no index: what is being sent is the front of its lane, and the front
// of every lane is looked at, but only while there is a reason to: for a minute after the start,
// after another node was last seen, and after a claim whose fate is not known (beat.c asks for it
// at every beat). A node alone whose rounds go well has nothing to find.
//
// A round renews the leases of its own flights before it sweeps, in the same transaction: after an
// outage they look lapsed too. One that waited at the writer does not sweep: it does not know of
// the flights that began since (duty.h: is_fresh). Where only this process can have the store open,
// whoever else holds a lease is dead: those need not lapse first.

enum { SWEEP_MAX = 500 };

// lapsed_to is what becomes of a delivery whose attempt ended nobody knows how.
static Settlement lapsed_to(const Tx *tx, const Lapsed *lapsed, const Outcome *outcome)
{
    if (!lapsed->trigger)
        return park_unreadable(lapsed->row.id, &lapsed->row.live);
    RetryPolicy policy =
        registry_retry(registry_lane(tx->registry, lapsed->row.lane), lapsed->trigger);
    return delivery_settle(&lapsed->row.live, &lapsed->trigger->rule.plan, &policy, outcome,
                           tx->now, 0);
}

Err sweep_leases(Tx *tx, Sweep *sweep, Error *error)
{
    static const Outcome outcome = { .verdict = VERDICT_UNKNOWN, .reason = REASON_LEASE_LAPSED };
    DEFER(queue_lapsed_drop)
    LapsedLook look = { .lanes = sweep->lanes,
                        .lane_count = sweep->lane_count,
                        .limit = sweep->limit,
                        .alone = sweep->alone };
    sweep->lapsed = sweep->retried = sweep->parked = 0;
    TRY(queue_lapsed(tx, &look, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, look.count),
                          .count = look.count };
    for (size_t i = 0; i < look.count; i++) {
        Settlement to = lapsed_to(tx, &look.found[i], &outcome);
        batch.rows[i] = settle_tried(&look.found[i].row, to, &outcome, tx->now);
        sweep->retried += to.live.state == DELIVERY_RETRYING;
        sweep->parked += to.live.state == DELIVERY_PARKED;
    }
    sweep->lapsed = (int) look.count;
    return queue_settle_now(tx, &batch, error);
}

static Settlement expired_to(const QueueRow *row)
{
    return row->is_unsound ? park_unreadable(row->id, &row->live) : delivery_expire(&row->live);
}

Err sweep_expiries(Tx *tx, Sweep *sweep, Error *error)
{
    QueueRow *rows;
    SettleBatch batch = { 0 };
    TRY(queue_expiring(tx, sweep->limit, &rows, &batch.count, error));
    batch.rows = ARENA_ARRAY(&tx->arena, Settle, batch.count);
    for (size_t i = 0; i < batch.count; i++)
        batch.rows[i] = settle_from(&rows[i], expired_to(&rows[i]));
    sweep->expired = (int) batch.count;
    return queue_settle_now(tx, &batch, error);
}

Err sweep_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    int64_t *lanes;
    size_t lane_count;
    TRY(lane_used(tx, &lanes, &lane_count, error));
    Sweep sweep = { .lanes = lanes,
                    .lane_count = lane_count,
                    .limit = SWEEP_MAX,
                    .alone = options->is_only_node ? options->node : 0 };
    TRY(sweep_leases(tx, &sweep, error));
    ret->tally =
        (Tally){ .lapsed = sweep.lapsed, .retried = sweep.retried, .parked = sweep.parked };
    ret->has_more = sweep.lapsed >= SWEEP_MAX;
    return ERR_OK;
}

Err expire_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    Sweep sweep = { .limit = SWEEP_MAX };
    (void) options;
    TRY(sweep_expiries(tx, &sweep, error));
    ret->tally.expired = sweep.expired;
    ret->has_more = sweep.expired >= SWEEP_MAX;
    return ERR_OK;
}

// sweep_take: what was swept is due again, now or later.
void sweep_take(Engine *engine, const DutyReport *report)
{
    const Tally *tally = &report->tally;
    if (tally->retried + tally->parked + tally->expired > 0)
        engine->wants_probe = true;
}
