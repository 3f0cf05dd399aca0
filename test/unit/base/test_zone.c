#include "base/zone.h"

#include "base/time.h"
#include "test.h"

static Instant at(const char *text)
{
    Instant instant = INSTANT_NONE;
    CHECK_AT(text, time_parse(str_from(text), &instant));
    return instant;
}

static void names_are_checked(void)
{
    static const char *const bad[] = {
        "",
        "/etc/passwd",
        "../zoneinfo/UTC",
        "Europe/../UTC",
        "Europe/",
        "Europe",
        "Europe//Paris",
        "europe/nowhere",
        ".",
        "Europe/Warsaw\n",
        "-x",
        "tzdata.zi",
        "zone.tab",
        "Mars/Olympus",
        "right/UTC",
        "a/b/c/d/e",
        "Europe/Warsaw ",
    };
    const Zone *zone = NULL;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i], zone_find(str_from(bad[i]), &zone, NULL) == ERR_INVALID);
    CHECK(zone_find((Str){ "UTC\0x", 5 }, &zone, NULL) == ERR_INVALID && zone == NULL);
    CHECK(zone_find(S("UTC"), &zone, NULL) == ERR_OK && zone == zone_utc);
}

static void a_zone_is_read_once(void)
{
    const Zone *zone = NULL, *again = NULL;
    CHECK(zone_find(S("Europe/Warsaw"), &zone, NULL) == ERR_OK);
    CHECK(zone_find(S("Europe/Warsaw"), &again, NULL) == ERR_OK);
    CHECK(zone && zone == again && str_eq(zone_name(zone), S("Europe/Warsaw")));
}

