#include "api/handlers.h"

#include "api/posting.h"
#include "api/shapes.h"
#include "api/shown.h"
#include "domain/notification.h"
#include "store/act.h"
#include "store/delivery.h"
#include "store/notification.h"
#include "store/site.h"

// A notification is an event to those who post it and a delivery to those who look at it; its id is
// the event's identity, its status the delivery's, in the words of its family.

typedef struct Posted {
    Accept accept; // first: posting.h
    Notification notification;
    Str status; // of one that came before
} Posted;

Err notification_post_read(Call *call, Error *error)
{
    Posted *posted = ARENA_NEW(call->arena, Posted);
    Notification *notification = &posted->notification;
    posted->accept = posting_accept(call, 1);
    TRY(call_body(call, error));
    TRY(notification_read(call->arena, call->body, S(""), notification, error));
    if (uuid_is_none(notification->id))
        notification->id = uuid_new(posted->accept.now, call->api->random);
    AcceptItem *item = &posted->accept.items[0];
    TRY(notification_event(call->arena, notification, posted->accept.now, &item->event, error));
    item->event.trace = posting_trace(call);
    call->with = posted;
    return event_check_size(&item->event, call->api->payload_max, error);
}

// name_site gives the event the site that it names.
static Err name_site(Tx *tx, const Call *call, Error *error)
{
    Posted *posted = call->with;
    Str site = notification_site(&posted->notification);
    Event *event = &posted->accept.items[0].event;
    if (!site.at || site.len > SITE_NAME_MAX)
        return ERR_OK;
    return site_number(tx, call->tenant, site, &event->site, error);
}

// find_status looks at the delivery of one that came before; none where that is gone.
static Err find_status(Tx *tx, Posted *posted, Error *error)
{
    DeliveryView view;
    Error gone = { 0 };
    const AcceptItem *item = &posted->accept.items[0];
    posted->status = S("Pending");
    if (!item->is_duplicate)
        return ERR_OK;
    Err err = delivery_view(tx->db, &tx->arena, posted->accept.tenant,
                            delivery_id_of(item->identity.holder, 1), &view, &gone);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return fail(error, err, "%s", gone.detail);
    posted->status = err == ERR_OK ? view_status(STATUS_N, &view) : STR_NONE;
    return ERR_OK;
}

static Err write_notifications(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++)
        TRY(name_site(tx, calls[i], error));
    TRY(posting_write(tx, calls, count, error));
    for (size_t i = 0; i < count; i++)
        TRY(find_status(tx, calls[i]->with, error));
    return ERR_OK;
}

static Err answer_notification(Call *call, Error *error)
{
    const Posted *posted = call->with;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_id(json, S("id"), posted->notification.id);
    json_put_str(json, S("status"), posted->status);
    json_put_bool(json, S("duplicate"), posted->accept.items[0].is_duplicate);
    json_close(json, '}');
    return ERR_OK;
}

const RouteSet notification_set = {
    .weigh = posting_weigh,
    .decide = posting_decide,
    .write = write_notifications,
    .answer = answer_notification,
};

// type_of is what the notification asked for, else the type of the channel that it goes by.
static Str type_of(const Call *call, const Notification *asked, const DeliveryView *view)
{
    const RegistryChannel *channel =
        view->channel.at ? registry_channel(call->registry, call->tenant, view->channel) : NULL;
    if (asked->type.at)
        return asked->type;
    return channel ? channel->definition.type : STR_NONE;
}

// LookedAt is a notification with what there is to tell of its targets.
typedef struct LookedAt {
    DeliveryView view;
    bool is_alone; // it is shown with its targets
    TargetRow *targets;
    size_t target_count;
    TargetCounts counts;
} LookedAt;

static void put_json(const Call *call, JsonOut *json, Str name, const Json *value, Str otherwise)
{
    json_put_raw(json, name, value ? json_text(call->arena, value) : otherwise);
}

static void put_asked(const Call *call, JsonOut *json, const DeliveryView *view)
{
    const Json *payload = NULL;
    Error lost = { 0 };
    Notification asked = { .enqueued_at = INSTANT_NONE };
    Event event = view->origin;
    if (json_parse(call->arena, event.payload, &payload, &lost) == ERR_OK)
        notification_of(payload, &asked);
    json_put_str(json, S("id"), event.identity);
    json_put_str(json, S("type"), type_of(call, &asked, view));
    json_put_str(json, S("list"), view->rule_id);
    json_put_str(json, S("subject"), asked.subject);
    json_put_str(json, S("body"), asked.body);
    put_json(call, json, S("typeData"), asked.type_data, S("{}"));
    put_json(call, json, S("source"), asked.source, S("null"));
    json_put_time(json, S("siteEnqueuedAt"), asked.enqueued_at);
}

