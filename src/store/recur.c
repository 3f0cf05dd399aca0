#include "store/recur.h"

#include "store/run.h"

// is_failed: it is to be tried again, or nobody handles it.
static bool is_failed(const Settle *settle)
{
    DeliveryState to = settle->to.live.state;
    bool is_retry = to == DELIVERY_RETRYING && settle->to.reason != REASON_NONE;
    return settle->is_run && settle->was == DELIVERY_SENDING &&
           (is_retry || (to == DELIVERY_PARKED && settle->to.reason == REASON_NO_HANDLER));
}

// overtaken_at is when the next occurrence of its job takes a run's place.
static Instant overtaken_at(const Tx *tx, const RunRow *run)
{
    DEFER(arena_done) Arena scratch = { 0 };
    const RegistryTrigger *known = registry_rule(tx->registry, run->tenant, run->kind, run->name);
    const Trigger *rule = known ? registry_compiled(known, &scratch) : NULL;
    return run_overtaken_at(rule ? rule->job : NULL, run->scheduled_for, run->made_at, tx->now);
}

Err recurs_decide(Tx *tx, SettleBatch *batch, Error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        count += is_failed(&batch->rows[i]);
    if (count == 0)
        return ERR_OK;
    RunRow *runs = ARENA_ARRAY(&tx->arena, RunRow, count);
    Settle **failed = ARENA_ARRAY(&tx->arena, Settle *, count);
    for (size_t i = 0, n = 0; i < batch->count; i++) {
        if (!is_failed(&batch->rows[i]))
            continue;
        failed[n] = &batch->rows[i];
        runs[n++] = (RunRow){ .tenant = batch->rows[i].tenant, .id = batch->rows[i].id };
    }
    TRY(runs_look(tx, runs, count, error));
    for (size_t i = 0; i < count; i++)
        if (runs[i].is_found && runs[i].source == RUN_SCHEDULED)
            failed[i]->to = delivery_recur(failed[i]->to, overtaken_at(tx, &runs[i]));
    return ERR_OK;
}
