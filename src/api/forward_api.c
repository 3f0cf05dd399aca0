#include "api/handlers.h"

#include "api/posting.h"
#include "api/shapes.h"
#include "domain/forward.h"
#include "store/epoch.h"

// What a site hands on comes in here. Each row is accepted, a duplicate, or rejected alone, and is
// told so by its place; nothing is told before it is on disk. The answer names central's epoch, by
// which a site sees that central was put back to an older state, and hands on again what it keeps.

typedef struct Forwarding {
    Accept accept; // first: posting.h
    Str *ids;      // as the rows say them; none
    Epoch epoch;
} Forwarding;

Err forward_rows_read(Call *call, Error *error)
{
    const Json *rows = NULL;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &forward_body_shape, &rows, error));
    Forwarding *forwarding = ARENA_NEW(call->arena, Forwarding);
    forwarding->accept = posting_accept(call, json_count(rows));
    forwarding->accept.pairs_max = FORWARD_PAIRS_MAX;
    forwarding->ids = ARENA_ARRAY(call->arena, Str, json_count(rows) + 1);
    call->with = forwarding;
    for (JsonIter it = json_each(rows); json_next(&it);) {
        AcceptItem *item = &forwarding->accept.items[it.index - 1];
        Error row_error = { .arena = call->arena };
        Err err =
            forward_read(call->arena, it.value, call->key->site_name, &item->event, &row_error);
        item->event.site = call->key->site;
        forwarding->ids[it.index - 1] = json_str(json_get(it.value, S("id")));
        posting_take(call, item, err, &row_error);
    }
    return ERR_OK;
}

static Err write_forwards(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    TRY(posting_write(tx, calls, count, error));
    for (size_t i = 0; i < count; i++) {
        Forwarding *forwarding = calls[i]->with;
        TRY(epoch_get(tx->db, calls[i]->arena, &forwarding->epoch, error));
    }
    return ERR_OK;
}

static Str outcome_of(const AcceptItem *item)
{
    if (item->err != ERR_OK)
        return S("rejected");
    return item->is_duplicate ? S("duplicate") : S("accepted");
}

static void put_row(JsonOut *json, Str id, const AcceptItem *item)
{
    json_open(json, '{');
    json_put_str(json, S("id"), id);
    json_put_str(json, S("outcome"), outcome_of(item));
    if (item->err != ERR_OK)
        posting_put_error(json, item);
    json_close(json, '}');
}

static void put_epoch(JsonOut *json, const Epoch *epoch)
{
    json_key(json, S("epoch"));
    json_open(json, '{');
    json_put_str(json, S("id"), epoch->id);
    json_put_i64(json, S("number"), epoch->number);
    json_close(json, '}');
}

static Err answer_forward(Call *call, Error *error)
{
    const Forwarding *forwarding = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_epoch(json, &forwarding->epoch);
    json_key(json, S("rows"));
    json_open(json, '[');
    for (size_t i = 0; i < forwarding->accept.count; i++)
        put_row(json, forwarding->ids[i], &forwarding->accept.items[i]);
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}

const RouteSet forward_set = {
    .weigh = posting_weigh,
    .decide = posting_decide,
    .write = write_forwards,
    .answer = answer_forward,
};

Err site_get(Call *call, Db *db, Error *error)
{
    Epoch epoch;
    TRY(epoch_get(db, call->arena, &epoch, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("site"), call->key->site_name);
    put_epoch(json, &epoch);
    json_close(json, '}');
    return ERR_OK;
}
