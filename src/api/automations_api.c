#include "api/handlers.h"

#include "api/noun.h"
#include "api/trigger_events.h"
#include "domain/automation.h"
#include "domain/run.h"
#include "domain/trigger_event.h"
#include "store/automation.h"
#include "store/rule.h"

// The schedules of an automation are part of its definition: who changes one of them makes its next
// version.

// put_schedule writes what was given for a schedule, under the name that the path has.
static void put_schedule(const Call *call, JsonOut *out)
{
    json_open(out, '{');
    json_put_str(out, S("name"), call->params[1]);
    for (JsonIter it = json_each(call->body); json_next(&it);)
        if (!str_eq(it.key, S("name")))
            json_put_raw(out, it.key, json_text(call->arena, it.value));
    json_close(out, '}');
}

// change writes the automation with one schedule put, or taken away.
static Err change(Call *call, Tx *tx, bool is_put, Error *error)
{
    Edit edit = edit_of(call, tx);
    bool is_known = false;
    const Json *changes;
    TRY(edit_find(&edit, error));
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_key(&out, S("schedules"));
    json_open(&out, '[');
    for (JsonIter it = json_each(json_get(edit.old, S("schedules"))); json_next(&it);) {
        bool is_it = str_eq(json_str(json_get(it.value, S("name"))), call->params[1]);
        is_known |= is_it;
        if (!is_it)
            json_add_raw(&out, json_text(call->arena, it.value));
    }
    if (is_put)
        put_schedule(call, &out);
    else if (!is_known)
        return fail(error, ERR_NOT_FOUND, "automation %.*s has no schedule %.*s",
                    STR_ARG(call->params[0]), STR_ARG(call->params[1]));
    json_close(&out, ']');
    json_close(&out, '}');
    TRY(json_parse(call->arena, buf_str(&text), &changes, error));
    return definition_change(call, tx, changes, error);
}

static Err check_name(const Call *call, Error *error)
{
    const Json *name = json_get(call->body, S("name"));
    if (!field_is_key(call->params[1]))
        error_add(error, S("/name"), "bad-value", "may have letters, digits and . _ : - only");
    else if (name && !str_eq(json_str(name), call->params[1]))
        error_add(error, S("/name"), "bad-value", "must be as in the path");
    return error_close(error, ERR_AUTOMATION_INVALID);
}

Err automation_schedule_put(Call *call, Tx *tx, Error *error)
{
    TRY(call_body(call, error));
    TRY(automation_check_schedule(call->arena, call->body, error));
    TRY(check_name(call, error));
    return change(call, tx, true, error);
}

static Err tell_gone(Call *call, Error *error)
{
    (void) error;
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}

Err automation_schedule_delete(Call *call, Tx *tx, Error *error)
{
    TRY(change(call, tx, false, error));
    call_later(call, tell_gone);
    return ERR_OK;
}

// Runners are an automation's own rule, where that is 0 none, and the triggers that run it.
typedef struct Runners {
    int64_t rule;
    const RegistryTrigger **triggers;
    size_t count;
} Runners;

Err automation_look_at(Call *call, Db *db, Str id, const void **ret, Error *error)
{
    Runners *runners = ARENA_NEW(call->arena, Runners);
    (void) db;
    (void) error;
    runners->count =
        registry_runners(call->registry, call->arena, call->tenant, id, &runners->triggers);
    *ret = runners;
    return ERR_OK;
}

void automation_put(const Call *call, JsonOut *out, const void *looked)
{
    const Runners *runners = looked;
    (void) call;
    json_key(out, S("triggers"));
    json_open(out, '[');
    for (size_t i = 0; i < runners->count; i++)
        json_add_str(out, runners->triggers[i]->id);
    json_close(out, ']');
}

// trigger_of finds the trigger that made a run; NULL: it is the automation's own.
static const RegistryTrigger *trigger_of(const Runners *runners, const AutomationRun *run)
{
    for (size_t i = 0; i < runners->count; i++)
        if (runners->triggers[i]->rule == run->rule)
            return runners->triggers[i];
    return NULL;
}

static void put_run(const Call *call, JsonOut *json, const Runners *runners,
                    const AutomationRun *run)
{
    const RegistryTrigger *trigger = trigger_of(runners, run);
    RunSource source = trigger ? RUN_TRIGGERED : run_source(run->source);
    json_open(json, '{');
    json_put_id(json, S("runId"), run->id);
    json_put_str(json, S("source"), str_from(run_source_word(source)));
    json_put_str(json, S("triggerId"), trigger ? trigger->id : STR_NONE);
    json_put_str(json, S("triggerEventId"),
                 trigger ? run_event_id(call->arena, run->event, run->rule) : STR_NONE);
    json_put_id(json, S("eventId"), run->event);
    json_put_str(json, S("status"), str_from(trigger_status_words[trigger_status_of(run->state)]));
    json_put_i64(json, S("attempts"), run->attempts);
    json_put_time(json, S("createdAt"), run->made_at);
    json_put_time(json, S("endedAt"), run->ended_at);
    json_close(json, '}');
}

// automation_run_list answers for whatever was ever an automation, as executions do for jobs.
Err automation_run_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    AutomationRun *runs;
    Runners runners = { 0 };
    int64_t rules[AUTOMATION_RULES_MAX];
    size_t count = 0;
    Str id = call->params[0];
    TRY(call_walk(call, &walk, error));
    TRY(rule_number(db, call->arena, call->tenant, RULE_AUTOMATION, id, &runners.rule, error));
    if (!runners.rule)
        return fail(error, ERR_NOT_FOUND, "there is no automation %.*s", STR_ARG(id));
    runners.count =
        registry_runners(call->registry, call->arena, call->tenant, id, &runners.triggers);
    rules[count++] = runners.rule;
    for (size_t i = 0; i < runners.count && count < AUTOMATION_RULES_MAX; i++)
        rules[count++] = runners.triggers[i]->rule;
    TRY(automation_runs(db, call->arena, call->tenant, rules, count, &walk, &runs, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_run(call, json, &runners, &runs[i]);
    page_close(call, &seen);
    return ERR_OK;
}
