#include "base/clock.h"
#include "test.h"

static void the_manual_clock_stands_until_it_is_set(void)
{
    Clock clock;
    clock_init_manual(&clock, 1000);
    CHECK(clock_now(&clock) == 1000);
    CHECK(clock_now(&clock) == 1000);
    clock_set(&clock, 5);
    CHECK(clock_now(&clock) == 5);
}

static void the_system_clock_counts_microseconds(void)
{
    Clock clock;
    memset(&clock, 0x55, sizeof clock);
    clock_init_system(&clock);
    for (int i = 0; i < 1000; i++) {
        Instant before = time(NULL), now = clock_now(&clock), after = time(NULL);
        // The second that time() tells may be the one before, for up to a tick.
        CHECK(now >= before * SPAN_SECOND && now < (after + 2) * SPAN_SECOND);
    }
}

static void the_offset_is_added_to_the_system_clock(void)
{
    Clock clock;
    clock_init_system(&clock);
    Instant before = clock_now(&clock);
    clock_set_offset(&clock, 365 * SPAN_DAY);
    Instant shifted = clock_now(&clock);
    CHECK(shifted - before >= 365 * SPAN_DAY && shifted - before < 366 * SPAN_DAY);
    clock_set_offset(&clock, -365 * SPAN_DAY);
    CHECK(clock_now(&clock) < before);
}

static void monotonic_time_does_not_go_back(void)
{
    Clock clock;
    clock_init_manual(&clock, 1000); // it stands, monotonic time does not
    Instant last = clock_monotonic(&clock);
    for (int i = 0; i < 1000; i++) {
        Instant next = clock_monotonic(&clock);
        CHECK(next >= last);
        last = next;
    }
}

static void a_simulated_clock_is_invented_whole(void)
{
    Clock clock;
    clock_init_simulated(&clock, 1000);
    Instant begin = clock_monotonic(&clock);
    CHECK(clock_now(&clock) == 1000 && begin > 0);
    clock_pass(&clock, 7);
    CHECK(clock_now(&clock) == 1007 && clock_monotonic(&clock) == begin + 7);
    clock_set(&clock, 5); // a jump
    CHECK(clock_now(&clock) == 5 && clock_monotonic(&clock) == begin + 7);
    clock_set_offset(&clock, 100);
    CHECK(clock_now(&clock) == 105 && clock_monotonic(&clock) == begin + 7);
}

static const Test tests[] = {
    TEST(the_manual_clock_stands_until_it_is_set), TEST(the_system_clock_counts_microseconds),
    TEST(the_offset_is_added_to_the_system_clock), TEST(monotonic_time_does_not_go_back),
    TEST(a_simulated_clock_is_invented_whole),
};
TEST_MAIN(tests)
