#include "hooks.h"
#include "providers/sign.h"

#define SECRET "It's a Secret to Everybody"
#define HELLO S("Hello, World!")
#define HELLO_256 "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
#define HELLO_1 "01dc10d0c83e72ed246219cdd91669667fe2ca59"

static HookVerdict verdict(Arena *arena, const char *config, Hook *hook)
{
    HookTrust trust = trust_in(SECRET);
    trust.config = config ? document(arena, config) : NULL;
    return provider_of(PROVIDER_GENERIC)->verify(arena, hook, &trust);
}

static void the_config_says_how_a_sender_is_known(void)
{
#define HMAC(more) "{\"verify\":{\"kind\":\"hmac\"" more "}}"
#define TOKEN(more) "{\"verify\":{\"kind\":\"token\"" more "}}"
#define BASIC(more) "{\"verify\":{\"kind\":\"basic\"" more "}}"
    static const struct {
        const char *config, *headers, *query;
        HookVerdict verdict;
    } rows[] = {
        // Nothing said: HMAC-SHA256 in hex, with its name before it or not.
        { NULL, "x-signature: " HELLO_256, NULL, HOOK_VERIFIED },
        { "{}", "x-signature: sha256=" HELLO_256, NULL, HOOK_VERIFIED },
        { NULL, "x-signature: sha1=" HELLO_256, NULL, HOOK_MALFORMED },
        { NULL, "x-signature: SHA256=" HELLO_256, NULL, HOOK_MALFORMED },
        { NULL, "x-signature: " HELLO_1, NULL, HOOK_MALFORMED },
        { NULL, "x-signature: sha1=" HELLO_1, NULL, HOOK_MALFORMED },
        { NULL, NULL, NULL, HOOK_UNSIGNED },
        { NULL, "x-signature:", NULL, HOOK_UNSIGNED },
        { NULL, "x-hub-signature-256: " HELLO_256, NULL, HOOK_UNSIGNED },
        { NULL, "x-signature: " HELLO_256 "\nx-signature: " HELLO_256, NULL, HOOK_TWICE },
        // A header, an algorithm, an encoding, a prefix.
        { HMAC(",\"header\":\"X-Hub-Signature\",\"algorithm\":\"sha1\",\"prefix\":\"sha1=\""),
          "x-hub-signature: sha1=" HELLO_1, NULL, HOOK_VERIFIED },
        { HMAC(",\"prefix\":\"sha256=\""), "x-signature: " HELLO_256, NULL, HOOK_MALFORMED },
        { HMAC(",\"prefix\":\"v0=\""), "x-signature: v0=" HELLO_256, NULL, HOOK_VERIFIED },
        { HMAC(",\"prefix\":\"v0=\""), "x-signature: sha256=" HELLO_256, NULL, HOOK_MALFORMED },
        { HMAC(",\"encoding\":\"base64\""),
          "x-signature: dXEH6g6yUJ/CESIczphLijdXC211hsIsRvQ3nIsEPhc=", NULL, HOOK_VERIFIED },
        { HMAC(",\"encoding\":\"base64\""), "x-signature: " HELLO_256, NULL, HOOK_MALFORMED },
        // A token in a header or in the query.
        { TOKEN(""), "authorization: Bearer It's a Secret to Everybody", NULL, HOOK_VERIFIED },
        { TOKEN(""), "authorization: bearer It's a Secret to Everybody", NULL, HOOK_VERIFIED },
        { TOKEN(""), "authorization: It's a Secret to Everybody", NULL, HOOK_VERIFIED },
        { TOKEN(""), "authorization: Bearer It's a Secret", NULL, HOOK_MISSIGNED },
        { TOKEN(""), "authorization: Bearer", NULL, HOOK_MISSIGNED },
        { TOKEN(",\"header\":\"X-Gitlab-Token\""), "x-gitlab-token: It's a Secret to Everybody",
          NULL, HOOK_VERIFIED },
        { TOKEN(",\"header\":\"x-key\",\"prefix\":\"Key \""),
          "x-key: Key It's a Secret to Everybody", NULL, HOOK_VERIFIED },
        { TOKEN(",\"header\":\"x-key\",\"prefix\":\"Key \""), "x-key: It's a Secret to Everybody",
          NULL, HOOK_MALFORMED },
        { TOKEN(",\"query\":\"token\""), NULL, "a=1&token=It%27s+a%20Secret+to+Everybody",
          HOOK_VERIFIED },
        { TOKEN(",\"query\":\"token\""), NULL, "token=", HOOK_MISSIGNED },
        { TOKEN(",\"query\":\"token\""), "authorization: Bearer It's a Secret to Everybody", NULL,
          HOOK_UNSIGNED },
        // Basic: any user, one user.
        { BASIC(""), "authorization: Basic dTpJdCdzIGEgU2VjcmV0IHRvIEV2ZXJ5Ym9keQ==", NULL,
          HOOK_VERIFIED },
        { BASIC(",\"user\":\"u\""),
          "authorization: Basic dTpJdCdzIGEgU2VjcmV0IHRvIEV2ZXJ5Ym9keQ==", NULL, HOOK_VERIFIED },
        { BASIC(",\"user\":\"v\""),
          "authorization: Basic dTpJdCdzIGEgU2VjcmV0IHRvIEV2ZXJ5Ym9keQ==", NULL, HOOK_MISSIGNED },
        { BASIC(""), "authorization: Basic dTp4", NULL, HOOK_MISSIGNED },
        { BASIC(""), "authorization: Basic !", NULL, HOOK_MALFORMED },
        { BASIC(""), "authorization: dTpJdCdzIGEgU2VjcmV0IHRvIEV2ZXJ5Ym9keQ==", NULL,
          HOOK_MALFORMED },
        { BASIC(""), "authorization: It's a Secret to Everybody", NULL, HOOK_MALFORMED },
        { BASIC(""), NULL, NULL, HOOK_UNSIGNED },
        // Only who says none is taken without anything.
        { "{\"verify\":{\"kind\":\"none\"}}", NULL, NULL, HOOK_UNCHECKED },
        { "{\"verify\":{\"kind\":\"nothing\"}}", NULL, NULL, HOOK_NO_SECRET },
        { "{\"verify\":\"none\"}", NULL, NULL, HOOK_NO_SECRET },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Hook hook = hook_lines(&arena, rows[i].headers, HELLO);
        hook.query = str_from(rows[i].query);
        Str row = str_format(&arena, "row %zu: %s", i, rows[i].headers ? rows[i].headers : "");
        CHECK_AT(row.at, verdict(&arena, rows[i].config, &hook) == rows[i].verdict);
    }
}

