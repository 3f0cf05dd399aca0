#include "api/handlers.h"

#include "api/trigger_events.h"
#include "base/time.h"
#include "channels/channel.h"
#include "domain/run.h"
#include "store/act.h"
#include "store/rule.h"
#include "store/trigger_event.h"

// What triggers made of events, and what runs write back of themselves. Whoever may look at events
// may look at these; a worker writes back what it runs, an operator anything, and skips.

enum { RECENT_EVENTS = 10 };

// text_at is a text of the payload that the provider's events have; none.
static Str text_at(const Event *event, const char *name)
{
    return json_str(json_get(event->payload_json, str_from(name)));
}

static Str duration_of(Arena *arena, const TriggerAction *action)
{
    if (action->started_at == INSTANT_NONE || action->completed_at == INSTANT_NONE)
        return STR_NONE;
    Span took = action->completed_at - action->started_at;
    if (took % SPAN_SECOND == 0)
        return duration_text(arena, took);
    return str_format(arena, "%lldms", (long long) (took / SPAN_MILLISECOND));
}

static void put_action(const Call *call, JsonOut *json, const TriggerAction *action, bool is_whole)
{
    json_open(json, '{');
    json_put_i64(json, S("n"), action->n);
    json_put_str(json, S("tool"), action->tool);
    json_put_str(json, S("status"), action->status);
    if (is_whole) {
        json_put_stored(json, S("input"), action->input);
        json_put_stored(json, S("output"), action->output);
        json_put_str(json, S("error"), action->error);
    }
    json_put_time(json, S("startedAt"), action->started_at);
    json_put_time(json, S("completedAt"), action->completed_at);
    json_put_str(json, S("duration"), duration_of(call->arena, action));
    json_close(json, '}');
}

// put_result writes what its run wrote back.
static void put_result(const Call *call, JsonOut *json, const TriggerEvent *of, bool is_whole)
{
    json_put_str(json, S("sessionId"), of->result.session_id);
    if (is_whole) {
        json_put_stored(json, S("enrichedData"), of->result.enriched);
        json_put_stored(json, S("filterResult"), of->result.filter_result);
        json_put_stored(json, S("analysisResult"), of->result.analysis_result);
    }
    json_key(json, S("actions"));
    json_open(json, '[');
    for (size_t i = 0; i < of->action_count; i++)
        put_action(call, json, &of->actions[i], is_whole);
    json_close(json, ']');
}

static void put_event(const Call *call, JsonOut *json, const TriggerEvent *of, Str trigger,
                      bool is_whole)
{
    const Event *event = &of->event;
    json_open(json, '{');
    json_put_str(json, S("id"), run_event_id(call->arena, event->id, of->rule));
    json_put_str(json, S("triggerId"), trigger);
    json_put_id(json, S("eventId"), event->id);
    json_put_id(json, S("deliveryId"), of->delivery);
    json_put_str(json, S("status"), str_from(trigger_status_words[of->status]));
    json_put_str(json, S("skipReason"), str_from(trigger_skip_text(of->skip)));
    json_put_str(json, S("providerEventType"), text_at(event, "providerEventType"));
    json_put_str(json, S("dedupKey"), text_at(event, "dedupKey"));
    json_put_str(json, S("title"), text_at(event, "title"));
    json_put_str(json, S("url"), text_at(event, "url"));
    json_put_time(json, S("occurredAt"),
                  event->occurred_at == INSTANT_NONE ? event->received_at : event->occurred_at);
    json_put_time(json, S("receivedAt"), event->received_at);
    put_result(call, json, of, is_whole);
    json_close(json, '}');
}

// trigger_of is a trigger as it is defined now; NULL: there is none.
static const Trigger *trigger_of(const Call *call, Str id)
{
    const RegistryTrigger *found = registry_rule(call->registry, call->tenant, RULE_TRIGGER, id);
    return found ? registry_compiled(found, call->arena) : NULL;
}

static TriggerLook look_of(const Trigger *trigger)
{
    return (TriggerLook){ trigger->rule.number, trigger->event_kind, trigger->feed.integration };
}

