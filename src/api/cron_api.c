#include "api/handlers.h"

#include "api/shapes.h"
#include "domain/cron.h"

// What a cron expression means, before anything is made of it.

static void read_cron(const CronBody *body, Cron *ret, Error *error)
{
    CronFault fault;
    if (!cron_parse(body->cron, CRON_ANY_FORM, ret, &fault))
        error_add(error, S("/cron"), "bad-cron", "%.*s",
                  STR_ARG(cron_fault_text(error->arena, &fault)));
}

static Err read_zone(const CronBody *body, const Zone **ret, Error *error)
{
    Error why = { .arena = error->arena };
    Err err = body->zone.at ? zone_find(body->zone, ret, &why) : ERR_OK;
    if (err == ERR_INVALID)
        error_add(error, S("/zone"), "bad-zone", "%s", why.detail);
    else if (err != ERR_OK)
        return fail(error, err, "%s", why.detail);
    return ERR_OK;
}

Err cron_preview(Call *call, Db *db, Error *error)
{
    (void) db;
    CronBody body = { .count = CRON_PREVIEW_USUAL };
    Cron cron;
    const Zone *zone = zone_utc;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &cron_body_shape, &body, error));
    read_cron(&body, &cron, error);
    TRY(read_zone(&body, &zone, error));
    TRY(error_close(error, ERR_INVALID));
    Instant from = body.has_from ? body.from : clock_now(call->api->clock);
    cron_put_preview(call_json(call, 200), call->arena, &cron,
                     &(CronPreview){ zone, from, .count = body.count });
    return ERR_OK;
}
