#include "domain/forward.h"
#include "test.h"

#define ID "01975e3c-7a4b-7000-8000-2c9d3f5b1a60"
#define TRACE S("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

static Err read_text(Arena *arena, const char *text, Event *ret)
{
    const Json *row;
    Forwarded forwarded = { 0 };
    Error error = { .arena = arena };
    CHECK(json_parse(arena, str_from(text), &row, NULL) == ERR_OK);
    Err err = forward_read(arena, row, S("plant-7"), SPAN_HOUR, &forwarded, &error);
    *ret = forwarded.event;
    return err;
}

static void an_event_is_known_by_its_own_id_else_by_the_rows(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event;
    CHECK(read_text(&arena, "{\"id\":\"" ID "\",\"kind\":\"event\",\"body\":{\"kind\":\"k\"}}",
                    &event) == ERR_OK);
    CHECK(str_eq(event.identity, S(ID)) && str_eq(event.source, S("api")));
    CHECK(event.occurred_at == INSTANT_NONE);
    CHECK(read_text(&arena,
                    "{\"id\":\"" ID "\",\"kind\":\"event\",\"enqueuedAt\":\"2026-05-14T05:00:00Z\","
                    "\"body\":{\"kind\":\"k\",\"id\":\"o-1\",\"source\":\"shop\"}}",
                    &event) == ERR_OK);
    CHECK(str_eq(event.identity, S("o-1")) && str_eq(event.source, S("shop")));
    CHECK(event.occurred_at != INSTANT_NONE);
}

static void a_row_is_refused_by_its_shape_and_by_another_site(void)
{
    static const char *const rows[] = {
        "{}",
        "7",
        "{\"id\":\"" ID "\",\"kind\":\"event\"}",
        "{\"id\":\"x\",\"kind\":\"event\",\"body\":{\"kind\":\"k\"}}",
        "{\"id\":\"" ID "\",\"kind\":\"secret\",\"body\":{\"kind\":\"k\"}}",
        "{\"id\":\"" ID "\",\"kind\":\"event\",\"body\":{\"kind\":\"k\"},\"site\":\"plant-7\"}",
        "{\"id\":\"" ID "\",\"kind\":\"audit\",\"body\":{\"kind\":\"Key.Created\"}}",
        "{\"id\":\"" ID "\",\"kind\":\"notification\",\"body\":{\"list\":\"a\",\"body\":\"b\","
        "\"source\":{\"site\":\"plant-8\"}}}",
    };
    DEFER(arena_done) Arena arena = { 0 };
    Event event;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_AT(rows[i], read_text(&arena, rows[i], &event) == ERR_EVENT_INVALID);
}

static void what_is_written_is_read(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Event event;
    Uuid id;
    CHECK(uuid_parse(S(ID), &id));
    Str text =
        forward_text(&arena, FORWARD_NOTIFICATION, id, 0, TRACE,
                     S("{\"list\":\"ops\",\"body\":\"hot\",\"source\":{\"site\":\"plant-7\"}}"));
    CHECK(read_text(&arena, str_z(&arena, text), &event) == ERR_OK);
    CHECK(str_eq(event.kind, S("notification")) && str_eq(event.identity, S(ID)));
    CHECK(str_eq(event.trace, TRACE));
    CHECK_AT(
        str_z(&arena, event.payload),
        str_eq(event.payload, S("{\"list\":\"ops\",\"body\":\"hot\",\"source\":{\"site\":"
                                "\"plant-7\"},\"siteEnqueuedAt\":\"1970-01-01T00:00:00.000Z\"}")));
    CHECK(forward_keep(&arena, text, &event, &(Error){ .arena = &arena }) == ERR_OK);
    CHECK(str_eq(event.kind, S("forward.notification")) && str_eq(event.entity, S(ID)));
    CHECK(str_eq(event.payload, text) && str_eq(event.trace, TRACE));
}

// A delay counts from when the site took it in; a site's clock that is ahead counts as right.
static void a_deferral_counts_from_the_site(void)
{
    static const struct {
        const char *enqueued_at;
        Instant run_at;
    } cases[] = {
        { "1970-01-01T00:30:00Z", 45 * SPAN_MINUTE },
        { "1970-01-01T00:59:00Z", 74 * SPAN_MINUTE },
        { "1970-01-01T02:00:00Z", 75 * SPAN_MINUTE },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Event event;
        const char *text = str_format(&arena,
                                      "{\"id\":\"" ID "\",\"kind\":\"defer\",\"enqueuedAt\":"
                                      "\"%s\",\"body\":{\"job\":\"j\",\"entity\":\"7\",\"delay\":"
                                      "\"15m\",\"replace\":true}}",
                                      cases[i].enqueued_at)
                               .at;
        CHECK_AT(text, read_text(&arena, text, &event) == ERR_OK);
        CHECK_AT(text, event.occurred_at == cases[i].run_at && str_eq(event.identity, S(ID)));
        CHECK_AT(text, str_eq(event.source, S("deferred")) && str_eq(event.entity, S("7")));
    }
}

static void a_deferral_says_which_job_and_when(void)
{
    static const char *const rows[] = {
        "{\"id\":\"" ID "\",\"kind\":\"defer\",\"body\":{\"entity\":\"7\",\"delay\":\"1m\"}}",
        "{\"id\":\"" ID "\",\"kind\":\"defer\",\"body\":{\"job\":\"j\",\"entity\":\"7\"}}",
        "{\"id\":\"" ID "\",\"kind\":\"defer-cancel\",\"body\":{\"job\":\"j\"}}",
        "{\"id\":\"" ID "\",\"kind\":\"defer-cancel\",\"body\":{\"job\":\"j\",\"entity\":\"7\","
        "\"delay\":\"1m\"}}",
    };
    DEFER(arena_done) Arena arena = { 0 };
    Event event;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_AT(rows[i], read_text(&arena, rows[i], &event) == ERR_INVALID);
    // At a site, where nobody knows yet when it will arrive, it must say since when it waits.
    Error error = { .arena = &arena };
    CHECK(forward_keep(&arena,
                       S("{\"id\":\"" ID "\",\"kind\":\"defer-cancel\",\"body\":{\"job\":\"j\","
                         "\"entity\":\"7\"}}"),
                       &event, &error) == ERR_EVENT_INVALID);
}

static const Test tests[] = {
    TEST(an_event_is_known_by_its_own_id_else_by_the_rows),
    TEST(a_row_is_refused_by_its_shape_and_by_another_site),
    TEST(what_is_written_is_read),
    TEST(a_deferral_counts_from_the_site),
    TEST(a_deferral_says_which_job_and_when),
};
TEST_MAIN(tests)