static void periods_follow_the_table_and_the_rule(void)
{
    static const struct {
        const char *zone, *at, *from, *until; // "" where there is none
        int minutes, minutes_before;
    } rows[] = {
        { "UTC", "2026-01-01T00:00:00Z", "", "", 0, 0 },
        { "Europe/Berlin", "2026-06-01T00:00:00Z", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z",
          120, 60 },
        { "Europe/Berlin", "2026-10-25T01:00:00Z", "2026-10-25T01:00:00Z", "2027-03-28T01:00:00Z",
          60, 120 },
        { "Europe/Berlin", "9000-07-01T00:00:00Z", "9000-03-30T01:00:00Z", "9000-10-26T01:00:00Z",
          120, 60 },
        { "Australia/Sydney", "2500-01-01T00:00:00Z", "2499-10-03T16:00:00Z",
          "2500-04-03T16:00:00Z", 660, 600 },
        { "Asia/Kathmandu", "2050-01-01T00:00:00Z", "1985-12-31T18:30:00Z", "", 345, 330 },
        { "Africa/Monrovia", "1973-01-01T00:00:00Z", "1972-01-07T00:44:30Z", "", 0, -44 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const Zone *zone = NULL;
        CHECK_AT(rows[i].zone, zone_find(str_from(rows[i].zone), &zone, NULL) == ERR_OK);
        if (!zone)
            continue;
        ZonePeriod period = zone_period(zone, at(rows[i].at));
        CHECK_AT(rows[i].at, period.from == (*rows[i].from ? at(rows[i].from) : ZONE_PAST));
        CHECK_AT(rows[i].at, period.until == (*rows[i].until ? at(rows[i].until) : ZONE_FUTURE));
        CHECK_AT(rows[i].at, period.offset == rows[i].minutes * SPAN_MINUTE);
        CHECK_AT(rows[i].at, period.before / SPAN_MINUTE == rows[i].minutes_before);
    }
}

static void the_next_change_is_found(void)
{
    const Zone *zone = NULL;
    ZonePeriod period;
    CHECK(zone_find(S("Europe/Berlin"), &zone, NULL) == ERR_OK);
    CHECK(zone_change(zone, at("2026-03-29T00:59:59Z"), &period) &&
          period.from == at("2026-03-29T01:00:00Z"));
    CHECK(zone_change(zone, at("2026-03-29T01:00:00Z"), &period) &&
          period.from == at("2026-10-25T01:00:00Z"));
    CHECK(!zone_change(zone_utc, 0, &period));
}

// A file made by hand: the old block empty, the new one with a single turn, and a rule.
typedef struct Made {
    char bytes[400];
    size_t len;
} Made;

static void put(Made *made, const void *bytes, size_t len)
{
    memcpy(made->bytes + made->len, bytes, len);
    made->len += len;
}

static void put_header(Made *made, char times, char types)
{
    char header[44] = "TZif2";
    header[35] = times;
    header[39] = types;
    put(made, header, sizeof header);
}

static Made make(const char *rule)
{
    Made made = { 0 };
    put_header(&made, 0, 1);
    put(&made, "\0\0\0\0\0\0", 6);
    put_header(&made, 1, 2);
    put(&made, "\0\0\0\0\0\0\x0e\x10", 8); // at 3600 s
    put(&made, "\1", 1);
    put(&made, "\0\0\0\0\0\0", 6);
    put(&made, "\0\0\x0e\x10\0\0", 6); // 1 h ahead
    put(&made, rule, strlen(rule));
    return made;
}

static Err read_made(Arena *arena, const Made *made, const Zone **ret)
{
    return zone_read(arena, S("Made/Here"), (Str){ made->bytes, made->len }, ret, NULL);
}

static void rules_are_read(void)
{
    static const struct {
        const char *rule;
        bool is_good;
    } rows[] = {
        { "\n\n", true },
        { "\nCET-1\n", true },
        { "\n<+01>-1\n", true },
        { "\nCET-1CEST,M3.5.0,M10.5.0/3\n", true },
        { "\nCET-1CEST-2,J60/-2,300/167:59:59\n", true },
        { "\nEST3EDT4,0/0,J365/23\n", true },
        { "", false },
        { "\n", false },
        { "\nCET-1", false },
        { "\nCET-1\nx", false },
        { "\nCE-1\n", false },
        { "\nCET\n", false },
        { "\nCET-25\n", false },
        { "\nCET-1CEST\n", false },
        { "\nCET-1CEST,M3.5.0\n", false },
        { "\nCET-1CEST,M13.5.0,M10.5.0\n", false },
        { "\nCET-1CEST,M3.6.0,M10.5.0\n", false },
        { "\nCET-1CEST,M3.5.7,M10.5.0\n", false },
        { "\nCET-1CEST,J0,M10.5.0\n", false },
        { "\nCET-1CEST,366,M10.5.0\n", false },
        { "\nCET-1CEST,M3.5.0,M10.5.0/168\n", false },
        { "\nCET-1CEST,M3.5.0,M10.5.0 \n", false },
        { "\nCET-99999999999999999999\n", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        const Zone *zone = NULL;
        Made made = make(rows[i].rule);
        CHECK_AT(rows[i].rule, (read_made(&arena, &made, &zone) == ERR_OK) == rows[i].is_good);
        CHECK_AT(rows[i].rule, (zone != NULL) == rows[i].is_good);
    }
}

static void a_damaged_file_is_refused(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Zone *zone = NULL;
    Made whole = make("\nCET-1\n");
    for (size_t len = 0; len < whole.len; len++) {
        Made cut = whole;
        cut.len = len;
        CHECK(read_made(&arena, &cut, &zone) == ERR_INVALID);
    }
    static const struct {
        const char *what;
        size_t place;
        char byte;
    } rows[] = {
        { "magic", 0, 'X' },
        { "version", 4, '\0' },
        { "a count of the old block", 32, '\x7f' },
        { "times", 50 + 32, '\x7f' },
        { "no types", 50 + 39, '\0' },
        { "leap seconds", 50 + 31, '\1' },
        { "a type that is not there", 50 + 44 + 8, '\2' },
        { "an offset of years", 50 + 44 + 9 + 6, '\x7f' },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Made made = whole;
        made.bytes[rows[i].place] = rows[i].byte;
        CHECK_AT(rows[i].what, read_made(&arena, &made, &zone) == ERR_INVALID);
    }
    CHECK(zone == NULL);
    CHECK(read_made(&arena, &whole, &zone) == ERR_OK);
    CHECK(zone && zone_period(zone, 0).offset == 0);
    CHECK(zone && zone_period(zone, SPAN_HOUR).offset == SPAN_HOUR);
}

static const Test tests[] = {
    TEST(names_are_checked),
    TEST(a_zone_is_read_once),
    TEST(periods_follow_the_table_and_the_rule),
    TEST(the_next_change_is_found),
    TEST(rules_are_read),
    TEST(a_damaged_file_is_refused),
};

TEST_MAIN(tests)
