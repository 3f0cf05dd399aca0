#include "api/handlers.h"

#include "api/shapes.h"
#include "api/shown.h"
#include "channels/channel.h"
#include "domain/template.h"
#include "store/accept.h"
#include "store/delivery.h"
#include "store/event.h"
#include "store/message.h"
#include "store/versions.h"

// Messages are the deliveries that templates make (store/message.h): those of an entity are listed,
// sent again, or called off. Addresses are masked for everybody.

static bool is_plain(Str address)
{
    for (size_t i = 0; i < address.len; i++)
        if ((unsigned char) address.at[i] >= 0x80)
            return false;
    return true;
}

// mask keeps what tells addresses apart: +91******3210, a***@example.org.
static Str mask(const Call *call, Str address)
{
    enum { HEAD = 3, TAIL = 4 };
    if (!address.at || !call_sees_recipients(call))
        return call_address(call, address);
    for (size_t i = address.len; i-- > 1;)
        if (address.at[i] == '@')
            return str_format(call->arena, "%.*s***%.*s", (int) str_utf8_len(address), address.at,
                              STR_ARG(str_skip(address, i)));
    if (address.len < HEAD + TAIL + 2 || !is_plain(address))
        return S("***");
    Buf masked = buf_new(call->arena, address.len);
    for (size_t i = 0; i < address.len; i++)
        buf_add_char(&masked, i < HEAD || i >= address.len - TAIL ? address.at[i] : '*');
    return buf_str(&masked);
}

// Messages are deliveries with all that there is to tell of them.
typedef struct Messages {
    DeliveryView *views;
    const Trigger **rules; // held; NULL where one cannot be read
    Resend *resends;
    size_t count;
} Messages;

// read_messages holds the versions of what was read; messages_drop lets go of them.
static Err read_messages(Call *call, Db *db, DeliveryView *views, size_t count, Messages *ret,
                         Error *error)
{
    VersionKey *keys = ARENA_ARRAY(call->arena, VersionKey, count + 1);
    *ret = (Messages){ .views = views,
                       .rules = ARENA_ARRAY(call->arena, const Trigger *, count + 1),
                       .resends = ARENA_ARRAY(call->arena, Resend, count + 1),
                       .count = count };
    for (size_t i = 0; i < count; i++) {
        keys[i] = (VersionKey){ views[i].promise.rule, views[i].promise.version };
        ret->resends[i] = (Resend){ .tenant = call->tenant, .event = views[i].promise.event };
    }
    TRY(resend_find(db, call->arena, ret->resends, count, error));
    return versions_load_all(writer_versions(call->api->writer), db, call->tenant, keys, count,
                             ret->rules, error);
}

static void messages_drop(const Messages *messages)
{
    for (size_t i = 0; i < messages->count; i++)
        versions_drop(messages->rules[i]);
}

static const char *status_of(const DeliveryView *view)
{
    Live live = { .last_sent_at = view->last_sent_at, .opened_at = view->opened_at };
    return delivery_status(STATUS_M, view->state, &live);
}

// provider_of is the type of the channel that a message goes through.
static Str provider_of(const Call *call, const DeliveryView *view)
{
    const RegistryLane *lane = registry_lane(call->registry, view->promise.lane);
    return lane && lane->channel ? lane->channel->definition.type : STR_NONE;
}

static void put_key(Call *call, JsonOut *json, const DeliveryView *view, const Trigger *rule,
                    const Resend *resend)
{
    Str key = STR_NONE;
    if (rule && rule->template) {
        Trigger as_asked = *rule;
        as_asked.request = resend->is_found ? resend->request : STR_NONE;
        key = template_key_text(call->arena, &as_asked, view->promise.entity, view->origin.kind);
    }
    json_put_str(json, S("idempotencyKey"), key);
}

