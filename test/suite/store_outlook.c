#include "fixture.h"

#include "store/due.h"
#include "store/outlook.h"

// What outlook.h and due.h promise: counted while it is little, estimated beyond, and each send
// found where it is due.

enum { BATCH = 500 };

static void sends(Store *store, const char *kind, const char *entity, int count)
{
    for (int made = 0; made < count; made += BATCH) {
        int n = count - made < BATCH ? count - made : BATCH;
        Buf events = buf_new(&store->arena, 1 << 20);
        for (int i = 0; i < n; i++)
            buf_add(&events, str_format(&store->arena, "%s{'kind':'%s'%s,'payload':{}}",
                                        i ? "," : "[", kind, entity));
        buf_add(&events, S("]"));
        buf_add_char(&events, 0);
        CHECK(take_err(take(store, TENANT, buf_str(&events).at)) == ERR_OK);
    }
}

static void delayed(Store *store, const char *kind, const char *channel_key, const char *delay)
{
    Str text = str_format(&store->arena,
                          "{'id':'%s','eventKind':'%s','channel':'%s',"
                          "'schedule':{'initialDelay':'%s'}}%c",
                          kind, kind, channel_key, delay, 0);
    publish(store, TENANT, text.at);
}

static Outlook look(Store *store, OutlookAsked asked)
{
    Outlook outlook;
    asked.tenant = TENANT;
    asked.from = now(store);
    if (asked.to == 0)
        asked.to = now(store) + 14 * SPAN_DAY;
    MUST(store, outlook_read(store->db, &store->arena, &asked, &outlook, &store->error));
    return outlook;
}

static int64_t sum_from(const Outlook *outlook, int64_t lane, Instant from)
{
    int64_t sum = 0;
    for (size_t i = 0; i < outlook->count; i++)
        if ((lane == 0 || outlook->slots[i].lane == lane) && outlook->slots[i].minute >= from)
            sum += outlook->slots[i].n;
    return sum;
}

static int64_t sum_of(const Outlook *outlook, int64_t lane)
{
    return sum_from(outlook, lane, 0);
}

static bool is_near(int64_t n, int64_t expected, int percent)
{
    return n > expected * (100 - percent) / 100 && n < expected * (100 + percent) / 100;
}

// Slots come by lane, then minute, each once.
static bool is_in_order(const Outlook *outlook)
{
    for (size_t i = 1; i < outlook->count; i++) {
        const OutlookSlot *a = &outlook->slots[i - 1], *b = &outlook->slots[i];
        if (a->lane > b->lane || (a->lane == b->lane && a->minute >= b->minute))
            return false;
    }
    return true;
}

static void what_is_little_is_counted(void)
{
    STORE(store);
    channel(&store, TENANT, "memory:other");
    delayed(&store, "day", "memory:default", "1d");
    delayed(&store, "week", "memory:other", "7d");
    sends(&store, "day", "", 2000); // more than the first share of the lane
    sends(&store, "week", "", 3);
    Outlook outlook = look(&store, (OutlookAsked){ 0 });
    CHECK(!outlook.is_partial && !outlook.is_estimate && outlook.until == INSTANT_NONE);
    CHECK(sum_of(&outlook, 0) == 2003 && outlook.count == 2 && is_in_order(&outlook));
    CHECK(sum_of(&outlook, lane_of(&store, TENANT, "memory:other")) == 3);
    for (size_t i = 0; i < outlook.count; i++)
        CHECK(outlook.slots[i].sampled == 0);
    outlook = look(&store, (OutlookAsked){ .to = now(&store) + SPAN_DAY });
    CHECK(outlook.count == 0 && !outlook.is_partial);
    outlook = look(&store, (OutlookAsked){ .channel = S("memory:other") });
    CHECK(sum_of(&outlook, 0) == 3);
    outlook = look(&store, (OutlookAsked){ .trigger = S("day") });
    CHECK(sum_of(&outlook, 0) == 2000);
}

