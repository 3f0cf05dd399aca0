#include "api/handlers.h"

#include "api/posting.h"
#include "api/shapes.h"
#include "domain/forward.h"
#include "store/audit.h"
#include "store/epoch.h"
#include "store/site.h"

// What a site hands on comes in here. Each row is accepted, a duplicate, or rejected alone, and is
// told so by its place; nothing is told before it is on disk. The answer names central's epoch, by
// which a site sees that central was put back to an older state, and hands on again what it keeps.

// Told is one row of the answer: by its item, or none where it went to the audit chain.
typedef struct Told {
    Str id; // as the row says it; none
    const AcceptItem *item;
} Told;

typedef struct Forwarding {
    Accept accept; // first: posting.h
    Told *told;
    size_t count;
    AuditBrought *brought;
    size_t brought_count;
    Epoch epoch;
} Forwarding;

static void take_brought(const Call *call, Forwarding *forwarding, const AuditBrought *brought)
{
    AuditBrought *taken = &forwarding->brought[forwarding->brought_count++];
    *taken = *brought;
    taken->site = call->key->site;
    if (taken->at == INSTANT_NONE)
        taken->at = forwarding->accept.now;
}

// take_row makes an item of a row, but for an audit row, and notes what the chain is to be told.
static void take_row(Call *call, Forwarding *forwarding, const Json *row)
{
    Error error = { .arena = call->arena };
    Forwarded forwarded = { 0 };
    Told *told = &forwarding->told[forwarding->count++];
    Err err = forward_read(call->arena, row, call->key->site_name, forwarding->accept.now,
                           &forwarded, &error);
    told->id = json_str(json_get(row, S("id")));
    if (err == ERR_OK && forwarded.has_brought)
        take_brought(call, forwarding, &forwarded.brought);
    if (err == ERR_OK && forwarded.kind == FORWARD_AUDIT)
        return;
    AcceptItem *item = &forwarding->accept.items[forwarding->accept.count++];
    item->event = forwarded.event;
    item->event.site = call->key->site;
    if (forwarded.is_deferral)
        item->deferral = arena_copy(call->arena, &forwarded.deferral, sizeof forwarded.deferral);
    posting_take(call, item, err, &error);
    told->item = item;
}

Err forward_rows_read(Call *call, Error *error)
{
    const Json *rows = NULL;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &forward_body_shape, &rows, error));
    size_t count = json_count(rows);
    Forwarding *forwarding = ARENA_NEW(call->arena, Forwarding);
    forwarding->accept = posting_accept(call, count);
    forwarding->accept.pairs_max = FORWARD_PAIRS_MAX;
    forwarding->accept.count = 0;
    forwarding->told = ARENA_ARRAY(call->arena, Told, count + 1);
    forwarding->brought = ARENA_ARRAY(call->arena, AuditBrought, count + 1);
    call->with = forwarding;
    for (JsonIter it = json_each(rows); json_next(&it);)
        take_row(call, forwarding, it.value);
    return ERR_OK;
}

static SiteSeen seen_now(const Call *call, int64_t received, Instant now)
{
    return (SiteSeen){ .tenant = call->tenant,
                       .site = call->key->site,
                       .seen_at = now,
                       .received = received,
                       .key = call->key->id };
}

static Err write_forwards(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    TRY(posting_write(tx, calls, count, error));
    for (size_t i = 0; i < count; i++) {
        Forwarding *forwarding = calls[i]->with;
        for (size_t b = 0; b < forwarding->brought_count; b++)
            audit_take(tx, calls[i]->tenant, &forwarding->brought[b]);
        SiteSeen seen = seen_now(calls[i], (int64_t) forwarding->count, tx->now);
        site_came(tx, &seen);
        TRY(epoch_get(tx->db, calls[i]->arena, &forwarding->epoch, error));
    }
    return ERR_OK;
}

static Str outcome_of(const AcceptItem *item)
{
    if (item && item->err != ERR_OK)
        return S("rejected");
    return item && item->is_duplicate ? S("duplicate") : S("accepted");
}

static void put_row(JsonOut *json, Str id, const AcceptItem *item)
{
    json_open(json, '{');
    json_put_str(json, S("id"), id);
    json_put_str(json, S("outcome"), outcome_of(item));
    if (item && item->err != ERR_OK)
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
    for (size_t i = 0; i < forwarding->count; i++)
        put_row(json, forwarding->told[i].id, forwarding->told[i].item);
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

enum { SITE_VERSION, SITE_BACKLOG, SITE_NOW };

// clang-format off
const Param site_params[] = {
    [SITE_VERSION] = { "version", PARAM_TEXT, .max = 40, .help = "Of the site's Peal" },
    [SITE_BACKLOG] = { "backlog", PARAM_INT, .max = INT32_MAX, .help = "Rows that it has still to hand on" },
    [SITE_NOW]     = { "now",     PARAM_TIME, .help = "What time it is at the site" },
    { 0 },
};
// clang-format on

static Err tell_site(Call *call, Error *error)
{
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("site"), call->key->site_name);
    put_epoch(json, call->with);
    json_close(json, '}');
    return ERR_OK;
}

// site_get answers a site, and notes that it was there and what it tells of itself.
Err site_get(Call *call, Tx *tx, Error *error)
{
    Epoch *epoch = ARENA_NEW(call->arena, Epoch);
    Instant at = INSTANT_NONE;
    SiteSeen seen = seen_now(call, 0, tx->now);
    TRY(epoch_get(tx->db, call->arena, epoch, error));
    bool tells = param_text(call, SITE_VERSION, &seen.version);
    tells = param_int(call, SITE_BACKLOG, &seen.backlog) && tells;
    tells = param_time(call, SITE_NOW, &at) && tells;
    seen.skew = tells ? at - tx->now : 0;
    seen.told_at = tx->now;
    if (tells)
        site_tells(tx, &seen);
    else
        site_came(tx, &seen);
    call->with = epoch;
    call_later(call, tell_site);
    return ERR_OK;
}
