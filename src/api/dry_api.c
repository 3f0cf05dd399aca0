#include "api/dry.h"

#include "api/decided.h"
#include "channels/hidden.h"
#include "engine/compose.h"
#include "store/accept.h"
#include "store/delivery.h"
#include "store/event.h"
#include "store/secret.h"

// A definition is tried out: what it would decide, when it would send, and what. Each step is the
// one that is taken when an event comes (accept.h, delivery.h, engine/compose.h), up to where it
// would be written. A reader may ask, so no secret is opened for it: the request is made with
// stand-ins, else whoever may read could have Peal sign what he likes.

#define PUBLIC_ID S("preview") // of a delivery that is never made

// read_event makes the event: kind is what it is of where that is not said.
static Err read_event(Call *call, const DryBody *body, Str kind, Event *ret, Error *error)
{
    bool says_kind = json_get(body->event, S("kind")) != NULL;
    TRY(says_kind ? event_build(call->arena, body->event, ret, error)
                  : event_build_item(call->arena, kind, body->event, ret, error));
    ret->tenant = call->tenant;
    return event_check_size(ret, call->api->payload_max, error);
}

static Err load_event(Call *call, Db *db, const DryBody *body, Event *ret, Error *error)
{
    TRY(event_row(db, call->arena, call->tenant, body->stored, ret, error));
    if (!ret->payload_json)
        return fail(error, ERR_CORRUPT, "the event's payload cannot be read");
    return ERR_OK;
}

// find_event reads the event that the body names or has, as if it came now.
static Err find_event(Call *call, Db *db, const DryBody *body, Str kind, Event *ret, Error *error)
{
    if (body->has_stored == (body->event != NULL))
        return fail(error, ERR_INVALID, "give \"event\" or \"eventId\", one of them");
    TRY(body->has_stored ? load_event(call, db, body, ret, error)
                         : read_event(call, body, kind, ret, error));
    ret->received_at = clock_now(call->api->clock);
    return ERR_OK;
}

Err filter_test(Call *call, Db *db, Error *error)
{
    DryBody body = { 0 };
    Event event = { 0 };
    FilterMiss miss = { .leaf = -1 };
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &filter_test_body_shape, &body, error));
    TRY(find_event(call, db, &body, S("event"), &event, error));
    bool matches = filter_matches(body.filter, &event, body.template_id, &miss);
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_bool(json, S("matches"), matches);
    json_key(json, S("explain"));
    if (matches) {
        json_add_null(json);
    } else {
        FilterReason reason =
            filter_explain(call->arena, body.filter, miss.leaf, &event, body.template_id);
        json_open(json, '{');
        decided_put_reason(call, json, &reason);
        json_close(json, '}');
    }
    json_close(json, '}');
    return ERR_OK;
}

// Dry is a trigger being tried.
typedef struct Dry {
    Call *call;
    const RegistryTrigger *rule;
    Event event;
    bool is_stored;
    AcceptTrial trial;
    const RegistryLane *way; // NULL: there is none
    const ChannelType *type; // NULL: there is no such channel
    Live first;              // as the first send is claimed
    bool is_stopped;         // before anything is sent …
    Settlement stop;         // … as this says
    Str stop_detail;
} Dry;

static const Plan *plan_of(const Dry *dry)
{
    return &dry->trial.decision.trigger->rule.plan;
}

static bool is_made(const Dry *dry)
{
    return dry->trial.decision.kind == DECISION_CREATED;
}

static Live begin(const Live *live)
{
    enum { NODE = 1 };
    return delivery_claim(live, live->due_at, live->due_at + SPAN_MINUTE, NODE);
}

static Settlement settle(const Dry *dry, const Live *claimed, const Outcome *outcome)
{
    RetryPolicy policy = retry_default();
    return delivery_settle(claimed, plan_of(dry), &policy, outcome, claimed->started_at, 0);
}

// put_plan goes through the sends as if each went out when it is due.
static void put_plan(const Dry *dry, JsonOut *json)
{
    static const Outcome delivered = { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED };
    Instant expires_at = INSTANT_NONE;
    json_key(json, S("plan"));
    json_open(json, '[');
    for (Live sent = dry->first; is_made(dry);) {
        json_open(json, '{');
        json_put_i64(json, S("send"), sent.send);
        json_put_time(json, S("at"), sent.started_at);
        json_close(json, '}');
        Live next = settle(dry, &sent, &delivered).live;
        if (next.state == DELIVERY_WAITING && next.step == STEP_EXPIRE)
            expires_at = next.due_at;
        if (next.state != DELIVERY_WAITING || next.step != STEP_SEND)
            break;
        sent = begin(&next);
    }
    json_close(json, ']');
    json_put_time(json, S("expiresAt"), expires_at);
}

