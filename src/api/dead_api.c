#include "api/handlers.h"

#include "api/shapes.h"
#include "domain/run.h"
#include "store/act.h"
#include "store/delivery.h"

// Dead letters are runs that are parked: what exists for deliveries serves them, in the words of
// jobs. Many at once are an operation's (/v1/operations).

enum { LIST_JOB };

// clang-format off
const Param dead_params[] = {
    [LIST_JOB] = { "job", PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "Of this job; else of all jobs and automations" },
    { 0 },
};
// clang-format on

static void put_dead(JsonOut *json, const DeliveryView *view)
{
    json_open(json, '{');
    json_put_id(json, S("id"), view->promise.id);
    json_put_str(json, S("job"), view->rule_id);
    json_put_str(json, S("entity"), view->promise.entity);
    json_put_str(json, S("source"), str_from(run_source_text(run_source(view->origin.source))));
    json_put_time(json, S("failedAt"), view->ended_at);
    json_put_i64(json, S("attempts"), view->attempt);
    json_put_str(json, S("lastError"), view->last_error);
    json_put_str(json, S("state"), str_from(delivery_state_text(view->state)));
    json_close(json, '}');
}

Err dead_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    DeliveryView *views;
    DeliveryFilter filter = delivery_filter_any();
    filter.state = DELIVERY_PARKED;
    filter.has_state = true;
    filter.is_run = !param_text(call, LIST_JOB, &filter.job);
    TRY(call_walk(call, &walk, error));
    TRY(delivery_page(db, call->arena, call->tenant, &filter, &walk, &views, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_dead(json, &views[i]);
    page_close(call, &seen);
    return ERR_OK;
}

static Err tell_dead(Call *call, Error *error)
{
    (void) error;
    put_dead(call_json(call, 200), call->with);
    return ERR_OK;
}

// act does to a run what the route says; what is no run is nobody's dead letter.
static Err act(Call *call, Tx *tx, DeliveryAction action, Error *error)
{
    Uuid id;
    Str reason = STR_NONE;
    DeliveryView *view = ARENA_NEW(call->arena, DeliveryView);
    TRY(call_id(call, 0, &id, error));
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &reason_shape, &reason, error));
    TRY(delivery_view(tx->db, call->arena, call->tenant, id, view, error));
    if (!run_of_rule(view->rule_kind))
        return delivery_missing(id, error);
    TRY(act_one(tx, call->tenant, id, action, reason, error));
    TRY(delivery_view(tx->db, call->arena, call->tenant, id, view, error));
    call->with = view;
    call_later(call, tell_dead);
    return ERR_OK;
}

Err dead_retry(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_RETRY, error);
}

Err dead_discard(Call *call, Tx *tx, Error *error)
{
    return act(call, tx, DELIVERY_ACTION_DISCARD, error);
}
