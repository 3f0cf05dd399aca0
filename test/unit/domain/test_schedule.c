#include "domain/schedule.h"

#include "base/clock.h"
#include "base/time.h"
#include "test.h"

static Instant at(const char *text)
{
    Instant ret = 0;
    CHECK_AT(text, time_parse(str_from(text), &ret));
    return ret;
}

static JobSchedule schedule_of(const char *cron, const char *zone)
{
    JobSchedule schedule = { .enabled = true, .text = str_from(cron), .zone_name = str_from(zone) };
    CronFault fault;
    CHECK_AT(cron, cron_parse(schedule.text, CRON_ANY_FORM, &schedule.cron, &fault));
    CHECK_AT(zone, zone_find(schedule.zone_name, &schedule.zone, NULL) == ERR_OK);
    return schedule;
}

static ScheduleState since(const char *last_for)
{
    return (ScheduleState){ .last_for = at(last_for), .queued_for = INSTANT_NONE };
}

// Expected is a plan as a row of a table has it; first and last are of what was made.
typedef struct Expected {
    size_t made;
    const char *first, *last;
    int64_t missed, skipped;
} Expected;

static void check(const char *name, const SchedulePlan *plan, const Expected *expected)
{
    CHECK_AT(name, plan->made_count == expected->made);
    if (expected->made > 0 && plan->made_count == expected->made) {
        CHECK_AT(name, plan->made[0] == at(expected->first));
        CHECK_AT(name, plan->made[plan->made_count - 1] == at(expected->last));
    }
    CHECK_AT(name, plan->missed == expected->missed);
    CHECK_AT(name, plan->skipped == expected->skipped);
    CHECK_AT(name, (plan->passed_for == INSTANT_NONE) == (plan->missed + plan->skipped == 0));
}

static void what_is_late_goes_by_the_policy(void)
{
    static const struct {
        const char *name;
        JobMissed missed;
        Span window;
        const char *now;
        Expected expected;
    } cases[] = {
        { "early", JOB_MISSED_ONCE, 0, "2026-03-02T08:59:59.999Z", { 0 } },
        { "on time",
          JOB_MISSED_SKIP,
          0,
          "2026-03-02T09:00:00Z",
          { 1, "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z" } },
        { "within the grace",
          JOB_MISSED_SKIP,
          0,
          "2026-03-02T09:00:05Z",
          { 1, "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z" } },
        { "skip", JOB_MISSED_SKIP, 0, "2026-03-02T12:00:06Z", { .missed = 4 } },
        { "skip but the newest",
          JOB_MISSED_SKIP,
          0,
          "2026-03-02T12:00:01Z",
          { 1, "2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z", .missed = 3 } },
        { "once",
          JOB_MISSED_ONCE,
          0,
          "2026-03-02T12:30:00Z",
          { 1, "2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z", .missed = 3 } },
        { "once, too late",
          JOB_MISSED_ONCE,
          10 * SPAN_MINUTE,
          "2026-03-02T12:30:00Z",
          { .missed = 4 } },
        { "all",
          JOB_MISSED_ALL,
          SPAN_DAY,
          "2026-03-02T12:30:00Z",
          { 4, "2026-03-02T09:00:00Z", "2026-03-02T12:00:00Z" } },
        { "all of the window",
          JOB_MISSED_ALL,
          2 * SPAN_HOUR,
          "2026-03-02T12:30:00Z",
          { 2, "2026-03-02T11:00:00Z", "2026-03-02T12:00:00Z", .missed = 2 } },
        { "at the window's edge",
          JOB_MISSED_ALL,
          SPAN_HOUR,
          "2026-03-02T12:00:00Z",
          { 2, "2026-03-02T11:00:00Z", "2026-03-02T12:00:00Z", .missed = 2 } },
        { "a window under the grace",
          JOB_MISSED_ONCE,
          SPAN_SECOND,
          "2026-03-02T09:00:03Z",
          { 1, "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z" } },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        JobSchedule schedule = schedule_of("0 * * * *", "UTC");
        schedule.missed = cases[i].missed;
        schedule.missed_window = cases[i].window;
        ScheduleState state = since("2026-03-02T08:20:00Z");
        SchedulePlan plan = schedule_plan(&arena, &schedule, &state, at(cases[i].now));
        check(cases[i].name, &plan, &cases[i].expected);
    }
}

