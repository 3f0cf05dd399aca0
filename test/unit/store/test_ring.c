#include "store/ring.h"

#include "test.h"

#define NOW ((Instant) 1000 * SPAN_SECOND)

// say adds that each of the lanes has something due, and returns the ring's text.
static const char *say(Ring *ring, const int64_t *lanes, size_t count, Span ahead)
{
    static char text[RING_TEXT_MAX];
    for (size_t i = 0; i < count; i++)
        ring_add(ring, &(Move){ .lane = lanes[i], .due_at = NOW + ahead }, 1, NOW);
    if (ring_due(ring) == INSTANT_NONE)
        return NULL;
    ring_take(ring, ring->next_at, text);
    CHECK(ring_due(ring) == INSTANT_NONE);
    return text;
}

static void each_lane_is_named_once(void)
{
    Ring ring = { 0 };
    CHECK(strcmp(say(&ring, (int64_t[]){ 7, 12, 7 }, 3, 0), "7,12") == 0);
    CHECK(strcmp(say(&ring, (int64_t[]){ 3 }, 1, -SPAN_DAY), "3") == 0);
}

static void what_others_find_in_time_is_not_told(void)
{
    Ring ring = { 0 };
    CHECK(say(&ring, (int64_t[]){ 7 }, 1, RING_AHEAD + 1) == NULL);
    CHECK(say(&ring, (int64_t[]){ 7 }, 1, INSTANT_NONE - NOW) == NULL);
    CHECK(strcmp(say(&ring, (int64_t[]){ 7 }, 1, RING_AHEAD), "7") == 0);
}

static void too_many_lanes_are_all(void)
{
    Ring ring = { 0 };
    int64_t lanes[RING_LANES_MAX + 1];
    for (int i = 0; i <= RING_LANES_MAX; i++)
        lanes[i] = INT64_MAX - i;
    const char *text = say(&ring, lanes, RING_LANES_MAX, 0);
    CHECK(strlen(text) == RING_LANES_MAX * 20 - 1);
    CHECK(ring_read(str_from(text)).count == RING_LANES_MAX);
    CHECK(strcmp(say(&ring, lanes, RING_LANES_MAX + 1, 0), "") == 0);
}

static void anything_else_is_all(void)
{
    Ring ring = { 0 };
    ring_add(&ring, NULL, 0, NOW);
    CHECK(strcmp(say(&ring, (int64_t[]){ 7 }, 1, 0), "") == 0);
    CHECK(strcmp(say(&ring, (int64_t[]){ 7 }, 1, 0), "7") == 0); // the next is itself again
}

static void what_cannot_be_read_is_all(void)
{
    static const char *const texts[] = { "",   ",", "x",    "1,x",
                                         "-1", "0", "1,,2", "99999999999999999999" };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK_AT(texts[i], ring_read(str_from(texts[i])).is_of_all);
    Ring ring = ring_read(S("5,6"));
    CHECK(!ring.is_of_all && ring.count == 2 && ring.lanes[0] == 5 && ring.lanes[1] == 6);
}

// Whichever second is looked at, a node that commits all the time rings 20 times in it.
static void a_busy_node_rings_twenty_times_a_second(void)
{
    enum { MS = 3000 };
    Ring ring = { 0 };
    char text[RING_TEXT_MAX];
    int rings[MS] = { 0 }, worst = 0;
    for (int ms = 0; ms < MS; ms++) {
        Instant monotonic = NOW + ms * SPAN_MILLISECOND;
        ring_add(&ring, &(Move){ .lane = 1, .due_at = NOW }, 1, NOW);
        rings[ms] = ring_due(&ring) <= monotonic;
        if (rings[ms])
            ring_take(&ring, monotonic, text);
    }
    for (int from = 0; from + 1000 <= MS; from++) {
        int sum = 0;
        for (int ms = from; ms < from + 1000; ms++)
            sum += rings[ms];
        worst = sum > worst ? sum : worst;
    }
    CHECK(rings[0] && worst == RINGS_A_SECOND);
}

static const Test tests[] = {
    TEST(each_lane_is_named_once),    TEST(what_others_find_in_time_is_not_told),
    TEST(too_many_lanes_are_all),     TEST(anything_else_is_all),
    TEST(what_cannot_be_read_is_all), TEST(a_busy_node_rings_twenty_times_a_second),
};

TEST_MAIN(tests)