static void put_members(Call *call, JsonOut *json, const Messages *messages, size_t i)
{
    const DeliveryView *view = &messages->views[i];
    const Trigger *rule = messages->rules[i];
    const Resend *resend = &messages->resends[i];
    json_put_id(json, S("id"), view->promise.id);
    json_put_id(json, S("eventId"), view->promise.event);
    json_put_str(json, S("entity"), view->promise.entity);
    json_put_str(json, S("eventType"), view->origin.kind);
    json_put_str(json, S("channel"), view->channel);
    json_put_str(json, S("template"), rule && rule->template ? rule->template->name : STR_NONE);
    json_put_str(json, S("templateId"), view->rule_id);
    json_put_i64(json, S("templateVersion"), view->promise.version);
    json_put_str(json, S("address"), mask(call, view->promise.address));
    json_put_str(json, S("status"), str_from(status_of(view)));
    json_put_str(json, S("reason"), view->reason ? str_from(reason_code(view->reason)) : STR_NONE);
    json_put_time(json, S("sentAt"), view->last_sent_at);
    json_put_i64(json, S("attemptCount"), view->attempt);
    json_put_str(json, S("lastError"), view->last_error);
    put_key(call, json, view, rule, resend);
    json_put_str(json, S("provider"), provider_of(call, view));
    json_put_str(json, S("providerMessageId"), view->provider_id);
    json_put_str(json, S("correlationId"), view->origin.correlation_id);
    if (resend->is_found)
        json_put_id(json, S("requestedBy"), resend->actor);
    else
        json_put_null(json, S("requestedBy"));
    json_put_time(json, S("createdAt"), view->promise.triggered_at);
}

static void put_message(Call *call, JsonOut *json, const Messages *messages, size_t i)
{
    json_open(json, '{');
    put_members(call, json, messages, i);
    json_close(json, '}');
}

enum { MESSAGES_ENTITY, MESSAGES_CHANNEL, MESSAGES_STATUS };

static const char *const statuses[] = { "Pending", "Sent", "Failed", "Cancelled", NULL };

// clang-format off
const Param message_params[] = {
    [MESSAGES_ENTITY]  = { "entity",  PARAM_TEXT, .max = EVENT_ENTITY_MAX, .help = "Of this entity" },
    [MESSAGES_CHANNEL] = { "channel", PARAM_TEXT, .max = CHANNEL_KEY_MAX, .help = "Through this channel" },
    [MESSAGES_STATUS]  = { "status",  PARAM_WORD, .words = statuses, .help = "That stand so" },
    { 0 },
};
// clang-format on

static bool is_wanted(const Call *call, const DeliveryView *view)
{
    size_t status;
    return view->rule_kind == RULE_TEMPLATE &&
           (!param_word(call, MESSAGES_STATUS, &status) ||
            str_eq(str_from(status_of(view)), str_from(statuses[status])));
}

Err message_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    DeliveryView *views;
    Messages messages;
    DeliveryFilter filter = delivery_filter_any();
    TRY(call_walk(call, &walk, error));
    param_text(call, MESSAGES_ENTITY, &filter.entity);
    param_text(call, MESSAGES_CHANNEL, &filter.channel);
    TRY(delivery_page(db, call->arena, call->tenant, &filter, &walk, &views, &seen, error));
    size_t count = 0;
    for (size_t i = 0; i < seen.count; i++)
        if (is_wanted(call, &views[i]))
            views[count++] = views[i];
    TRY(read_messages(call, db, views, count, &messages, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < count; i++)
        put_message(call, json, &messages, i);
    messages_drop(&messages);
    page_close(call, &seen);
    return ERR_OK;
}

// say_anew says what a message says once more, for what had no value: nothing that was rendered is
// kept.
static Err say_anew(Call *call, Db *db, const DeliveryView *view, const Trigger *rule,
                    Filling *filling, Error *error)
{
    Event event;
    Content content;
    if (!rule || !rule->template)
        return fail(error, ERR_CORRUPT, "the template's version cannot be read");
    TRY(event_row(db, call->arena, call->tenant, view->promise.event, &event, error));
    TRY(event_parse(call->arena, &event, error));
    *filling = (Filling){ .event = &event,
                          .url = message_link(call->arena, call->api->url_template,
                                              view->promise.public_id) };
    return template_say(rule->template, call->arena, filling, &content, error);
}

