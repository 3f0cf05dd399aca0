#include "base/metric.h"

enum { PROBES_MAX = 16, LABELS_BYTES_MAX = 4096 };

// Series is what is counted under one key. A counter has only the sum.
typedef struct Series {
    _Atomic int64_t mark; // its key and one; 0: free
    Histogram histogram;
} Series;

static const MetricRow rows[] = {
#define ROW(name, type, series, text, labels, help)                                                \
    [METRIC_##name] = { METRIC_TYPE_##type, series, text, labels, help },
    METRIC_TABLE(ROW)
#undef ROW
};

// One more than the row says: the last is for the others.
#define ROW(name, type, series, ...) static Series series_of_##name[(series) + 1];
METRIC_TABLE(ROW)
#undef ROW

static Series *const series_of[] = {
#define ROW(name, ...) [METRIC_##name] = series_of_##name,
    METRIC_TABLE(ROW)
#undef ROW
};

const MetricRow *metric_row(Metric metric)
{
    return &rows[metric];
}

const char *metric_type_text(MetricType type)
{
    static const char *const texts[] = { "counter", "gauge", "histogram" };
    return texts[type];
}

// is_taken_for: the series is the key's, or was free and is so now.
static bool is_taken_for(Series *series, int64_t mark)
{
    int64_t found = atomic_load_explicit(&series->mark, memory_order_acquire);
    if (found == 0 && atomic_compare_exchange_strong(&series->mark, &found, mark))
        return true;
    return found == mark;
}

static Series *series_find(Metric metric, int64_t key)
{
    Series *all = series_of[metric];
    size_t count = rows[metric].series;
    assert(count > 0 && key >= METRIC_ALONE);
    uint64_t hash = (uint64_t) key * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < PROBES_MAX && i < count; i++) {
        Series *series = &all[((hash >> 32) + i) % count];
        if (is_taken_for(series, key + 1))
            return series;
    }
    return &all[count];
}

// scale_of: what is measured is time, but for the rows that are named here.
static const HistogramScale *scale_of(Metric metric)
{
    return metric == METRIC_COMMIT_OPERATIONS ? &histogram_counts : &histogram_spans;
}

void metric_count(Metric metric, int64_t key, int64_t n)
{
    assert(rows[metric].type == METRIC_TYPE_COUNTER);
    atomic_fetch_add_explicit(&series_find(metric, key)->histogram.sum, n, memory_order_relaxed);
}

void metric_observe(Metric metric, int64_t key, int64_t value)
{
    assert(rows[metric].type == METRIC_TYPE_HISTOGRAM);
    histogram_add(&series_find(metric, key)->histogram, scale_of(metric), value);
}

void metric_head(Buf *out, Metric metric)
{
    const MetricRow *row = &rows[metric];
    buf_add_format(out, "# HELP %s %s\n# TYPE %s %s\n", row->text, row->help, row->text,
                   metric_type_text(row->type));
}

void metric_label(Buf *out, const char *name, Str value)
{
    if (out->len > 0)
        buf_add_char(out, ',');
    buf_add_format(out, "%s=\"", name);
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] == '\\' || value.at[i] == '"')
            buf_add_char(out, '\\');
        buf_add_char(out, value.at[i] == '\n' ? ' ' : value.at[i]);
    }
    buf_add_char(out, '"');
}

static void put(Buf *out, Metric metric, const char *suffix, Str labels, double value)
{
    buf_add_format(out, "%s%s", rows[metric].text, suffix);
    if (labels.len)
        buf_add_format(out, "{%.*s}", STR_ARG(labels));
    buf_add_format(out, " %.15g\n", value);
}

void metric_put(Buf *out, Metric metric, Str labels, double value)
{
    put(out, metric, "", labels, value);
}

static void put_bucket(Buf *out, Metric metric, Str labels, const char *bound, int64_t count)
{
    buf_add_format(out, "%s_bucket{%.*s%sle=\"%s\"} %lld\n", rows[metric].text, STR_ARG(labels),
                   labels.len ? "," : "", bound, (long long) count);
}

static void put_histogram(Buf *out, Metric metric, Str labels, const Histogram *histogram)
{
    const HistogramScale *scale = scale_of(metric);
    int64_t count = 0, sum = atomic_load_explicit(&histogram->sum, memory_order_relaxed);
    char bound[32];
    for (size_t i = 0; i <= scale->count; i++) {
        count += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        if (i < scale->count)
            snprintf(bound, sizeof bound, "%.15g",
                     (double) scale->bounds[i] / (double) scale->unit);
        put_bucket(out, metric, labels, i < scale->count ? bound : "+Inf", count);
    }
    put(out, metric, "_sum", labels, (double) sum / (double) scale->unit);
    put(out, metric, "_count", labels, (double) count);
}

static void put_one(Buf *out, Metric metric, Str labels, const Series *series)
{
    if (rows[metric].type == METRIC_TYPE_HISTOGRAM)
        put_histogram(out, metric, labels, &series->histogram);
    else
        put(out, metric, "", labels,
            (double) atomic_load_explicit(&series->histogram.sum, memory_order_relaxed));
}

// is_used: the others' series has no mark; that something was counted there shows.
static bool is_used(const Series *series)
{
    bool is_counted = atomic_load_explicit(&series->histogram.sum, memory_order_relaxed) != 0;
    for (size_t i = 0; i < HISTOGRAM_BOUNDS_MAX + 1 && !is_counted; i++)
        is_counted = atomic_load_explicit(&series->histogram.counts[i], memory_order_relaxed) != 0;
    return is_counted;
}

void metric_put_series(Buf *out, Metric metric, MetricLabels *labels, void *with)
{
    const Series *all = series_of[metric];
    size_t count = rows[metric].series;
    metric_head(out, metric);
    if (!labels) {
        put_one(out, metric, STR_NONE, &all[0]); // one that nothing was counted in is shown as well
        return;
    }
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i <= count; i++) {
        int64_t mark = atomic_load_explicit(&all[i].mark, memory_order_acquire);
        Buf text = buf_new(&arena, LABELS_BYTES_MAX);
        if (i < count ? mark != 0 : is_used(&all[i]))
            if (labels(with, i < count ? mark - 1 : METRIC_OTHERS, &text))
                put_one(out, metric, buf_str(&text), &all[i]);
    }
}
