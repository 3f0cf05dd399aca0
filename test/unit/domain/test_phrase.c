#include "test.h"

#include "base/time.h"
#include "domain/calendar.h"
#include "domain/phrase.h"

static Arena arena;

#define PAYLOAD                                                                                    \
    "{\"guestName\":\"Ada & <Bob>\",\"guest\":{\"Phone\":\"+91 98\",\"n\":null},\"nights\":3,"     \
    "\"paid\":true,\"checkinDate\":\"2026-05-15T01:30:00+05:30\",\"rooms\":[{\"no\":7},{\"no\":8}" \
    "],"                                                                                           \
    "\"a.b\":\"dotted\",\"Name\":\"big\",\"name\":\"small\",\"at\":1778735580,\"empty\":\"\"}"

static Event event_of(const char *payload)
{
    Event event = { .kind = S("booking.confirmed"),
                    .entity = S("12345"),
                    .source = S("api"),
                    .payload = str_from(payload),
                    .recipient = S("{\"address\":\"x@y\",\"first\":\"Cy\"}"),
                    .received_at = 0,
                    .occurred_at = INSTANT_NONE };
    CHECK(event_parse(&arena, &event, NULL) == ERR_OK);
    return event;
}

static void every_placeholder_finds_its_value(void)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "", "" },
        { "plain } text { with } braces", "plain } text { with } braces" },
        { "Hello {{guestName}}!", "Hello Ada & <Bob>!" },
        { "{{ GUESTNAME }}{{guestname}}", "Ada & <Bob>Ada & <Bob>" },
        { "{{guest.phone}} {{guestPhone}} {{GUEST.PHONE}} {{guest.Phone}}",
          "+91 98 +91 98 +91 98 +91 98" },
        { "{{guest.name}}", "Ada & <Bob>" }, // a nested path answers to a flat member
        { "{{nights}} {{paid}}", "3 true" },
        { "{{rooms.1.no}} {{rooms.0.NO}} {{Rooms1no}}", "8 7 8" },
        { "{{rooms.9.no}}|{{rooms.x}}", "|" },
        { "{{a.b}} {{AB}}", "dotted dotted" },
        { "{{name}} {{Name}} {{NAME}}", "small big big" },
        { "{{guest}}", "{\"Phone\":\"+91 98\",\"n\":null}" },
        { "{{guest.n}}{{nobody}}{{guestN}}{{empty}}", "" },
        { "{{payload.nights}} {{candidate.nights}} {{recipient.FIRST}} {{recipient.address}}",
          "3 3 Cy x@y" },
        { "{{event.kind}} {{event.Entity}} {{event.occurredAt}}{{event.nothing}}",
          "booking.confirmed 12345 " },
        { "{{url}}", "https://link" },
        { "{{checkinDate | date:\"dd-MMM-yyyy\"}}", "15-May-2026" },
        { "{{checkinDate|date:\"EEEE d MMMM yy, HH:mm 'o''clock' h a\"}}",
          "Friday 15 May 26, 01:30 o'clock 1 AM" },
        { "{{at | date:\"yyyy-MM-dd HH:mm:ss.SSS\"}}", "2026-05-14 05:13:00.000" },
        { "{{nobody | date:\"dd\"}}", "" },
    };
    Event event = event_of(PAYLOAD);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Error error = { .arena = &arena };
        Filling filling = { .event = &event, .url = S("https://link") };
        Str filled = STR_NONE;
        const Phrase *phrase = phrase_compile(&arena, str_from(rows[i].text), S("/body"), &error);
        CHECK(phrase);
        CHECK(phrase_fill(phrase, &arena, &filling, false, &filled, &error) == ERR_OK);
        CHECK_AT(rows[i].text, str_eq(filled, str_from(rows[i].expected)));
    }
    arena_done(&arena);
}

static void values_are_escaped_in_html_and_the_text_is_not(void)
{
    Event event = event_of(PAYLOAD);
    Filling filling = { .event = &event, .keeps_missing = true };
    const Phrase *phrase =
        phrase_compile(&arena, S("<b>{{guestName}}</b> '{{no \"}}"), S(""), &(Error){ 0 });
    CHECK(!phrase);
    phrase = phrase_compile(&arena, S("<b>{{guestName}}</b> {{ no | date:\"d\" }} {{no}} {{x}}"),
                            S(""), &(Error){ 0 });
    Str filled;
    CHECK(phrase_fill(phrase, &arena, &filling, true, &filled, NULL) == ERR_OK);
    CHECK(str_eq(filled, S("<b>Ada &amp; &lt;Bob&gt;</b> {{ no | date:&quot;d&quot; }} {{no}} "
                           "{{x}}")));
    CHECK(filling.missing_count == 2 && str_eq(filling.missing[0], S("no")));
    arena_done(&arena);
}

static void a_bad_text_is_refused_with_its_line(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "a\nb {{name", "line 2: {{ is not closed" },
        { "{{}}", "needs a name" },
        { "{{  | date:\"d\"}}", "needs a name" },
        { "{{{raw}}}", "always escaped" },
        { "{{#each}}", "no sections" },
        { "{{a b}}", "one word" },
        { "{{a {{b}}", "one word" },
        { "{{a | upper}}", "all that may stand" },
        { "{{a | date}}", "wants a format" },
        { "{{a | date:\"\"}}", "1 to 100" },
        { "{{a | date:\"qq\"}}", "made of" },
        { "{{a | date:\"yyy\"}}", "made of" },
        { "{{a | date:\"'x\"}}", "not closed" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Error error = { .arena = &arena };
        CHECK_AT(rows[i].text, !phrase_compile(&arena, str_from(rows[i].text), S("/body"), &error));
        CHECK_AT(rows[i].text, error.count >= 1 && str_contains(error.problems[0].message,
                                                                str_from(rows[i].message)));
        CHECK_AT(rows[i].text, str_eq(error.problems[0].path, S("/body")));
    }
    arena_done(&arena);
}