static void a_run_that_has_not_ended_holds_back(void)
{
    static const struct {
        const char *name;
        JobOverlap overlap;
        bool is_running;
        const char *queued_for, *now;
        Expected expected;
        const char *then_queued_for;
    } cases[] = {
        { "skip", JOB_OVERLAP_SKIP, true, NULL, "2026-03-02T09:00:00Z", { .skipped = 1 }, NULL },
        { "skip, ended",
          JOB_OVERLAP_SKIP,
          false,
          NULL,
          "2026-03-02T09:00:00Z",
          { 1, "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z" },
          NULL },
        { "allow",
          JOB_OVERLAP_ALLOW,
          true,
          NULL,
          "2026-03-02T09:00:00Z",
          { 1, "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z" },
          NULL },
        { "queue",
          JOB_OVERLAP_QUEUE,
          true,
          NULL,
          "2026-03-02T09:00:00Z",
          { 0 },
          "2026-03-02T09:00:00Z" },
        { "queue keeps the latest",
          JOB_OVERLAP_QUEUE,
          true,
          "2026-03-02T08:00:00Z",
          "2026-03-02T09:00:00Z",
          { .skipped = 1 },
          "2026-03-02T09:00:00Z" },
        { "queue, still running",
          JOB_OVERLAP_QUEUE,
          true,
          "2026-03-02T08:00:00Z",
          "2026-03-02T08:30:00Z",
          { 0 },
          "2026-03-02T08:00:00Z" },
        { "queue, ended",
          JOB_OVERLAP_QUEUE,
          false,
          "2026-03-02T08:00:00Z",
          "2026-03-02T08:30:00Z",
          { 1, "2026-03-02T08:00:00Z", "2026-03-02T08:00:00Z" },
          NULL },
        { "queue, ended as the next fell due",
          JOB_OVERLAP_QUEUE,
          false,
          "2026-03-02T08:00:00Z",
          "2026-03-02T09:00:00Z",
          { 1, "2026-03-02T08:00:00Z", "2026-03-02T08:00:00Z" },
          "2026-03-02T09:00:00Z" },
        { "no queue any more",
          JOB_OVERLAP_ALLOW,
          false,
          "2026-03-02T08:00:00Z",
          "2026-03-02T09:00:00Z",
          { 1, "2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z", .skipped = 1 },
          NULL },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        JobSchedule schedule = schedule_of("0 * * * *", "UTC");
        schedule.overlap = cases[i].overlap;
        ScheduleState state = since("2026-03-02T08:00:00Z");
        state.is_running = cases[i].is_running;
        if (cases[i].queued_for)
            state.queued_for = at(cases[i].queued_for);
        SchedulePlan plan = schedule_plan(&arena, &schedule, &state, at(cases[i].now));
        check(cases[i].name, &plan, &cases[i].expected);
        Instant queued = cases[i].then_queued_for ? at(cases[i].then_queued_for) : INSTANT_NONE;
        CHECK_AT(cases[i].name, plan.queued_for == queued);
    }
}

static void what_is_made_together_does_not_hold_itself_back(void)
{
    static const JobOverlap overlaps[] = { JOB_OVERLAP_SKIP, JOB_OVERLAP_ALLOW, JOB_OVERLAP_QUEUE };
    static const Expected all = { 4, "2026-03-02T09:00:00Z", "2026-03-02T12:00:00Z" };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(overlaps); i++) {
        JobSchedule schedule = schedule_of("0 * * * *", "UTC");
        schedule.missed = JOB_MISSED_ALL;
        schedule.overlap = overlaps[i];
        ScheduleState state = since("2026-03-02T08:20:00Z");
        SchedulePlan plan = schedule_plan(&arena, &schedule, &state, at("2026-03-02T12:30:00Z"));
        check("all", &plan, &all);
    }
}

