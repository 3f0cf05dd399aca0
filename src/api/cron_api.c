#include "api/handlers.h"

#include "api/shapes.h"
#include "domain/cron.h"

// What a cron expression means, before anything is made of it.

Err cron_preview(Call *call, Db *db, Error *error)
{
    (void) db;
    CronBody body = { .count = CRON_PREVIEW_USUAL };
    Cron cron;
    const Zone *zone = zone_utc;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &cron_body_shape, &body, error));
    cron_note(body.cron, S("/cron"), &cron, error);
    if (body.zone.at)
        TRY(cron_note_zone(body.zone, S("/zone"), &zone, error));
    TRY(error_close(error, ERR_INVALID));
    Instant from = body.has_from ? body.from : clock_now(call->api->clock);
    cron_put_preview(call_json(call, 200), call->arena, &cron,
                     &(CronPreview){ zone, from, .count = body.count });
    return ERR_OK;
}
