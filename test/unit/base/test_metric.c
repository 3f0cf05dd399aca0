#include "base/metric.h"
#include "test.h"

#include <ctype.h>

static Str shown(Arena *arena, Metric metric, MetricLabels *labels)
{
    Buf out = buf_new(arena, 1 << 20);
    metric_put_series(&out, metric, labels, NULL);
    return buf_str(&out);
}

// What promtool would complain of is refused here, for rows that no test has a sample of.
static void names_are_as_prometheus_wants_them(void)
{
    for (Metric metric = 0; metric < METRIC_COUNT; metric++) {
        const MetricRow *row = metric_row(metric);
        Str text = str_from(row->text);
        CHECK_AT(row->text, str_starts(text, S("peal_")) || str_starts(text, S("process_")));
        CHECK_AT(row->text, str_ends(text, S("_total")) == (row->type == METRIC_TYPE_COUNTER));
        CHECK_AT(row->text, row->help[0] != '\0');
        CHECK_AT(row->text, row->type != METRIC_TYPE_HISTOGRAM || row->series > 0);
        CHECK_AT(row->text, row->series <= 1 || row->labels[0] != '\0');
        for (size_t i = 0; i < text.len; i++)
            CHECK_AT(row->text, islower(text.at[i]) || text.at[i] == '_');
        for (Metric other = 0; other < metric; other++)
            CHECK_AT(row->text, !str_eq(text, str_from(metric_row(other)->text)));
    }
}

static void a_counter_is_shown_before_it_was_counted(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_ends(shown(&arena, METRIC_EVENTS, NULL), S("\npeal_events_total 0\n")));
    metric_count(METRIC_EVENTS, METRIC_ALONE, 3);
    metric_count(METRIC_EVENTS, METRIC_ALONE, 4);
    CHECK(str_eq(shown(&arena, METRIC_EVENTS, NULL), S("# HELP peal_events_total Events taken in\n"
                                                       "# TYPE peal_events_total counter\n"
                                                       "peal_events_total 7\n")));
}

static void a_histogram_is_shown_in_seconds_and_cumulated(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    metric_observe(METRIC_COMMIT, METRIC_ALONE, 100);
    metric_observe(METRIC_COMMIT, METRIC_ALONE, 2 * SPAN_MILLISECOND);
    metric_observe(METRIC_COMMIT, METRIC_ALONE, SPAN_HOUR);
    Str text = shown(&arena, METRIC_COMMIT, NULL);
    CHECK(str_contains(text, S("\npeal_commit_seconds_bucket{le=\"0.0001\"} 1\n")));
    CHECK(str_contains(text, S("\npeal_commit_seconds_bucket{le=\"0.001\"} 1\n")));
    CHECK(str_contains(text, S("\npeal_commit_seconds_bucket{le=\"0.0025\"} 2\n")));
    CHECK(str_contains(text, S("\npeal_commit_seconds_bucket{le=\"1000\"} 2\n")));
    CHECK(str_contains(text, S("\npeal_commit_seconds_bucket{le=\"+Inf\"} 3\n")));
    CHECK(str_contains(text, S("\npeal_commit_seconds_sum 3600.0021\n")));
    CHECK(str_contains(text, S("\npeal_commit_seconds_count 3\n")));
}

// A name says what its buckets hold.
static void buckets_are_in_the_unit_of_the_name(void)
{
    for (Metric metric = 0; metric < METRIC_COUNT; metric++) {
        DEFER(arena_done) Arena arena = { 0 };
        const MetricRow *row = metric_row(metric);
        if (row->type != METRIC_TYPE_HISTOGRAM || row->series > 1)
            continue;
        bool is_time = str_ends(str_from(row->text), S("_seconds"));
        CHECK_AT(row->text,
                 str_contains(shown(&arena, metric, NULL), S("le=\"0.0001\"")) == is_time);
    }
}

static bool label_number(void *with, int64_t key, Buf *out)
{
    char text[24];
    (void) with;
    snprintf(text, sizeof text, "%lld", (long long) key);
    metric_label(out, "n", str_from(text));
    return key != 13;
}

static void labels_are_quoted(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf out = buf_new(&arena, 100);
    metric_label(&out, "a", S("say \"no\"\nto\\this"));
    metric_label(&out, "b", S(""));
    CHECK(str_eq(buf_str(&out), S("a=\"say \\\"no\\\" to\\\\this\",b=\"\"")));
}

static void what_is_not_to_be_seen_is_left_out(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    metric_count(METRIC_ATTEMPTS, 12, 5);
    metric_count(METRIC_ATTEMPTS, 13, 5);
    Str text = shown(&arena, METRIC_ATTEMPTS, label_number);
    CHECK(str_contains(text, S("peal_attempts_total{n=\"12\"} 5\n")));
    CHECK(!str_contains(text, S("\"13\"")));
    CHECK(!str_contains(text, S("\"-1\""))); // there are no others
}

static void more_keys_than_series_are_summed(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    enum { KEYS = 30000 };
    size_t lines = 0;
    for (int64_t key = 1; key <= KEYS; key++) {
        metric_count(METRIC_CHANNEL_ATTEMPTS, key, 1);
        metric_count(METRIC_CHANNEL_ATTEMPTS, key, 1);
    }
    Str text = shown(&arena, METRIC_CHANNEL_ATTEMPTS, label_number);
    size_t max = metric_row(METRIC_CHANNEL_ATTEMPTS)->series;
    int64_t sum = 0;
    while (text.len > 0) {
        Str line = str_cut(&text, '\n'), rest = line;
        int64_t n;
        str_cut(&rest, ' ');
        if (str_starts(line, S("#")) || !str_to_i64(rest, 0, INT64_MAX, &n))
            continue;
        lines++;
        sum += n;
    }
    CHECK(lines <= max + 1 && lines > max / 2);
    CHECK(sum == 2 * KEYS - 2); // number 13 is not shown
}

static const Test tests[] = {
    TEST(names_are_as_prometheus_wants_them),
    TEST(a_counter_is_shown_before_it_was_counted),
    TEST(a_histogram_is_shown_in_seconds_and_cumulated),
    TEST(buckets_are_in_the_unit_of_the_name),
    TEST(labels_are_quoted),
    TEST(what_is_not_to_be_seen_is_left_out),
    TEST(more_keys_than_series_are_summed),
};

TEST_MAIN(tests)
