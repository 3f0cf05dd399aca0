#include "channels/servicebus.h"

#include "base/time.h"
#include "channels/vendor.h"
#include "test.h"

#define KEY "tZkUg3JERVurvDU8Ra+DUC7VTTAT6P3zi7xD8gALdXU="
#define RESOURCE "https%3a%2f%2facme.servicebus.windows.net%2fanswers"

// The signatures are Python's: with sr as above,
//     base64.b64encode(hmac.digest(KEY, f"{sr}\n{se}".encode(), "sha256"))
static void a_token_is_signed_as_azure_asks(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    static const struct {
        const char *resource, *key_name;
        int64_t expires;
        const char *token;
    } rows[] = {
        { "https://acme.servicebus.windows.net/answers", "send", 1778821980,
          "SharedAccessSignature sr=" RESOURCE
          "&sig=vtKJuq%2BCfl25%2BQzFt5Jgladra0t5Bbe3RiXK%2FFXpAJ8%3D&se=1778821980&skn=send" },
        // Whatever case it is given in, and whatever stands in the policy's name.
        { "https://Acme.servicebus.windows.net/Answers", "Root & Manage", 4102444800,
          "SharedAccessSignature sr=" RESOURCE "&sig=amHxAdbw7wIMA9EV1oMx7%2BXr39CVmMJXyF6RkRzmk%2F"
          "E%3D&se=4102444800&skn=Root%20%26%20Manage" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str token = servicebus_token(&arena, str_from(rows[i].resource), str_from(rows[i].key_name),
                                     S(KEY), rows[i].expires * SPAN_SECOND + SPAN_SECOND / 2);
        CHECK(str_eq(token, str_from(rows[i].token)));
    }
}

static void a_name_is_one_that_a_url_can_have(void)
{
    static const char *const good[] = { "a", "acme-1", "acme.servicebus.usgovcloudapi.net" };
    static const char *const bad[] = { "",   ".a",  "a.",  "-a",  "a/b",       "a b",
                                       "a?", "a:1", "a@b", "a_b", "a\r\nb: c", "\xc3\xa9" };
    static const char *const queues[] = { "q", "crm/answers", "a_b.c-d", "a..b" };
    static const char *const no_queues[] = { "",     "/a",   "a/",  "a//b", "../a",  "a/../b",
                                             "a/.b", "a./b", "a?b", "a#b",  "a%2fb", "a\nb" };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(servicebus_is_namespace(str_from(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!servicebus_is_namespace(str_from(bad[i])));
    for (size_t i = 0; i < ARRAY_LEN(queues); i++)
        CHECK(servicebus_is_queue(str_from(queues[i])));
    for (size_t i = 0; i < ARRAY_LEN(no_queues); i++)
        CHECK(!servicebus_is_queue(str_from(no_queues[i])));
    CHECK(!servicebus_is_queue((Str){ "a\0b", 3 }));
}

// ask is the request for a message, by a channel with these settings.
static Transfer ask(Arena *arena, Message *message, const char *config)
{
    Transfer transfer = { 0 };
    Error error = { .arena = arena };
    Parcel parcel = { .type = &vendor_servicebus.type,
                      .messages = message,
                      .count = 1,
                      .arena = arena,
                      .now = 1778818380 * SPAN_SECOND };
    CHECK(json_parse(arena, str_from(config), &parcel.config, NULL) == ERR_OK);
    CHECK(parcel.type->request(&parcel, &transfer, &error) == ERR_OK);
    return transfer;
}

static Str header_of(const Transfer *transfer, const char *name)
{
    for (size_t i = 0; i < transfer->header_count; i++)
        if (str_eq_nocase(transfer->headers[i].name, str_from(name)))
            return transfer->headers[i].value;
    return STR_NONE;
}

#define SETTINGS "\"queue\":\"answers\",\"keyName\":\"send\",\"key\":\"" KEY "\""

static void a_request_goes_to_the_namespace_or_to_what_stands_before_it(void)
{
    static const struct {
        const char *config, *url, *signed_for;
    } rows[] = {
        { "{\"namespace\":\"acme\"," SETTINGS "}",
          "https://acme.servicebus.windows.net/answers/messages", "sr=" RESOURCE "&" },
        { "{\"namespace\":\"acme.servicebus.chinacloudapi.cn\"," SETTINGS "}",
          "https://acme.servicebus.chinacloudapi.cn/answers/messages",
          "sr=https%3a%2f%2facme.servicebus.chinacloudapi.cn%2fanswers&" },
        { "{\"namespace\":\"acme\",\"baseUrl\":\"https://proxy.example/bus//\"," SETTINGS "}",
          "https://proxy.example/bus/answers/messages", "sr=" RESOURCE "&" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Message message = { .send = 1, .attempt = 1, .payload = S("{}") };
        Transfer transfer = ask(&arena, &message, rows[i].config);
        Str token = header_of(&transfer, "authorization");
        CHECK(str_eq(transfer.url, str_from(rows[i].url)));
        CHECK(str_contains(token, str_from(rows[i].signed_for)));
        CHECK(str_contains(token, S("&se=1778821980&"))); // an hour from now
    }
}

static void a_message_is_known_by_the_public_id(void)
{
    static const struct {
        RuleKind rule;
        int send, attempt;
        const char *payload, *properties;
    } rows[] = {
        { RULE_TRIGGER, 1, 1, "{\"publicId\":\"Zyxwvutsrqponmlkji\"}", "Abcdefghijklmnopqr" },
        { RULE_TRIGGER, 1, 7, "{}", "Abcdefghijklmnopqr" },
        { RULE_TRIGGER, 3, 1, "{}", "Abcdefghijklmnopqr.3" },
        { RULE_SUBSCRIBER, 1, 1, "{\"publicId\":\"Zyxwvutsrqponmlkji\"}", "Zyxwvutsrqponmlkji" },
        { RULE_SUBSCRIBER, 1, 2, "{\"publicId\":\"Zyxwvutsrqponmlkji\"}", "Zyxwvutsrqponmlkji" },
        { RULE_SUBSCRIBER, 1, 1, "{}", "Abcdefghijklmnopqr" },
        { RULE_SUBSCRIBER, 1, 1, "{\"publicId\":\"a\\r\\nHost: eve.exam\"}", "Abcdefghijklmnopqr" },
        { RULE_SUBSCRIBER, 1, 1, "{\"publicId\":7}", "Abcdefghijklmnopqr" },
        { RULE_SUBSCRIBER, 1, 1, "no JSON", "Abcdefghijklmnopqr" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Message message = { .promise = { .public_id = S("Abcdefghijklmnopqr") },
                            .rule_kind = rows[i].rule,
                            .send = rows[i].send,
                            .attempt = rows[i].attempt,
                            .payload = str_from(rows[i].payload) };
        Transfer transfer =
            ask(&arena, &message, "{\"namespace\":\"acme\",\"ttl\":\"1h30m\"," SETTINGS "}");
        const Json *properties;
        CHECK(json_parse(&arena, header_of(&transfer, "brokerproperties"), &properties, NULL) ==
              ERR_OK);
        CHECK(str_eq(json_str(json_get(properties, S("MessageId"))), str_from(rows[i].properties)));
        CHECK(str_eq(json_number_text(json_get(properties, S("TimeToLive"))), S("5400")));
    }
}

static const Test tests[] = {
    TEST(a_token_is_signed_as_azure_asks),
    TEST(a_name_is_one_that_a_url_can_have),
    TEST(a_request_goes_to_the_namespace_or_to_what_stands_before_it),
    TEST(a_message_is_known_by_the_public_id),
};
TEST_MAIN(tests)
