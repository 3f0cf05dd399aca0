#include "api/handlers.h"

#include "store/attempt.h"
#include "store/decision.h"
#include "store/delivery.h"
#include "store/event.h"

// What one answer about an event shows at most.
enum { DELIVERIES_MAX = 2000, ATTEMPTS_MAX = 5000, NOTE_MAX = 2000 };

static Str id_text(Arena *arena, Uuid id)
{
    return uuid_is_none(id) ? STR_NONE : uuid_dup(arena, id);
}

static void put_event(Call *call, JsonOut *json, const Event *event)
{
    json_open(json, '{');
    json_put_str(json, S("id"), id_text(call->arena, event->id));
    json_put_str(json, S("kind"), event->kind);
    json_put_str(json, S("source"), event->source);
    json_put_str(json, S("entity"), event->entity);
    json_put_str(json, S("correlationId"), event->correlation_id);
    json_put_str(json, S("traceparent"), event->trace);
    json_put_time(json, S("receivedAt"), event->received_at);
    json_put_time(json, S("occurredAt"), event->occurred_at);
    json_put_stored(json, S("payload"), event->payload);
    json_put_stored(json, S("recipient"), event->recipient);
    json_close(json, '}');
}

enum { EVENTS_KIND, EVENTS_FROM, EVENTS_TO };

// clang-format off
const Param event_params[] = {
    [EVENTS_KIND] = { "kind", PARAM_TEXT, .max = EVENT_KIND_MAX, .help = "Of this kind" },
    [EVENTS_FROM] = { "from", PARAM_TIME, .help = "Received at this time or later" },
    [EVENTS_TO]   = { "to",   PARAM_TIME, .help = "Received before this time" },
    { 0 },
};
// clang-format on

Err event_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    EventFilter filter = { .to = INSTANT_NONE };
    Event *events;
    TRY(call_walk(call, &walk, error));
    param_text(call, EVENTS_KIND, &filter.kind);
    param_time(call, EVENTS_FROM, &filter.from);
    param_time(call, EVENTS_TO, &filter.to);
    TRY(event_page(db, call->arena, call->tenant, &filter, &walk, &events, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_event(call, json, &events[i]);
    page_close(call, &seen);
    return ERR_OK;
}

Err event_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    Event event;
    TRY(call_id(call, 0, &id, error));
    TRY(event_row(db, call->arena, call->tenant, id, &event, error));
    put_event(call, call_json(call, 200), &event);
    return ERR_OK;
}

// Decided is what one trigger made of the event.
typedef struct Decided {
    int64_t rule;
    Str trigger_id;
    int64_t version;
    DecisionKind kind;
    DecisionReason reason;
    int leaf;      // of the filter that decided; -1
    Uuid delivery; // made, or holding the key; zero
} Decided;

// Story is an event with all that was made of it.
typedef struct Story {
    Event event;
    Decided *decisions; // by trigger, those that became a delivery too
    size_t decision_count;
    DeliveryView *deliveries;
    size_t delivery_count;
} Story;

static int by_trigger(const void *a, const void *b)
{
    const Decided *x = a, *y = b;
    return str_cmp(x->trigger_id, y->trigger_id);
}

static Decided missed(const Miss *miss, Str rule_id)
{
    return (Decided){ .rule = miss->rule,
                      .trigger_id = rule_id,
                      .version = miss->version,
                      .kind = miss->kind,
                      .reason = miss->reason,
                      .leaf = miss->leaf,
                      .delivery = miss->holder };
}

static Decided created(const DeliveryView *delivery)
{
    return (Decided){ .rule = delivery->promise.rule,
                      .trigger_id = delivery->rule_id,
                      .version = delivery->promise.version,
                      .kind = DECISION_CREATED,
                      .reason = DECISION_REASON_MATCHED,
                      .leaf = -1,
                      .delivery = delivery->promise.id };
}

