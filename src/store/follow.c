#include "store/follow.h"

#include "base/log.h"
#include "store/accept.h"
#include "store/handover.h"
#include "store/recur.h"
#include "store/run.h"
#include "store/schedule.h"

#define FOLLOW_SOURCE S("peal")

// Ending is a run that ended, from the settle that ended it.
typedef struct Ending {
    const Settle *settle;
    bool is_success;
    Accept accept;
    AcceptItem item;
} Ending;

static bool is_told(const Settle *settle, bool *ret_success)
{
    return settle->is_run && !settle->is_stale &&
           run_is_told(settle->was, settle->to.live.state, ret_success);
}

// pick lists the runs whose end is told; endings may be NULL, to count them.
static size_t pick(const SettleBatch *batch, Ending *endings)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const Settle *settle = &batch->rows[i];
        bool is_success;
        if (!is_told(settle, &is_success))
            continue;
        if (endings)
            endings[count] = (Ending){ .settle = settle, .is_success = is_success };
        count++;
    }
    return count;
}

// message_of is what the last try had to say; where none ended the run, what a person did, or why.
static Str message_of(const Ending *ending)
{
    const Settle *settle = ending->settle;
    if (settle->has_attempt)
        return run_message(&settle->attempt.outcome);
    if (settle->note.len || ending->is_success)
        return settle->note;
    return str_from(reason_meaning(settle->to.reason));
}

static Err build(Tx *tx, const Ending *ending, const RunRow *run, Event *ret, Error *error)
{
    RunEnd end = { .job = run->name,
                   .entity = run->entity,
                   .delivery = run->id,
                   .source = run->source,
                   .is_success = ending->is_success,
                   .message = message_of(ending),
                   .attempts = ending->settle->to.live.attempt };
    *ret = (Event){ .kind = run_end_kind(ending->is_success),
                    .source = FOLLOW_SOURCE,
                    .entity = run->entity,
                    .correlation_id = run->correlation_id,
                    .trace = run->trace,
                    .occurred_at = tx->now,
                    .payload = run_end_payload(&tx->arena, &end),
                    .site = ending->settle->site };
    TRY(event_check_size(ret, EVENT_PAYLOAD_MAX, error));
    return event_parse(&tx->arena, ret, error);
}

// decide has the triggers decide; false: it is refused, and says so.
static bool decide(Tx *tx, Ending *ending, const RunRow *run)
{
    char id[UUID_TEXT_LEN + 1];
    Error why = { .arena = &tx->arena };
    ending->accept = (Accept){ .arena = &tx->arena,
                               .tenant = run->tenant,
                               .items = &ending->item,
                               .count = 1,
                               .now = tx->now,
                               .depth = run->depth + 1 };
    Err err = build(tx, ending, run, &ending->item.event, &why);
    if (err == ERR_OK)
        err = accept_decide(&ending->accept, tx->registry, tx->random, &why);
    if (err == ERR_OK)
        return true;
    log_warn("follow.refused", "job=%s delivery=%.*s detail=%s", log_quote(run->name),
             STR_ARG(uuid_text(run->id, id)), log_quote(str_from(why.detail)));
    return false;
}

// tell makes the events of those that are jobs' runs: what an automation made of something is told
// by itself.
static Err tell(Tx *tx, Ending *endings, const RunRow *runs, size_t count, Error *error)
{
    Accept **accepts = ARENA_ARRAY(&tx->arena, Accept *, count);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (runs[i].is_found && runs[i].kind == RULE_JOB && decide(tx, &endings[i], &runs[i]))
            accepts[used++] = &endings[i].accept;
    return used > 0 ? accept_write(tx, accepts, used, error) : ERR_OK;
}

static bool is_over(const Settle *settle)
{
    return settle->is_run && !settle->is_stale && delivery_is_live(settle->was) &&
           !delivery_is_live(settle->to.live.state);
}

// wake has occurrences made that waited for one of the runs to end. runs are those whose end is
// told; no schedule waits for what was deferred.
static Err wake(Tx *tx, const SettleBatch *batch, const RunRow *runs, Error *error)
{
    ScheduleEnd *ends = ARENA_ARRAY(&tx->arena, ScheduleEnd, batch->count);
    size_t count = 0, told = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const Settle *settle = &batch->rows[i];
        bool is_success;
        bool is_deferred =
            runs && is_told(settle, &is_success) && runs[told++].source == RUN_DEFERRED;
        if (is_over(settle) && !is_deferred)
            ends[count++] = (ScheduleEnd){ settle->tenant, settle->rule };
    }
    return count > 0 ? schedules_ended(tx, ends, count, error) : ERR_OK;
}

static bool has_runs(const SettleBatch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->rows[i].is_run)
            return true;
    return false;
}

Err follow_settled(Tx *tx, const SettleBatch *batch, Error *error)
{
    if (!has_runs(batch))
        return ERR_OK;
    size_t count = pick(batch, NULL);
    if (count == 0)
        return wake(tx, batch, NULL, error);
    Ending *endings = ARENA_ARRAY(&tx->arena, Ending, count);
    RunRow *runs = ARENA_ARRAY(&tx->arena, RunRow, count);
    pick(batch, endings);
    for (size_t i = 0; i < count; i++)
        runs[i] = (RunRow){ .tenant = endings[i].settle->tenant, .id = endings[i].settle->id };
    TRY(runs_look(tx, runs, count, error));
    TRY(wake(tx, batch, runs, error));
    return tell(tx, endings, runs, count, error);
}

Err follow_settle(Tx *tx, SettleBatch *batch, Error *error)
{
    TRY(recurs_decide(tx, batch, error));
    TRY(handover_settles(tx, batch, error));
    return queue_settle(tx, batch, error);
}

Err follow_settle_now(Tx *tx, SettleBatch *batch, Error *error)
{
    TRY(follow_settle(tx, batch, error));
    TRY(tx_sync(tx, error));
    TRY(queue_settle_check(tx, batch, error));
    return follow_settled(tx, batch, error);
}
