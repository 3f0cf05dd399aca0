#include "api/handlers.h"

#include "base/time.h"
#include "store/kpi.h"

enum { KPI_SITE, KPI_KIND };

static const char *const kpi_kinds[] = { "notification", NULL };

// clang-format off
const Param kpi_params[] = {
    [KPI_SITE] = { "site", PARAM_TEXT, .max = 100, .help = "Only what came from this site" },
    [KPI_KIND] = { "kind", PARAM_WORD, .words = kpi_kinds, .help = "Only notifications" },
    { 0 },
};
// clang-format on

static void put_figures(Call *call, JsonOut *json, const Kpi *kpi, Instant now)
{
    Span age = kpi->oldest == INSTANT_NONE || kpi->oldest > now ? 0 : now - kpi->oldest;
    age -= age % SPAN_SECOND;
    json_put_i64(json, S("queueDepth"), kpi->queue_depth);
    json_put_i64(json, S("scheduled"), kpi->scheduled);
    json_put_i64(json, S("stuck"), kpi->stuck);
    json_put_i64(json, S("parked"), kpi->parked);
    json_put_i64(json, S("deliveredLastInterval"), kpi->delivered);
    json_put_str(json, S("interval"), S("1m"));
    json_put_str(json, S("oldestPendingAge"), duration_text(call->arena, age));
    json_put_i64(json, S("oldestPendingSeconds"), age / SPAN_SECOND);
}

Err kpi_get(Call *call, Db *db, Error *error)
{
    KpiFilter filter = { .site = STR_NONE };
    KpiReport report;
    size_t kind;
    Instant now = clock_now(call->api->clock);
    param_text(call, KPI_SITE, &filter.site);
    filter.is_notification_only = param_word(call, KPI_KIND, &kind);
    TRY(kpi_read(db, call->arena, call->tenant, &filter, now, &report, error));
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_figures(call, json, &report.total, now);
    json_put_bool(json, S("exact"), report.is_exact);
    json_key(json, S("bySite"));
    json_open(json, '[');
    for (size_t i = 0; i < report.site_count; i++) {
        json_open(json, '{');
        json_put_str(json, S("site"), report.sites[i].site);
        put_figures(call, json, &report.sites[i], now);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}
