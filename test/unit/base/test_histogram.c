#include "base/histogram.h"
#include "test.h"

#include <pthread.h>

static void bounds_grow_and_are_log_spaced(void)
{
    const HistogramScale *scales[] = { &histogram_spans, &histogram_counts };
    for (size_t s = 0; s < ARRAY_LEN(scales); s++) {
        CHECK(scales[s]->count <= HISTOGRAM_BOUNDS_MAX);
        for (size_t i = 1; i < scales[s]->count; i++) {
            double factor = (double) scales[s]->bounds[i] / (double) scales[s]->bounds[i - 1];
            CHECK(factor >= 2 && factor <= 2.5);
        }
    }
}

static void a_value_counts_in_the_first_bucket_that_holds_it(void)
{
    static const struct {
        Span value;
        size_t bucket;
    } rows[] = {
        { -1, 0 },
        { 0, 0 },
        { 100, 0 },
        { 101, 1 },
        { SPAN_MILLISECOND, 3 },
        { SPAN_MILLISECOND + 1, 4 },
        { SPAN_SECOND, 12 },
        { 1000 * SPAN_SECOND, 21 },
        { 1000 * SPAN_SECOND + 1, 22 },
        { INT64_MAX, 22 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Histogram histogram = { 0 };
        histogram_add(&histogram, &histogram_spans, rows[i].value);
        for (size_t b = 0; b <= HISTOGRAM_BOUNDS_MAX; b++)
            CHECK(histogram.counts[b] == (b == rows[i].bucket));
        CHECK(histogram.sum == (rows[i].value > 0 ? rows[i].value : 0));
    }
}

enum { THREADS = 4, ADDED = 20000 };

static void *add_many(void *with)
{
    for (int64_t i = 0; i < ADDED; i++)
        histogram_add(with, &histogram_counts, i % 3 + 1);
    return NULL;
}

static void nothing_is_lost_between_threads(void)
{
    Histogram histogram = { 0 };
    pthread_t threads[THREADS];
    int64_t count = 0;
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, add_many, &histogram) == 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t b = 0; b <= HISTOGRAM_BOUNDS_MAX; b++)
        count += histogram.counts[b];
    CHECK(count == THREADS * ADDED);
}

static const Test tests[] = {
    TEST(bounds_grow_and_are_log_spaced),
    TEST(a_value_counts_in_the_first_bucket_that_holds_it),
    TEST(nothing_is_lost_between_threads),
};

TEST_MAIN(tests)