// Fired follows a schedule from one instant to another, looking when it says that it wants to be.
static size_t follow(const JobSchedule *schedule, const char *from, const char *to, Instant *fired,
                     size_t max)
{
    DEFER(arena_done) Arena arena = { 0 };
    size_t count = 0;
    ScheduleState state = since(from);
    Instant now = schedule_next(schedule, state.last_for), end = at(to);
    while (now <= end) {
        SchedulePlan plan = schedule_plan(&arena, schedule, &state, now);
        CHECK(plan.missed == 0 && plan.skipped == 0 && plan.next_at > now);
        for (size_t i = 0; i < plan.made_count && count < max; i++)
            fired[count++] = plan.made[i];
        state.last_for = plan.last_for;
        now = plan.next_at;
    }
    return count;
}

static void clocks_that_are_set_fire_nothing_twice(void)
{
    static const struct {
        const char *cron, *zone, *from, *to;
        const char *fired[6];
    } cases[] = {
        { "30 2 * * *",
          "Europe/Berlin",
          "2026-03-28T12:00:00Z",
          "2026-03-30T12:00:00Z",
          { "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z" } },
        { "30 2 * * *",
          "Europe/Berlin",
          "2026-10-24T12:00:00Z",
          "2026-10-26T12:00:00Z",
          { "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z" } },
        { "*/30 2 * * *",
          "Europe/Berlin",
          "2026-10-24T12:00:00Z",
          "2026-10-25T12:00:00Z",
          { "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z" } },
        { "0 0 * * *",
          "Asia/Amman",
          "2017-03-30T12:00:00Z",
          "2017-04-01T12:00:00Z",
          { "2017-03-30T22:00:00Z", "2017-03-31T21:00:00Z" } },
        { "15 2 * * *",
          "Australia/Lord_Howe",
          "2026-10-03T00:00:00Z",
          "2026-10-05T00:00:00Z",
          { "2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z" } },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Instant fired[6];
        JobSchedule schedule = schedule_of(cases[i].cron, cases[i].zone);
        size_t expected = 0;
        while (expected < ARRAY_LEN(fired) && cases[i].fired[expected])
            expected++;
        size_t count = follow(&schedule, cases[i].from, cases[i].to, fired, ARRAY_LEN(fired));
        CHECK_AT(cases[i].from, count == expected);
        for (size_t j = 0; j < count && j < expected; j++)
            CHECK_AT(cases[i].fired[j], fired[j] == at(cases[i].fired[j]));
    }
}

static void a_clock_that_steps_back_fires_nothing_again(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    JobSchedule schedule = schedule_of("0 * * * *", "UTC");
    ScheduleState state = since("2026-03-02T12:00:00Z");
    SchedulePlan plan = schedule_plan(&arena, &schedule, &state, at("2026-03-02T10:30:00Z"));
    CHECK(plan.made_count == 0 && plan.missed == 0 && plan.skipped == 0);
    CHECK(plan.last_for == state.last_for);
    CHECK(plan.next_at == at("2026-03-02T13:00:00Z"));
}