// claimed_of is the delivery as it would be claimed for its first send; shown: as the caller may
// see it. Who gave the event knows whom it goes to.
static Claimed claimed_of(const Dry *dry, bool shown)
{
    const Event *event = &dry->event;
    const Decision *decision = &dry->trial.decision;
    const Rule *rule = &decision->trigger->rule;
    bool is_masked = shown && dry->is_stored;
    Instant occurred_at =
        event->occurred_at != INSTANT_NONE ? event->occurred_at : event->received_at;
    return (Claimed){
        .promise = { .tenant = event->tenant,
                     .id = delivery_id_of(event->id, 1),
                     .event = event->id,
                     .public_id = PUBLIC_ID,
                     .rule = rule->number,
                     .version = rule->version,
                     .lane = decision->lane,
                     .triggered_at = event->received_at,
                     .address =
                         is_masked ? call_address(dry->call, decision->address) : decision->address,
                     .locale = decision->locale,
                     .customer_ref = decision->customer_ref,
                     .entity = event->entity },
        .live = dry->first,
        .event_kind = event->kind,
        .trace = event->trace,
        .payload = event->payload,
        .recipient = is_masked ? call_recipient(dry->call, event->recipient) : event->recipient,
        .origin = { event->source, event->received_at, occurred_at },
        .trigger = decision->trigger,
    };
}

const Json *sent_config(Call *call, const RegistryChannel *channel, const ChannelType *type)
{
    const Json *stored = NULL, *shown = NULL;
    bool may_edit = call->key->role == ROLE_AUTHOR || call->key->role == ROLE_ADMIN;
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    if (!channel->config.at || json_parse(call->arena, channel->config, &stored, NULL) != ERR_OK)
        return NULL;
    secret_show(&out, call->arena, type->config, stored, may_edit);
    if (json_parse(call->arena, buf_str(&text), &shown, NULL) != ERR_OK)
        return NULL;
    return hidden_stand_ins(call->arena, type->config, shown);
}

Err sent_describe(const Parcel *parcel, Sent *ret, Error *error)
{
    Transfer transfer = { 0 };
    Process process = { 0 };
    switch (parcel->type->carrier) {
    case CARRIER_TRANSFER:
        TRY(compose_request(parcel, &transfer, error));
        ret->url = transfer.url;
        ret->headers = transfer.headers;
        ret->header_count = transfer.header_count;
        ret->body = transfer.body;
        break;
    case CARRIER_PROCESS:
        TRY(parcel->type->command(parcel, &process, error));
        ret->body = process.input;
        break;
    case CARRIER_CAPTURE:
    case CARRIER_PULLED:
        ret->body = message_json(parcel->arena, parcel->messages);
        break;
    }
    return ERR_OK;
}

// make composes the first send. False: it came to nothing, and outcome says why.
static bool make(const Dry *dry, bool shown, Sent *ret, Outcome *outcome)
{
    const Api *api = dry->call->api;
    Arena *arena = dry->call->arena;
    Error error = { .arena = arena };
    Claimed claimed = claimed_of(dry, shown);
    Message message;
    Target target = { .address = claimed.promise.address,
                      .outcome = { .verdict = VERDICT_UNKNOWN } };
    Parcel parcel = { .type = dry->type,
                      .config = sent_config(dry->call, dry->way->channel, dry->type),
                      .messages = &message,
                      .count = 1,
                      .arena = arena,
                      .now = dry->first.started_at,
                      .exec_folder = api->exec_folder };
    *ret = (Sent){ .address = claimed.promise.address };
    compose(&claimed, dry->type, api->url_template, &target, 1, arena, &message);
    if (!parcel_is_judged(&parcel) && sent_describe(&parcel, ret, &error) != ERR_OK)
        parcel_judge(&parcel, &(Outcome){ .verdict = VERDICT_PERMANENT,
                                          .reason = REASON_BAD_REQUEST,
                                          .detail = str_dup(arena, str_from(error.detail)) });
    *outcome = target.outcome;
    return !parcel_is_judged(&parcel);
}

static void put_body(JsonOut *json, Arena *arena, Str body)
{
    const Json *parsed;
    if (json_parse(arena, body, &parsed, NULL) == ERR_OK)
        json_put_raw(json, S("body"), body);
    else
        json_put_str(json, S("body"), body);
}

static void put_sent(const Dry *dry, JsonOut *json, const Sent *sent)
{
    json_open(json, '{');
    json_put_str(json, S("channel"), dry->way->channel_key);
    json_put_str(json, S("address"), sent->address);
    json_put_str(json, S("url"), sent->url);
    json_key(json, S("headers"));
    json_open(json, '{');
    for (size_t i = 0; i < sent->header_count; i++)
        json_put_str(json, sent->headers[i].name, sent->headers[i].value);
    json_close(json, '}');
    put_body(json, dry->call->arena, sent->body);
    json_close(json, '}');
}