// read_story reads the event of the path. Only what did not become a delivery is stored as a
// decision, so the others are made up from their deliveries.
static Err read_story(Call *call, Db *db, Story *ret, Error *error)
{
    Uuid id;
    Miss *misses;
    Str *names;
    size_t miss_count;
    TRY(call_id(call, 0, &id, error));
    TRY(event_row(db, call->arena, call->tenant, id, &ret->event, error));
    TRY(delivery_of_event(db, call->arena, call->tenant, id, 0, DELIVERIES_MAX, &ret->deliveries,
                          &ret->delivery_count, error));
    TRY(decision_of_event(db, call->arena, call->tenant, id, &misses, &names, &miss_count, error));

    ret->decision_count = miss_count + ret->delivery_count;
    ret->decisions = ARENA_ARRAY(call->arena, Decided, ret->decision_count + 1);
    for (size_t i = 0; i < miss_count; i++)
        ret->decisions[i] = missed(&misses[i], names[i]);
    for (size_t i = 0; i < ret->delivery_count; i++)
        ret->decisions[miss_count + i] = created(&ret->deliveries[i]);
    qsort(ret->decisions, ret->decision_count, sizeof *ret->decisions, by_trigger);
    return ERR_OK;
}

static void put_decision(Call *call, JsonOut *json, const Decided *decision)
{
    json_put_str(json, S("triggerId"), decision->trigger_id);
    json_put_i64(json, S("triggerVersion"), decision->version);
    json_put_str(json, S("outcome"), str_from(decision_text(decision->kind)));
    json_put_str(json, S("reason"), str_from(decision_reason_code(decision->reason)));
    if (!uuid_is_none(decision->delivery))
        json_put_str(json, S("deliveryId"), id_text(call->arena, decision->delivery));
}

// put_reason says which part of the filter was false, recomputed from the version that decided.
static void put_reason(Call *call, JsonOut *json, const Trigger *trigger, int leaf,
                       const Event *event)
{
    FilterReason reason =
        filter_explain(call->arena, trigger->filter, leaf, event, trigger->template_id);
    json_put_str(json, S("path"), reason.path);
    json_put_str(json, S("predicate"), reason.predicate);
    json_put_raw(json, S("seen"), reason.seen);
    json_put_str(json, S("wouldMatchIf"), reason.would_match_if);
}

// put_miss leaves out what a version that cannot be read would have said: the rest of the answer is
// worth having without it.
static Err put_miss(Call *call, Db *db, JsonOut *json, const Decided *decision, const Event *event,
                    Error *error)
{
    const Trigger *trigger;
    TRY(versions_load(writer_versions(call->api->writer), db, call->tenant, decision->rule,
                      decision->version, &trigger, error));
    if (trigger && trigger->filter)
        put_reason(call, json, trigger, decision->leaf, event);
    versions_drop(trigger);
    return ERR_OK;
}

// is_near tells whether b is at most two letters from a, and not another word altogether.
static bool is_near(Str a, Str b)
{
    size_t letters = str_distance(a, b);
    return letters <= 2 && letters * 2 <= a.len;
}

static bool has_decided(const Story *story, Str trigger_id)
{
    Decided wanted = { .trigger_id = trigger_id };
    return bsearch(&wanted, story->decisions, story->decision_count, sizeof wanted, by_trigger) !=
           NULL;
}

static void begin_part(Buf *note)
{
    if (note->len > 0)
        buf_add(note, S("; "));
}

// note_silence says that nothing listens to the kind, and which kind was perhaps meant.
static void note_silence(Arena *arena, Buf *note, const Registry *registry, const Event *event)
{
    Str *kinds;
    size_t count = registry_kinds(registry, arena, event->tenant, &kinds);
    buf_add_format(note, "no trigger listens to %.*s", STR_ARG(event->kind));
    for (size_t i = 0; i < count; i++) {
        if (is_near(event->kind, kinds[i])) {
            buf_add_format(note, ", did you mean %.*s?", STR_ARG(kinds[i]));
            return;
        }
    }
}

