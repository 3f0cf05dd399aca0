#include "base/time.h"
#include "test.h"

static void instants_are_read(void)
{
    static const struct {
        const char *text;
        Instant at;
    } rows[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "1970-01-01T00:00:00.000001Z", 1 },
        { "2000-02-29T12:34:56Z", 951827696000000 },
        { "2001-09-09T01:46:40Z", 1000000000000000 },
        { "2026-05-14T05:12:34.000Z", 1778735554000000 },
        { "2026-05-14T05:12:34.5Z", 1778735554500000 },
        { "2026-05-14T05:12:34.123456Z", 1778735554123456 },
        { "2026-05-14T05:12:34.123456789Z", 1778735554123456 },
        { "2026-05-14t05:12:34z", 1778735554000000 },
        { "2026-05-14T07:12:34+02:00", 1778735554000000 },
        { "2026-05-13T23:42:34-05:30", 1778735554000000 },
        { "2026-05-14T05:12:34-00:00", 1778735554000000 },
        { "1970-01-01T01:00:00+01:00", 0 },
        { "1970-01-01T23:59:00+23:59", 0 },
        { "2100-02-28T23:59:59Z", 4107542399000000 },
        { "9999-12-31T23:59:59.999999Z", 253402300799999999 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Instant at = -1;
        CHECK_AT(rows[i].text, time_parse(str_from(rows[i].text), &at));
        CHECK_AT(rows[i].text, at == rows[i].at);
    }
}

static void other_texts_are_refused(void)
{
    static const char *const rows[] = {
        "",
        "now",
        "2026-05-14",
        "2026-05-14T05:12:34",
        "2026-05-14T05:12Z",
        "2026-05-14 05:12:34Z",
        "2026-05-14T05:12:34Zx",
        "2026-05-14T05:12:34.Z",
        "2026-05-14T05:12:34.1234567890Z",
        "2026-05-14T05:12:34,5Z",
        "2026-05-14T05:12:34+0200",
        "2026-05-14T05:12:34+02",
        "2026-05-14T05:12:34+24:00",
        "2026-05-14T05:12:34+02:60",
        "2026-00-14T05:12:34Z",
        "2026-13-14T05:12:34Z",
        "2026-05-00T05:12:34Z",
        "2026-05-32T05:12:34Z",
        "2026-04-31T05:12:34Z",
        "2026-02-29T05:12:34Z",
        "2100-02-29T05:12:34Z",
        "2026-05-14T24:00:00Z",
        "2026-05-14T05:60:00Z",
        "2016-12-31T23:59:60Z",
        "2026-5-14T05:12:34Z",
        "+2026-05-14T05:12:34Z",
        "-026-05-14T05:12:34Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "10000-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Instant at = 42;
        CHECK_AT(rows[i], !time_parse(str_from(rows[i]), &at) && at == 42);
    }
}

static void instants_are_printed_with_milliseconds(void)
{
    static const struct {
        Instant at;
        const char *text;
    } rows[] = {
        { 0, "1970-01-01T00:00:00.000Z" },
        { 999, "1970-01-01T00:00:00.000Z" },
        { 951827696789999, "2000-02-29T12:34:56.789Z" },
        { 1778735554000000, "2026-05-14T05:12:34.000Z" },
        { 253402300799999999, "9999-12-31T23:59:59.999Z" },
        { 253402300800000000, "9999-12-31T23:59:59.999Z" },
        { -1, "1970-01-01T00:00:00.000Z" },
        { INT64_MIN, "1970-01-01T00:00:00.000Z" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char buffer[TIME_TEXT_MAX];
        Str text = time_text(rows[i].at, buffer);
        CHECK_AT(rows[i].text, str_eq(text, str_from(rows[i].text)) && text.at[text.len] == '\0');
    }
    char buffer[TIME_TEXT_MAX];
    CHECK(time_text(INSTANT_NONE, buffer).at == NULL);
}

static void every_day_reads_back(void)
{
    // Successive days must also be successive dates, so a wrong month shows as a jump.
    char before[TIME_TEXT_MAX] = "1969", text[TIME_TEXT_MAX];
    for (Instant at = 0; at < 253402300800000000; at += SPAN_DAY) {
        Instant back = -1;
        Str printed = time_text(at + 3723456000, text);
        bool is_good = time_parse(printed, &back) && back == at + 3723456000;
        CHECK_AT(text, is_good && strcmp(before, text) < 0);
        if (!is_good)
            return;
        memcpy(before, text, sizeof text);
    }
    CHECK(strncmp(before, "9999-12-31", 10) == 0);
}

static void durations_match_the_shared_cases(void)
{
    FILE *file = fopen(CASES_DIR "/duration.tsv", "r");
    CHECK(file != NULL);
    char line[200];
    int count = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        Str expected = str_from(line);
        Str rest = { line, expected.len - 1 };
        Str text = str_cut(&rest, '\t');
        int64_t seconds;
        Span span = 0;
        bool ok = duration_parse(text, &span);
        if (str_eq(rest, S("refused")))
            CHECK_AT(line, !ok);
        else
            CHECK_AT(line, ok && str_to_i64(rest, 0, INT64_MAX, &seconds) &&
                               span == seconds * SPAN_SECOND);
        count++;
    }
    CHECK(count >= 20);
    if (file)
        fclose(file);
}