// put_warnings tells which placeholders had no value. Of an event that was purged, and of what
// cannot be rendered, nothing is known: why that is parked stands with it.
static void put_warnings(Call *call, Db *db, JsonOut *json, const DeliveryView *view,
                         const Trigger *rule)
{
    Error unsaid = { .arena = call->arena };
    Filling filling = { 0 };
    if (say_anew(call, db, view, rule, &filling, &unsaid) != ERR_OK)
        filling.missing_count = 0;
    put_missing(json, &filling);
}

Err message_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    DeliveryView view;
    Messages messages;
    TRY(call_id(call, 0, &id, error));
    TRY(delivery_view(db, call->arena, call->tenant, id, &view, error));
    if (view.rule_kind != RULE_TEMPLATE)
        return fail(error, ERR_NOT_FOUND, "delivery %.*s is no message: no template made it",
                    STR_ARG(call->params[0]));
    TRY(read_messages(call, db, &view, 1, &messages, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_members(call, json, &messages, 0);
    put_warnings(call, db, json, &view, messages.rules[0]);
    json_close(json, '}');
    messages_drop(&messages);
    return ERR_OK;
}

// Resending is a request on its way: an item for each kind of events, with the templates that it is
// for.
typedef struct Resending {
    ResendBody body;
    Accept accept;
    Messages messages;
} Resending;

// takes_part says whether a rule is a template that was asked for.
static bool takes_part(const ResendBody *body, const Trigger *rule)
{
    return rule->template && rule->enabled && str_eq(rule->channel, body->channel) &&
           (!body->template.at || str_eq(rule->template->name, body->template) ||
            str_eq(rule->rule.id, body->template));
}

// name_templates names those of a kind that were asked for. They go out at once, whatever delay
// their plan has: a person asks.
static void name_templates(Call *call, const Tx *tx, const ResendBody *body, AcceptItem *item)
{
    size_t count;
    const RegistryTrigger *const *rules =
        registry_triggers(tx->registry, call->tenant, item->event.kind, &count);
    const Trigger **named = ARENA_ARRAY(call->arena, const Trigger *, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (rules[i]->rule_kind != RULE_TEMPLATE)
            continue;
        const Trigger *rule = registry_compiled(rules[i], call->arena);
        if (!takes_part(body, rule))
            continue;
        Trigger *asked = arena_copy(call->arena, rule, sizeof *rule);
        asked->request = body->request;
        asked->rule.plan.initial_delay = 0;
        named[item->named_count++] = asked;
    }
    item->named = named;
}

// make_item makes an event that says the same as another, for the templates that were asked for.
static Err make_item(Call *call, const Tx *tx, const ResendBody *body, const Event *from,
                     AcceptItem *ret, Error *error)
{
    ret->event = (Event){
        .kind = from->kind,
        .entity = from->entity,
        .source = S("resend"),
        .identity =
            str_format(call->arena, "%.*s:%.*s", STR_ARG(body->request), STR_ARG(from->kind)),
        .correlation_id = from->correlation_id,
        .occurred_at = from->occurred_at == INSTANT_NONE ? from->received_at : from->occurred_at,
        .payload = from->payload,
        .recipient = from->recipient,
    };
    TRY(event_parse(call->arena, &ret->event, error));
    name_templates(call, tx, body, ret);
    return ERR_OK;
}

static Err make_items(Call *call, Tx *tx, Resending *resending, Error *error)
{
    Event *events;
    size_t count;
    Accept *accept = &resending->accept;
    const ResendBody *body = &resending->body;
    TRY(entity_events(tx->db, call->arena, call->tenant, body->entity, &events, &count, error));
    if (count == 0)
        return entity_unknown(body->entity, error);
    *accept = (Accept){ .arena = call->arena,
                        .tenant = call->tenant,
                        .items = ARENA_ARRAY(call->arena, AcceptItem, count),
                        .now = tx->now };
    for (size_t i = 0; i < count; i++) {
        AcceptItem *item = &accept->items[accept->count];
        TRY(make_item(call, tx, body, &events[i], item, error));
        if (item->named_count > 0)
            accept->count++;
        else
            *item = (AcceptItem){ 0 };
    }
    if (accept->count == 0)
        return fail(error, ERR_NOT_FOUND,
                    "no active template sends the events of %.*s through %.*s",
                    STR_ARG(body->entity), STR_ARG(body->channel));
    return ERR_OK;
}

// check_chosen refuses a request that sends nothing: who asks would wait for it.
static Err check_chosen(const Resending *resending, Error *error)
{
    const Accept *accept = &resending->accept;
    for (size_t i = 0; i < accept->count; i++)
        if (accept->items[i].created_count > 0)
            return ERR_OK;
    return fail(error, ERR_NOT_FOUND,
                "no active template through %.*s has the language and scope of the events of %.*s",
                STR_ARG(resending->body.channel), STR_ARG(resending->body.entity));
}

// note_requests writes who asked, for what was asked now.
static void note_requests(Tx *tx, const Resending *resending)
{
    const Accept *accept = &resending->accept;
    Resend *rows = ARENA_ARRAY(&tx->arena, Resend, accept->count);
    size_t count = 0;
    for (size_t i = 0; i < accept->count; i++)
        if (!accept->items[i].is_duplicate)
            rows[count++] = (Resend){ .tenant = accept->tenant,
                                      .event = accept->items[i].event.id,
                                      .request = resending->body.request,
                                      .actor = tx->actor };
    resend_add(tx, rows, count);
}

// read_made reads the messages of a request, made now or when it came before.
static Err read_made(Call *call, Tx *tx, Resending *resending, Error *error)
{
    const Accept *accept = &resending->accept;
    size_t room = 0, count = 0;
    for (size_t i = 0; i < accept->count; i++)
        room += accept->items[i].named_count;
    DeliveryView *all = ARENA_ARRAY(call->arena, DeliveryView, room + 1);
    for (size_t i = 0; i < accept->count; i++) {
        const AcceptItem *item = &accept->items[i];
        DeliveryView *made;
        size_t made_count;
        Uuid event = item->is_duplicate ? item->identity.holder : item->event.id;
        TRY(delivery_of_event(tx->db, call->arena, call->tenant, event, 0,
                              (int64_t) item->named_count, &made, &made_count, error));
        for (size_t n = 0; n < made_count; n++)
            all[count++] = made[n];
    }
    return read_messages(call, tx->db, all, count, &resending->messages, error);
}

static Err tell_resent(Call *call, Error *error)
{
    const Resending *resending = call->with;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_str(json, S("requestId"), resending->body.request);
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < resending->messages.count; i++)
        put_message(call, json, &resending->messages, i);
    messages_drop(&resending->messages);
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}

