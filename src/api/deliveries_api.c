#include "api/handlers.h"

#include "api/shapes.h"
#include "api/shown.h"
#include "channels/channel.h"
#include "domain/cause.h"
#include "domain/notification.h"
#include "domain/template.h"
#include "store/due.h"
#include "store/act.h"
#include "store/attempt.h"
#include "store/operation.h"
#include "store/site.h"
#include "store/target.h"

// put_reason writes the code; no reason is null.
static void put_reason(JsonOut *json, DeliveryReason reason)
{
    Str code = str_from(reason_code(reason));
    json_put_str(json, S("reason"), code.len ? code : STR_NONE);
}

// put_wait tells what a due delivery waits for; null where nothing holds it up.
static void put_wait(Call *call, JsonOut *json, const DeliveryView *view)
{
    const RegistryLane *lane = registry_lane(call->registry, view->promise.lane);
    bool waits = lane && view->due_at != INSTANT_NONE && !registry_lane_may_send(lane);
    json_put_str(json, S("waits"), waits ? registry_wait(call->arena, lane->channel) : STR_NONE);
}

// Looked is a delivery with all that there is to tell of it.
typedef struct Looked {
    DeliveryView view;
    Str key;    // see dedup_key()
    Str survey; // whose rule made it; none
    int64_t survey_version;
    TargetRow *targets; // of a single one that has several
    size_t target_count;
} Looked;

// dedup_key is the hash of the dedup key, recomputed from the event and the version that decided;
// none where that has no recipe, or the event cannot be read.
static Str dedup_key(Call *call, const DeliveryView *view, const Trigger *trigger)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Event event = view->origin;
    Sha256 hash;
    if (trigger->template || trigger->dedup_count == 0 ||
        event_parse(&scratch, &event, NULL) != ERR_OK ||
        !trigger_key(&scratch, trigger, &event, &hash))
        return STR_NONE;
    return hex_text(call->arena, hash.b, sizeof hash.b);
}

// look_under reads what the version says under which it was made; nothing where that cannot be
// read.
static Err look_under(Call *call, Db *db, Looked *looked, Error *error)
{
    const Trigger *trigger;
    const Promise *promise = &looked->view.promise;
    TRY(versions_load(writer_versions(call->api->writer), db, call->tenant, promise->rule,
                      promise->version, &trigger, error));
    if (!trigger)
        return ERR_OK;
    looked->key = dedup_key(call, &looked->view, trigger);
    looked->survey = trigger->survey.at ? str_dup(call->arena, trigger->survey) : STR_NONE;
    looked->survey_version = trigger->survey_version;
    versions_drop(trigger);
    return ERR_OK;
}

// put_outcome writes what became of an attempt, or of a target; NULL: nothing is known yet.
static void put_outcome(JsonOut *json, const Outcome *outcome)
{
    static const Outcome none = { 0 };
    const Outcome *shown = outcome ? outcome : &none;
    json_put_str(json, S("outcome"), outcome ? str_from(verdict_text(shown->verdict)) : STR_NONE);
    put_reason(json, shown->reason);
    if (shown->code)
        json_put_i64(json, S("code"), shown->code);
    else
        json_put_null(json, S("code"));
    json_put_str(json, S("providerId"), shown->provider_id);
    json_put_str(json, S("detail"), shown->detail);
}

void put_target(const Call *call, JsonOut *json, const TargetRow *row)
{
    json_open(json, '{');
    json_put_str(json, S("address"), call_address(call, row->target.address));
    json_put_str(json, S("name"), row->target.name);
    json_put_str(json, S("locale"), row->target.locale);
    put_outcome(json, row->target.send > 0 ? &row->target.outcome : NULL);
    json_put_time(json, S("at"), row->told_at);
    json_close(json, '}');
}

void put_targets(const Call *call, JsonOut *json, Str name, const TargetRow *targets, size_t count)
{
    json_key(json, name);
    json_open(json, '[');
    for (size_t i = 0; i < count; i++)
        put_target(call, json, &targets[i]);
    json_close(json, ']');
}

