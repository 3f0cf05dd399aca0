#include "domain/plan.h"

#include "documents.h"

static Plan plan_of(Arena *arena, const char *source)
{
    Plan plan = plan_default();
    Error error = { .arena = arena };
    if (source)
        fields_note(arena, document(arena, source), S("/schedule"), &plan_shape, &plan, &error);
    CHECK_AT(source ? source : "none", error.count == 0);
    return plan;
}

static void sends_fall_on_days_60_65_75_90(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Plan plan = plan_of(&arena, "{'initialDelay':'60d','reminders':['5d','10d','15d']}");
    static const int days[] = { 60, 65, 75, 90 };
    Instant at = plan_first_due(&plan, 0, INSTANT_NONE, 0);
    int remaining = (int) plan.reminder_count;
    for (size_t i = 0; i < ARRAY_LEN(days); i++) {
        CHECK(at == days[i] * SPAN_DAY);
        at = plan_next_due(&plan, remaining--, at);
    }
    CHECK(at == INSTANT_NONE && remaining == -1);
}

static void a_late_send_moves_the_reminders_behind_it(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Plan plan = plan_of(&arena, "{'reminders':['1d','2d']}");
    CHECK(plan_next_due(&plan, 2, 7 * SPAN_DAY) == 8 * SPAN_DAY);
    CHECK(plan_next_due(&plan, 1, 10 * SPAN_DAY) == 12 * SPAN_DAY);
    CHECK(plan_next_due(&plan, 0, 12 * SPAN_DAY) == INSTANT_NONE);
    CHECK(plan_next_due(&plan, 3, 12 * SPAN_DAY) == INSTANT_NONE);
}

static void the_first_send_counts_from_what_happened_but_not_from_the_past(void)
{
    Plan plan = { .initial_delay = SPAN_HOUR };
    static const struct {
        const char *name;
        Instant occurred_at, received_at, now, expect;
    } cases[] = {
        { "from occurred", 10 * SPAN_HOUR, 11 * SPAN_HOUR, 10 * SPAN_HOUR, 11 * SPAN_HOUR },
        { "from received", INSTANT_NONE, 11 * SPAN_HOUR, 11 * SPAN_HOUR, 12 * SPAN_HOUR },
        { "past is now", 1 * SPAN_HOUR, 11 * SPAN_HOUR, 11 * SPAN_HOUR, 11 * SPAN_HOUR },
        { "just past", 10 * SPAN_HOUR, 10 * SPAN_HOUR, 11 * SPAN_HOUR + 1, 11 * SPAN_HOUR + 1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_AT(cases[i].name, plan_first_due(&plan, cases[i].occurred_at, cases[i].received_at,
                                               cases[i].now) == cases[i].expect);
}

static void an_answer_is_awaited_where_there_are_reminders(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Plan none = plan_of(&arena, NULL);
    CHECK(none.initial_delay == 0 && none.reminder_count == 0 && !none.await_answer);
    CHECK(none.expire_after == 30 * SPAN_DAY);
    Plan empty = plan_of(&arena, "{'initialDelay':'0d','reminders':[]}");
    CHECK(empty.reminder_count == 0 && !empty.await_answer);
    CHECK(plan_next_due(&empty, (int) empty.reminder_count, 0) == INSTANT_NONE);
    CHECK(plan_of(&arena, "{'reminders':['1d']}").await_answer);
}

static void a_bad_schedule_is_refused_with_its_place(void)
{
    static const struct {
        const char *source, *path, *code;
    } cases[] = {
        { "{'initialDelay':'soon'}", "/schedule/initialDelay", "bad-duration" },
        { "{'initialDelay':60}", "/schedule/initialDelay", "bad-type" },
        { "{'reminders':['1d','1x']}", "/schedule/reminders/1", "bad-duration" },
        { "{'reminders':[5]}", "/schedule/reminders/0", "bad-type" },
        { "{'reminders':'1d'}", "/schedule/reminders", "bad-type" },
        { "{'reminder':['1d']}", "/schedule/reminder", "unknown-member" },
        { "[]", "/schedule", "bad-type" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Plan plan = { .reminder_count = 7 };
        fields_note(&arena, document(&arena, cases[i].source), S("/schedule"), &plan_shape, &plan,
                    &error);
        CHECK_AT(cases[i].source, error.count == 1);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, cases[i].code));
        CHECK_AT(cases[i].source, plan.reminder_count == 7);
    }
}

static void there_are_at_most_50_reminders(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    for (int count = PLAN_REMINDERS_MAX; count <= PLAN_REMINDERS_MAX + 1; count++) {
        Buf source = buf_new(&arena, 2000);
        buf_add(&source, S("{'reminders':["));
        for (int i = 0; i < count; i++)
            buf_add(&source, i ? S(",'1d'") : S("'1d'"));
        buf_add(&source, S("]}"));
        Error error = { .arena = &arena };
        Plan plan = { 0 };
        const Json *schedule = document(&arena, str_z(&arena, buf_str(&source)));
        fields_note(&arena, schedule, S(""), &plan_shape, &plan, &error);
        CHECK((error.count == 0) == (count <= PLAN_REMINDERS_MAX));
    }
}

static const Test tests[] = {
    TEST(sends_fall_on_days_60_65_75_90),
    TEST(a_late_send_moves_the_reminders_behind_it),
    TEST(the_first_send_counts_from_what_happened_but_not_from_the_past),
    TEST(an_answer_is_awaited_where_there_are_reminders),
    TEST(a_bad_schedule_is_refused_with_its_place),
    TEST(there_are_at_most_50_reminders),
};
TEST_MAIN(tests)
