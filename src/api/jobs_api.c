#include "api/handlers.h"

#include "api/noun.h"
#include "api/shapes.h"
#include "store/automation.h"
#include "store/job.h"
#include "store/run.h"
#include "store/schedule.h"

// What can be done with a job beside keeping it (definitions_api.c): run it now, switch it on and
// off, ask when it is due.

// kind_of is the kind of rule that a route is about: a job, or an automation.
static RuleKind kind_of(const Call *call)
{
    RuleKind kind = RULE_JOB;
    (void) rule_kind_parse(str_from(call->route->definition->kind), &kind);
    return kind;
}

static Err tell_run(Call *call, Error *error)
{
    const Uuid *delivery = call->with;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    if (kind_of(call) == RULE_AUTOMATION)
        json_put_id(json, S("runId"), *delivery);
    json_put_str(json, S("executionId"), run_execution_id(call->arena, *delivery, 1));
    json_put_id(json, S("deliveryId"), *delivery);
    json_close(json, '}');
    return ERR_OK;
}

static Err read_run(Call *call, Run *ret, Error *error)
{
    RunBody body = { .entity = STR_NONE };
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &run_body_shape, &body, error));
    ret->entity = body.entity;
    ret->payload = body.payload ? json_text(call->arena, body.payload) : STR_NONE;
    return ERR_OK;
}

// run_now makes a run of what the path names, a job or an automation.
Err run_now(Call *call, Tx *tx, Error *error)
{
    Str name = call->params[0];
    RuleKind kind = kind_of(call);
    Run run = { .source = RUN_MANUAL, .due_at = tx->now };
    AcceptItem item;
    const Trigger *rule;
    TRY(read_run(call, &run, error));
    if (!registry_rule(tx->registry, call->tenant, kind, name))
        return fail(error, ERR_NOT_FOUND, "there is no %s %.*s", rule_kind_text(kind),
                    STR_ARG(name));
    TRY(run_rule(tx, call->arena, call->tenant, kind, name, &rule, error));
    TRY(run_item(call->arena, rule, &run, &item, error));
    TRY(event_check_size(&item.event, call->api->payload_max, error));
    TRY(runs_make(tx, call->arena, call->tenant, &item, 1, error));
    assert(item.created_count == 1); // a run has no filter and no key
    schedule_ran(tx, call->tenant, rule->rule.number, item.pairs[0].delivery);
    call->with = arena_copy(call->arena, &item.pairs[0].delivery, sizeof(Uuid));
    call_later(call, tell_run);
    return ERR_OK;
}

// change switches a job on or off.
static Err change(Call *call, Tx *tx, bool is_enabled, Str reason, Error *error)
{
    const Json *changes;
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_bool(&out, S("enabled"), is_enabled);
    json_put_str(&out, S("reason"), reason);
    json_close(&out, '}');
    TRY(json_parse(call->arena, buf_str(&text), &changes, error));
    return definition_change(call, tx, changes, error);
}

Err job_enable(Call *call, Tx *tx, Error *error)
{
    return change(call, tx, true, STR_NONE, error);
}

Err job_disable(Call *call, Tx *tx, Error *error)
{
    Str reason = STR_NONE;
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &reason_shape, &reason, error));
    return change(call, tx, false, reason, error);
}

enum { NEXT_COUNT };

// clang-format off
const Param job_next_params[] = {
    [NEXT_COUNT] = { "count", PARAM_INT, .min = 1, .max = CRON_PREVIEW_MAX, .help = "So many times; 5 unless said" },
    { 0 },
};
// clang-format on

// put_nothing says that a job has no schedule, in the shape of a preview.
static void put_nothing(JsonOut *json)
{
    json_open(json, '{');
    json_put_raw(json, S("items"), S("[]"));
    json_put_str(json, S("explain"), S("It has no cron expression: it runs when it is asked to"));
    json_put_raw(json, S("warnings"), S("[]"));
    json_close(json, '}');
}

