// histogram.h - how often a value was how large: counts by bucket, taken without a lock.
//
// The bounds of buckets are fixed and log-spaced, so that histograms of several nodes can be added
// up. Any thread may add; whoever reads sees each bucket as it stands, and the sum perhaps a moment
// later than the counts: figures for a graph, not for a ledger.
#pragma once

#include "base/base.h"

#include <stdatomic.h>

enum { HISTOGRAM_BOUNDS_MAX = 22 };

// HistogramScale is where buckets end: a value counts in the first whose bound it does not exceed,
// or in one more behind the last. unit is how many of the value make one of what is shown.
typedef struct HistogramScale {
    int64_t bounds[HISTOGRAM_BOUNDS_MAX];
    size_t count;
    int64_t unit;
} HistogramScale;

extern const HistogramScale histogram_spans;  // 100 us to 1000 s, shown in seconds
extern const HistogramScale histogram_counts; // 1 to 10,000

typedef struct Histogram {
    _Atomic int64_t counts[HISTOGRAM_BOUNDS_MAX + 1];
    _Atomic int64_t sum;
} Histogram;

void histogram_add(Histogram *histogram, const HistogramScale *scale, int64_t value);