static void what_is_much_is_counted_and_then_estimated(void)
{
    STORE(store);
    channel(&store, TENANT, "memory:other");
    delayed(&store, "day", "memory:default", "1d");
    delayed(&store, "two", "memory:other", "2d");
    delayed(&store, "rare", "memory:other", "3d");
    Instant first = now(&store) + SPAN_DAY;
    for (int i = 0; i < 8; i++) { // an hour for each
        sends(&store, "day", "", 1000);
        sends(&store, "two", "", 500);
        pass(&store, SPAN_HOUR);
    }
    sends(&store, "rare", "", 10);
    int64_t other = lane_of(&store, TENANT, "memory:other");
    Outlook outlook = look(&store, (OutlookAsked){ 0 });
    CHECK(outlook.is_partial && outlook.is_estimate && is_in_order(&outlook));
    CHECK(outlook.until > first && outlook.until < first + 8 * SPAN_HOUR);
    // Up to until each one is counted, whole minutes of them.
    int64_t counted = sum_of(&outlook, 0) - sum_from(&outlook, 0, outlook.until);
    CHECK(counted > 0 && counted % 1000 == 0 && outlook.until % SPAN_MINUTE == 0);
    for (size_t i = 0; i < outlook.count; i++)
        CHECK((outlook.slots[i].sampled > 0) == (outlook.slots[i].minute >= outlook.until));
    CHECK(is_near(sum_of(&outlook, 0), 12010, 12));
    CHECK(is_near(sum_of(&outlook, other), 4010, 25));
    // The sample is narrowed as the count is.
    outlook = look(&store, (OutlookAsked){ .channel = S("memory:default") });
    CHECK(outlook.is_estimate && sum_of(&outlook, other) == 0);
    CHECK(is_near(sum_of(&outlook, 0), 8000, 12));
    outlook = look(&store, (OutlookAsked){ .trigger = S("two"), .to = first + 3 * SPAN_DAY });
    CHECK(outlook.is_estimate && is_near(sum_of(&outlook, 0), 4000, 25));
    // What was sent is in no sample any more, and a time ends where it ends.
    outlook = look(&store, (OutlookAsked){ .to = first + SPAN_HOUR / 2 });
    CHECK(!outlook.is_partial && sum_of(&outlook, 0) == 1000);
}

static Err do_run(Tx *tx, void *with, Error *error)
{
    Rows rows;
    return tx_query(tx, with, NULL, &rows, error);
}

static void more_channels_than_can_be_looked_at_are_estimated(void)
{
    STORE(store);
    static Statement many = {
        .name = "test_lanes",
        .scope = STATEMENT_SYSTEM,
        .params = "",
        .sql = "INSERT INTO lane (lane, tenant, channel, generation) SELECT * FROM (WITH RECURSIVE"
               " n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
               " SELECT i + 5000, 1, 'memory:n' || i, 0 FROM n) AS s",
    };
    static Statement one = {
        .name = "test_lane",
        .scope = STATEMENT_SYSTEM,
        .params = "",
        .sql = "INSERT INTO lane (lane, tenant, channel, generation)"
               " VALUES (9000, 1, 'memory:more', 0)",
    };
    delayed(&store, "day", "memory:default", "1d");
    sends(&store, "day", "", 2000);
    MUST(&store, writer_run(store.writer, do_run, &many, &store.error));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM lane WHERE tenant = 1") == OUTLOOK_LANES_MAX);
    Outlook outlook = look(&store, (OutlookAsked){ 0 });
    CHECK(!outlook.is_partial && sum_of(&outlook, 0) == 2000);
    MUST(&store, writer_run(store.writer, do_run, &one, &store.error));
    outlook = look(&store, (OutlookAsked){ 0 });
    CHECK(outlook.is_estimate && outlook.until == now(&store));
    CHECK(is_near(sum_of(&outlook, 0), 2000, 40));
    outlook = look(&store, (OutlookAsked){ .channel = S("memory:default") });
    CHECK(!outlook.is_partial && sum_of(&outlook, 0) == 2000);
}