static void put_delivery(Call *call, JsonOut *json, const Looked *looked)
{
    const DeliveryView *view = &looked->view;
    Str by = STR_NONE; // none where the event got lost
    if (view->origin.kind.at)
        by = str_format(call->arena, "event:%.*s", STR_ARG(view->origin.kind));
    json_open(json, '{');
    json_put_id(json, S("id"), view->promise.id);
    json_put_str(json, S("publicId"), view->promise.public_id);
    json_put_id(json, S("eventId"), view->promise.event);
    json_put_str(json, S("tenant"), call_tenant_id(call));
    json_put_str(json, S("triggerId"), view->rule_kind == RULE_TRIGGER ? view->rule_id : STR_NONE);
    json_put_i64(json, S("triggerVersion"), view->promise.version);
    rule_put(json, view->rule_kind, view->rule_id, view->promise.version);
    json_put_str(json, S("surveyId"), looked->survey);
    if (looked->survey.at)
        json_put_i64(json, S("surveyVersion"), looked->survey_version);
    else
        json_put_null(json, S("surveyVersion"));
    json_put_str(json, S("channel"), view->channel);
    json_put_str(json, S("address"), call_address(call, view->promise.address));
    json_put_str(json, S("locale"), view->promise.locale);
    json_put_str(json, S("customerRef"), view->promise.customer_ref);
    json_put_str(json, S("entity"), view->promise.entity);
    json_put_str(json, S("site"), view->site);
    json_put_str(json, S("state"), str_from(delivery_state_text(view->state)));
    json_put_str(json, S("status"), view_status(view_family(call->registry, view), view));
    put_reason(json, view->reason);
    json_put_time(json, S("triggeredAt"), view->promise.triggered_at);
    json_put_str(json, S("triggeredBy"), by);
    json_put_time(json, S("dueAt"), view->due_at);
    json_put_time(json, S("expiresAt"), view->expires_at);
    json_put_time(json, S("lastSentAt"), view->last_sent_at);
    json_put_time(json, S("openedAt"), view->opened_at);
    json_put_time(json, S("endedAt"), view->ended_at);
    json_put_i64(json, S("send"), view->send);
    json_put_i64(json, S("attemptCount"), view->attempt);
    json_put_i64(json, S("remindersRemaining"), view->reminders_left);
    json_put_bool(json, S("inFlight"), view->is_in_flight);
    json_put_str(json, S("lastError"), view->last_error);
    put_wait(call, json, view);
    json_put_str(json, S("dedupHash"), looked->key);
    json_put_stored(json, S("payload"), view->origin.payload);
    if (view->rule_kind == RULE_TEST)
        json_put_bool(json, S("test"), true);
    if (looked->target_count > 0)
        put_targets(call, json, S("targets"), looked->targets, looked->target_count);
    json_close(json, '}');
}

static const char *const state_words[] = {
#define STATE_WORD(name, text, ...) [DELIVERY_##name] = (text),
    DELIVERY_STATE_TABLE(STATE_WORD)
#undef STATE_WORD
        [DELIVERY_STATE_COUNT] = NULL,
};

enum {
    LIST_STATE,
    LIST_TRIGGER,
    LIST_CHANNEL,
    LIST_TYPE,
    LIST_LIST,
    LIST_EVENT,
    LIST_ENTITY,
    LIST_SITE,
    LIST_CAUSE,
    LIST_Q,
    LIST_STUCK,
    LIST_FROM,
    LIST_TO,
    LIST_DUE_FROM,
    LIST_DUE_TO,
};