static void put_counts(JsonOut *json, const TargetCounts *counts)
{
    json_key(json, S("targetCounts"));
    json_open(json, '{');
    json_put_i64(json, S("all"), counts->all);
    json_put_i64(json, S("delivered"), counts->delivered);
    json_put_i64(json, S("refused"), counts->refused);
    json_put_i64(json, S("optedOut"), counts->opted_out);
    json_close(json, '}');
}

static void put_notification(const Call *call, JsonOut *json, const LookedAt *looked)
{
    const DeliveryView *view = &looked->view;
    Str reason = str_from(reason_code(view->reason));
    bool is_delivered = view->state == DELIVERY_DELIVERED;
    json_open(json, '{');
    put_asked(call, json, view);
    json_put_str(json, S("status"), view_status(STATUS_N, view));
    json_put_str(json, S("reason"), reason.len ? reason : STR_NONE);
    json_put_i64(json, S("retryCount"), view->failures);
    json_put_str(json, S("lastError"), view->last_error);
    json_put_time(json, S("createdAt"), view->promise.triggered_at);
    json_put_time(json, S("lastAttemptAt"), view->last_tried_at);
    json_put_time(json, S("nextAttemptAt"), view->due_at);
    json_put_time(json, S("deliveredAt"), is_delivered ? view->ended_at : INSTANT_NONE);
    json_put_id(json, S("deliveryId"), view->promise.id);
    json_put_str(json, S("channel"), view->channel);
    if (looked->is_alone) {
        put_targets(call, json, S("resolvedTargets"), looked->targets, looked->target_count);
        put_counts(json, &looked->counts);
    }
    json_close(json, '}');
}

static Err tell_notification(Call *call, Error *error)
{
    (void) error;
    put_notification(call, call_json(call, 200), call->with);
    return ERR_OK;
}

// find finds the delivery of the notification that the path names. A site sees its own alone.
static Err find(const Call *call, Db *db, DeliveryView *ret, Error *error)
{
    Uuid id, delivery;
    TRY(call_id(call, 0, &id, error));
    TRY(notification_find(db, call->arena, call->tenant, id, &delivery, error));
    TRY(delivery_view(db, call->arena, call->tenant, delivery, ret, error));
    if (call->key->role == ROLE_SITE && ret->promise.site != call->key->site)
        return fail(error, ERR_NOT_FOUND, "there is no notification %.*s",
                    STR_ARG(call->params[0]));
    return ERR_OK;
}

static Err look_at(Call *call, Db *db, Error *error)
{
    LookedAt *looked = ARENA_NEW(call->arena, LookedAt);
    TRY(find(call, db, &looked->view, error));
    Uuid delivery = looked->view.promise.id;
    looked->is_alone = true;
    TRY(first_targets(call, db, delivery, &looked->targets, &looked->target_count, error));
    TRY(targets_count(db, call->arena, call->tenant, delivery, &looked->counts, error));
    call->with = looked;
    call_later(call, tell_notification);
    return ERR_OK;
}

Err notification_get(Call *call, Db *db, Error *error)
{
    return look_at(call, db, error);
}

Err notification_targets(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    DeliveryView view;
    TargetRow *rows;
    TRY(call_walk(call, &walk, error));
    TRY(find(call, db, &view, error));
    TRY(target_page(db, call->arena, call->tenant, view.promise.id, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_target(call, json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

static Err act(Call *call, Tx *tx, DeliveryAction action, Error *error)
{
    DeliveryView view;
    Str reason = STR_NONE;
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &reason_shape, &reason, error));
    TRY(find(call, tx->db, &view, error));
    TRY(act_one(tx, call->tenant, view.promise.id, action, reason, error));
    return look_at(call, tx->db, error);
}

Err notification_retry(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_RETRY, error);
}

Err notification_discard(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_DISCARD, error);
}

static const char *const status_words[] = { "Pending", "Retrying",  "Delivered",
                                            "Parked",  "Discarded", NULL };

