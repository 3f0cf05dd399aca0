#include "domain/defer.h"

#include "domain/trigger.h"

#include "documents.h"

#define NOW ((Instant) 1000 * SPAN_DAY)

static Err read_body(Arena *arena, const char *text, const Shape *shape, Deferral *ret,
                     Error *error)
{
    *ret = (Deferral){ .job = S("named") };
    return deferral_read(arena, document(arena, text), S(""), shape, NOW, ret, error);
}

static void a_body_says_when(void)
{
    static const struct {
        const char *text;
        Instant run_at;
    } cases[] = {
        { "{'entity':'1','delay':'15m'}", NOW + 15 * SPAN_MINUTE },
        { "{'entity':'1','delay':'0s'}", NOW },
        { "{'entity':'1','delay':'3660d'}", NOW + 3660 * SPAN_DAY },
        { "{'entity':'1','runAt':'1970-01-01T00:00:00Z'}", 0 },
        { "{'entity':'1','runAt':'1972-09-27T00:00:00.5+02:00'}",
          NOW - 2 * SPAN_HOUR + SPAN_SECOND / 2 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Deferral deferral;
        Err err = read_body(&arena, cases[i].text, &deferral_body_shape, &deferral, &error);
        CHECK_AT(cases[i].text, err == ERR_OK && deferral.run_at == cases[i].run_at);
        CHECK_AT(cases[i].text, is_text(deferral.job, "named") && is_text(deferral.entity, "1"));
        CHECK_AT(cases[i].text, !deferral.replaces && !deferral.cancels && !deferral.payload);
    }
}

static void what_is_wrong_is_told_by_its_place(void)
{
    static const struct {
        const char *text;
        const Shape *shape;
        const char *path, *code;
    } cases[] = {
        { "{'delay':'1m'}", &deferral_body_shape, "/entity", "missing-member" },
        { "{'entity':'1'}", &deferral_body_shape, "/runAt", "missing-member" },
        { "{'entity':'1','runAt':null,'delay':null}", &deferral_body_shape, "/runAt",
          "missing-member" },
        { "{'entity':'1','delay':'1m','runAt':'1972-01-01T00:00:00Z'}", &deferral_body_shape,
          "/delay", "bad-value" },
        { "{'entity':'1','delay':'3660d1s'}", &deferral_body_shape, "/delay", "bad-duration" },
        { "{'entity':'1','runAt':'1983-01-01T00:00:00Z'}", &deferral_body_shape, "/runAt",
          "bad-value" },
        { "{'entity':'1','delay':'1m','job':'x'}", &deferral_body_shape, "/job", "unknown-member" },
        { "{'entity':'1','delay':'1m'}", &deferral_row_shape, "/job", "missing-member" },
        { "{'entity':'1','delay':'1m','job':'a b'}", &deferral_row_shape, "/job", "bad-value" },
        { "{'entity':'1','job':'x','delay':'1m'}", &deferral_cancel_shape, "/delay",
          "unknown-member" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Deferral deferral;
        Err err = read_body(&arena, cases[i].text, cases[i].shape, &deferral, &error);
        CHECK_AT(cases[i].text, err == ERR_INVALID && error.count == 1);
        CHECK_AT(cases[i].text, has_problem(&error, cases[i].path, cases[i].code));
    }
}

static void names_of_a_path_are_checked(void)
{
    static const struct {
        Str job, entity;
        size_t problems;
    } cases[] = {
        { S("a.b_c:d-1"), S("order 7"), 0 },
        { S(""), S("7"), 1 },
        { S("a b"), S(""), 2 },
        { S("a"), S("a\nb"), 1 },
        { S("a"), S("\xff"), 1 },
        { S("a\r\nX: y"), S("7"), 1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Deferral deferral = { .job = cases[i].job, .entity = cases[i].entity };
        CHECK((deferral_check(&deferral, &error) == ERR_OK) == (cases[i].problems == 0));
        CHECK(error.count == cases[i].problems);
    }
}

static void it_comes_in_as_the_event_of_a_run(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Deferral deferral;
    Event event;
    CHECK(read_body(&arena, "{'entity':'7','delay':'1h','payload':{'a':1},'replace':true}",
                    &deferral_body_shape, &deferral, &error) == ERR_OK);
    CHECK(deferral.replaces && deferral_event(&arena, &deferral, &event, &error) == ERR_OK);
    CHECK(is_text(event.kind, "job") && is_text(event.source, "deferred"));
    CHECK(is_text(event.entity, "7") && is_text(event.payload, "{\"a\":1}"));
    CHECK(event.occurred_at == NOW + SPAN_HOUR && !event.identity.at);

    CHECK(read_body(&arena, "{'job':'x','entity':'7'}", &deferral_cancel_shape, &deferral,
                    &error) == ERR_OK);
    CHECK(deferral.cancels && deferral_event(&arena, &deferral, &event, &error) == ERR_OK);
    CHECK(is_text(event.source, "deferred-cancel") && event.occurred_at == INSTANT_NONE);
}

static void a_key_is_of_a_job_and_an_entity(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Uuid key = deferral_key(&arena, 7, S("a"));
    CHECK(uuid_cmp(key, deferral_key(&arena, 7, S("a"))) == 0);
    CHECK(uuid_cmp(key, deferral_key(&arena, 8, S("a"))) != 0);
    CHECK(uuid_cmp(key, deferral_key(&arena, 7, S("b"))) != 0);
}

// J6: a tenth of what lay between its creation and its moment, whatever it went through since.
static void the_policy_is_that_of_its_own_delay(void)
{
    static const struct {
        const char *source;
        Span delay;
        int retry;
        Span expect;
    } cases[] = {
        { "deferred", 15 * SPAN_MINUTE, 1, 90 * SPAN_SECOND },
        { "deferred", 15 * SPAN_MINUTE, 2, 180 * SPAN_SECOND },
        { "deferred", 48 * SPAN_HOUR, 1, SPAN_HOUR },
        { "deferred", 0, 3, 10 * SPAN_SECOND },
        { "deferred", -SPAN_DAY, 1, 10 * SPAN_SECOND },
        { "schedule", 15 * SPAN_MINUTE, 1, SPAN_MINUTE },
        { "manual", 15 * SPAN_MINUTE, 2, 2 * SPAN_MINUTE },
    };
    RetryPolicy usual = retry_default();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Origin origin = { str_from(cases[i].source), NOW, NOW + cases[i].delay };
        RetryPolicy policy = deferral_retry(usual, &origin);
        CHECK_AT(cases[i].source, policy.max == usual.max);
        CHECK_AT(cases[i].source,
                 backoff_delay(&policy, cases[i].retry, SPAN_DAY, 0) == cases[i].expect);
    }
}

static const Test tests[] = {
    TEST(a_body_says_when),
    TEST(what_is_wrong_is_told_by_its_place),
    TEST(names_of_a_path_are_checked),
    TEST(it_comes_in_as_the_event_of_a_run),
    TEST(a_key_is_of_a_job_and_an_entity),
    TEST(the_policy_is_that_of_its_own_delay),
};
TEST_MAIN(tests)
