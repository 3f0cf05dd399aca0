#include "providers/when.h"

#include "hooks.h"

static void every_published_form_is_read(void)
{
    static const struct {
        const char *json, *at;
    } cases[] = {
        { "\"2019-05-15T15:20:18Z\"", "2019-05-15T15:20:18Z" },
        { "\"2015-05-05T19:40:15-04:00\"", "2015-05-05T23:40:15Z" },
        { "\"2015-05-05T19:40:15-02:30\"", "2015-05-05T22:10:15Z" },
        { "\"2023-04-11T10:16:53.022Z\"", "2023-04-11T10:16:53.022Z" },
        { "\"2019-08-19T21:06:17.677000Z\"", "2019-08-19T21:06:17.677Z" },
        { "\"2019-08-19T21:06:17.677000+00:00\"", "2019-08-19T21:06:17.677Z" },
        { "\"2017-01-30T18:32:14.716+0100\"", "2017-01-30T17:32:14.716Z" },
        { "\"2017-01-30T18:32:14-0530\"", "2017-01-31T00:02:14Z" },
        { "\"2024-01-01T12:00:00\"", "2024-01-01T12:00:00Z" },
        { "\"2024-01-01T12:00:00.5\"", "2024-01-01T12:00:00.5Z" },
        { "\"2024-01-01 12:00:00\"", "2024-01-01T12:00:00Z" },
        { "\"2024-01-01t12:00:00z\"", "2024-01-01T12:00:00Z" },
        { "\"2024-01-01T12:00:00.123456789Z\"", "2024-01-01T12:00:00.123456Z" },
        { "1557933618", "2019-05-15T15:20:18Z" },
        { "1566248777.677", "2019-08-19T21:06:17.677Z" },
        { "1566248777677", "2019-08-19T21:06:17.677Z" },
        { "1566248777677.0", "2019-08-19T21:06:17.677Z" },
        { "1566248777677000", "2019-08-19T21:06:17.677Z" },
        { "1566248777677000000", "2019-08-19T21:06:17.677Z" },
        { "\"1540236205000\"", "2018-10-22T19:23:25Z" },
        { "\"1719209506.817929\"", "2024-06-24T06:11:46.817929Z" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        const Json *json;
        CHECK(json_parse(&arena, str_from(cases[i].json), &json, NULL) == ERR_OK);
        CHECK_AT(cases[i].json, when_read(json) == at_time(cases[i].at));
    }
}

static void what_is_no_time_is_none(void)
{
    static const char *const cases[] = {
        "null",
        "true",
        "{}",
        "[]",
        "\"\"",
        "\"soon\"",
        "-1",
        "1e9",
        "\"2024-13-01T12:00:00Z\"",
        "\"2024-01-01T12:00:00+1\"",
        "\"2024-01-01T12:00:00.Z\"",
        "\"1.2.3\"",
        "99999999999999999999",
        "\"2024-01-01T12:00:00 Europe/Warsaw\"",
        "\"----------------------\"",
        "\"2024-01-01T12:00:00.123456789012345678901234567890123456789Z\"",
        "\"2024-01-01\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        const Json *json;
        CHECK(json_parse(&arena, str_from(cases[i]), &json, NULL) == ERR_OK);
        CHECK_AT(cases[i], when_read(json) == INSTANT_NONE);
    }
    CHECK(when_read(NULL) == INSTANT_NONE);
    CHECK(when_text((Str){ "2024\0-01-01T12:00:00Z", 20 }) == INSTANT_NONE);
    CHECK(when_text((Str){ "2024-\0-01-01T12:00:00", 21 }) == INSTANT_NONE);
}

static void the_first_that_is_a_time_counts(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *json;
    CHECK(json_parse(&arena, S("[null,\"x\",1557933618,1]"), &json, NULL) == ERR_OK);
    const Json *values[] = { json_at(json, 0), json_at(json, 1), json_at(json, 2),
                             json_at(json, 3) };
    CHECK(when_first(values, 4) == at_time("2019-05-15T15:20:18Z"));
    CHECK(when_first(values, 2) == INSTANT_NONE);
}

static const Test tests[] = {
    TEST(every_published_form_is_read),
    TEST(what_is_no_time_is_none),
    TEST(the_first_that_is_a_time_counts),
};
TEST_MAIN(tests)