// clang-format off
const Param delivery_params[] = {
    [LIST_STATE]   = { "state",   PARAM_WORD, .words = state_words, .help = "In this state" },
    [LIST_TRIGGER] = { "trigger", PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "Made by this trigger" },
    [LIST_CHANNEL] = { "channel", PARAM_TEXT, .max = CHANNEL_KEY_MAX, .help = "Sent on this channel" },
    [LIST_TYPE]    = { "type",    PARAM_TEXT, .max = NOTIFICATION_TYPE_MAX, .help = "Sent on a channel of this type" },
    [LIST_LIST]    = { "list",    PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "To this list" },
    [LIST_EVENT]   = { "event",   PARAM_ID,   .help = "Made of this event" },
    [LIST_ENTITY]  = { "entity",  PARAM_TEXT, .max = EVENT_ENTITY_MAX, .help = "About this entity" },
    [LIST_SITE]    = { "site",    PARAM_TEXT, .max = SITE_NAME_MAX, .help = "Of an event that this site handed on" },
    [LIST_CAUSE]   = { "cause",   PARAM_TEXT, .max = CAUSE_TEXT_LEN, .help = "Parked or retrying because of this cause, as /v1/causes told it; with state" },
    [LIST_Q]       = { "q",       PARAM_TEXT, .max = DELIVERY_QUERY_MAX, .help = "With all of these words in address, reference, public id or entity, or in the subject of a notification" },
    [LIST_STUCK]   = { "stuck",   PARAM_BOOL, .help = "Due ten minutes ago or longer, and not sent" },
    [LIST_FROM]    = { "from",    PARAM_TIME, .help = "Triggered at this time or later" },
    [LIST_TO]      = { "to",      PARAM_TIME, .help = "Triggered before this time" },
    [LIST_DUE_FROM] = { "dueFrom", PARAM_TIME, .help = "Its next send is due at this time or later; the first that is due comes first" },
    [LIST_DUE_TO]   = { "dueTo",   PARAM_TIME, .help = "Its next send is due before this time; the first that is due comes first" },
    { 0 },
};
// clang-format on

// OfType is what type= asks of each delivery once it is read.
typedef struct OfType {
    const Call *call;
    Str type;
} OfType;

static bool is_of_type(const DeliveryView *view, const void *with)
{
    const OfType *of = with;
    const Call *call = of->call;
    const RegistryChannel *channel =
        view->channel.at ? registry_channel(call->registry, call->tenant, view->channel) : NULL;
    return channel && str_eq(channel->definition.type, of->type);
}

static DeliveryFilter read_filter(const Call *call, OfType *type)
{
    DeliveryFilter filter = delivery_filter_any();
    size_t state = 0;
    bool stuck = false;
    filter.has_state = param_word(call, LIST_STATE, &state);
    filter.state = (DeliveryState) state;
    param_text(call, LIST_TRIGGER, &filter.trigger);
    param_text(call, LIST_LIST, &filter.list);
    param_text(call, LIST_CHANNEL, &filter.channel);
    filter.has_event = param_id(call, LIST_EVENT, &filter.event);
    param_text(call, LIST_ENTITY, &filter.entity);
    param_text(call, LIST_SITE, &filter.site);
    param_text(call, LIST_CAUSE, &filter.cause);
    param_text(call, LIST_Q, &filter.q);
    param_time(call, LIST_FROM, &filter.from);
    param_time(call, LIST_TO, &filter.to);
    param_bool(call, LIST_STUCK, &stuck);
    if (stuck)
        filter.stuck_before = clock_now(call->api->clock) - DELIVERY_STUCK_AFTER;
    if (param_text(call, LIST_TYPE, &type->type)) {
        filter.fits = is_of_type;
        filter.fits_with = type;
    }
    return filter;
}

// check_cause refuses a cause that is none, or that is asked for where nothing has one.
static Err check_cause(const DeliveryFilter *filter, Error *error)
{
    int64_t cause;
    bool may_have = filter->has_state &&
                    (filter->state == DELIVERY_PARKED || filter->state == DELIVERY_RETRYING);
    if (!filter->cause.at || (may_have && cause_parse(filter->cause, &cause)))
        return ERR_OK;
    error_add(error, S("/cause"), "bad-value",
              may_have ? "must be a cause that /v1/causes told"
                       : "goes with state=parked or state=retrying");
    return error_close(error, ERR_INVALID);
}

// keep_to_site: a site's key sees what its own site handed on.
static Err keep_to_site(const Call *call, DeliveryFilter *filter, Error *error)
{
    if (call->key->role != ROLE_SITE)
        return ERR_OK;
    if (filter->site.at && !str_eq(filter->site, call->key->site_name))
        return fail(error, ERR_FORBIDDEN, "a key with the role site may ask for its own site only");
    filter->site = call->key->site_name;
    return ERR_OK;
}

static bool is_in_sight(const Call *call, const DeliveryView *view)
{
    return call->key->role != ROLE_SITE || str_eq(view->site, call->key->site_name);
}

