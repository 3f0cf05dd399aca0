#include "hooks.h"

static const Provider *posthog(void)
{
    return provider_of(PROVIDER_POSTHOG);
}

static ProviderRead parsed(Arena *arena, const char *body)
{
    ProviderRead read = { 0 };
    Error error = { .arena = arena };
    Hook hook = HOOK(arena, body, "content-type: application/json");
    CHECK_AT(body, posthog()->parse(arena, &hook, &read, &error) == ERR_OK);
    return read;
}

static void an_event_is_an_object_or_a_name(void)
{
    static const char *const cases[] = {
        "{'event':{'uuid':'u-1','event':'signed "
        "up','distinct_id':'d-1','properties':{'plan':'pro'},"
        "'timestamp':'2024-01-01T12:00:00'},'person':{'id':'p','name':'Mona'}}",
        "{'uuid':'u-1','event':'signed up','distinct_id':'d-1','properties':{'plan':'pro'},"
        "'timestamp':'2024-01-01T12:00:00'}",
        "{'hook':{'id':1},'data':{'uuid':'u-1','event':'signed "
        "up','distinct_id':'d-1','properties':"
        "{'plan':'pro'},'timestamp':'2024-01-01T12:00:00'}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = parsed(&arena, cases[i]);
        const ProviderEvent *event = read.events;
        CHECK_AT(cases[i], read.count == 1 && is_text(event->type, "event"));
        CHECK_AT(cases[i], is_text(event->provider_type, "signed up"));
        CHECK_AT(cases[i], is_text(event->title, "signed up"));
        CHECK_AT(cases[i], is_text(event->dedup_key, "posthog:u-1"));
        CHECK_AT(cases[i], is_text(event->external_id, "u-1"));
        CHECK_AT(cases[i], event->occurred_at == at_time("2024-01-01T12:00:00Z"));
        CHECK_AT(cases[i], is_text(member(&arena, event->context, "event"), "\"signed up\""));
        CHECK_AT(cases[i], is_text(member(&arena, event->context, "distinctId"), "\"d-1\""));
        CHECK_AT(cases[i],
                 is_text(member(&arena, event->context, "properties"), "{\"plan\":\"pro\"}"));
    }
}

// The time stands in a key as it was given.
static void what_has_no_id_is_told_by_what_it_says(void)
{
    static const struct {
        const char *body, *key;
    } cases[] = {
        { "{'event':'a','distinct_id':'d','timestamp':'2024-01-01 12:00:00+02:00'}",
          "posthog:a:d:2024-01-01 12:00:00+02:00" },
        { "{'event':'a','distinct_id':7,'timestamp':1704110400.50}", "posthog:a:7:1704110400.50" },
        { "{'event':'a','properties':{'distinct_id':'d'},'timestamp':1}", "posthog:a:d:1" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        CHECK_AT(cases[i].key,
                 is_text(parsed(&arena, cases[i].body).events->dedup_key, cases[i].key));
    }
    DEFER(arena_done) Arena arena = { 0 };
    Str one = parsed(&arena, "{'event':'a','x':1}").events->dedup_key;
    Str two = parsed(&arena, "{'event':'a','x':2}").events->dedup_key;
    CHECK(str_starts(one, S("posthog:a::")) && !str_eq(one, two));
    CHECK(str_eq(one, parsed(&arena, "{ 'event':'a', 'x':1 }").events->dedup_key));
}

static void a_batch_is_as_many_events(void)
{
    static const char *const cases[] = {
        "[{'event':'a','uuid':'1'},7,{'event':{'event':'b','uuid':'2'}},null,{}]",
        "{'api_key':'k','batch':[{'event':'a','uuid':'1'},{'event':'b','uuid':'2'},[]]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = parsed(&arena, cases[i]);
        CHECK_AT(cases[i], read.count == 2 && is_text(read.events[0].dedup_key, "posthog:1"));
        CHECK_AT(cases[i], is_text(read.events[1].title, "b"));
        CHECK_AT(cases[i], is_text(read.events[0].raw, "{\"event\":\"a\",\"uuid\":\"1\"}"));
    }
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(is_text(parsed(&arena, "[]").note, "an empty batch"));
}

static void what_is_too_much_is_refused_or_left_out(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf body = buf_new(&arena, BUF_WHOLE);
    buf_add(&body, S("[7"));
    for (int i = 0; i < 10000; i++)
        buf_add(&body, S(",7"));
    buf_add(&body, S("]"));
    Hook hook = { .method = S("POST"), .body = buf_str(&body) };
    ProviderRead read;
    CHECK(posthog()->parse(&arena, &hook, &read, NULL) == ERR_TOO_LARGE);

    body = buf_new(&arena, BUF_WHOLE);
    buf_add(&body, S("{\"event\":\"a\",\"properties\":{\"long\":\""));
    for (int i = 0; i < 70000; i++)
        buf_add_char(&body, 'x');
    buf_add(&body, S("\",\"short\":1}}"));
    hook.body = buf_str(&body);
    CHECK(posthog()->parse(&arena, &hook, &read, NULL) == ERR_OK);
    CHECK(is_text(member(&arena, read.events->context, "properties"), "{\"short\":1}"));
}

static void any_body_is_an_event_if_it_is_an_object(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = parsed(&arena, "{'text':'Mona did it'}");
    CHECK(read.count == 1 && is_text(read.events->title, "Mona did it"));
    static const char *const cases[] = { "", "7", "null", "'x'", "{" };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Hook hook = HOOK(&arena, cases[i], "x: 1");
        CHECK_AT(cases[i], posthog()->parse(&arena, &hook, &read, NULL) == ERR_INVALID);
    }
}

