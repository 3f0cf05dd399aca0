#include "api/site.h"

#include "api/handlers.h"
#include "api/posting.h"
#include "api/shapes.h"
#include "domain/forward.h"
#include "store/delivery.h"

// What a site serves instead of central: whatever comes in becomes a row for central, under an id
// that the caller gets at once. The id is the delivery's address and entity, so that it is found by
// it.

void site_init(Site *site, int64_t tenant, int64_t rule, int64_t lane)
{
    *site =
        (Site){ .rule = { .rule = rule_default(RULE_FORWARD, S("central")),
                          .enabled = true,
                          .address_path = S("event.entity") },
                .local = { .tenant = tenant, .role = ROLE_INGEST, .expires_at = INSTANT_NONE } };
    site->rule.rule.number = rule;
    site->rule.rule.tenant = tenant;
    site->rule.rule.lane = lane;
    site->named[0] = &site->rule;
}

void site_take(const Site *site, AcceptItem *item)
{
    item->named = site->named;
    item->named_count = ARRAY_LEN(site->named);
    item->places = site->places;
}

// keep makes the item's event the row that is handed on under id. The trace goes with it.
static void keep(Call *call, AcceptItem *item, ForwardKind kind, Uuid id, Str body)
{
    Error error = { .arena = call->arena };
    Instant now = clock_now(call->api->clock);
    Str text = forward_text(call->arena, kind, id, now, item->event.trace, body);
    Err err = forward_keep(call->arena, text, &item->event, &error);
    item->event.received_at = now;
    site_take(call->api->site, item);
    posting_take(call, item, err, &error);
}

// refuse_alone makes what is wrong with the only item the call's own refusal.
static Err refuse_alone(const Accept *accept, Error *error)
{
    const AcceptItem *item = accept->items;
    if (accept->count != 1 || item->err == ERR_OK)
        return ERR_OK;
    *error = *item->error;
    return item->err;
}

// keep_events turns all events of a posting into rows. Their ids are those of the rows.
static void keep_events(Call *call)
{
    Accept *accept = call->with;
    for (size_t i = 0; i < accept->count; i++) {
        AcceptItem *item = &accept->items[i];
        Uuid id = uuid_new(accept->now, call->api->random);
        if (item->err == ERR_OK)
            keep(call, item, FORWARD_EVENT, id, forward_event(call->arena, &item->event));
    }
}

Err site_event_read(Call *call, Error *error)
{
    TRY(event_read(call, error));
    keep_events(call);
    return refuse_alone(call->with, error);
}

Err site_ingest_read(Call *call, Error *error)
{
    TRY(ingest_read(call, error));
    keep_events(call);
    return ERR_OK;
}

// Notifying is one row on its way in.
typedef struct Notifying {
    Accept accept; // first: posting.h
    Uuid id;
} Notifying;

// site_row_read takes a row as it would lie in the spool: whatever has no route of its own here.
Err site_row_read(Call *call, Error *error)
{
    TRY(call_body(call, error));
    Notifying *taking = ARENA_NEW(call->arena, Notifying);
    taking->accept = posting_accept(call, 1);
    call->with = taking;
    AcceptItem *item = taking->accept.items;
    Str text = json_text(call->arena, call->body);
    Err err = forward_keep(call->arena, text, &item->event, error);
    if (err == ERR_OK && !uuid_parse(json_str(json_get(call->body, S("id"))), &taking->id))
        assert(!"a row that was read has its id");
    item->event.received_at = taking->accept.now;
    site_take(call->api->site, item);
    return err == ERR_OK ? event_check_size(&item->event, call->api->payload_max, error) : err;
}

Err site_notify_read(Call *call, Error *error)
{
    TRY(call_body(call, error));
    Notifying *notifying = ARENA_NEW(call->arena, Notifying);
    notifying->accept = posting_accept(call, 1);
    call->with = notifying;
    const Json *id = json_get(call->body, S("id"));
    if (!uuid_parse(json_str(id), &notifying->id)) // what is no id is refused with the rest
        notifying->id = uuid_new(notifying->accept.now, call->api->random);
    notifying->accept.items->event.trace = posting_trace(call);
    keep(call, notifying->accept.items, FORWARD_NOTIFICATION, notifying->id,
         json_text(call->arena, call->body));
    return refuse_alone(&notifying->accept, error);
}

static Err answer_notify(Call *call, Error *error)
{
    const Notifying *notifying = call->with;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_str(json, S("id"), uuid_dup(call->arena, notifying->id));
    json_put_str(json, S("status"), S("Forwarding"));
    json_put_bool(json, S("duplicate"), notifying->accept.items[0].is_duplicate);
    json_close(json, '}');
    return ERR_OK;
}

const RouteSet site_notify_set = {
    .weigh = posting_weigh,
    .decide = posting_decide,
    .write = posting_write,
    .answer = answer_notify,
};

// put_held tells of what the site still has, or what central has refused.
static void put_held(Call *call, Uuid id, const DeliveryView *view)
{
    const Json *row = NULL;
    bool is_parked = view->state == DELIVERY_PARKED;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("id"), uuid_dup(call->arena, id));
    if (json_parse(call->arena, view->origin.payload, &row, NULL) == ERR_OK)
        for (JsonIter it = json_each(json_get(row, S("body"))); json_next(&it);)
            if (!str_eq(it.key, S("id")))
                json_put_raw(json, it.key, json_text(call->arena, it.value));
    json_put_str(json, S("status"), is_parked ? S("Parked") : S("Forwarding"));
    json_put_str(json, S("lastError"), view->last_error);
    json_put_time(json, S("siteEnqueuedAt"), view->promise.triggered_at);
    json_close(json, '}');
}

// put_known passes on what central says, or said: marked, where it cannot be asked now. Where it
// never said anything, it is known all the same that central has it.
static void put_known(Call *call, Uuid id, const DeliveryView *view, const LinkAnswer *known)
{
    const Json *told = NULL;
    bool is_told = known->text.at && json_parse(call->arena, known->text, &told, NULL) == ERR_OK;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    for (JsonIter it = json_each(told); json_next(&it);)
        json_put_raw(json, it.key, json_text(call->arena, it.value));
    if (!is_told) {
        json_put_str(json, S("id"), uuid_dup(call->arena, id));
        json_put_str(json, S("status"), S("Pending"));
        json_put_time(json, S("siteEnqueuedAt"), view->promise.triggered_at);
    }
    if (known->is_stale)
        json_put_bool(json, S("stale"), true);
    json_close(json, '}');
}

Err site_status_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    DeliveryView *views;
    Seen seen;
    Walk walk = { .limit = 1 };
    DeliveryFilter filter = delivery_filter_any();
    TRY(call_id(call, 0, &id, error));
    filter.entity = uuid_dup(call->arena, id);
    TRY(delivery_page(db, call->arena, call->tenant, &filter, &walk, &views, &seen, error));
    if (seen.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no notification %.*s", STR_ARG(filter.entity));
    if (views[0].state != DELIVERY_DELIVERED) {
        put_held(call, id, &views[0]);
        return ERR_OK;
    }
    LinkAnswer known = link_ask(call->api->site->link, call->arena, id);
    put_known(call, id, &views[0], &known);
    return ERR_OK;
}
