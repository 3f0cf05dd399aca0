#include "api/posting.h"

#include "domain/trace.h"
#include "store/defer.h"
#include "store/notification.h"

Accept posting_accept(const Call *call, size_t count)
{
    return (Accept){
        .arena = call->arena,
        .tenant = call->tenant,
        .items = ARENA_ARRAY(call->arena, AcceptItem, count + 1),
        .count = count,
        .now = clock_now(call->api->clock),
    };
}

Str posting_trace(Call *call)
{
    return trace_read(call->arena, exchange_header(call->exchange, S("traceparent")));
}

void posting_take(Call *call, AcceptItem *item, Err err, Error *error)
{
    if (err == ERR_OK)
        err = event_check_size(&item->event, call->api->payload_max, error);
    item->err = err;
    if (err != ERR_OK)
        item->error = arena_copy(call->arena, error, sizeof *error);
}

size_t posting_weigh(const Call *call)
{
    return accept_pairs(call->with, call->registry);
}

Err posting_decide(Call *call, Error *error)
{
    Accept *accept = call->with;
    call->weight = accept->count;
    if (!notifications_name(accept, call->registry) || !deferrals_name(accept, call->registry))
        return ERR_OK; // a list or a job that is not known gets its number in the transaction
    TRY(accept_decide(accept, call->registry, call->api->random, error));
    call->weight = accept->weight;
    return ERR_OK;
}

Err posting_write(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    Accept **accepts = ARENA_ARRAY(&tx->arena, Accept *, count);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        Accept *accept = calls[i]->with;
        Error refusal = { .arena = calls[i]->arena };
        TRY(notifications_name_now(tx, accept, error));
        TRY(deferrals_name_now(tx, accept, error));
        Err err = accept_decide(accept, tx->registry, tx->random, &refusal);
        if (err == ERR_OK)
            accepts[used++] = accept;
        else
            call_refuse(calls[i], err, &refusal);
    }
    return accept_write(tx, accepts, used, error);
}

void posting_put_error(JsonOut *json, const AcceptItem *item)
{
    const Error *error = item->error;
    Str message = error->count ? error->problems[0].message : str_from(error->detail);
    json_key(json, S("error"));
    json_open(json, '{');
    json_put_str(json, S("code"), str_from(err_code(item->err)));
    json_put_str(json, S("message"), message);
    if (error->count)
        json_put_str(json, S("path"), error->problems[0].path);
    json_close(json, '}');
}