// note_of tells what the decisions cannot: who came late, who listens elsewhere, who calls off.
static Str note_of(Arena *arena, const Registry *registry, const Story *story)
{
    const Event *event = &story->event;
    Buf note = buf_new(arena, NOTE_MAX);
    size_t listeners, callers, late = 0;
    const RegistryTrigger *const *triggers =
        registry_triggers(registry, event->tenant, event->kind, &listeners);
    (void) registry_recallers(registry, event->tenant, event->kind, &callers);
    const RegistryTrigger *latest = NULL;
    for (size_t i = 0; i < listeners; i++) {
        if (!has_decided(story, triggers[i]->id)) {
            latest = triggers[i];
            late++;
        }
    }
    size_t elsewhere = registry_trigger_count(registry, event->tenant) - listeners;

    if (story->decision_count == 0 && listeners == 0)
        note_silence(arena, &note, registry, event);
    if (late > 0) {
        begin_part(&note);
        if (late == 1)
            buf_add_format(&note, "%.*s began to listen after this event came",
                           STR_ARG(latest->id));
        else
            buf_add_format(&note, "%zu triggers began to listen after this event came", late);
    }
    if (callers > 0) {
        begin_part(&note);
        buf_add_format(&note, "%zu %s deliveries off on events of this kind", callers,
                       callers == 1 ? "trigger calls" : "triggers call");
    }
    if (elsewhere > 0) {
        begin_part(&note);
        buf_add_format(&note, "%zu other %s to other kinds", elsewhere,
                       elsewhere == 1 ? "trigger listens" : "triggers listen");
    }
    return note.len > 0 ? buf_str(&note) : STR_NONE;
}