enum { OF_STATUS, OF_TYPE, OF_SITE, OF_LIST, OF_FROM, OF_TO, OF_STUCK, OF_Q };

// clang-format off
const Param notification_params[] = {
    [OF_STATUS] = { "status", PARAM_WORD, .words = status_words, .help = "With this status" },
    [OF_TYPE]   = { "type",   PARAM_TEXT, .max = NOTIFICATION_TYPE_MAX, .help = "Sent on a channel of this type" },
    [OF_SITE]   = { "site",   PARAM_TEXT, .max = SITE_NAME_MAX, .help = "From this site" },
    [OF_LIST]   = { "list",   PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "To this list" },
    [OF_FROM]   = { "from",   PARAM_TIME, .help = "Taken in at this time or later" },
    [OF_TO]     = { "to",     PARAM_TIME, .help = "Taken in before this time" },
    [OF_STUCK]  = { "stuck",  PARAM_BOOL, .help = "Due ten minutes ago or longer, and not sent" },
    [OF_Q]      = { "q",      PARAM_TEXT, .max = DELIVERY_QUERY_MAX, .help = "With all of these words in the subject" },
    { 0 },
};
// clang-format on

// Wanted is what is asked of each notification once it is read.
typedef struct Wanted {
    const Call *call;
    Str status, type, q;
} Wanted;

static bool has_word(Str subject, Str word)
{
    for (size_t i = 0; i + word.len <= subject.len; i++)
        if (str_eq_nocase((Str){ subject.at + i, word.len }, word))
            return true;
    return false;
}

static bool has_words(Str subject, Str q)
{
    while (q.len > 0)
        if (!has_word(subject, str_cut(&q, ' ')))
            return false;
    return true;
}

static bool fits(const DeliveryView *view, const void *with)
{
    const Wanted *wanted = with;
    const Json *payload;
    Error lost = { 0 };
    Notification asked = { 0 };
    if (wanted->status.at && !str_eq(view_status(STATUS_N, view), wanted->status))
        return false;
    if (!wanted->type.at && !wanted->q.at)
        return true;
    if (json_parse(wanted->call->arena, view->origin.payload, &payload, &lost) != ERR_OK)
        return false;
    notification_of(payload, &asked);
    return (!wanted->type.at || str_eq(type_of(wanted->call, &asked, view), wanted->type)) &&
           (!wanted->q.at || has_words(asked.subject, wanted->q));
}

// narrow lets the walk look only where a status can be: the words of a status may be those of
// several states, which fits() tells apart.
static void narrow(Str status, DeliveryFilter *filter)
{
    filter->is_live |= str_eq(status, S("Pending")) || str_eq(status, S("Retrying"));
    filter->has_state = str_eq(status, S("Delivered")) || str_eq(status, S("Parked"));
    filter->state = str_eq(status, S("Parked")) ? DELIVERY_PARKED : DELIVERY_DELIVERED;
}

static DeliveryFilter read_filter(const Call *call, Wanted *wanted)
{
    size_t status;
    bool is_stuck = false;
    DeliveryFilter filter = delivery_filter_any();
    filter.is_to_list = true;
    filter.fits = fits;
    filter.fits_with = wanted;
    if (param_word(call, OF_STATUS, &status))
        wanted->status = str_from(status_words[status]);
    param_text(call, OF_TYPE, &wanted->type);
    param_text(call, OF_Q, &wanted->q);
    param_text(call, OF_SITE, &filter.site);
    param_text(call, OF_LIST, &filter.list);
    param_time(call, OF_FROM, &filter.from);
    param_time(call, OF_TO, &filter.to);
    param_bool(call, OF_STUCK, &is_stuck);
    narrow(wanted->status, &filter);
    if (is_stuck)
        filter.stuck_before = clock_now(call->api->clock) - DELIVERY_STUCK_AFTER;
    if (call->key->role == ROLE_SITE)
        filter.site = call->key->site_name;
    return filter;
}

Err notification_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    DeliveryView *views;
    Wanted wanted = { .call = call };
    DeliveryFilter filter = read_filter(call, &wanted);
    TRY(call_walk(call, &walk, error));
    TRY(delivery_page(db, call->arena, call->tenant, &filter, &walk, &views, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_notification(call, json, &(LookedAt){ .view = views[i] });
    page_close(call, &seen);
    return ERR_OK;
}