// find_page: what is due within a time comes in that order, all else newest first.
static Err find_page(Call *call, Db *db, const DeliveryFilter *filter, const Walk *walk,
                     DeliveryView **ret, Seen *ret_seen, Error *error)
{
    DueTimes times = { .to = INSTANT_NONE };
    bool has_from = param_time(call, LIST_DUE_FROM, &times.from);
    bool has_to = param_time(call, LIST_DUE_TO, &times.to);
    if (!has_from && !has_to)
        return delivery_page(db, call->arena, call->tenant, filter, walk, ret, ret_seen, error);
    if (filter->q.at || filter->cause.at || filter->stuck_before != INSTANT_NONE) {
        error_add(error, has_from ? S("/dueFrom") : S("/dueTo"), "bad-value",
                  "does not go with q, cause or stuck");
        return error_close(error, ERR_INVALID);
    }
    return due_page(db, call->arena, call->tenant, &times, filter, walk, ret, ret_seen, error);
}

Err delivery_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    DeliveryView *views;
    OfType type = { .call = call };
    DeliveryFilter filter = read_filter(call, &type);
    TRY(check_cause(&filter, error));
    TRY(keep_to_site(call, &filter, error));
    if (filter.q.at)
        TRY(call_may_search(call, error));
    TRY(call_walk(call, &walk, error));
    TRY(find_page(call, db, &filter, &walk, &views, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++) {
        Looked looked = { .view = views[i] };
        TRY(look_under(call, db, &looked, error));
        put_delivery(call, json, &looked);
    }
    page_close(call, &seen);
    return ERR_OK;
}

static Err tell_delivery(Call *call, Error *error)
{
    const Looked *looked = call->with;
    (void) error;
    put_delivery(call, call_json(call, 200), looked);
    return ERR_OK;
}

Err first_targets(const Call *call, Db *db, Uuid id, TargetRow **ret, size_t *ret_count,
                  Error *error)
{
    Seen seen;
    Walk walk = { .limit = TARGETS_MAX };
    TRY(target_page(db, call->arena, call->tenant, id, &walk, ret, &seen, error));
    *ret_count = seen.count;
    return ERR_OK;
}

// look_at reads the delivery for tell_delivery().
static Err look_at(Call *call, Db *db, Uuid id, Error *error)
{
    Looked *looked = ARENA_NEW(call->arena, Looked);
    TRY(delivery_view(db, call->arena, call->tenant, id, &looked->view, error));
    if (!is_in_sight(call, &looked->view))
        return delivery_missing(id, error);
    TRY(look_under(call, db, looked, error));
    TRY(first_targets(call, db, id, &looked->targets, &looked->target_count, error));
    call->with = looked;
    call_later(call, tell_delivery);
    return ERR_OK;
}

Err delivery_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    TRY(call_id(call, 0, &id, error));
    return look_at(call, db, id, error);
}

static void put_attempt(JsonOut *json, const AttemptView *view)
{
    const AttemptRow *attempt = &view->attempt;
    json_open(json, '{');
    json_put_i64(json, S("number"), attempt->number);
    json_put_i64(json, S("send"), attempt->send);
    json_put_time(json, S("startedAt"), attempt->started_at);
    json_put_time(json, S("finishedAt"), attempt->finished_at);
    put_outcome(json, &attempt->outcome);
    json_put_str(json, S("node"), view->node);
    json_close(json, '}');
}

Err delivery_attempts(Call *call, Db *db, Error *error)
{
    Uuid id;
    Walk walk;
    Seen seen;
    DeliveryView delivery;
    AttemptView *views;
    TRY(call_id(call, 0, &id, error));
    TRY(call_walk(call, &walk, error));
    TRY(delivery_view(db, call->arena, call->tenant, id, &delivery, error));
    if (!is_in_sight(call, &delivery))
        return delivery_missing(id, error);
    TRY(attempt_page(db, call->arena, call->tenant, id, &walk, &views, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_attempt(json, &views[i]);
    page_close(call, &seen);
    return ERR_OK;
}

// act does to the delivery what the route says, with the reason that the body may give, and answers
// with the delivery as it is then.
static Err act(Call *call, Tx *tx, DeliveryAction action, Error *error)
{
    Uuid id;
    Str reason = STR_NONE;
    TRY(call_id(call, 0, &id, error));
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &reason_shape, &reason, error));
    TRY(act_one(tx, call->tenant, id, action, reason, error));
    return look_at(call, tx->db, id, error);
}

