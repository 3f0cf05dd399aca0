#include "api/handlers.h"

#include "api/posting.h"
#include "api/shapes.h"
#include "domain/defer.h"
#include "domain/run.h"
#include "store/defer.h"
#include "store/delivery.h"

// A deferred run is an event to those who ask for it and a delivery to those who look at it; its id
// is the delivery's.

typedef struct Deferring {
    Accept accept; // first: posting.h
    Deferral deferral;
} Deferring;

// begin makes the one item of a call about the job that its path names.
static Deferring *begin(Call *call)
{
    Deferring *deferring = ARENA_NEW(call->arena, Deferring);
    deferring->accept = posting_accept(call, 1);
    deferring->deferral.job = call->params[0];
    deferring->accept.items[0].deferral = &deferring->deferral;
    call->with = deferring;
    return deferring;
}

Err deferral_post_read(Call *call, Error *error)
{
    Deferring *deferring = begin(call);
    Deferral *deferral = &deferring->deferral;
    Event *event = &deferring->accept.items[0].event;
    TRY(call_body(call, error));
    TRY(deferral_read(call->arena, call->body, S(""), &deferral_body_shape, deferring->accept.now,
                      deferral, error));
    TRY(deferral_check(deferral, error));
    TRY(deferral_event(call->arena, deferral, event, error));
    event->trace = posting_trace(call);
    return event_check_size(event, call->api->payload_max, error);
}

static void tell_made(Call *call, const Deferring *deferring)
{
    const AcceptItem *item = &deferring->accept.items[0];
    assert(item->pair_count == 1);
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_id(json, S("id"), item->pairs[0].delivery);
    json_put_time(json, S("runAt"), deferring->deferral.run_at);
    json_close(json, '}');
}

static void tell_cancelled(Call *call, const Deferring *deferring)
{
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_i64(json, S("cancelled"), (int64_t) deferring->accept.items[0].called_off);
    json_close(json, '}');
}

static Err answer_deferral(Call *call, Error *error)
{
    const Deferring *deferring = call->with;
    (void) error;
    (deferring->deferral.cancels ? tell_cancelled : tell_made)(call, deferring);
    return ERR_OK;
}

// Those that make and those that cancel are one set: what a transaction calls off is locked at
// once, so that no two nodes wait for each other (store/recall.h).
const RouteSet deferral_set = {
    .weigh = posting_weigh,
    .decide = posting_decide,
    .write = posting_write,
    .answer = answer_deferral,
};

enum { OF_ENTITY };

const Param deferred_params[] = {
    [OF_ENTITY] = { "entity", PARAM_TEXT, .max = EVENT_ENTITY_MAX, .help = "Whose runs" },
    { 0 },
};

// read_entity: it stands in the path, or in the query, for it may have a slash.
static Err read_entity(const Call *call, Str *ret, Error *error)
{
    *ret = call->params[1];
    if (!call->route->params || param_text(call, OF_ENTITY, ret))
        return ERR_OK;
    return fail(error, ERR_NOT_FOUND, "no entity is named: ?entity= says whose runs");
}

Err deferred_cancel_read(Call *call, Error *error)
{
    Deferring *deferring = begin(call);
    Deferral *deferral = &deferring->deferral;
    deferral->cancels = true;
    deferral->run_at = INSTANT_NONE;
    TRY(read_entity(call, &deferral->entity, error));
    TRY(deferral_check(deferral, error));
    return deferral_event(call->arena, deferral, &deferring->accept.items[0].event, error);
}

static bool is_deferred(const DeliveryView *view, const void *with)
{
    (void) with;
    return run_source(view->origin.source) == RUN_DEFERRED;
}

static void put_deferred(JsonOut *json, const DeliveryView *view)
{
    bool is_to_come = view->due_at != INSTANT_NONE; // else somebody outside runs it
    json_open(json, '{');
    json_put_id(json, S("id"), view->promise.id);
    json_put_str(json, S("entity"), view->promise.entity);
    json_put_time(json, S("runAt"), is_to_come ? view->due_at : view->origin.occurred_at);
    json_put_time(json, S("createdAt"), view->origin.received_at);
    json_put_str(json, S("state"), str_from(delivery_state_text(view->state)));
    json_close(json, '}');
}

Err deferred_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    DeliveryView *views;
    DeliveryFilter filter = delivery_filter_any();
    filter.job = call->params[0];
    filter.is_live = true;
    filter.fits = is_deferred;
    TRY(call_walk(call, &walk, error));
    TRY(delivery_page(db, call->arena, call->tenant, &filter, &walk, &views, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_deferred(json, &views[i]);
    page_close(call, &seen);
    return ERR_OK;
}
