#include "base/histogram.h"

#define DECADE(n) (n), (n) *5 / 2, (n) *5

const HistogramScale histogram_spans = {
    .bounds = { DECADE(SPAN_MILLISECOND / 10), DECADE(SPAN_MILLISECOND),
                DECADE(10 * SPAN_MILLISECOND), DECADE(100 * SPAN_MILLISECOND), DECADE(SPAN_SECOND),
                DECADE(10 * SPAN_SECOND), DECADE(100 * SPAN_SECOND), 1000 * SPAN_SECOND },
    .count = 22,
    .unit = SPAN_SECOND,
};

const HistogramScale histogram_counts = {
    .bounds = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000 },
    .count = 13,
    .unit = 1,
};

void histogram_add(Histogram *histogram, const HistogramScale *scale, int64_t value)
{
    size_t bucket = 0;
    assert(scale->count <= HISTOGRAM_BOUNDS_MAX);
    if (value < 0)
        value = 0; // a clock was put back between two looks at it
    while (bucket < scale->count && value > scale->bounds[bucket])
        bucket++;
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum, value, memory_order_relaxed);
}
