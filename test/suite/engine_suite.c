// engine_suite.c - the engine's promises, each on the real engine, writer and store, with time and
// the far side invented (rig.h).
//
//   suite_engine [URL]      see fixture.h
#include "rig.h"

// A store outage

static void an_outage_longer_than_a_lease_sends_nothing_twice(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 4);
    turn(&rig);
    CHECK(rig.sent_count == 4);
    rig.is_away = true;
    lapse(&rig, 17 * SPAN_SECOND);
    rig.is_away = false;
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(rig.sent_count == 4);
    for (int i = 0; i < 4; i++)
        answer(&rig, i, 200);
    lapse(&rig, SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 4);
    CHECK(engine_tally(rig.engine).stale == 0 && engine_tally(rig.engine).lapsed == 0);
}

static void an_answer_that_comes_while_the_store_is_away_is_kept(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 2);
    turn(&rig);
    rig.is_away = true;
    lapse(&rig, 5 * SPAN_SECOND);
    answer(&rig, 0, 200);
    answer(&rig, 1, 400);
    lapse(&rig, 25 * SPAN_SECOND);
    rig.is_away = false;
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 2);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && in_state(&rig, DELIVERY_PARKED) == 1);
}

// A clock that jumps

static void a_clock_that_jumps_for_a_while_is_not_obeyed(void)
{
    if (suite_is_postgres())
        return; // there the server's clock decides, which a rig does not invent
    RIG(rig);
    rig.status = 200;
    http(&rig, "later", "", ",'schedule':{'initialDelay':'1d'}");
    http(&rig, "asked", "", ",'expireAfter':'1d','schedule':{'reminders':[]},'awaitAnswer':true");
    visits(&rig, "later", 1);
    visits(&rig, "asked", 1);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 1 && in_state(&rig, DELIVERY_WAITING) == 1);
    jump(&rig, 2 * SPAN_DAY);
    lapse(&rig, 7 * SPAN_SECOND);
    CHECK(rig.sent_count == 1);
    CHECK(in_state(&rig, DELIVERY_EXPIRED) == 0);
    jump(&rig, -2 * SPAN_DAY);
    visits(&rig, "asked", 1);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_PENDING) == 1);
}

static const Test tests[] = {
    TEST(an_outage_longer_than_a_lease_sends_nothing_twice),
    TEST(an_answer_that_comes_while_the_store_is_away_is_kept),
    TEST(a_clock_that_jumps_for_a_while_is_not_obeyed),
};

PART(engine_part, tests);

int main(int argc, char **argv)
{
    const Part *const parts[] = { &engine_part };
    return suite_main(argc, argv, parts, ARRAY_LEN(parts));
}
