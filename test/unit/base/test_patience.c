#include "base/patience.h"

#include "base/arena.h"
#include "base/json.h"

#include "test.h"

static void without_a_limit_everything_lasts(void)
{
    for (int i = 0; i < 100; i++)
        CHECK(patience_lasts(SIZE_MAX));
}

static void what_ends_in_time_was_not_cut(void)
{
    Clock clock;
    clock_init_simulated(&clock, 0);
    patience_begin(&clock, clock_monotonic(&clock) + SPAN_SECOND);
    for (int i = 0; i < 100000; i++)
        CHECK(patience_lasts(1));
    CHECK(patience_end());
    CHECK(patience_lasts(SIZE_MAX)); // it is over with that
}

// Once the time is over nothing more is there to be read, however it is asked for.
static void what_reads_json_finds_nothing_more(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Clock clock;
    const Json *body, *other;
    clock_init_simulated(&clock, 0);
    CHECK(json_parse(&arena, S("{\"a\":[1,2]}"), &body, NULL) == ERR_OK);
    patience_begin(&clock, clock_monotonic(&clock) + SPAN_SECOND);
    int64_t rounds = 0;
    for (JsonIter it = json_each(body); json_next(&it); it = json_each(body), rounds++)
        clock_pass(&clock, SPAN_MILLISECOND);
    CHECK(rounds >= 1000 && rounds < 100000);
    CHECK(!json_get(body, S("a")) && !json_at(body, 0));
    CHECK(json_parse(&arena, S("[]"), &other, NULL) == ERR_MALFORMED);
    CHECK(!patience_end());
    CHECK(json_at(json_get(body, S("a")), 1));
}

static const Test tests[] = {
    TEST(without_a_limit_everything_lasts),
    TEST(what_ends_in_time_was_not_cut),
    TEST(what_reads_json_finds_nothing_more),
};

TEST_MAIN(tests)