static void a_secret_may_be_user_and_password(void)
{
    static const struct {
        const char *header;
        HookVerdict verdict;
    } rows[] = {
        { "authorization: Basic dTpwdw==", HOOK_VERIFIED },  // u:pw
        { "authorization: Basic djpwdw==", HOOK_MISSIGNED }, // v:pw
        { "authorization: Basic cHc=", HOOK_MISSIGNED },     // pw
        { "authorization: Basic dTpwdzo=", HOOK_MISSIGNED }, // u:pw:
        { "authorization: Basic eDp1OnB3", HOOK_VERIFIED },  // x:u:pw, whose password it is
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        HookTrust trust = trust_in("u:pw");
        trust.config = document(&arena, BASIC(""));
        Hook hook = hook_lines(&arena, rows[i].header, HELLO);
        CHECK_AT(rows[i].header,
                 provider_of(PROVIDER_GENERIC)->verify(&arena, &hook, &trust) == rows[i].verdict);
    }
}

static void a_config_is_checked_before_it_is_kept(void)
{
    static const struct {
        const char *config;
        bool is_good;
    } rows[] = {
        { "{}", true },
        { HMAC(",\"header\":\"x-signature\",\"algorithm\":\"sha512\",\"encoding\":\"base64\""),
          true },
        { HMAC(",\"algorithm\":\"md5\""), false },
        { HMAC(",\"query\":\"token\""), false },
        { HMAC(",\"user\":\"u\""), false },
        { HMAC(",\"header\":\"x y\""), false },
        { TOKEN(",\"query\":\"token\""), true },
        { TOKEN(",\"query\":\"token\",\"header\":\"x\""), false },
        { BASIC(",\"user\":\"u\""), true },
        { BASIC(",\"user\":\"u:v\""), false },
        { TOKEN(",\"prefix\":\" Key\""), false },
        { "{\"verify\":{}}", false },
        { "{\"verifi\":{\"kind\":\"none\"}}", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Err err = fields_read(&arena, document(&arena, rows[i].config), S("/config"),
                              provider_of(PROVIDER_GENERIC)->config, NULL, &error);
        CHECK_AT(rows[i].config, (err == ERR_OK) == rows[i].is_good);
    }
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret)
{
    Error error = { .arena = arena };
    return provider_of(PROVIDER_GENERIC)->parse(arena, hook, ret, &error);
}

static void every_body_becomes_an_event(void)
{
    static const struct {
        const char *headers, *body, *context;
    } rows[] = {
        { "content-type: application/json", "{\"a\": [1, 2]}", "{\"a\":[1,2]}" },
        { "content-type: application/json; charset=utf-8", "\xef\xbb\xbf{\"a\":1}", "{\"a\":1}" },
        { "content-type: APPLICATION/Vnd.x+JSON", "{\"a\":1}", "{\"a\":1}" },
        { "content-type: application/json", "[1,{\"b\":2}]", "{\"items\":[1,{\"b\":2}]}" },
        { "content-type: application/json", "7", "{\"value\":7}" },
        { "content-type: application/json", "", "{}" },
        { NULL, "{\"a\":1}", "{\"a\":1}" },
        { NULL, "", "{}" },
        { "content-type: text/plain", "{\"a\":1}", "{\"a\":1}" },
        { "content-type: text/plain", "it is down",
          "{\"contentType\":\"text/plain\",\"bytes\":10,\"text\":\"it is down\"}" },
        { "content-type: text/xml", "{\"a\":1}",
          "{\"contentType\":\"text/xml\",\"bytes\":7,\"text\":\"{\\\"a\\\":1}\"}" },
        { NULL, "\xff\xfe", "{\"bytes\":2}" },
        { "content-type: application/x-www-form-urlencoded", "a=1&b=x+y%21&a=2&c&=3&d=%ff",
          "{\"a\":\"1\",\"b\":\"x y!\",\"c\":\"\",\"d\":null}" },
        { "content-type: application/x-www-form-urlencoded", "payload=%7B%22a%22%3A1%7D&b=2",
          "{\"a\":1}" },
        { "content-type: application/x-www-form-urlencoded", "payload=x&b=2",
          "{\"payload\":\"x\",\"b\":\"2\"}" },
        { "content-type: application/x-www-form-urlencoded", "{\"a\":1}", "{\"a\":1}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = { 0 };
        Hook hook = hook_lines(&arena, rows[i].headers, str_from(rows[i].body));
        CHECK_AT(rows[i].body, parse(&arena, &hook, &read) == ERR_OK && read.count == 1);
        CHECK_AT(rows[i].body, str_eq(read.events[0].context, str_from(rows[i].context)));
        CHECK_AT(rows[i].body, str_eq(read.events[0].type, S("event")));
        Str payload = provider_payload(&arena, &read.events[0], hook.at, 65536);
        const Json *written = NULL;
        CHECK_AT(rows[i].body, json_parse(&arena, payload, &written, NULL) == ERR_OK);
    }
}

static void what_says_json_and_is_not_is_refused(void)
{
    static const char *const bodies[] = { "{", "{\"a\":1,\"a\":2}", "nope", "{\"a\":\"\\u0000\"}" };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        ProviderRead read = { 0 };
        Hook hook = hook_lines(&arena, "content-type: application/json", str_from(bodies[i]));
        CHECK_AT(bodies[i], parse(&arena, &hook, &read) == ERR_INVALID);
    }
}

static void an_event_says_what_it_can(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    ProviderRead read = { 0 };
    Hook hook =
        hook_lines(&arena, "content-type: application/json\nidempotency-key: k-1",
                   S("{\"id\":17,\"type\":\"order.paid\",\"title\":\"\\nOrder 17\\nis paid\","
                     "\"url\":\"javascript:alert(1)\",\"link\":\"https://shop.example/17\","
                     "\"timestamp\":1794819000}"));
    CHECK(parse(&arena, &hook, &read) == ERR_OK && read.count == 1);
    const ProviderEvent *event = &read.events[0];
    CHECK(str_eq(event->provider_type, S("order.paid")));
    CHECK(str_eq(event->title, S("Order 17")));
    CHECK(str_eq(event->url, S("https://shop.example/17")));
    CHECK(str_eq(event->external_id, S("17")));
    CHECK(str_eq(event->dedup_key, S("generic:k-1")));
    CHECK(event->occurred_at == 1794819000 * SPAN_SECOND);
    CHECK(str_starts(event->raw, S("{\"id\":17,")));
}

static Str key_of(Arena *arena, const char *headers, const char *body, Instant at)
{
    ProviderRead read = { 0 };
    Hook hook = hook_lines(arena, headers, str_from(body));
    hook.at = at;
    return parse(arena, &hook, &read) == ERR_OK ? read.events[0].dedup_key : STR_NONE;
}

static void what_comes_twice_has_one_key(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str one = key_of(&arena, NULL, "{\"a\":1}", 1);
    CHECK(str_eq(one, key_of(&arena, NULL, "{\"a\":1}", 2)));
    CHECK(!str_eq(one, key_of(&arena, NULL, "{\"a\":2}", 1)));
    // What a proxy makes for each request is no id.
    CHECK(str_eq(one, key_of(&arena, "x-request-id: 5", "{\"a\":1}", 1)));
    CHECK(str_eq(key_of(&arena, "webhook-id: m1", "{\"a\":1}", 1),
                 key_of(&arena, "webhook-id: m1", "{\"a\":2}", 1)));
    // A CloudEvent is known by source and id, wherever they stand.
    CHECK(str_eq(key_of(&arena, "ce-id: 1\nce-source: /s\nce-specversion: 1.0", "x", 1),
                 S("generic:/s 1")));
    CHECK(
        str_eq(key_of(&arena, NULL, "{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/s\"}", 1),
               S("generic:/s 1")));
    // Of nothing at all two are two.
    CHECK(!str_eq(key_of(&arena, NULL, "", 1), key_of(&arena, NULL, "", 2)));
    CHECK(str_starts(key_of(&arena, "webhook-id: bad\xff", "{\"a\":1}", 1), S("generic:")));
    CHECK(str_eq(one, key_of(&arena, "webhook-id: bad\xff", "{\"a\":1}", 1)));
}

static void handshakes_are_answered(void)
{
    static const struct {
        const char *method, *query, *headers, *body;
    } rows[] = {
        { "GET",
          "hub.mode=subscribe&hub.challenge=115820&hub.verify_token=It%27s%20a%20Secret%20"
          "to%20Everybody",
          NULL, "115820" },
        { "GET", "hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong", NULL, NULL },
        { "GET", "hub.mode=subscribe&hub.challenge=1&hub.verify_token=", NULL, NULL },
        { "GET", "hub.mode=subscribe&hub.challenge=1", NULL, NULL },
        { "GET", "hub.mode=subscribe&challenge=1", NULL, NULL },
        { "GET", "challenge=abc%20d", NULL, "abc d" },
        { "GET", "challenge=a%0d%0ab", NULL, NULL },
        { "GET", "challenge=%ff", NULL, NULL },
        { "GET", "challenge=", NULL, NULL },
        { "GET", "crc_token=body", NULL, NULL },
        { "GET", NULL, NULL, NULL },
        { "POST", "challenge=abc", NULL, NULL },
        { "OPTIONS", NULL, "webhook-request-origin: eventgrid.azure.net", "" },
        { "OPTIONS", NULL, NULL, NULL },
        { "DELETE", "challenge=abc", NULL, NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        HookAnswer answer = { 0 };
        HookTrust trust = trust_in(SECRET);
        Hook hook = hook_lines(&arena, rows[i].headers, STR_NONE);
        hook.method = str_from(rows[i].method);
        hook.query = str_from(rows[i].query);
        bool is_answered = provider_of(PROVIDER_GENERIC)->answer(&arena, &hook, &trust, &answer);
        Str row = str_format(&arena, "row %zu", i);
        CHECK_AT(row.at, is_answered == (rows[i].body != NULL));
        CHECK_AT(row.at, !is_answered ||
                             (answer.status == 200 && str_eq(answer.body, str_from(rows[i].body))));
    }
}

static void an_origin_is_allowed_by_its_name(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookAnswer answer = { 0 };
    HookTrust trust = { 0 };
    Hook hook = hook_lines(&arena, "webhook-request-origin: eventgrid.azure.net", STR_NONE);
    hook.method = S("OPTIONS");
    CHECK(provider_of(PROVIDER_GENERIC)->answer(&arena, &hook, &trust, &answer));
    CHECK(str_eq(answer.headers[0].name, S("WebHook-Allowed-Origin")));
    CHECK(str_eq(answer.headers[0].value, S("eventgrid.azure.net")));
}

static void who_has_no_secret_is_not_greeted_with_an_empty_one(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookAnswer answer = { 0 };
    HookTrust trust = trust_in("");
    Hook hook = hook_lines(&arena, NULL, STR_NONE);
    hook.method = S("GET");
    hook.query = S("hub.mode=subscribe&hub.challenge=1&hub.verify_token=");
    CHECK(!provider_of(PROVIDER_GENERIC)->answer(&arena, &hook, &trust, &answer));
}

static const Test tests[] = {
    TEST(the_config_says_how_a_sender_is_known),
    TEST(a_secret_may_be_user_and_password),
    TEST(a_config_is_checked_before_it_is_kept),
    TEST(every_body_becomes_an_event),
    TEST(what_says_json_and_is_not_is_refused),
    TEST(an_event_says_what_it_can),
    TEST(what_comes_twice_has_one_key),
    TEST(handshakes_are_answered),
    TEST(an_origin_is_allowed_by_its_name),
    TEST(who_has_no_secret_is_not_greeted_with_an_empty_one),
};
TEST_MAIN(tests)
