#include "parsed.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define SIGNATURE "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
#define FIRST "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\nwebhook-timestamp: 1614265330\n"
#define SVIX "svix-id: msg_p5jXN8AQM9LWM0D4loKWxJek\nsvix-timestamp: 1614265330\n"

static HookVerdict verdict(const char *secret, const char *headers)
{
    DEFER(arena_done) Arena arena = { 0 };
    HookTrust trust = trust_in(secret);
    Hook hook = hook_lines(&arena, headers, S("{\"test\": 2432232314}"));
    hook.at = 1614265330 * SPAN_SECOND;
    return provider_of(PROVIDER_STANDARD_WEBHOOKS)->verify(&arena, &hook, &trust);
}

// The vector of the specification's own libraries.
static void the_published_signature_holds(void)
{
    static const struct {
        const char *headers;
        HookVerdict verdict;
    } rows[] = {
        { FIRST "webhook-signature: " SIGNATURE, HOOK_VERIFIED },
        { SVIX "svix-signature: " SIGNATURE, HOOK_VERIFIED },
        // Where both are there, the standard's own count, and the others make up for nothing.
        { FIRST "webhook-signature: " SIGNATURE "\nsvix-signature: v1,AAAA", HOOK_VERIFIED },
        { SVIX "svix-signature: " SIGNATURE "\nwebhook-signature: " SIGNATURE, HOOK_UNSIGNED },
        // One of several holds; v1a and what is unknown are passed over.
        { FIRST "webhook-signature: v1,AAAM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= " SIGNATURE,
          HOOK_VERIFIED },
        { FIRST "webhook-signature: v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymV"
                "JaA7AZdpXwVLPo3mNl8EM+m7TBAg== " SIGNATURE,
          HOOK_VERIFIED },
        { FIRST "webhook-signature: v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
          HOOK_MALFORMED },
        { FIRST "webhook-signature: v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
          HOOK_MALFORMED },
        { FIRST "webhook-signature: g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", HOOK_MALFORMED },
        { FIRST "webhook-signature: v1,", HOOK_MALFORMED },
        { FIRST "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ", HOOK_MALFORMED },
        { FIRST "webhook-signature: v1,AAAM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
          HOOK_MISSIGNED },
        { FIRST, HOOK_UNSIGNED },
        // Headers of one family are not completed by those of the other.
        { SVIX "webhook-signature: " SIGNATURE, HOOK_UNSIGNED },
        { "webhook-timestamp: 1614265330\nwebhook-signature: " SIGNATURE, HOOK_UNSIGNED },
        { "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\nwebhook-signature: " SIGNATURE, HOOK_UNDATED },
        { "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\nwebhook-timestamp: "
          "soon\nwebhook-signature: " SIGNATURE,
          HOOK_UNDATED },
        { "webhook-id: msg_other\nwebhook-timestamp: 1614265330\nwebhook-signature: " SIGNATURE,
          HOOK_MISSIGNED },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_AT(rows[i].headers, verdict(SECRET, rows[i].headers) == rows[i].verdict);
}

static void a_secret_is_base64_with_its_mark_or_without(void)
{
    static const char headers[] = FIRST "webhook-signature: " SIGNATURE;
    CHECK(verdict("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", headers) == HOOK_VERIFIED);
    CHECK(verdict("whsec_not base64", headers) == HOOK_NO_SECRET);
    CHECK(verdict("whsec_", headers) == HOOK_NO_SECRET);
    CHECK(verdict("not base64", headers) == HOOK_MISSIGNED);
    CHECK(verdict("", headers) == HOOK_NO_SECRET);
}

static void an_event_is_known_by_its_message(void)
{
    static const ParsedRow rows[] = {
        { FIRST "content-type: application/json",
          "{'type':'contact.created','timestamp':'2022-11-03T20:26:10.344522Z','data':{'id':'1f81',"
          "'name':'John Smith','url':'https://x.example/1f81'}}",
          NULL, "standard-webhooks.event", "contact.created",
          "standard-webhooks:msg_p5jXN8AQM9LWM0D4loKWxJek", "John Smith", "https://x.example/1f81",
          "1f81", "2022-11-03T20:26:10.344Z",
          "{'type':'contact.created','timestamp':'2022-11-03T20:26:10.344522Z','data':{'id':'1f81',"
          "'name':'John Smith','url':'https://x.example/1f81'}}" },
        { SVIX "svix-signature: x", "{}", NULL, "standard-webhooks.event", "event",
          "standard-webhooks:msg_p5jXN8AQM9LWM0D4loKWxJek", NULL, NULL, NULL, NULL, "{}" },
    };
    check_parsed(PROVIDER_STANDARD_WEBHOOKS, rows, ARRAY_LEN(rows));
}

static const Test tests[] = {
    TEST(the_published_signature_holds),
    TEST(a_secret_is_base64_with_its_mark_or_without),
    TEST(an_event_is_known_by_its_message),
};
TEST_MAIN(tests)
