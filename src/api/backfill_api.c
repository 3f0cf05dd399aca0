#include "api/handlers.h"

#include "api/shapes.h"
#include "domain/schedule.h"
#include "store/run.h"

// A person has the occurrences of a range made: those that fell before the job was there, while it
// was disabled, or that were missed. Whether a run goes on holds nothing back. Both ends belong to
// the range. An occurrence that has a run, whatever became of it, is not made again, by whoever and
// however often it is asked for: one that failed is a dead letter, to be retried as such.

typedef struct Backfill {
    int64_t made, repeated;
} Backfill;

static Err tell(Call *call, Error *error)
{
    const Backfill *done = call->with;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_i64(json, S("made"), done->made);
    json_put_i64(json, S("repeated"), done->repeated);
    json_close(json, '}');
    return ERR_OK;
}

// list finds the occurrences, and refuses too many of them and those that are still to come.
static Err list(const Call *call, const JobSchedule *schedule, Instant now, Instant **ret,
                size_t *ret_count, Error *error)
{
    BackfillBody range;
    TRY(fields_read(call->arena, call->body, S(""), &backfill_body_shape, &range, error));
    if (range.from > range.to)
        error_add(error, S("/to"), "bad-value", "must not be before from");
    if (range.to > now)
        error_add(error, S("/to"), "bad-value",
                  "must not lie ahead: what is to come fires by itself");
    TRY(error_close(error, ERR_INVALID));
    *ret = ARENA_ARRAY(call->arena, Instant, SCHEDULE_BACKFILL_MAX + 1);
    *ret_count =
        schedule_between(schedule, range.from, range.to + 1, SCHEDULE_BACKFILL_MAX + 1, *ret);
    if (*ret_count <= SCHEDULE_BACKFILL_MAX)
        return ERR_OK;
    error_add(error, S("/to"), "too-large", "the range has more than %d occurrences: ask for less",
              SCHEDULE_BACKFILL_MAX);
    return error_close(error, ERR_INVALID);
}

// make has a run made of each, in the call's transaction.
static Err make(Call *call, Tx *tx, const Trigger *rule, const Instant *at, size_t count,
                Error *error)
{
    Backfill *done = ARENA_NEW(call->arena, Backfill);
    AcceptItem *items = ARENA_ARRAY(call->arena, AcceptItem, count + 1);
    for (size_t i = 0; i < count; i++) {
        Run run = { .source = RUN_SCHEDULED,
                    .due_at = at[i],
                    .schedule = rule->job->schedules->name,
                    .is_backfill = true };
        TRY(run_item(call->arena, rule, &run, &items[i], error));
    }
    TRY(runs_make(tx, call->arena, call->tenant, items, count, error));
    *done = (Backfill){ 0 };
    for (size_t i = 0; i < count; i++)
        *(items[i].is_duplicate ? &done->repeated : &done->made) += 1;
    call->with = done;
    call_later(call, tell);
    return ERR_OK;
}

Err job_backfill(Call *call, Tx *tx, Error *error)
{
    Str name = call->params[0];
    const Trigger *rule;
    Instant *at;
    size_t count;
    if (!registry_rule(tx->registry, call->tenant, RULE_JOB, name))
        return fail(error, ERR_NOT_FOUND, "there is no job %.*s", STR_ARG(name));
    TRY(run_rule(tx, call->arena, call->tenant, RULE_JOB, name, &rule, error));
    if (rule->job->schedule_count == 0)
        return fail(error, ERR_CONFLICT, "%.*s has no cron expression, so it has no occurrences",
                    STR_ARG(name));
    TRY(list(call, rule->job->schedules, tx->now, &at, &count, error));
    return make(call, tx, rule, at, count, error);
}
