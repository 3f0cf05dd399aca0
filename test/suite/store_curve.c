#include "fixture.h"

#include "store/curve.h"

// What curve.h promises: minutes and hours of what was committed, written whole, added up.

typedef struct Written {
    Curves *curves;
    int64_t n;
} Written;

static Err do_write(Tx *tx, void *with, Error *error)
{
    Written *written = with;
    return curves_write(tx, written->curves, &written->n, error);
}

static void write_curves(Store *store)
{
    Written written = { writer_curves(store->writer), 0 };
    MUST(store, writer_run(store->writer, do_write, &written, &store->error));
    curves_written(written.curves, written.n, now(store));
}

static void visit(Store *store)
{
    CHECK(take_err(take(store, TENANT, "{'kind':'visit','payload':{}}")) == ERR_OK);
}

static void open_curves(Store *store)
{
    publish(store, TENANT, "{'id':'plain','eventKind':'visit','channel':'memory:default'}");
    pass(store, SPAN_HOUR - now(store) % SPAN_HOUR);
}

static int64_t received(Store *store, Span step, Span back)
{
    CurveReport report;
    int64_t sum = 0;
    Instant to = now(store) - now(store) % step + step;
    CurveAsked asked = { .tenant = TENANT, .from = to - back, .to = to, .step = step };
    MUST(store, curve_read(store->db, &store->arena, writer_curves(store->writer), &asked, &report,
                           &store->error));
    for (size_t i = 0; i < report.count; i++)
        sum += report.points[i].figures.received;
    return sum;
}

static void a_row_is_written_whole_and_read_once(void)
{
    STORE(store);
    open_curves(&store);
    visit(&store);
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 1); // from memory
    write_curves(&store);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM curve") == 2); // a minute and an hour
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 1);      // and from the store, not twice
    visit(&store);
    write_curves(&store);
    write_curves(&store);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM curve") == 2);
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 2);
    CHECK(received(&store, SPAN_HOUR, SPAN_DAY) == 2);
    pass(&store, SPAN_MINUTE);
    visit(&store);
    write_curves(&store);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM curve WHERE step = 60") == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM curve WHERE step = 3600") == 1);
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 3);
    CHECK(received(&store, SPAN_DAY, SPAN_DAY) == 3);
}

static void a_minute_that_comes_again_overwrites_nothing(void)
{
    STORE(store);
    open_curves(&store);
    visit(&store);
    pass(&store, SPAN_MINUTE);
    write_curves(&store); // the first minute is let go of
    pass(&store, -SPAN_MINUTE);
    visit(&store);
    write_curves(&store);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM curve WHERE step = 60") == 2);
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 2);
}

static void nodes_add_up(void)
{
    STORE(store);
    open_curves(&store);
    Curves *other = curves_new();
    writer_set_node(store.writer, 1);
    visit(&store);
    write_curves(&store);
    writer_set_node(store.writer, 2);
    TakenIn taken = { TENANT, 5 };
    Tx tx = { .now = now(&store), .taken = &taken, .taken_count = 1 };
    curves_gather(other, &tx);
    Written written = { other, 0 };
    MUST(&store, writer_run(store.writer, do_write, &written, &store.error));
    curves_free(other);
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 6);
    CHECK(received(&store, SPAN_HOUR, SPAN_DAY) == 6);
}

