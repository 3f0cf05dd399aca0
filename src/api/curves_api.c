#include "api/handlers.h"

#include "base/time.h"
#include "domain/channel.h"
#include "store/curve.h"

enum { CURVES_FROM, CURVES_TO, CURVES_STEP, CURVES_CHANNEL };

static const char *const step_words[] = { "1m", "5m", "1h", "1d", NULL };
static const Span step_spans[] = { SPAN_MINUTE, 5 * SPAN_MINUTE, SPAN_HOUR, SPAN_DAY };

#define CURVES_USUAL 60 // points, where no time is given

// clang-format off
const Param curves_params[] = {
    [CURVES_FROM]    = { "from",    PARAM_TIME, .help = "From the step that this time lies in on; else so that there are 60 steps" },
    [CURVES_TO]      = { "to",      PARAM_TIME, .help = "Up to the end of the step that this time lies in; else now" },
    [CURVES_STEP]    = { "step",    PARAM_WORD, .words = step_words, .help = "Of a point, 1m unless told; days are those of UTC. At most 1,500 points" },
    [CURVES_CHANNEL] = { "channel", PARAM_TEXT, .max = CHANNEL_KEY_MAX, .help = "Only what this channel did; received is then the deliveries that were made for it" },
    { 0 },
};
// clang-format on

static Err read_asked(const Call *call, CurveAsked *ret, Error *error)
{
    size_t step = 0;
    Instant to = clock_now(call->api->clock), from;
    param_word(call, CURVES_STEP, &step);
    *ret = (CurveAsked){ .tenant = call->tenant, .step = step_spans[step] };
    bool has_to = param_time(call, CURVES_TO, &to);
    // What ends with a step ends there; now lies in the last one.
    ret->to = has_to && to % ret->step == 0 ? to : to - to % ret->step + ret->step;
    from = ret->to - CURVES_USUAL * ret->step;
    param_time(call, CURVES_FROM, &from);
    ret->from = from > 0 ? from - from % ret->step : 0;
    if (ret->from >= ret->to)
        error_add(error, S("/from"), "bad-value", "must be before to");
    else if ((ret->to - ret->from) / ret->step > CURVE_POINTS_MAX)
        error_add(error, S("/step"), "bad-value",
                  "too many points: at most 1,500; take a longer step or a shorter time");
    return error_close(error, ERR_INVALID);
}

// column writes one number of each point; below zero there is none.
static void column(JsonOut *json, Str name, const CurveReport *report,
                   int64_t (*of)(const CurvePoint *point))
{
    json_key(json, name);
    json_open(json, '[');
    for (size_t i = 0; i < report->count; i++) {
        int64_t n = of(&report->points[i]);
        if (n < 0)
            json_add_null(json);
        else
            json_add_i64(json, n);
    }
    json_close(json, ']');
}

static int64_t received(const CurvePoint *point)
{
    return point->figures.received;
}

static int64_t delivered(const CurvePoint *point)
{
    return point->figures.delivered;
}

static int64_t failed(const CurvePoint *point)
{
    return point->figures.failed;
}

static int64_t parked(const CurvePoint *point)
{
    return point->figures.parked;
}

static int64_t depth(const CurvePoint *point)
{
    return point->depth;
}

static int64_t p50(const CurvePoint *point)
{
    return curve_percentile(&point->figures, 50);
}

static int64_t p95(const CurvePoint *point)
{
    return curve_percentile(&point->figures, 95);
}

static int64_t p99(const CurvePoint *point)
{
    return curve_percentile(&point->figures, 99);
}

static void put_failures(Call *call, JsonOut *json, const CurveReport *report)
{
    json_key(json, S("failures"));
    json_open(json, '[');
    for (size_t i = 0; i < report->failure_count; i++) {
        const CurveFailures *failures = &report->failures[i];
        const RegistryLane *lane = registry_lane(call->registry, failures->lane);
        json_open(json, '{');
        json_put_str(json, S("channel"),
                     lane && lane->channel_key.len ? lane->channel_key : S("other"));
        json_key(json, S("counts"));
        json_open(json, '[');
        for (size_t j = 0; j < report->count; j++)
            json_add_i64(json, failures->counts[j]);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_curves(Call *call, JsonOut *json, const CurveAsked *asked,
                       const CurveReport *report)
{
    json_open(json, '{');
    json_put_time(json, S("from"), asked->from);
    json_put_time(json, S("to"), asked->to);
    json_put_i64(json, S("step"), asked->step / SPAN_SECOND);
    json_key(json, S("times"));
    json_open(json, '[');
    for (size_t i = 0; i < report->count; i++)
        json_add_i64(json, (asked->from + (Span) i * asked->step) / SPAN_SECOND);
    json_close(json, ']');
    column(json, S("received"), report, received);
    column(json, S("delivered"), report, delivered);
    column(json, S("failed"), report, failed);
    column(json, S("parked"), report, parked);
    column(json, S("depth"), report, depth);
    json_key(json, S("latency"));
    json_open(json, '{');
    column(json, S("p50"), report, p50);
    column(json, S("p95"), report, p95);
    column(json, S("p99"), report, p99);
    json_close(json, '}');
    put_failures(call, json, report);
    json_put_bool(json, S("isPartial"), report->is_partial);
    json_close(json, '}');
}

Err curves_get(Call *call, Db *db, Error *error)
{
    Str channel = STR_NONE;
    CurveAsked asked;
    CurveReport report;
    TRY(read_asked(call, &asked, error));
    if (param_text(call, CURVES_CHANNEL, &channel)) {
        asked.lane = registry_lane_of(call->registry, call->tenant, channel);
        if (asked.lane == 0)
            asked.lane = INT64_MAX; // nothing was ever made for it
    }
    TRY(curve_read(db, call->arena, writer_curves(call->api->writer), &asked, &report, error));
    put_curves(call, call_json(call, 200), &asked, &report);
    return ERR_OK;
}