static void the_secret_is_shown_or_used(void)
{
    static const struct {
        const char *header, *query;
        HookVerdict verdict;
    } cases[] = {
        { "x-posthog-token: s3cret", NULL, HOOK_VERIFIED },
        { "x-posthog-token: s3cre", NULL, HOOK_MISSIGNED },
        { "x-posthog-token:", NULL, HOOK_UNSIGNED },
        { "authorization: Bearer s3cret", NULL, HOOK_VERIFIED },
        { "authorization: bearer s3cret", NULL, HOOK_VERIFIED },
        { "authorization: Bearer other", NULL, HOOK_MISSIGNED },
        { "authorization: s3cret", NULL, HOOK_UNSIGNED },
        { "x: 1", "token=s3cret", HOOK_VERIFIED },
        { "x: 1", "a=1&token=s3%63ret", HOOK_VERIFIED },
        { "x: 1", "token=", HOOK_UNSIGNED },
        { "x: 1", "token=other", HOOK_MISSIGNED },
        { "x-posthog-token: wrong", "token=s3cret", HOOK_MISSIGNED },
        { "x: 1", NULL, HOOK_UNSIGNED },
        // A token does not make up for a wrong signature.
        { "x-posthog-signature: 4cf2b7b5a9ce7fc9bb9dbd2c9ed44fe4a0b9ee5b3a6bdc1bfd1ad1a7a2a0f4b1",
          "token=s3cret", HOOK_MISSIGNED },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Hook hook = HOOK(&arena, "{}", cases[i].header);
        HookTrust trust = trust_in("s3cret"), none = trust_in("");
        hook.query = str_from(cases[i].query);
        CHECK_AT(cases[i].header, posthog()->verify(&arena, &hook, &trust) == cases[i].verdict);
        CHECK_AT(cases[i].header, posthog()->verify(&arena, &hook, &none) == HOOK_NO_SECRET);
    }
}

static void a_signature_counts_where_there_is_one(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Hook hook = HOOK(
        &arena, "Hello, World!",
        "x-posthog-signature: 757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
    HookTrust trust = trust_in("It's a Secret to Everybody");
    CHECK(posthog()->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
    hook = HOOK(&arena, "Hello, World!",
                "x-posthog-signature: "
                "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
    CHECK(posthog()->verify(&arena, &hook, &trust) == HOOK_VERIFIED);
    hook = HOOK(&arena, "Hello, World!", "x-posthog-token: a",
                "x-posthog-token: It's a Secret to Everybody");
    CHECK(posthog()->verify(&arena, &hook, &trust) == HOOK_TWICE);
    hook = HOOK(&arena, "Hello, World!", "authorization: Bearer a",
                "authorization: Bearer It's a Secret to Everybody");
    hook.query = S("token=It's a Secret to Everybody");
    CHECK(posthog()->verify(&arena, &hook, &trust) == HOOK_TWICE);
}

static const Test tests[] = {
    TEST(an_event_is_an_object_or_a_name),
    TEST(what_has_no_id_is_told_by_what_it_says),
    TEST(a_batch_is_as_many_events),
    TEST(what_is_too_much_is_refused_or_left_out),
    TEST(any_body_is_an_event_if_it_is_an_object),
    TEST(the_secret_is_shown_or_used),
    TEST(a_signature_counts_where_there_is_one),
};
TEST_MAIN(tests)