Err delivery_retry(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_RETRY, error);
}

Err delivery_discard(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_DISCARD, error);
}

Err delivery_cancel(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_CANCEL, error);
}

Err delivery_complete(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_COMPLETE, error);
}

// render is what the message said, as it was said: nothing that was rendered is kept. What a reader
// must not see of the recipient is masked in it.
static void render(Call *call, const Captured *captured, const Trigger *rule, Message *message)
{
    Error error = { .arena = call->arena };
    Event event = { .id = captured->promise.event,
                    .kind = captured->event_kind,
                    .entity = captured->promise.entity,
                    .occurred_at = captured->occurred_at,
                    .received_at = captured->promise.triggered_at,
                    .payload = captured->payload,
                    .recipient = call_recipient(call, captured->recipient) };
    Filling filling = { .event = &event, .url = message->url };
    if (event_parse(call->arena, &event, &error) != ERR_OK ||
        template_say(rule->template, call->arena, &filling, &message->content, &error) != ERR_OK)
        message->content = (Content){ 0 };
}

static void put_captured(Call *call, JsonOut *json, const Captured *captured, const Trigger *rule)
{
    Message message = {
        .promise = captured->promise,
        .event_kind = captured->event_kind,
        .rule_kind = captured->rule_kind,
        .rule_id = captured->rule_id,
        .automation = rule ? rule->automation : STR_NONE,
        .send = captured->send,
        .attempt = captured->number,
        .url = message_link(call->arena, call->api->url_template, captured->promise.public_id),
        .occurred_at = captured->occurred_at,
        .payload = captured->payload,
    };
    message.promise.address = call_address(call, captured->promise.address);
    if (rule && rule->template)
        render(call, captured, rule, &message);
    json_open(json, '{');
    json_put_time(json, S("at"), captured->started_at);
    json_put_id(json, S("deliveryId"), captured->promise.id);
    json_put_str(json, S("channel"), captured->channel);
    json_put_str(json, S("address"), message.promise.address);
    json_put_i64(json, S("send"), captured->send);
    json_put_i64(json, S("attempt"), captured->number);
    json_put_str(json, S("url"), message.url);
    json_put_stored(json, S("body"), message_json(call->arena, &message));
    json_close(json, '}');
}

enum { CAPTURED_DELIVERY, CAPTURED_CHANNEL, CAPTURED_NEWEST };

// clang-format off
const Param captured_params[] = {
    [CAPTURED_DELIVERY] = { "delivery", PARAM_ID,   .help = "Of this delivery" },
    [CAPTURED_CHANNEL]  = { "channel",  PARAM_TEXT, .max = CHANNEL_KEY_MAX, .help = "By this channel" },
    [CAPTURED_NEWEST]   = { "newest",   PARAM_BOOL, .help = "The newest first; the oldest unless said" },
    { 0 },
};
// clang-format on

Err captured_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    CapturedFilter filter = { 0 };
    Captured *all;
    TRY(call_walk(call, &walk, error));
    filter.has_delivery = param_id(call, CAPTURED_DELIVERY, &filter.delivery);
    param_text(call, CAPTURED_CHANNEL, &filter.channel);
    param_bool(call, CAPTURED_NEWEST, &filter.is_newest_first);
    TRY(captured_page(db, call->arena, call->tenant, &filter, &walk, &all, &seen, error));
    VersionKey *keys = ARENA_ARRAY(call->arena, VersionKey, seen.count + 1);
    const Trigger **rules = ARENA_ARRAY(call->arena, const Trigger *, seen.count + 1);
    for (size_t i = 0; i < seen.count; i++)
        keys[i] = (VersionKey){ all[i].promise.rule, all[i].promise.version };
    TRY(versions_load_all(writer_versions(call->api->writer), db, call->tenant, keys, seen.count,
                          rules, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++) {
        put_captured(call, json, &all[i], rules[i]);
        versions_drop(rules[i]);
    }
    page_close(call, &seen);
    return ERR_OK;
}
