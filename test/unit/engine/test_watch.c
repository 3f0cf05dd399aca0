#include "engine/watch.h"

#include "test.h"

#undef S // here a second
#define S SPAN_SECOND

// Each row is a look: so much later, wall time being so much ahead of its course.
typedef struct Look {
    Span later, ahead;
    bool has_jumped, is_off;
} Look;

static void walk(const char *name, bool has_peer, const Look *looks, size_t count)
{
    ClockWatch watch = { .has_peer = has_peer };
    Instant monotonic = 1000 * S, began = 50000 * S;
    for (size_t i = 0; i < count; i++) {
        monotonic += looks[i].later;
        bool jumped = clock_watch_look(&watch, began + monotonic + looks[i].ahead, monotonic);
        CHECK_AT(name, jumped == looks[i].has_jumped);
        CHECK_AT(name, watch.is_off == looks[i].is_off);
    }
}

#define WALK(name, has_peer, ...)                                                                  \
    static void name(void)                                                                         \
    {                                                                                              \
        const Look looks[] = { __VA_ARGS__ };                                                      \
        walk(#name, has_peer, looks, ARRAY_LEN(looks));                                            \
    }

WALK(a_clock_that_runs_is_believed, false, { 0, 0, false, false }, { S, 0, false, false },
     { 3600 * S, 0, false, false })

WALK(small_steps_are_followed, false, { 0, 0, false, false }, { S, 3 * S, false, false },
     { S, 6 * S, false, false }, { S, 3 * S, false, false }, { S, 0, false, false })

WALK(a_jump_is_not_obeyed_until_it_holds, false, { 0, 0, false, false },
     { S, 86400 * S, true, true }, { 29 * S, 86400 * S, false, true },
     { S, 86400 * S, false, false }, { S, 86400 * S, false, false })

WALK(a_jump_back_is_one_too, false, { 0, 0, false, false }, { S, -600 * S, true, true },
     { 31 * S, -600 * S, false, false })

WALK(a_clock_that_comes_back_is_believed_at_once, false, { 0, 0, false, false },
     { S, 86400 * S, true, true }, { 7 * S, 0, true, false })

WALK(each_jump_begins_the_wait_anew, false, { 0, 0, false, false }, { S, 86400 * S, true, true },
     { 29 * S, 90000 * S, true, true }, { 29 * S, 90000 * S, false, true },
     { S, 90000 * S, false, false })

WALK(holding_still_does_not_outvote_a_peer, true, { 0, 0, false, false },
     { S, 86400 * S, true, true }, { 3600 * S, 86400 * S, false, true }, { S, 0, true, false })

static void a_word_from_outside_is_believed(void)
{
    ClockWatch watch = { .has_peer = true };
    clock_watch_look(&watch, 1000 * S, 10 * S);
    CHECK(clock_watch_look(&watch, 9000 * S, 11 * S) && watch.is_off);
    clock_watch_believe(&watch, 9000 * S, 11 * S);
    CHECK(!watch.is_off);
    CHECK(!clock_watch_look(&watch, 9001 * S, 12 * S) && !watch.is_off);
}

static const Test tests[] = {
    TEST(a_clock_that_runs_is_believed),
    TEST(small_steps_are_followed),
    TEST(a_jump_is_not_obeyed_until_it_holds),
    TEST(a_jump_back_is_one_too),
    TEST(a_clock_that_comes_back_is_believed_at_once),
    TEST(each_jump_begins_the_wait_anew),
    TEST(holding_still_does_not_outvote_a_peer),
    TEST(a_word_from_outside_is_believed),
};

TEST_MAIN(tests)