// put_message writes what would be sent, or null where it stops before. What is made for a caller
// who sees addresses masked may not be what a channel takes: then only the rest is shown.
static void put_message(Dry *dry, JsonOut *json)
{
    Sent sent = { 0 };
    Outcome outcome;
    json_key(json, S("message"));
    if (!is_made(dry) || dry->is_stopped) {
        json_add_null(json);
    } else if (!make(dry, false, &sent, &outcome)) {
        dry->is_stopped = true;
        dry->stop = settle(dry, &dry->first, &outcome);
        dry->stop_detail = outcome.detail;
        json_add_null(json);
    } else {
        if (!make(dry, true, &sent, &outcome))
            sent = (Sent){ .address = sent.address };
        put_sent(dry, json, &sent);
    }
}

static void put_stop(const Dry *dry, JsonOut *json)
{
    json_key(json, S("stops"));
    if (!dry->is_stopped) {
        json_add_null(json);
        return;
    }
    json_open(json, '{');
    json_put_str(json, S("state"), str_from(delivery_state_text(dry->stop.live.state)));
    json_put_str(json, S("reason"), str_from(reason_code(dry->stop.reason)));
    json_put_str(json, S("detail"), dry->stop_detail);
    json_close(json, '}');
}

// note_of says what the rest of the answer cannot.
static Str note_of(const Dry *dry)
{
    Arena *arena = dry->call->arena;
    const AcceptTrial *trial = &dry->trial;
    const RegistryChannel *channel = dry->way ? dry->way->channel : NULL;
    if (!uuid_is_none(trial->before))
        return str_format(arena, "an event with this id came before: %.*s",
                          STR_ARG(uuid_dup(arena, trial->before)));
    if (trial->calls_off)
        return S("the event calls off what this trigger made for the same values");
    if (trial->decision.reason == DECISION_REASON_OTHER_KIND)
        return str_format(arena, "%.*s listens to %.*s", STR_ARG(dry->rule->id),
                          STR_ARG(dry->rule->kind));
    return is_made(dry) && channel && channel->is_sealed ? registry_wait(arena, channel) : STR_NONE;
}

// plan_first finds out where the delivery would go, and whether that is a way out.
static void plan_first(Dry *dry)
{
    const AcceptTrial *trial = &dry->trial;
    const Registry *registry = dry->call->registry;
    Live pending = delivery_first(plan_of(dry), trial->decision.due_at, dry->event.received_at);
    dry->first = begin(&pending);
    dry->way = registry_lane(registry, trial->decision.lane);
    if (dry->way && dry->way->channel)
        dry->type = channel_type_find(dry->way->channel->definition.type);
    DeliveryReason reason = compose_refusal(dry->way, dry->type, trial->decision.trigger);
    if (trial->is_opted_out)
        reason = REASON_OPTED_OUT;
    dry->is_stopped = reason != REASON_NONE;
    if (!dry->is_stopped)
        return;
    dry->stop = delivery_refuse(&dry->first, plan_of(dry), reason, dry->first.started_at);
    dry->stop_detail = str_from(reason_meaning(reason));
}

static void put_decision(const Dry *dry, JsonOut *json)
{
    const Decision *decision = &dry->trial.decision;
    Decided decided = { .by = { dry->rule->rule, dry->rule->version },
                        .rule = { RULE_TRIGGER, dry->rule->id },
                        .kind = decision->kind,
                        .reason = decision->reason,
                        .leaf = decision->leaf,
                        .delivery = dry->trial.holder };
    json_key(json, S("decision"));
    decided_put(dry->call, json, &decided, decision->trigger, &dry->event);
}

static void put_dry(Dry *dry, JsonOut *json)
{
    json_open(json, '{');
    put_decision(dry, json);
    put_plan(dry, json);
    put_message(dry, json);
    put_stop(dry, json);
    json_put_bool(json, S("callsOff"), dry->trial.calls_off);
    json_put_str(json, S("note"), note_of(dry));
    json_close(json, '}');
}

Err trigger_test(Call *call, Db *db, Error *error)
{
    DryBody body = { 0 };
    Dry dry = { .call = call };
    TRY(call_body(call, error));
    dry.rule = registry_rule(call->registry, call->tenant, RULE_TRIGGER, call->params[0]);
    if (!dry.rule)
        return fail(error, ERR_NOT_FOUND, "there is no trigger %.*s", STR_ARG(call->params[0]));
    TRY(fields_read(call->arena, call->body, S(""), &trigger_test_body_shape, &body, error));
    TRY(find_event(call, db, &body, dry.rule->kind, &dry.event, error));
    dry.is_stored = body.has_stored;
    const Event *events[] = { &dry.event };
    TRY(accept_try(db, call->arena, call->registry, dry.rule, events, ARRAY_LEN(events),
                   clock_now(call->api->clock), &dry.trial, error));
    if (is_made(&dry))
        plan_first(&dry);
    put_dry(&dry, call_json(call, 200));
    return ERR_OK;
}
