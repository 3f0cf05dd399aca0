// Scenarios: their times, and what came beside what was expected. What they do is test/e2e's
// matter.

#include "base/time.h"
#include "cli/command.h"
#include "cli/expect.h"
#include "test.h"

// read_one reads a scenario of one document.
static int read_one(Arena *arena, const char *yaml, Scenario *ret)
{
    Error error = { .arena = arena };
    static ProjectFile file = { S("shop/s.yaml"), S("s.yaml") };
    YamlDocument *documents;
    size_t count;
    CHECK(yaml_read(arena, str_from(yaml), YAML_CORE, &documents, &count, &error) == ERR_OK);
    ProjectPart *part = ARENA_NEW(arena, ProjectPart);
    *part = (ProjectPart){ .file = &file,
                           .document = &documents[0],
                           .number = 1,
                           .inside = S(""),
                           .json = documents[0].json };
    return scenario_read(arena, part, ret);
}

static void times_are_read(void)
{
    // In Oslo clocks go from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October
    // 2026.
    static const struct {
        const char *zone, *start, *at, *is;
    } rows[] = {
        { "UTC", "2026-01-05T09:00:00Z", "+0s", "2026-01-05T09:00:00.000Z" },
        { "UTC", "2026-01-05T09:00:00Z", "+1w2d3h", "2026-01-14T12:00:00.000Z" },
        { "UTC", "2026-01-05T09:00:00Z", "+1d 00:00", "2026-01-06T00:00:00.000Z" },
        { "UTC", "2026-01-05T09:00:00Z", "+0d 23:59:59", "2026-01-05T23:59:59.000Z" },
        { "UTC", "2026-01-05T09:00:00Z", "2026-01-05T11:30:00+02:00", "2026-01-05T09:30:00.000Z" },
        { "Europe/Oslo", "2026-03-28 12:00", "+1d", "2026-03-29T11:00:00.000Z" },
        { "Europe/Oslo", "2026-03-28 12:00", "+1d 12:00", "2026-03-29T10:00:00.000Z" },
        { "Europe/Oslo", "2026-03-28 12:00", "2026-03-29 01:59:59", "2026-03-29T00:59:59.000Z" },
        { "Europe/Oslo", "2026-03-28 12:00", "2026-03-29 02:30", "2026-03-29T01:00:00.000Z" },
        { "Europe/Oslo", "2026-03-28 12:00", "2026-03-29T03:00", "2026-03-29T01:00:00.000Z" },
        { "Europe/Oslo", "2026-10-24T12:00", "+1d 02:30", "2026-10-25T00:30:00.000Z" },
        { "Europe/Oslo", "2026-10-24T12:00", "+1d 03:00", "2026-10-25T02:00:00.000Z" },
        { "Europe/Oslo", "2026-01-05 00:30", "+1d 00:00", "2026-01-05T23:00:00.000Z" },
        { "Pacific/Kiritimati", "2026-01-05 00:30", "+1d 00:00", "2026-01-05T10:00:00.000Z" },
        { "America/Caracas", "2026-01-05 23:30", "+1d 00:00", "2026-01-06T04:00:00.000Z" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        char text[TIME_TEXT_MAX];
        Scenario scenario = { 0 };
        Str yaml = str_format(&arena,
                              "{kind: scenario, name: n, zone: %s, start: '%s', steps: [{at: '%s', "
                              "expect: []}]}",
                              rows[i].zone, rows[i].start, rows[i].at);
        CHECK_AT(rows[i].at, read_one(&arena, yaml.at, &scenario) == EXIT_DONE);
        CHECK_AT(rows[i].at, scenario.step_count == 1 && scenario.until == scenario.steps[0].at);
        CHECK_AT(rows[i].at, str_eq(time_text(scenario.until, text), str_from(rows[i].is)));
    }
}

static const char *const wrong_times[] = { "",
                                           "+",
                                           "+d",
                                           "3d",
                                           "-3d",
                                           "+3d 24:00",
                                           "+3d 9:00",
                                           "+3d12h 09:00",
                                           "+3d 09:00:00:00",
                                           "2026-02-29 09:00",
                                           "2026-01-06",
                                           "2026-01-06 ",
                                           "T",
                                           "soon",
                                           "+99999d",
                                           "2026-01-04T09:00:00Z" };

static void what_is_no_time_is_refused(void)
{
    for (size_t i = 0; i < ARRAY_LEN(wrong_times); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Scenario scenario = { 0 };
        Str yaml = str_format(&arena, "{kind: scenario, name: n, steps: [{at: '%s', expect: []}]}",
                              wrong_times[i]);
        CHECK_AT(wrong_times[i], read_one(&arena, yaml.at, &scenario) == EXIT_INVALID);
    }
}

// compare holds messages against a scenario; the report is what a person would see.
static bool compare(Arena *arena, const char *yaml, const char *messages, Str *ret_report)
{
    Scenario *scenario = ARENA_NEW(arena, Scenario);
    const Json *json = NULL, *items[16];
    size_t count = 0;
    Buf report = buf_new(arena, BUF_WHOLE);
    CHECK(read_one(arena, yaml, scenario) == EXIT_DONE);
    CHECK(json_parse(arena, str_from(messages), &json, NULL) == ERR_OK);
    for (JsonIter it = json_each(json); json_next(&it);)
        items[count++] = it.value;
    Comparison comparison = expect_compare(arena, scenario, items, count);
    expect_report(arena, scenario, &comparison, false, &report);
    *ret_report = buf_str(&report);
    return expect_is_met(scenario, &comparison);
}

#define MESSAGE(at, channel, to)                                                                   \
    "{\"at\":\"2026-01-05T" at "Z\",\"channel\":\"" channel "\",\"address\":\"" to                 \
    "\",\"send\":1,\"body\":{\"rule\":{\"id\":\"r\"},\"payload\":{\"a\":{\"b\":1,\"c\":[1,2]},"    \
    "\"d\":\"x\"}}}"
#define STEPS(steps) "{kind: scenario, name: n, steps: [" steps "]}"

static void who_leaves_more_open_yields(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str report;
    // The first would take any; the others can have one each.
    CHECK(
        compare(&arena, STEPS("{expect: [{}, {channel: 'a:a'}, {channel: 'a:a', to: x}, {to: y}]}"),
                "[" MESSAGE("09:00:00", "a:a", "x") "," MESSAGE("09:00:00", "a:a", "y") "," MESSAGE(
                    "09:00:00", "a:a", "z") "," MESSAGE("09:00:00", "b:b", "z") "]",
                &report));
}

static void payloads_may_have_more(void)
{
    static const struct {
        const char *payload;
        bool is_met;
    } rows[] = {
        { "{}", true },
        { "{a: {b: 1}}", true },
        { "{a: {b: 1.0}}", true },
        { "{a: {c: [1, 2]}, d: x}", true },
        { "{a: {c: [1]}}", false },
        { "{a: {c: [2, 1]}}", false },
        { "{a: {b: '1'}}", false },
        { "{a: {e: null}}", false },
        { "{d: X}", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str report, yaml = str_format(&arena, STEPS("{expect: {payload: %s}}"), rows[i].payload);
        bool is_met = compare(&arena, yaml.at, "[" MESSAGE("09:00:00", "a:a", "x") "]", &report);
        CHECK_AT(rows[i].payload, is_met == rows[i].is_met);
    }
}

static void times_are_met_to_the_second(void)
{
    static const struct {
        const char *steps;
        bool is_met;
    } rows[] = {
        { "{at: +1h, expect: {channel: 'a:a'}}", true },
        { "{at: +59m59s, expect: {channel: 'a:a'}}", false },
        { "{at: +59m59s, expect: {channel: 'a:a', within: 1s}}", true },
        { "{at: +1h1s, expect: {channel: 'a:a', within: 1d}}", false },
        { "{at: +1h, expect: {channel: 'a:a', send: 2}}", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str report, yaml = str_format(&arena, STEPS("%s"), rows[i].steps);
        bool is_met = compare(&arena, yaml.at, "[" MESSAGE("10:00:00", "a:a", "x") "]", &report);
        CHECK_AT(rows[i].steps, is_met == rows[i].is_met);
    }
}

static void a_report_is_in_the_order_of_time(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str report;
    CHECK(!compare(&arena,
                   "kind: scenario\nname: n\nsteps:\n"
                   "- {at: +1h, expect: {channel: 'a:a', to: x}}\n"
                   "- {at: +2h, expect: {channel: 'b:b', to: y}}\n",
                   "[" MESSAGE("12:00:00", "b:b", "y") "," MESSAGE("10:00:00", "a:a", "x") "]",
                   &report));
    CHECK_AT(report.at,
             str_eq(report, S("  2026-01-05T10:00:00+00:00  +1h        a:a to x  rule r  payload "
                              "{\"a\":{\"b\":1,\"c\":[1,2]},\"d\":\"x\"}\n"
                              "- 2026-01-05T11:00:00+00:00  +2h        b:b to y   (shop/s.yaml:5)\n"
                              "      it came at 2026-01-05T12:00:00+00:00  +3h\n"
                              "+ 2026-01-05T12:00:00+00:00  +3h        b:b to y  rule r  payload "
                              "{\"a\":{\"b\":1,\"c\":[1,2]},\"d\":\"x\"}\n")));
}

#define CAME MESSAGE("10:00:00", "a:a", "x")
#define ANY "{at: +1h, expect: {channel: 'a:a'}}, "
#define NEVER "{at: +2h, expect: {channel: 'b:b', to: x}}"

static void a_report_is_short(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str report;
    // Nine come as expected, three at either end are shown; seven are.
    CHECK(!compare(&arena, STEPS(ANY ANY ANY ANY ANY ANY ANY ANY ANY NEVER),
                   "[" CAME "," CAME "," CAME "," CAME "," CAME "," CAME "," CAME "," CAME "," CAME
                   "]",
                   &report));
    CHECK_AT(report.at, str_contains(report, S("  … 3 more that came as expected\n")));
    size_t lines = 0;
    for (Str rest = report; rest.len > 0; str_cut(&rest, '\n'))
        lines++;
    CHECK_AT(report.at, lines == 3 + 1 + 3 + 1); // what came already is not the nearest
    CHECK(!compare(&arena, STEPS(ANY ANY ANY ANY ANY ANY ANY NEVER),
                   "[" CAME "," CAME "," CAME "," CAME "," CAME "," CAME "," CAME "]", &report));
    CHECK_AT(report.at, !str_contains(report, S("more that came")));
    // What may come is no news.
    CHECK(!compare(&arena, "{kind: scenario, name: n, unexpected: allow, steps: [" NEVER "]}",
                   "[" MESSAGE("09:00:00", "c:c", "z") "]", &report));
    CHECK_AT(report.at, !str_contains(report, S("c:c")));
}

// compare_many holds count messages of one moment against count expectations of it.
static size_t compare_many(Arena *arena, size_t count, const char *wanted)
{
    Scenario scenario = { 0 };
    const Json **items = ARENA_ARRAY(arena, const Json *, count);
    Buf yaml = buf_new(arena, BUF_WHOLE), report = buf_new(arena, BUF_WHOLE);
    size_t met = 0;
    buf_add(&yaml, S("{kind: scenario, name: n, steps: ["));
    for (size_t i = 0; i < count; i++)
        buf_add_format(&yaml, "{expect: {channel: 'a:a', to: %s}},", wanted);
    buf_add(&yaml, S("]}"));
    CHECK(read_one(arena, str_z(arena, buf_str(&yaml)), &scenario) == EXIT_DONE);
    for (size_t i = 0; i < count; i++)
        CHECK(json_parse(arena, S(MESSAGE("09:00:00", "a:a", "x")), &items[i], NULL) == ERR_OK);
    Comparison comparison = expect_compare(arena, &scenario, items, count);
    expect_report(arena, &scenario, &comparison, false, &report);
    for (size_t i = 0; i < count; i++)
        met += comparison.expected[i].met != EXPECT_NONE;
    return met;
}

static void many_at_once_cost_little(void)
{
    enum { MANY = 400, BYTES_MAX = 32 << 20 };
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(compare_many(&arena, MANY, "x") == MANY);
    CHECK(compare_many(&arena, MANY, "y") == 0);
    CHECK(arena.bytes < BYTES_MAX);
}

static const Test tests[] = {
    TEST(times_are_read),
    TEST(what_is_no_time_is_refused),
    TEST(who_leaves_more_open_yields),
    TEST(payloads_may_have_more),
    TEST(times_are_met_to_the_second),
    TEST(a_report_is_in_the_order_of_time),
    TEST(a_report_is_short),
    TEST(many_at_once_cost_little),
};

TEST_MAIN(tests)
