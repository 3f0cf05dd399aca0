#include "engine/sweep.h"

#include "engine/state.h"
#include "store/follow.h"
#include "store/lane.h"

// A node's lease that ran out is in no index: what is being sent is the front of its lane, and the
// front of every lane is looked at, but only while there is a reason to: for a minute after the
// start, after another node was last seen, and after a claim whose fate is not known (beat.c asks
// for it at every beat). A node alone whose rounds go well has nothing to find.
//
// A round renews the leases of its own flights before it sweeps, in the same transaction: after an
// outage they look lapsed too. One that waited at the writer does not sweep: it does not know of
// the flights that began since (duty.h: is_fresh). Where only this process can have the store open,
// whoever else holds a lease is dead: those need not lapse first. Leases of those outside have to
// run out: they are swept with the expiries, when the first of them does.

enum { SWEEP_MAX = 500 };

static const Outcome lapsed = { .verdict = VERDICT_UNKNOWN, .reason = REASON_LEASE_LAPSED };

// lapsed_to is what becomes of a delivery whose attempt ended nobody knows how.
static Settlement lapsed_to(const Tx *tx, const Overdue *overdue, const Sweep *sweep)
{
    const QueueRow *row = &overdue->row;
    const RegistryLane *lane = registry_lane(tx->registry, row->lane);
    if (!overdue->trigger)
        return park_unreadable(row->id, &row->live);
    if (row->live.step == STEP_SEND && lane_is_ordered(sweep->types, lane))
        return delivery_stay(&row->live, REASON_LEASE_LAPSED);
    RetryPolicy policy = registry_retry(tx->registry, lane, overdue->trigger, &overdue->origin);
    return delivery_settle(&row->live, &overdue->trigger->rule.plan, &policy, &lapsed, tx->now, 0);
}

static Settle settle_lapsed(const Tx *tx, const Overdue *overdue, Sweep *sweep)
{
    Settlement to = lapsed_to(tx, overdue, sweep);
    sweep->lapsed++;
    sweep->retried += to.live.state == DELIVERY_RETRYING;
    sweep->parked += to.live.state == DELIVERY_PARKED;
    return settle_tried(&overdue->row, to, &lapsed, tx->now);
}

Err sweep_leases(Tx *tx, Sweep *sweep, Error *error)
{
    LeaseLook look = { .lanes = sweep->lanes,
                       .lane_count = sweep->lane_count,
                       .limit = sweep->limit,
                       .alone = sweep->alone };
    DEFER(overdue_drop) OverdueList list = { 0 };
    TRY(overdue_leases(tx, &look, &list, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, list.count),
                          .count = list.count };
    for (size_t i = 0; i < list.count; i++)
        batch.rows[i] = settle_lapsed(tx, &list.at[i], sweep);
    return follow_settle_now(tx, &batch, error);
}

static Settle settle_expired(const QueueRow *row, Sweep *sweep)
{
    sweep->expired++;
    return settle_from(row, row->is_unsound ? park_unreadable(row->id, &row->live)
                                            : delivery_expire(&row->live));
}

Err sweep_others(Tx *tx, Sweep *sweep, Error *error)
{
    DEFER(overdue_drop) OverdueList list = { 0 };
    TRY(overdue_others(tx, sweep->limit, &list, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, list.count),
                          .count = list.count };
    for (size_t i = 0; i < list.count; i++)
        batch.rows[i] = overdue_is_lapsed(&list.at[i]) ? settle_lapsed(tx, &list.at[i], sweep)
                                                       : settle_expired(&list.at[i].row, sweep);
    return follow_settle_now(tx, &batch, error);
}

static Tally tally_of(const Sweep *sweep)
{
    return (Tally){ .lapsed = sweep->lapsed,
                    .retried = sweep->retried,
                    .parked = sweep->parked,
                    .expired = sweep->expired };
}

Err sweep_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    int64_t *lanes;
    size_t lane_count;
    TRY(lane_used(tx, &lanes, &lane_count, error));
    Sweep sweep = { .lanes = lanes,
                    .lane_count = lane_count,
                    .limit = SWEEP_MAX,
                    .types = options->types,
                    .alone = options->is_only_node ? options->node : 0 };
    TRY(sweep_leases(tx, &sweep, error));
    ret->tally = tally_of(&sweep);
    ret->has_more = sweep.lapsed >= SWEEP_MAX;
    return ERR_OK;
}

Err expire_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    Sweep sweep = { .limit = SWEEP_MAX, .types = options->types };
    TRY(sweep_others(tx, &sweep, error));
    ret->tally = tally_of(&sweep);
    ret->has_more = sweep.expired + sweep.lapsed >= SWEEP_MAX;
    return ERR_OK;
}

// sweep_take: what was swept is due again, now or later.
void sweep_take(Engine *engine, const DutyReport *report)
{
    const Tally *tally = &report->tally;
    if (tally->retried + tally->parked + tally->expired > 0)
        engine->wants_probe = true;
}