Err trigger_event_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    TriggerEvent *events;
    Str id = call->params[0];
    TRY(call_walk(call, &walk, error));
    const Trigger *trigger = trigger_of(call, id);
    if (!trigger)
        return fail(error, ERR_NOT_FOUND, "there is no trigger %.*s", STR_ARG(id));
    TriggerLook look = look_of(trigger);
    TRY(trigger_event_page(db, call->arena, call->tenant, &look, &walk, &events, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_event(call, json, &events[i], id, false);
    page_close(call, &seen);
    return ERR_OK;
}

// Looked is a trigger event with the name of its trigger.
typedef struct Looked {
    TriggerEvent event;
    Str trigger;
} Looked;

// find reads the one that the path names.
static Err find(const Call *call, Db *db, Looked *ret, Error *error)
{
    Uuid event;
    int64_t rule;
    RuleName name = { 0 };
    Str id = call->params[0];
    if (run_event_parse(id, &event, &rule))
        TRY(rule_names(db, call->arena, call->tenant, &rule, 1, &name, error));
    if (!name.id.at || name.kind != RULE_TRIGGER)
        return fail(error, ERR_NOT_FOUND, "there is no trigger event %.*s",
                    STR_ARG(members_shown(id)));
    ret->trigger = name.id;
    return trigger_event_get(db, call->arena, call->tenant, event, rule, &ret->event, error);
}

static Err tell_event(Call *call, Error *error)
{
    const Looked *looked = call->with;
    (void) error;
    put_event(call, call_json(call, 200), &looked->event, looked->trigger, true);
    return ERR_OK;
}

// trigger_event_show reads it for tell_event(), also for who has changed it.
Err trigger_event_show(Call *call, Db *db, Error *error)
{
    Looked *looked = ARENA_NEW(call->arena, Looked);
    TRY(find(call, db, looked, error));
    call->with = looked;
    call_later(call, tell_event);
    return ERR_OK;
}

// refuse says in which state a trigger event is that nothing can be done to.
static Err refuse(const TriggerEvent *of, const char *what, Error *error)
{
    return fail(error, ERR_CONFLICT, "a trigger event that is %s cannot be %s",
                trigger_status_words[of->status], what);
}

Err trigger_event_skip(Call *call, Tx *tx, Error *error)
{
    Looked looked;
    Acted acted;
    TRY(find(call, tx->db, &looked, error));
    const TriggerEvent *of = &looked.event;
    if (!of->is_made)
        return refuse(of, "skipped", error);
    TRY(act_all(tx, call->tenant, &of->delivery, 1, DELIVERY_ACTION_SKIP, STR_NONE, &acted, error));
    if (acted.err != ERR_OK) {
        TRY(find(call, tx->db, &looked, error)); // it may have moved on
        return refuse(&looked.event, "skipped", error);
    }
    return trigger_event_show(call, tx->db, error);
}

// find_run reads the one that the path names, for whoever writes back: it has a run, and the run is
// one of those that the caller's key is for.
static Err find_run(const Call *call, Tx *tx, Looked *ret, Error *error)
{
    TRY(find(call, tx->db, ret, error));
    const TriggerEvent *of = &ret->event;
    if (!of->is_made)
        return refuse(of, "written to: it has no run", error);
    const RegistryLane *lane = registry_lane(tx->registry, of->lane);
    if (!registry_key_may(call->key, lane ? lane->channel_key : STR_NONE))
        return fail(error, ERR_FORBIDDEN, "the key is for other handlers");
    return ERR_OK;
}

// take_json is the text of a member that may be any JSON; none where it is absent or null.
static Str take_json(const Call *call, const char *name, const Json *value, Error *error)
{
    if (!value)
        return STR_NONE;
    Str text = json_text(call->arena, value);
    if (text.len > TRIGGER_JSON_MAX)
        error_add(error, str_format(call->arena, "/%s", name), "too-large", "may have %d bytes",
                  TRIGGER_JSON_MAX);
    return text;
}

static bool is_given(const Call *call, const char *name)
{
    return json_get(call->body, str_from(name)) != NULL;
}

Err trigger_event_patch(Call *call, Tx *tx, Error *error)
{
    Looked looked;
    ResultBody body = { 0 };
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &trigger_result_shape, &body, error));
    TriggerResult result = {
        .tenant = call->tenant,
        .session_id = body.session_id,
        .enriched = take_json(call, "enrichedData", body.enriched, error),
        .filter_result = take_json(call, "filterResult", body.filter_result, error),
        .analysis_result = take_json(call, "analysisResult", body.analysis_result, error),
        .has_session_id = is_given(call, "sessionId"),
        .has_enriched = is_given(call, "enrichedData"),
        .has_filter_result = is_given(call, "filterResult"),
        .has_analysis_result = is_given(call, "analysisResult"),
    };
    TRY(error_close(error, ERR_INVALID));
    TRY(find_run(call, tx, &looked, error));
    result.delivery = looked.event.delivery;
    trigger_result_put(tx, &result);
    TRY(tx_sync(tx, error));
    return trigger_event_show(call, tx->db, error);
}