static Str repeated(const char *text, size_t times)
{
    Buf buf = buf_new(&arena, BUF_WHOLE);
    for (size_t i = 0; i < times; i++)
        buf_add(&buf, str_from(text));
    return buf_str(&buf);
}

static void what_is_too_much_is_refused(void)
{
    Error error = { .arena = &arena };
    CHECK(!phrase_compile(&arena, repeated("x", PHRASE_BYTES_MAX + 1), S(""), &error));
    CHECK(!phrase_compile(&arena, repeated("{{a}}", PHRASE_HOLES_MAX + 1), S(""), &error));
    const Phrase *many = phrase_compile(&arena, repeated("{{a}}", PHRASE_HOLES_MAX), S(""), &error);
    CHECK(many);

    // Five hundred times four kilobytes.
    Str long_text = str_format(&arena, "{\"a\":\"%.*s\"}", STR_ARG(repeated("<", 4096)));
    Event event = event_of(str_z(&arena, long_text));
    Filling filling = { .event = &event };
    Str filled;
    CHECK(phrase_fill(many, &arena, &filling, true, &filled, &error) == ERR_INVALID);
    CHECK(str_contains(str_from(error.detail), S("{{a}}: with it it would have more than")));

    // Fifty thousand members, none of which is it.
    Buf wide = buf_new(&arena, BUF_WHOLE);
    for (int i = 0; i < 50000; i++)
        buf_add_format(&wide, "%s\"m%d\":1", i ? "," : "{", i);
    buf_add_char(&wide, '}');
    event = event_of(str_z(&arena, buf_str(&wide)));
    filling = (Filling){ .event = &event };
    CHECK(phrase_fill(many, &arena, &filling, false, &filled, &error) == ERR_INVALID);
    CHECK(str_contains(str_from(error.detail), S("not found within")));
    arena_done(&arena);
}

static void what_is_no_date_is_told(void)
{
    static const char *const values[] = {
        "\"soon\"",
        "\"2026-02-30\"",
        "\"2026-5-1\"",
        "true",
        "\"2026-05-14T\"",
        "\"2026-05-14T25:00:00Z\"",
        "-1",
        "\"2026-05-14Z\"",
        "99999999999999999",
        "{}",
        "\"\"",
    };
    Error error = { .arena = &arena };
    const Phrase *phrase = phrase_compile(&arena, S("{{d | date:\"dd\"}}"), S(""), &error);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        Event event = event_of(str_z(&arena, str_format(&arena, "{\"d\":%s}", values[i])));
        Filling filling = { .event = &event };
        Str filled;
        CHECK_AT(values[i],
                 phrase_fill(phrase, &arena, &filling, false, &filled, &error) == ERR_INVALID);
        CHECK_AT(values[i], str_contains(str_from(error.detail), S("{{d}} is no date")));
    }
    arena_done(&arena);
}

static void moments_stay_as_they_were_written(void)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "2026-05-14", "2026-05-14 00:00:00" },
        { "2024-02-29T23:59:60Z", "2024-02-29 23:59:60" },
        { "2026-05-14 10:20", "2026-05-14 10:20:00" },
        { "2026-05-14T10:20:30.5-0800", "2026-05-14 10:20:30" },
        { "2026-05-14T10:20:30.123456789+05", "2026-05-14 10:20:30" },
        { " 2026-05-14T00:30:00+13:45 ", "2026-05-14 00:30:00" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Moment moment;
        CHECK_AT(rows[i].text, calendar_read(str_from(rows[i].text), false, &moment));
        Str text = calendar_write(&arena, &moment, S("yyyy-MM-dd HH:mm:ss"));
        CHECK_AT(rows[i].text, str_eq(text, str_from(rows[i].expected)));
    }
    Moment moment;
    CHECK(calendar_read(S("1778735580123"), true, &moment) && moment.millis == 123);
    CHECK(moment.day == 14 && moment.hour == 5);
    arena_done(&arena);
}

static void names_are_known_by_any_of_their_ways(void)
{
    Event event = event_of(PAYLOAD);
    CHECK(phrase_knows(S("guestphone"), &event) && phrase_knows(S("event.id"), &event) == false);
    CHECK(phrase_knows(S("url"), &event) && phrase_knows(S("event.kind"), &event));
    CHECK(phrase_knows(S("guest.n"), &event) == false && !phrase_knows(S("guestNmae"), &event));
    arena_done(&arena);
}

static const Test tests[] = {
    TEST(every_placeholder_finds_its_value),
    TEST(values_are_escaped_in_html_and_the_text_is_not),
    TEST(a_bad_text_is_refused_with_its_line),
    TEST(what_is_too_much_is_refused),
    TEST(what_is_no_date_is_told),
    TEST(moments_stay_as_they_were_written),
    TEST(names_are_known_by_any_of_their_ways),
};

TEST_MAIN(tests)