static void of_an_entity_the_newest_are_looked_at(void)
{
    STORE(store);
    delayed(&store, "day", "memory:default", "1d");
    sends(&store, "day", ",'entity':'one'", OUTLOOK_ENTITY_MAX);
    Outlook outlook = look(&store, (OutlookAsked){ .entity = S("one") });
    CHECK(!outlook.is_partial && outlook.count == 1000 && sum_of(&outlook, 0) == 1000);
    sends(&store, "day", ",'entity':'one'", 1);
    outlook = look(&store, (OutlookAsked){ .entity = S("one") });
    CHECK(outlook.is_partial && !outlook.is_estimate && outlook.until == now(&store));
    CHECK(sum_of(&outlook, 0) >= 1000);
}

static DeliveryFilter any(void)
{
    return (DeliveryFilter){ .from = INT64_MIN, .to = INT64_MAX };
}

static void a_page_of_what_is_due_goes_on_where_it_ended(void)
{
    STORE(store);
    channel(&store, TENANT, "memory:other");
    delayed(&store, "late", "memory:default", "2d");
    delayed(&store, "soon", "memory:other", "1d");
    sends(&store, "late", "", 7);
    sends(&store, "soon", "", 7);
    DueTimes times = { now(&store), now(&store) + 14 * SPAN_DAY };
    DeliveryFilter filter = any();
    Walk walk = { .limit = 3 };
    Instant last = 0;
    size_t met = 0;
    for (int pages = 0; pages < 10; pages++) {
        DeliveryView *views;
        Seen seen;
        MUST(&store, due_page(store.db, &store.arena, TENANT, &times, &filter, &walk, &views, &seen,
                              &store.error));
        for (size_t i = 0; i < seen.count; i++) {
            CHECK(views[i].due_at >= last);
            last = views[i].due_at;
        }
        met += seen.count;
        walk.after = seen.next;
        if (!seen.has_more)
            break;
    }
    CHECK(met == 14 && !walk.after.at);
    // Both ends: from is in it, to is not.
    times = (DueTimes){ now(&store) + SPAN_DAY, now(&store) + 2 * SPAN_DAY };
    DeliveryView *views;
    Seen seen;
    walk = (Walk){ .limit = 50 };
    MUST(&store, due_page(store.db, &store.arena, TENANT, &times, &filter, &walk, &views, &seen,
                          &store.error));
    CHECK(seen.count == 7 && !seen.has_more);
    walk.after = S("somewhere");
    CHECK(due_page(store.db, &store.arena, TENANT, &times, &filter, &walk, &views, &seen,
                   &store.error) == ERR_MALFORMED);
}

static void what_the_filter_leaves_out_is_passed_over(void)
{
    STORE(store);
    delayed(&store, "soon", "memory:default", "1d");
    sends(&store, "soon", ",'entity':'other'", 5);
    sends(&store, "soon", ",'entity':'one'", 1);
    DueTimes times = { now(&store), now(&store) + 14 * SPAN_DAY };
    DeliveryFilter filter = any();
    Walk walk = { .limit = 2 };
    DeliveryView *views;
    Seen seen;
    size_t met = 0, pages = 0;
    filter.entity = S("one");
    do {
        MUST(&store, due_page(store.db, &store.arena, TENANT, &times, &filter, &walk, &views, &seen,
                              &store.error));
        met += seen.count;
        walk.after = seen.next;
    } while (seen.has_more && ++pages < 10);
    CHECK(met == 1 && pages == 2);
}

static const Test tests[] = {
    TEST(what_is_little_is_counted),
    TEST(what_is_much_is_counted_and_then_estimated),
    TEST(more_channels_than_can_be_looked_at_are_estimated),
    TEST(of_an_entity_the_newest_are_looked_at),
    TEST(a_page_of_what_is_due_goes_on_where_it_ended),
    TEST(what_the_filter_leaves_out_is_passed_over),
};
PART(outlook_part, tests);
