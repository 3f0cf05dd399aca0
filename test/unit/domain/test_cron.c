#include "domain/cron.h"

#include "base/clock.h"
#include "base/time.h"
#include "test.h"

// Row is a line of the shared cases: kind, fields, expression, zone, inclusive, from, expected,
// UTC.
typedef struct Row {
    Str kind, expression, zone, from, expected, expected_utc;
    CronForm form;
    bool is_inclusive;
} Row;

static Row row_of(Str line)
{
    Row row = { .kind = str_cut(&line, '\t') };
    row.form = str_eq(str_cut(&line, '\t'), S("6")) ? CRON_SIX_FIELDS : CRON_FIVE_FIELDS;
    row.expression = str_cut(&line, '\t');
    row.zone = str_cut(&line, '\t');
    row.is_inclusive = str_eq(str_cut(&line, '\t'), S("1"));
    row.from = str_cut(&line, '\t');
    row.expected = str_cut(&line, '\t');
    row.expected_utc = str_cut(&line, '\t');
    return row;
}

static bool next_is_right(const Row *row)
{
    Cron cron;
    CronFault fault;
    const Zone *zone;
    Instant from, expected = INSTANT_NONE;
    char text[TIME_TEXT_MAX];
    if (!cron_parse(row->expression, row->form, &cron, &fault) ||
        zone_find(row->zone, &zone, NULL) != ERR_OK || !time_parse(row->from, &from))
        return false;
    bool is_none = str_eq(row->expected, S("NULL"));
    if (!is_none && !time_parse(row->expected_utc, &expected))
        return false;
    Instant at = cron_next(&cron, zone, from, row->is_inclusive);
    return at == expected &&
           (is_none ||
            str_eq(row->expected, time_local_text(at, zone_period(zone, at).offset, text)));
}

static bool fault_is_right(const Row *row)
{
    Cron cron;
    CronFault fault = { 0 };
    return !cron_parse(row->expression, row->form, &cron, &fault) &&
           str_eq(str_from(fault.field ? fault.field : ""), row->expected);
}

static bool sameness_is_right(const Row *row)
{
    Cron a, b;
    CronFault fault;
    return cron_parse(row->expression, row->form, &a, &fault) &&
           cron_parse(row->expected, row->form, &b, &fault) &&
           cron_is_same(&a, &b) == str_eq(row->kind, S("equal"));
}

static bool text_is_right(const Row *row)
{
    DEFER(arena_done) Arena arena = { 0 };
    Cron cron;
    CronFault fault;
    return cron_parse(row->expression, row->form, &cron, &fault) &&
           str_eq(cron_text(&arena, &cron), row->expected);
}

static const struct {
    const char *kind;
    bool (*is_right)(const Row *row);
    int count;
} kinds[] = {
    { "next", next_is_right, 571 },     { "invalid", fault_is_right, 154 },
    { "equal", sameness_is_right, 38 }, { "notequal", sameness_is_right, 6 },
    { "canon", text_is_right, 46 },
};

static void expressions_match_the_shared_cases(void)
{
    FILE *file = fopen(CASES_DIR "/cron.tsv", "r");
    CHECK(file != NULL);
    char line[400];
    int counts[ARRAY_LEN(kinds)] = { 0 };
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        Row row = row_of(str_from(line));
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
            if (!str_eq(row.kind, str_from(kinds[i].kind)))
                continue;
            CHECK_AT(line, kinds[i].is_right(&row));
            counts[i]++;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        CHECK_AT(kinds[i].kind, counts[i] == kinds[i].count);
    if (file)
        fclose(file);
}