static void every_second_of_a_month_is_soon_judged(void)
{
    static const struct {
        const char *name;
        JobMissed missed;
        Span window;
        Expected expected;
    } cases[] = {
        { "skip",
          JOB_MISSED_SKIP,
          0,
          { 1, "2026-04-01T12:00:00Z", "2026-04-01T12:00:00Z", .missed = SCHEDULE_COUNT_MAX } },
        { "once",
          JOB_MISSED_ONCE,
          0,
          { 1, "2026-04-01T12:00:00Z", "2026-04-01T12:00:00Z", .missed = SCHEDULE_COUNT_MAX } },
        { "all",
          JOB_MISSED_ALL,
          SPAN_DAY,
          { 1000, "2026-04-01T11:43:21Z", "2026-04-01T12:00:00Z", .missed = SCHEDULE_COUNT_MAX } },
        { "all, without a window",
          JOB_MISSED_ALL,
          0,
          { 1000, "2026-04-01T11:43:21Z", "2026-04-01T12:00:00Z", .missed = SCHEDULE_COUNT_MAX } },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        JobSchedule schedule = schedule_of("* * * * * *", "Europe/Warsaw");
        schedule.missed = cases[i].missed;
        schedule.missed_window = cases[i].window;
        ScheduleState state = since("2026-03-01T12:00:00Z");
        Instant begun = clock_machine_monotonic();
        SchedulePlan plan = schedule_plan(&arena, &schedule, &state, at("2026-04-01T12:00:00.5Z"));
        CHECK_AT(cases[i].name, clock_machine_monotonic() - begun < SPAN_SECOND);
        check(cases[i].name, &plan, &cases[i].expected);
        CHECK_AT(cases[i].name, plan.next_at == at("2026-04-01T12:00:01Z"));
    }
}

// A year's occurrences may all lie in its first days: then most of what is looked at is empty.
static void dense_days_of_long_ago_are_soon_judged(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    JobSchedule schedule = schedule_of("* * * * 1 *", "Asia/Kathmandu");
    schedule.missed = JOB_MISSED_ALL;
    ScheduleState state = since("2025-12-01T00:00:00Z");
    Instant begun = clock_machine_monotonic();
    SchedulePlan plan = schedule_plan(&arena, &schedule, &state, at("2026-12-01T00:00:00Z"));
    CHECK(clock_machine_monotonic() - begun < SPAN_SECOND);
    static const Expected expected = { 1000, "2026-01-31T17:58:20Z", "2026-01-31T18:14:59Z",
                                       .missed = SCHEDULE_COUNT_MAX };
    check("a January", &plan, &expected);
}

static void what_never_comes_is_none(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    JobSchedule schedule = schedule_of("0 0 31 2 *", "UTC");
    ScheduleState state = since("2026-03-02T12:00:00Z");
    SchedulePlan plan = schedule_plan(&arena, &schedule, &state, at("2026-12-02T12:00:00Z"));
    CHECK(plan.made_count == 0 && plan.missed == 0 && plan.next_at == INSTANT_NONE);
}

static void a_range_has_its_occurrences(void)
{
    Instant found[4];
    JobSchedule schedule = schedule_of("0 12 * * *", "Europe/Warsaw");
    CHECK(schedule_between(&schedule, at("2026-03-28T11:00:00Z"), at("2026-03-30T10:00:00Z"),
                           ARRAY_LEN(found), found) == 2);
    CHECK(found[0] == at("2026-03-28T11:00:00Z") && found[1] == at("2026-03-29T10:00:00Z"));
    CHECK(schedule_between(&schedule, at("2026-03-28T11:00:00Z"), at("2027-03-30T10:00:00Z"),
                           ARRAY_LEN(found), found) == ARRAY_LEN(found));
    CHECK(schedule_between(&schedule, at("2026-03-28T11:00:00Z"), at("2026-03-28T11:00:00Z"),
                           ARRAY_LEN(found), found) == 0);
}

static const Test tests[] = {
    TEST(what_is_late_goes_by_the_policy),
    TEST(a_run_that_has_not_ended_holds_back),
    TEST(what_is_made_together_does_not_hold_itself_back),
    TEST(clocks_that_are_set_fire_nothing_twice),
    TEST(a_clock_that_steps_back_fires_nothing_again),
    TEST(every_second_of_a_month_is_soon_judged),
    TEST(dense_days_of_long_ago_are_soon_judged),
    TEST(what_never_comes_is_none),
    TEST(a_range_has_its_occurrences),
};

TEST_MAIN(tests)