static void ten_thousand_channels_are_a_hundred_and_the_rest(void)
{
    STORE(store);
    open_curves(&store);
    Move *moves = memory_new(10000 * sizeof *moves);
    for (int i = 0; i < 10000; i++)
        moves[i] = (Move){ .tenant = TENANT,
                           .lane = 1000 + i,
                           .is_failed = true,
                           .from = DELIVERY_SENDING,
                           .to = DELIVERY_RETRYING };
    Tx tx = { .now = now(&store), .moves = moves, .move_count = 10000 };
    curves_gather(writer_curves(store.writer), &tx);
    free(moves);
    write_curves(&store);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM curve") == 2);
    CurveReport report;
    CurveAsked asked = {
        .tenant = TENANT, .from = now(&store), .to = now(&store) + SPAN_MINUTE, .step = SPAN_MINUTE
    };
    MUST(&store, curve_read(store.db, &store.arena, writer_curves(store.writer), &asked, &report,
                            &store.error));
    CHECK(report.points[0].figures.failed == 10000);
    CHECK(report.failure_count == CURVE_FAILURES_MAX + 1);
    CHECK(report.failures[CURVE_FAILURES_MAX].lane == CURVE_REST);
    CHECK(report.failures[CURVE_FAILURES_MAX].total == 10000 - CURVE_FAILURES_MAX);
    CHECK(!report.is_partial);
    asked.lane = 1000;
    MUST(&store, curve_read(store.db, &store.arena, writer_curves(store.writer), &asked, &report,
                            &store.error));
    CHECK(report.points[0].figures.failed == 1 && report.is_partial);
}

static void gather_of(Curves *curves, Store *store, int64_t tenant)
{
    TakenIn taken = { tenant, 1 };
    Tx tx = { .now = now(store), .taken = &taken, .taken_count = 1 };
    curves_gather(curves, &tx);
}

static void what_has_no_room_is_not_gathered_until_there_is_some(void)
{
    STORE(store);
    open_curves(&store);
    Curves *curves = writer_curves(store.writer);
    for (int64_t i = 0; i < CURVE_CELLS_MAX / 2; i++) // a minute and an hour of each
        gather_of(curves, &store, 1000 + i);
    gather_of(curves, &store, TENANT);
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 0);
    write_curves(&store);
    pass(&store, SPAN_HOUR);
    write_curves(&store);
    curves_written(curves, 0, now(&store)); // lets go of what is over
    gather_of(curves, &store, TENANT);
    CHECK(received(&store, SPAN_MINUTE, SPAN_HOUR) == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM curve") == CURVE_CELLS_MAX);
}

static Err do_purge(Tx *tx, void *with, Error *error)
{
    return curve_purge(tx, 10, with, error);
}

static void they_are_kept_for_400_days(void)
{
    STORE(store);
    int64_t gone;
    open_curves(&store);
    visit(&store);
    write_curves(&store);
    pass(&store, CURVE_KEPT - SPAN_SECOND);
    MUST(&store, writer_run(store.writer, do_purge, &gone, &store.error));
    CHECK(gone == 0);
    pass(&store, SPAN_SECOND);
    MUST(&store, writer_run(store.writer, do_purge, &gone, &store.error));
    CHECK(gone == 2 && ask_i64(&store, "SELECT COUNT(*) FROM curve") == 0);
}

static void percentiles_are_near(void)
{
    CurveFigures figures = { 0 };
    CHECK(curve_percentile(&figures, 50) == -1);
    for (int ms = 1; ms <= 1000; ms++)
        figures.took[curve_bucket(ms * SPAN_MILLISECOND)]++;
    int64_t p50 = curve_percentile(&figures, 50), p99 = curve_percentile(&figures, 99);
    CHECK(p50 > 450 && p50 < 550 && p99 > 900 && p99 < 1100);
    CHECK(curve_bucket(-5) == 0 && curve_bucket(999) == 0);
    CHECK(curve_bucket(SPAN_MILLISECOND) == 1 && curve_bucket(400 * SPAN_DAY) == CURVE_BUCKETS - 1);
    for (Span span = 1, last = 0; span < SPAN_DAY; span += span / 3 + 1) {
        CHECK(curve_bucket(span) >= (size_t) last);
        last = (Span) curve_bucket(span);
    }
}

static const Test tests[] = {
    TEST(a_row_is_written_whole_and_read_once),
    TEST(a_minute_that_comes_again_overwrites_nothing),
    TEST(nodes_add_up),
    TEST(ten_thousand_channels_are_a_hundred_and_the_rest),
    TEST(what_has_no_room_is_not_gathered_until_there_is_some),
    TEST(they_are_kept_for_400_days),
    TEST(percentiles_are_near),
};
PART(curve_part, tests);