Err message_resend(Call *call, Tx *tx, Error *error)
{
    Resending *resending = ARENA_NEW(call->arena, Resending);
    Accept *accept = &resending->accept;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &resend_body_shape, &resending->body, error));
    if (!resending->body.request.at)
        resending->body.request = uuid_dup(call->arena, uuid_new(tx->now, tx->random));
    TRY(make_items(call, tx, resending, error));
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    TRY(check_chosen(resending, error));
    TRY(accept_write(tx, &accept, 1, error));
    note_requests(tx, resending);
    TRY(read_made(call, tx, resending, error));
    call->with = resending;
    call_later(call, tell_resent);
    return ERR_OK;
}

static Err tell_cancelled(Call *call, Error *error)
{
    const EntityCancel *cancel = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_i64(json, S("cancelled"), cancel->cancelled);
    json_put_bool(json, S("complete"), !cancel->is_cut);
    json_close(json, '}');
    return ERR_OK;
}

Err entity_cancel_post(Call *call, Tx *tx, Error *error)
{
    EntityCancel *cancel = ARENA_NEW(call->arena, EntityCancel);
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &entity_cancel_shape, cancel, error));
    cancel->tenant = call->tenant;
    cancel->entity = call->params[0];
    TRY(entity_cancel(tx, cancel, error));
    call->with = cancel;
    call_later(call, tell_cancelled);
    return ERR_OK;
}
