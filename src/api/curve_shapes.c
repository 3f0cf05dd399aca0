#include "api/shapes.h"

// What /v1/curves and /v1/plan answer.

#define ALWAYS FIELD_ALWAYS
#define OR_NULL (FIELD_ALWAYS | FIELD_NULLABLE)
#define LIST(name, flags, element)                                                                 \
    {                                                                                              \
        name, FIELD_LIST, flags, .of = &(element)                                                  \
    }
#define SHAPE(title, rows)                                                                         \
    {                                                                                              \
        .name = (title), SHAPE_ROWS(rows)                                                          \
    }

// clang-format off
static const Field count_row = { NULL, FIELD_COUNT };
static const Field some_count_row = { NULL, FIELD_COUNT, FIELD_NULLABLE };
static const Field curve_latency_rows[] = {
    LIST("p50", ALWAYS, some_count_row),
    LIST("p95", ALWAYS, some_count_row),
    LIST("p99", ALWAYS, some_count_row),
};
static const Shape curve_latency_shape = SHAPE("CurveLatency", curve_latency_rows);
static const Field curve_failures_rows[] = {
    { "channel", FIELD_TEXT, ALWAYS, .help = "Or other: all that have no figures of their own" },
    LIST("counts", ALWAYS, count_row),
};
static const Shape curve_failures_shape = SHAPE("CurveFailures", curve_failures_rows);
static const Field curve_failures_row = { NULL, FIELD_OBJECT, .inside = &curve_failures_shape };
static const Field curves_rows[] = {
    { "from", FIELD_TIME,  ALWAYS },
    { "to",   FIELD_TIME,  ALWAYS },
    { "step", FIELD_COUNT, ALWAYS, .help = "Seconds" },
    { "times",     FIELD_LIST, ALWAYS, .of = &count_row, .help = "When each step begins, in seconds since 1970; all that follows has as many" },
    { "received",  FIELD_LIST, ALWAYS, .of = &count_row, .help = "Events; of one channel the deliveries that were made for it" },
    { "delivered", FIELD_LIST, ALWAYS, .of = &count_row, .help = "Sends that arrived, reminders too" },
    { "failed",    FIELD_LIST, ALWAYS, .of = &count_row, .help = "Attempts that failed" },
    { "parked",    FIELD_LIST, ALWAYS, .of = &count_row, .help = "Deliveries that were parked in the step" },
    { "depth",     FIELD_LIST, ALWAYS, .of = &some_count_row, .help = "Deliveries that were pending, being sent or retried at the end of the step; null of one channel" },
    { "latency",   FIELD_OBJECT, ALWAYS, .inside = &curve_latency_shape, .help = "Milliseconds from when a send was due to when it arrived; null where none did" },
    { "failures",  FIELD_LIST, ALWAYS, .of = &curve_failures_row, .help = "Failed attempts of the channels that failed most" },
    { "isPartial", FIELD_BOOL, ALWAYS, .help = "Of one channel: more channels were busy than have figures of their own, and this may have been one of them" },
};
const Shape curves_shape = SHAPE("Curves", curves_rows);

static const Field plan_peak_rows[] = {
    { "at",    FIELD_TIME,  ALWAYS, .help = "When the minute begins in which most are due" },
    { "count", FIELD_COUNT, ALWAYS },
    { "lasts", FIELD_TEXT,  OR_NULL, .help = "How long these take at the channel's rate; null: it has none" },
};
static const Shape plan_peak_shape = SHAPE("OutlookPeak", plan_peak_rows);
static const Field plan_channel_rows[] = {
    { "channel",        FIELD_TEXT,   ALWAYS, .help = "Or other: all beyond the first 50 of the day" },
    { "count",          FIELD_COUNT,  ALWAYS },
    { "limitPerSecond", FIELD_NUMBER, OR_NULL },
    { "peak",           FIELD_OBJECT, OR_NULL, .inside = &plan_peak_shape, .help = "Null where a sample is too small to tell" },
};
static const Shape plan_channel_shape = SHAPE("OutlookChannel", plan_channel_rows);
static const Field plan_channel_row = { NULL, FIELD_OBJECT, .inside = &plan_channel_shape };
static const Field plan_day_rows[] = {
    { "day",   FIELD_TEXT,  ALWAYS, .help = "A date in the zone" },
    { "count", FIELD_COUNT, ALWAYS },
    { "isEstimate", FIELD_BOOL, ALWAYS, .help = "Some of it is estimated from a sample: what is due from countedUntil on" },
    { "hours", FIELD_LIST,  ALWAYS, .of = &count_row, .help = "24 of them, as clocks show: one that is shown twice counts for both, one that is skipped has nothing" },
    LIST("channels", ALWAYS, plan_channel_row),
};
static const Shape plan_day_shape = SHAPE("OutlookDay", plan_day_rows);
static const Field plan_day_row = { NULL, FIELD_OBJECT, .inside = &plan_day_shape };
static const Field plan_rows[] = {
    { "zone", FIELD_TEXT, ALWAYS },
    { "from", FIELD_TIME, ALWAYS },
    { "to",   FIELD_TIME, ALWAYS },
    LIST("days", ALWAYS, plan_day_row),
    { "isPartial",    FIELD_BOOL, ALWAYS, .help = "There is more than is counted one by one: from countedUntil on it is estimated, and of an entity at least so many are due" },
    { "countedUntil", FIELD_TIME, OR_NULL, .help = "Null: all is counted" },
};
const Shape outlook_shape = SHAPE("Outlook", plan_rows);
// clang-format on