// read_action reads what a run did; what it says of an error is cleaned, like all that is kept.
static Err read_action(Call *call, TriggerAction *ret, Error *error)
{
    ActionBody body = { .started_at = INSTANT_NONE, .completed_at = INSTANT_NONE };
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &trigger_action_body_shape, &body, error));
    if (body.completed_at < body.started_at && body.started_at != INSTANT_NONE)
        error_add(error, S("/completedAt"), "bad-value", "is before startedAt");
    *ret = (TriggerAction){ .tenant = call->tenant,
                            .tool = body.tool,
                            .status = body.status,
                            .input = take_json(call, "input", body.input, error),
                            .output = take_json(call, "output", body.output, error),
                            .error = judge_lines(call->arena, body.error, TRIGGER_ERROR_MAX),
                            .started_at = body.started_at,
                            .completed_at = body.completed_at };
    return error_close(error, ERR_INVALID);
}

static Err tell_action(Call *call, Error *error)
{
    (void) error;
    put_action(call, call_json(call, 201), call->with, true);
    return ERR_OK;
}

Err trigger_event_act(Call *call, Tx *tx, Error *error)
{
    Looked looked;
    TriggerAction *action = ARENA_NEW(call->arena, TriggerAction);
    TRY(read_action(call, action, error));
    TRY(find_run(call, tx, &looked, error));
    action->delivery = looked.event.delivery;
    TRY(trigger_action_add(tx, action, error));
    call->with = action;
    call_later(call, tell_action);
    return ERR_OK;
}

Err trigger_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                 Error *error)
{
    TriggerCounts *counts = ARENA_ARRAY(call->arena, TriggerCounts, count + 1);
    for (size_t i = 0; i < count; i++)
        counts[i].id = str_dup(call->arena, rows[i].id);
    counts[count].id = STR_NONE;
    *ret = counts;
    return trigger_counts(db, call->arena, call->tenant, counts, count, error);
}

void trigger_tell(Call *call, const void *known, Str id)
{
    const TriggerCounts *counts = known;
    while (!str_eq(counts->id, id)) {
        counts++;
        assert(counts->id.at); // only what was looked at is told of
    }
    json_put_i64(&call->json, S("pendingCount"), counts->n[TRIGGER_QUEUED]);
}

// Recent is what a trigger shows where it is shown alone.
typedef struct Recent {
    TriggerCounts counts;
    TriggerEvent *events;
    size_t count;
} Recent;

// trigger_look_at looks for who reads one of a provider or an automation: who saves one need not
// wait for a walk.
Err trigger_look_at(Call *call, Db *db, Str id, const void **ret, Error *error)
{
    Seen seen;
    Walk walk = { .limit = RECENT_EVENTS };
    const Trigger *trigger = call->route->run.work == WORK_READ ? trigger_of(call, id) : NULL;
    if (!trigger || (!trigger->feed.type && !trigger->automation.at))
        return ERR_OK;
    TriggerLook look = look_of(trigger);
    Recent *recent = ARENA_NEW(call->arena, Recent);
    recent->counts.id = id;
    TRY(trigger_counts(db, call->arena, call->tenant, &recent->counts, 1, error));
    TRY(trigger_event_page(db, call->arena, call->tenant, &look, &walk, &recent->events, &seen,
                           error));
    recent->count = seen.count;
    recent->counts.id = str_dup(call->arena, id);
    *ret = recent;
    return ERR_OK;
}

void trigger_put(const Call *call, JsonOut *out, const void *looked)
{
    const Recent *recent = looked;
    json_key(out, S("counts"));
    json_open(out, '{');
    for (size_t i = 0; i < TRIGGER_STATUSES; i++)
        json_put_i64(out, str_from(trigger_status_words[i]), recent->counts.n[i]);
    json_close(out, '}');
    json_key(out, S("recentEvents"));
    json_open(out, '[');
    for (size_t i = 0; i < recent->count; i++)
        put_event(call, out, &recent->events[i], recent->counts.id, false);
    json_close(out, ']');
}
