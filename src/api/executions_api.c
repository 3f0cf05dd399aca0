#include "api/handlers.h"

#include "domain/run.h"
#include "store/execution.h"
#include "store/rule.h"

static void put_progress(JsonOut *json, const Execution *execution)
{
    json_key(json, S("progress"));
    json_open(json, '[');
    for (size_t i = 0; i < execution->progress_count; i++) {
        json_open(json, '{');
        json_put_time(json, S("at"), execution->progress[i].at);
        json_put_str(json, S("message"), execution->progress[i].message);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_execution(const Call *call, JsonOut *json, const Execution *execution)
{
    bool is_over = execution->finished_at != INSTANT_NONE;
    const Outcome *outcome = &execution->outcome;
    json_open(json, '{');
    json_put_str(json, S("executionId"),
                 run_execution_id(call->arena, execution->delivery, execution->number));
    json_put_str(json, S("source"), str_from(run_source_text(run_source(execution->source))));
    json_put_str(json, S("entity"), execution->entity);
    json_put_time(json, S("scheduledFor"), execution->scheduled_for);
    json_put_time(json, S("startedAt"), execution->started_at);
    json_put_time(json, S("completedAt"), execution->finished_at);
    if (is_over)
        json_put_bool(json, S("succeeded"), outcome->verdict == VERDICT_DELIVERED);
    else
        json_put_null(json, S("succeeded"));
    json_put_str(json, S("message"), is_over ? run_message(outcome) : STR_NONE);
    json_put_i64(json, S("retry"), execution->number - 1);
    put_progress(json, execution);
    if (execution->is_backfill)
        json_put_bool(json, S("backfill"), true);
    json_close(json, '}');
}

// execution_list answers for whatever name ever had a run, defined or not: history outlives its
// definition.
Err execution_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Execution *executions;
    int64_t rule;
    Str name = call->params[0];
    TRY(call_walk(call, &walk, error));
    TRY(rule_number(db, call->arena, call->tenant, RULE_JOB, name, &rule, error));
    if (rule == 0)
        return fail(error, ERR_NOT_FOUND, "there is no job \"%.*s\"", STR_ARG(name));
    TRY(execution_page(db, call->arena, call->tenant, rule, &walk, &executions, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_execution(call, json, &executions[i]);
    page_close(call, &seen);
    return ERR_OK;
}
