#include "fixture.h"

#include "store/duty.h"
#include "store/sample.h"

// What sample.h promises: a row a minute and tenant while anything changes, from all counters.

static Err do_take(Tx *tx, void *with, Error *error)
{
    (void) with;
    return sample_take(tx, error);
}

// sample takes what there is and returns how many rows there are then.
static int64_t sample(Store *store)
{
    MUST(store, writer_run(store->writer, do_take, NULL, &store->error));
    return ask_i64(store, "SELECT COUNT(*) FROM sample");
}

static void visit(Store *store)
{
    CHECK(take_err(take(store, TENANT, "{'kind':'visit','payload':{}}")) == ERR_OK);
}

static void open_sampled(Store *store)
{
    publish(store, TENANT, "{'id':'plain','eventKind':'visit','channel':'memory:default'}");
    pass(store, SPAN_MINUTE - now(store) % SPAN_MINUTE);
}

static void a_minute_has_one_row_while_anything_changes(void)
{
    STORE(store);
    open_sampled(&store);
    CHECK(sample(&store) == 0); // of a tenant that never had anything
    visit(&store);
    CHECK(sample(&store) == 1);
    visit(&store);
    pass(&store, SPAN_MINUTE - SPAN_SECOND);
    CHECK(sample(&store) == 1);
    pass(&store, SPAN_SECOND);
    CHECK(sample(&store) == 2);
    pass(&store, 3 * SPAN_MINUTE + SPAN_SECOND);
    CHECK(sample(&store) == 2); // nothing has changed
    visit(&store);
    CHECK(sample(&store) == 3);
    Rows rows =
        ask(&store, "SELECT at, pending, sending, delivered FROM sample ORDER BY at", "", NULL);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        CHECK(row[0].i64 % SPAN_MINUTE == 0 && row[1].i64 == (int64_t) i + 1);
        CHECK(row[2].i64 == 0 && row[3].i64 == 0);
    }
    CHECK(rows_at(&rows, 2)[0].i64 - rows_at(&rows, 0)[0].i64 == 4 * SPAN_MINUTE);
}

static void all_writers_count(void)
{
    STORE(store);
    open_sampled(&store);
    for (int node = 1; node <= 3; node++) {
        writer_set_node(store.writer, node);
        visit(&store);
    }
    CHECK(sample(&store) == 1);
    CHECK(ask_i64(&store, "SELECT pending FROM sample") == 3);
}

static Err do_lease(Tx *tx, void *with, Error *error)
{
    bool is_ours;
    (void) with;
    TRY(duty_lease(tx, S("sample"), 99, tx->now + SPAN_MINUTE, &is_ours, error));
    return is_ours ? ERR_OK : fail(error, ERR_INTERNAL, "somebody has it");
}

static void one_node_at_a_time_takes_them(void)
{
    STORE(store);
    open_sampled(&store);
    visit(&store);
    MUST(&store, writer_run(store.writer, do_lease, NULL, &store.error));
    CHECK(sample(&store) == 0);
    pass(&store, SPAN_MINUTE);
    CHECK(sample(&store) == 1);
}

static Err do_purge(Tx *tx, void *with, Error *error)
{
    return sample_purge(tx, 2, with, error);
}

static int64_t purge(Store *store)
{
    int64_t gone;
    MUST(store, writer_run(store->writer, do_purge, &gone, &store->error));
    return gone;
}

static void what_is_old_goes_in_slices(void)
{
    STORE(store);
    open_sampled(&store);
    for (int i = 0; i < 4; i++, pass(&store, SPAN_MINUTE)) {
        visit(&store);
        CHECK(sample(&store) == i + 1);
    }
    pass(&store, SAMPLE_KEPT - 5 * SPAN_MINUTE);
    CHECK(purge(&store) == 0);
    pass(&store, 3 * SPAN_MINUTE);
    CHECK(purge(&store) == 2 && purge(&store) == 1 && purge(&store) == 0);
    CHECK(ask_i64(&store, "SELECT pending FROM sample") == 4);
}

static const Test tests[] = {
    TEST(a_minute_has_one_row_while_anything_changes),
    TEST(all_writers_count),
    TEST(one_node_at_a_time_takes_them),
    TEST(what_is_old_goes_in_slices),
};
PART(sample_part, tests);
