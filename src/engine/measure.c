#include "engine/measure.h"

#include "base/metric.h"

// key_of numbers the types of channels from one; none where there is no such channel.
static int64_t key_of(const ChannelType *type)
{
    for (size_t i = 0; channel_type_at(i); i++)
        if (channel_type_at(i) == type)
            return (int64_t) i + 1;
    return MEASURE_NO_TYPE;
}

Str measure_type(int64_t key)
{
    const ChannelType *type = key > MEASURE_NO_TYPE ? channel_type_at((size_t) key - 1) : NULL;
    return type ? str_from(type->type) : S("none");
}

void measure_claimed(const Live *live, Instant now)
{
    metric_observe(METRIC_QUEUE_AGE, METRIC_ALONE, now - live->due_at);
}

void measure_started(const Live *live, Instant now)
{
    if (live->attempt == 1 && live->first_due_at == live->triggered_at)
        metric_observe(METRIC_COMMIT_TO_ATTEMPT, METRIC_ALONE, now - live->triggered_at);
}

void measure_missing(size_t placeholders)
{
    if (placeholders > 0)
        metric_count(METRIC_MISSING, METRIC_ALONE, (int64_t) placeholders);
}

void measure_ended(const ChannelType *type, int64_t lane, Verdict verdict, Span took)
{
    int64_t key = key_of(type);
    metric_observe(METRIC_ATTEMPT, key, took);
    metric_count(METRIC_ATTEMPTS, measure_key(key, verdict), 1);
    metric_observe(METRIC_CHANNEL_ATTEMPT, lane, took);
    metric_count(METRIC_CHANNEL_ATTEMPTS, measure_key(lane, verdict), 1);
}

Str measured_row_text(int64_t key)
{
    static const char *const texts[] = {
        [MEASURED_CREATED] = "created",
        [MEASURED_SKIPPED] = "skipped",
        [MEASURED_FAILED] = "failed",
    };
    assert(key > 0 && key < (int64_t) ARRAY_LEN(texts));
    return str_from(texts[key]);
}

void measure_row(MeasuredRow row, int64_t n)
{
    metric_count(METRIC_CAMPAIGN_ROWS, (int64_t) row, n);
}