Err event_explain(Call *call, Db *db, Error *error)
{
    Story story;
    TRY(read_story(call, db, &story, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("eventId"), id_text(call->arena, story.event.id));
    json_key(json, S("decisions"));
    json_open(json, '[');
    for (size_t i = 0; i < story.decision_count; i++) {
        const Decided *decision = &story.decisions[i];
        json_open(json, '{');
        put_decision(call, json, decision);
        if (decision->kind == DECISION_FILTERED)
            TRY(put_miss(call, db, json, decision, &story.event, error));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_put_str(json, S("note"), note_of(call->arena, call->registry, &story));
    json_close(json, '}');
    return ERR_OK;
}

// What stands in a timeline, in the order in which it happens at one and the same moment.
typedef enum MomentKind { RECEIVED, DECIDED, PLANNED, ATTEMPT, ENDED } MomentKind;

static const char *const moment_texts[] = {
    [RECEIVED] = "received", [DECIDED] = "decided", [PLANNED] = "planned",
    [ATTEMPT] = "attempt",   [ENDED] = "ended",
};

// Moment is one thing that happened; of names the row that tells it.
typedef struct Moment {
    Instant at;
    MomentKind kind;
    size_t order;
    union {
        const Event *event;
        const Decided *decision;
        const DeliveryView *delivery;
        const AttemptView *attempt;
    };
    Instant due_at; // PLANNED: of the first send
} Moment;

static int by_time(const void *a, const void *b)
{
    const Moment *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void put_attempt(Call *call, JsonOut *json, const AttemptView *view)
{
    const Outcome *outcome = &view->attempt.outcome;
    Str reason = str_from(reason_code(outcome->reason));
    json_put_str(json, S("deliveryId"), id_text(call->arena, view->delivery));
    json_put_i64(json, S("number"), view->attempt.number);
    json_put_i64(json, S("send"), view->attempt.send);
    json_put_str(json, S("outcome"), str_from(verdict_text(outcome->verdict)));
    json_put_str(json, S("reason"), reason.len ? reason : STR_NONE);
    if (outcome->code)
        json_put_i64(json, S("code"), outcome->code);
    else
        json_put_null(json, S("code"));
    json_put_str(json, S("detail"), outcome->detail);
    json_put_time(json, S("finishedAt"), view->attempt.finished_at);
}

static void put_ended(Call *call, JsonOut *json, const DeliveryView *delivery)
{
    Str reason = str_from(reason_code(delivery->reason));
    json_put_str(json, S("deliveryId"), id_text(call->arena, delivery->promise.id));
    json_put_str(json, S("state"), str_from(delivery_state_text(delivery->state)));
    json_put_str(json, S("reason"), reason.len ? reason : STR_NONE);
    json_put_str(json, S("note"), delivery->note);
}

static void put_moment(Call *call, JsonOut *json, const Moment *moment)
{
    json_open(json, '{');
    json_put_time(json, S("at"), moment->at);
    json_put_str(json, S("what"), str_from(moment_texts[moment->kind]));
    json_key(json, S("detail"));
    json_open(json, '{');
    switch (moment->kind) {
    case RECEIVED:
        json_put_str(json, S("source"), moment->event->source);
        json_put_str(json, S("kind"), moment->event->kind);
        break;
    case DECIDED:
        put_decision(call, json, moment->decision);
        break;
    case PLANNED:
        json_put_str(json, S("deliveryId"), id_text(call->arena, moment->delivery->promise.id));
        json_put_str(json, S("triggerId"), moment->delivery->rule_id);
        json_put_str(json, S("channel"), moment->delivery->channel);
        json_put_str(json, S("address"), moment->delivery->promise.address);
        json_put_time(json, S("dueAt"), moment->due_at);
        break;
    case ATTEMPT:
        put_attempt(call, json, moment->attempt);
        break;
    case ENDED:
        put_ended(call, json, moment->delivery);
        break;
    }
    json_close(json, '}');
    json_close(json, '}');
}

// add_deliveries adds what was planned and where it ended. The queue forgets when the first send
// was due, so that is worked out again from the plan.
static Err add_deliveries(Call *call, Db *db, const Story *story, Moment *moments, size_t *count,
                          Error *error)
{
    for (size_t i = 0; i < story->delivery_count; i++) {
        const DeliveryView *delivery = &story->deliveries[i];
        const Trigger *trigger;
        TRY(versions_load(writer_versions(call->api->writer), db, call->tenant,
                          delivery->promise.rule, delivery->promise.version, &trigger, error));
        Moment planned = { .at = delivery->promise.triggered_at, .kind = PLANNED, .order = i };
        planned.delivery = delivery;
        planned.due_at = INSTANT_NONE;
        if (trigger)
            planned.due_at =
                plan_first_due(&trigger->rule.plan, delivery->origin.occurred_at,
                               delivery->origin.received_at, delivery->promise.triggered_at);
        versions_drop(trigger);
        moments[(*count)++] = planned;
        if (delivery->ended_at != INSTANT_NONE)
            moments[(*count)++] = (Moment){
                .at = delivery->ended_at, .kind = ENDED, .order = i, .delivery = delivery
            };
    }
    return ERR_OK;
}

Err event_timeline(Call *call, Db *db, Error *error)
{
    Story story;
    AttemptView *attempts;
    size_t attempt_count, count = 0;
    TRY(read_story(call, db, &story, error));
    TRY(attempt_of_event(db, call->arena, call->tenant, story.event.id, (AttemptKey){ 0 },
                         ATTEMPTS_MAX, &attempts, &attempt_count, error));
    Moment *moments = ARENA_ARRAY(
        call->arena, Moment, 1 + story.decision_count + 2 * story.delivery_count + attempt_count);
    Instant received_at = story.event.received_at;
    moments[count++] = (Moment){ .at = received_at, .kind = RECEIVED, .event = &story.event };
    for (size_t i = 0; i < story.decision_count; i++)
        moments[count++] = (Moment){
            .at = received_at, .kind = DECIDED, .order = i, .decision = &story.decisions[i]
        };
    TRY(add_deliveries(call, db, &story, moments, &count, error));
    for (size_t i = 0; i < attempt_count; i++)
        moments[count++] = (Moment){ .at = attempts[i].attempt.started_at,
                                     .kind = ATTEMPT,
                                     .order = i,
                                     .attempt = &attempts[i] };
    qsort(moments, count, sizeof *moments, by_time);
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < count; i++)
        put_moment(call, json, &moments[i]);
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}