Err job_times(Call *call, Db *db, Error *error)
{
    Trigger rule;
    Definition row;
    int64_t count = CRON_PREVIEW_USUAL;
    param_int(call, NEXT_COUNT, &count);
    TRY(definition_get(db, call->arena, call->tenant, DEFINITION_JOB, call->params[0], &row,
                       error));
    TRY(job_parse(call->arena, row.body, &rule, error));
    JsonOut *json = call_json(call, 200);
    if (rule.job->schedule_count == 0) {
        put_nothing(json);
        return ERR_OK;
    }
    const JobSchedule *schedule = rule.job->schedules;
    cron_put_preview(json, call->arena, &schedule->cron,
                     &(CronPreview){ .zone = schedule->zone,
                                     .from = clock_now(call->api->clock),
                                     .count = (int) count });
    return ERR_OK;
}

// Looked is what is shown beside jobs, in the order of their page.
typedef struct Looked {
    JobState *states;
    ScheduleSum *sums;
    Instant *next;
    size_t count;
} Looked;

// next_of is when a stored job is due. One that can no longer be read fires nothing.
static Instant next_of(const Call *call, const Definition *row)
{
    Trigger rule;
    Error unreadable = { .arena = call->arena };
    if (rule_parse(kind_of(call), call->arena, row->body, &rule, &unreadable) != ERR_OK)
        return INSTANT_NONE;
    return job_next(rule.job, clock_now(call->api->clock));
}

// first_runner finds where the triggers that run an automation begin, or would, among those that
// run any.
static size_t first_runner(const RegistryTrigger *const *runners, size_t count, Str automation)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (str_cmp(runners[middle]->automation, automation) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

// rules_of lists whose runs count for each of a page: its own, and for an automation those of the
// triggers that run it, as many as its list of runs looks at.
static size_t rules_of(const Call *call, const JobState *states, size_t count, JobRule **ret)
{
    RuleKind kind = kind_of(call);
    const RegistryTrigger **runners = NULL;
    size_t runner_count = 0, n = 0;
    if (kind == RULE_AUTOMATION)
        runner_count =
            registry_runners(call->registry, call->arena, call->tenant, STR_NONE, &runners);
    JobRule *rules = ARENA_ARRAY(call->arena, JobRule, count + runner_count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t first = first_runner(runners, runner_count, states[i].name);
        rules[n++] = (JobRule){ kind, states[i].name, i };
        for (size_t r = first; r < runner_count && r - first < AUTOMATION_RULES_MAX - 1 &&
                               str_eq(runners[r]->automation, states[i].name);
             r++)
            rules[n++] = (JobRule){ RULE_TRIGGER, runners[r]->id, i };
    }
    *ret = rules;
    return n;
}

Err job_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
             Error *error)
{
    Looked *looked = ARENA_NEW(call->arena, Looked);
    *looked = (Looked){ .states = ARENA_ARRAY(call->arena, JobState, count + 1),
                        .sums = ARENA_ARRAY(call->arena, ScheduleSum, count + 1),
                        .next = ARENA_ARRAY(call->arena, Instant, count + 1),
                        .count = count };
    for (size_t i = 0; i < count; i++) {
        // The rows may be gone when they are told of.
        looked->states[i].name = looked->sums[i].id = str_dup(call->arena, rows[i].id);
        looked->next[i] = next_of(call, &rows[i]);
    }
    JobRule *rules;
    size_t rule_count = rules_of(call, looked->states, count, &rules);
    *ret = looked;
    TRY(schedules_look(db, call->arena, call->tenant, kind_of(call), looked->sums, count, error));
    return jobs_look(db, call->arena, call->tenant, rules, rule_count, looked->states, count,
                     error);
}

void job_tell(Call *call, const void *known, Str id)
{
    JsonOut *out = &call->json;
    const Looked *looked = known;
    size_t i = 0;
    while (!str_eq(looked->states[i].name, id)) {
        i++;
        assert(i < looked->count); // only what was looked at is told of
    }
    const JobState *state = &looked->states[i];
    json_put_str(out, S("lastResult"), str_from(job_result_text(state->result)));
    json_put_time(out, S("lastRunAt"), state->last_run_at);
    json_put_time(out, S("nextRunAt"), looked->next[i]);
    json_put_i64(out, S("dead"), state->dead);
    json_put_i64(out, S("missedCount"), looked->sums[i].missed);
    json_put_i64(out, S("skippedCount"), looked->sums[i].skipped);
    json_put_time(out, S("lastMissedAt"), looked->sums[i].passed_for);
    json_put_str(out, S("fault"), looked->sums[i].fault);
}