// Those that the cases do not have: other zones, other gaps, the far ends.
static void clocks_that_are_set_are_followed(void)
{
    static const struct {
        const char *expression, *zone, *is_inclusive, *from, *expected;
    } rows[] = {
        { "30 2 * * *", "Europe/Berlin", "0", "2026-03-28T02:30:00+01:00",
          "2026-03-29T03:00:00+02:00" },
        { "30 2 * * *", "Europe/Berlin", "0", "2026-03-29T01:59:59+01:00",
          "2026-03-29T03:00:00+02:00" },
        { "30 2 * * *", "Europe/Berlin", "0", "2026-03-29T03:00:00+02:00",
          "2026-03-30T02:30:00+02:00" },
        { "30 2 * * *", "Europe/Berlin", "0", "2026-10-25T02:30:00+02:00",
          "2026-10-26T02:30:00+01:00" },
        { "0 2 * * 0", "Europe/Berlin", "0", "2024-10-27T02:30:00+02:00",
          "2024-11-03T02:00:00+01:00" },
        { "0 2 * * 0", "Europe/Berlin", "1", "2021-03-28T03:00:00+02:00",
          "2021-04-04T02:00:00+02:00" },
        { "0/15 * * * *", "Europe/Berlin", "0", "2017-10-29T02:45:00+02:00",
          "2017-10-29T02:00:00+01:00" },
        { "30 * * * *", "Europe/Berlin", "0", "2026-03-29T01:30:00+01:00",
          "2026-03-29T03:00:00+02:00" },
        { "15 2 * * *", "Antarctica/Troll", "0", "2026-03-29T00:00:00+00:00",
          "2026-03-29T03:00:00+02:00" },
        { "0 12 * * *", "Pacific/Apia", "0", "2011-12-29T12:00:00-10:00",
          "2011-12-31T00:00:00+14:00" },
        { "0 0 29 2 0", "UTC", "0", "2088-02-29T00:00:00+00:00", "2128-02-29T00:00:00+00:00" },
        // Past the file's table, by its rule; the last of all.
        { "30 2 * * *", "Europe/Berlin", "0", "2400-03-25T12:00:00+01:00",
          "2400-03-26T03:00:00+02:00" },
        { "59 23 31 12 *", "UTC", "0", "9998-12-31T23:59:00Z", "9999-12-31T23:59:00+00:00" },
        { "59 23 31 12 *", "UTC", "0", "9999-12-31T23:59:00Z", "NULL" },
        { "59 23 31 12 *", "America/New_York", "0", "9999-01-02T00:00:00Z", "NULL" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char utc[TIME_TEXT_MAX];
        Instant expected = INSTANT_NONE;
        (void) time_parse(str_from(rows[i].expected), &expected);
        Row row = { .expression = str_from(rows[i].expression),
                    .zone = str_from(rows[i].zone),
                    .from = str_from(rows[i].from),
                    .expected = str_from(rows[i].expected),
                    .expected_utc = time_text(expected, utc),
                    .form = CRON_FIVE_FIELDS,
                    .is_inclusive = rows[i].is_inclusive[0] == '1' };
        CHECK_AT(rows[i].expression, next_is_right(&row));
    }
}

static void the_parts_are_counted(void)
{
    static const struct {
        const char *text;
        bool is_read, has_seconds;
    } rows[] = {
        { "* * * * *", true, false },
        { "* * * * * *", true, true },
        { "\t*  * * * *\t ", true, false },
        { "* * * * * * *", false, false },
        { "", false, false },
        { "   ", false, false },
        { "@every_second", true, true },
        { " @Daily\t", true, false },
        { "@daily x", false, false },
        { "H * * * *", false, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Cron cron = { 0 };
        CronFault fault;
        bool is_read = cron_parse(str_from(rows[i].text), CRON_ANY_FORM, &cron, &fault);
        CHECK_AT(rows[i].text, is_read == rows[i].is_read);
        CHECK_AT(rows[i].text, cron.has_seconds == rows[i].has_seconds);
    }
}

static void a_range_keeps_the_sunday_that_it_begins_with(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const struct {
        const char *text, *means;
    } rows[] = {
        { "* * * * 7-2/2", "* * * * 2" },
        { "* * * * 7-2", "* * * * 0,1,2" },
        { "* * * * 5/2", "* * * * 0,5" },
        { "* * * * 7-7", "* * * * 0" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Cron cron;
        CronFault fault;
        CHECK(cron_parse(str_from(rows[i].text), CRON_ANY_FORM, &cron, &fault));
        CHECK_AT(rows[i].text, str_eq(cron_text(&arena, &cron), str_from(rows[i].means)));
    }
}

static void a_fault_names_the_field_and_the_place(void)
{
    static const struct {
        const char *text, *fault;
    } rows[] = {
        { "* 25 * * *", "Hours, at character 3: a number from 0 to 23 is expected" },
        { "* * * JAX *",
          "Months, at character 7: a number from 1 to 12, or a name from JAN to DEC, is expected" },
        { "*/60 * * * *",
          "Minutes, at character 3: a step from 1 to the field's last value is expected" },
        { "* *", "Days of month, at character 4: this field is missing" },
        { "* * * * * * *", "at character 13: there are more than six fields" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Cron cron;
        CronFault fault = { 0 };
        CHECK(!cron_parse(str_from(rows[i].text), CRON_ANY_FORM, &cron, &fault));
        CHECK_AT(rows[i].text, str_eq(cron_fault_text(&arena, &fault), str_from(rows[i].fault)));
    }
    static const char nul[] = "* * * *\0*";
    char longer[CRON_TEXT_MAX + 2] = "* * * * *";
    Cron cron;
    CronFault fault;
    memset(longer + 9, ' ', sizeof longer - 10);
    CHECK(!cron_parse((Str){ nul, sizeof nul - 1 }, CRON_ANY_FORM, &cron, &fault));
    CHECK(!cron_parse(str_from(longer), CRON_ANY_FORM, &cron, &fault));
}

static void words_say_what_is_meant(void)
{
    static const struct {
        const char *text, *zone, *words;
    } rows[] = {
        { "30 2 * * *", "Europe/Berlin",
          "At 02:30, every day. Clocks in Europe/Berlin next change on 2026-03-29, from 02:00 to "
          "03:00: what falls between comes once, at 03:00." },
        { "*/5 8-18 * * 1-5", "UTC",
          "Every 5 minutes, in hours 8 to 18, on Monday to Friday. Clocks in UTC never change." },
        { "0 0 13 * 5", "UTC",
          "At 00:00, on the 13th where that is Friday. Clocks in UTC never change." },
        { "0 9,17 L-2W 1,6 *", "UTC",
          "At 09:00 and 17:00, on the weekday nearest to the day 2 days before the last day of the "
          "month in January and June. Clocks in UTC never change." },
        { "* * * * * FRI#2", "UTC",
          "Every second, on the 2nd Friday of the month. Clocks in UTC never change." },
        { "10,20 5/7 * 1-3,22 * *", "UTC",
          "At seconds 10 and 20, at minutes 5, 12, 19, 26, 33, 40, 47 and 54, on the 1st to 3rd "
          "and "
          "22nd. Clocks in UTC never change." },
        { "0 12 30 2 *", "UTC",
          "At 12:00, on the 30th in February. There is no such day: it never comes." },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Cron cron;
        CronFault fault;
        const Zone *zone;
        Instant from;
        CHECK(cron_parse(str_from(rows[i].text), CRON_ANY_FORM, &cron, &fault));
        CHECK(zone_find(str_from(rows[i].zone), &zone, NULL) == ERR_OK);
        CHECK(time_parse(S("2026-01-01T00:00:00Z"), &from));
        Str words = cron_explain(&arena, &cron, zone, from);
        if (!str_eq(words, str_from(rows[i].words)))
            printf("# %.*s\n", STR_ARG(words));
        CHECK_AT(rows[i].text, str_eq(words, str_from(rows[i].words)));
    }
}

static void both_day_fields_are_warned_of(void)
{
    Cron cron;
    CronFault fault;
    CHECK(cron_parse(S("0 0 13 * 5"), CRON_ANY_FORM, &cron, &fault) && cron_warning(&cron));
    CHECK(cron_parse(S("0 0 L * 5#1"), CRON_ANY_FORM, &cron, &fault) && cron_warning(&cron));
    CHECK(cron_parse(S("0 0 13 * ?"), CRON_ANY_FORM, &cron, &fault) && !cron_warning(&cron));
    CHECK(cron_parse(S("0 0 1-31 * 5"), CRON_ANY_FORM, &cron, &fault) && !cron_warning(&cron));
}

static const Test tests[] = {
    TEST(expressions_match_the_shared_cases),
    TEST(clocks_that_are_set_are_followed),
    TEST(the_parts_are_counted),
    TEST(a_fault_names_the_field_and_the_place),
    TEST(words_say_what_is_meant),
    TEST(both_day_fields_are_warned_of),
    TEST(a_range_keeps_the_sunday_that_it_begins_with),
};

TEST_MAIN(tests)