static void durations_have_a_limit(void)
{
    static const struct {
        const char *text;
        Span span; // -1: refused
    } rows[] = {
        { "3660d", DURATION_MAX },
        { "3660d1s", -1 },
        { "3661d", -1 },
        { "522w6d", DURATION_MAX },
        { "522w7d", -1 },
        { "316224000s", DURATION_MAX },
        { "316224001s", -1 },
        { "15250284452w", -1 }, // wraps round in 64 bits
        { "9223372036854775807s", -1 },
        { "9223372036854775808s", -1 },
        { "1w1d1h1m1s", 694861 * SPAN_SECOND },
        { "90m", 5400 * SPAN_SECOND },
        { "0s", 0 },
        { "1m1h", -1 },
        { "1d2", -1 },
        { "1ms", -1 },
        { "+1d", -1 },
        { " 1d", -1 },
        { "1d ", -1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Span span = -1;
        bool ok = duration_parse(str_from(rows[i].text), &span);
        CHECK_AT(rows[i].text, ok == (rows[i].span >= 0) && span == rows[i].span);
    }
}

static void durations_are_printed(void)
{
    static const struct {
        Span seconds;
        const char *text;
    } rows[] = {
        { 0, "0s" },         { 1, "1s" },      { 30, "30s" },     { 60, "1m" },
        { 90, "1m30s" },     { 900, "15m" },   { 5400, "1h30m" }, { 14400, "4h" },
        { 129600, "1d12h" }, { 604800, "7d" }, { 86401, "1d1s" }, { 316224000, "3660d" },
        { -5, "0s" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str text = duration_text(&arena, rows[i].seconds * SPAN_SECOND);
        CHECK_AT(rows[i].text, str_eq(text, str_from(rows[i].text)));
    }
    CHECK(str_eq(duration_text(&arena, 1999999), S("1s")));
    for (int64_t seconds = 0; seconds <= 316224000; seconds += 99991) {
        Span back = -1;
        Str text = duration_text(&arena, seconds * SPAN_SECOND);
        CHECK(duration_parse(text, &back) && back == seconds * SPAN_SECOND);
    }
}

static void http_dates_are_read(void)
{
    static const struct {
        const char *text;
        Instant at; // -1: refused
    } rows[] = {
        { "Sun, 06 Nov 1994 08:49:37 GMT", 784111777000000 },
        { "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
        { "Tue, 29 Feb 2028 23:59:59 GMT", 1835481599000000 },
        { "Fri, 31 Dec 9999 23:59:59 GMT", 253402300799000000 },
        { "Thu, 14 May 2026 05:12:34 GMT", 1778735554000000 },
        { "", -1 },
        { "Su", -1 },
        { "Sunday, 06-Nov-94 08:49:37 GMT", -1 },
        { "Sun Nov  6 08:49:37 1994", -1 },
        { "Xxx, 06 Nov 1994 08:49:37 GMT", -1 },
        { "unM, 06 Nov 1994 08:49:37 GMT", -1 },
        { "Sun, 06 Nox 1994 08:49:37 GMT", -1 },
        { "Sun, 31 Nov 1994 08:49:37 GMT", -1 },
        { "Sun, 6 Nov 1994 08:49:37 GMT", -1 },
        { "Sun, 06 Nov 1994 08:49:60 GMT", -1 },
        { "Sun, 06 Nov 1994 24:49:37 GMT", -1 },
        { "Sun, 06 Nov 1994 08:49:37 UTC", -1 },
        { "Sun, 06 Nov 1994 08:49:37 GMT ", -1 },
        { "Sun, 06 Nov 1994 08:49:37", -1 },
        { "Wed, 31 Dec 1969 23:59:59 GMT", -1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Instant at = -1;
        bool ok = time_http_date(str_from(rows[i].text), &at);
        CHECK_AT(rows[i].text, ok == (rows[i].at >= 0) && at == rows[i].at);
    }
}

static const Test tests[] = {
    TEST(instants_are_read),
    TEST(other_texts_are_refused),
    TEST(instants_are_printed_with_milliseconds),
    TEST(every_day_reads_back),
    TEST(durations_match_the_shared_cases),
    TEST(durations_have_a_limit),
    TEST(durations_are_printed),
    TEST(http_dates_are_read),
};
TEST_MAIN(tests)
