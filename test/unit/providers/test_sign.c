#include "providers/sign.h"

#include "hooks.h"

#define SECRET "It's a Secret to Everybody"
#define HELLO "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

static const SignForm github = { HMAC_SHA256, SIGN_HEX, S("x-hub-signature-256"), S("sha256=") };

static void published_vectors_are_made(void)
{
    static const struct {
        HmacAlgorithm algorithm;
        const char *secret, *body, *signature;
    } cases[] = {
        { HMAC_SHA256, SECRET, "Hello, World!", HELLO },
        { HMAC_SHA1, SECRET, "Hello, World!", "01dc10d0c83e72ed246219cdd91669667fe2ca59" },
        { HMAC_SHA256, SECRET, "Hello World!", // Atlassian's
          "a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9" },
        { HMAC_SHA256, "mysecret", "{\"foo\":\"bar\"}", // octokit's
          "4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3" },
        { HMAC_SHA256, "Jefe", "what do ya want for nothing?", // RFC 4231
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { HMAC_SHA512, "Jefe", "what do ya want for nothing?",
          "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
          "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        SignForm form = { cases[i].algorithm, SIGN_HEX, S("x-signature"), STR_NONE };
        Str body = str_from(cases[i].body);
        // In parts it is the same as in one.
        Str parts[] = { { body.at, 3 }, STR_NONE, str_skip(body, 3) };
        Str whole = sign_text(&arena, &form, str_from(cases[i].secret), &body, 1);
        CHECK_AT(cases[i].signature, is_text(whole, cases[i].signature));
        CHECK_AT(cases[i].signature,
                 str_eq(whole, sign_text(&arena, &form, str_from(cases[i].secret), parts, 3)));
    }
}

// How a signature may be wrong, and what each is called.
static void a_signature_is_right_or_told_why_not(void)
{
    static const struct {
        const char *secret, *body, *header, *second;
        HookVerdict verdict;
    } cases[] = {
        { SECRET, "Hello, World!", "x-hub-signature-256: sha256=" HELLO, NULL, HOOK_VERIFIED },
        // Bytes are compared, not their text.
        { SECRET, "Hello, World!",
          "x-hub-signature-256: "
          "sha256=757107EA0EB2509FC211221CCE984B8A37570B6D7586C22C46F4379C8B043E17",
          NULL, HOOK_VERIFIED },
        { SECRET, "Hello, World?", "x-hub-signature-256: sha256=" HELLO, NULL, HOOK_MISSIGNED },
        { SECRET, "", "x-hub-signature-256: sha256=" HELLO, NULL, HOOK_MISSIGNED },
        { "other", "Hello, World!", "x-hub-signature-256: sha256=" HELLO, NULL, HOOK_MISSIGNED },
        // Signed with an empty secret, which anybody can.
        { "", "Hello, World!",
          "x-hub-signature-256: "
          "sha256=2bbcfa9524f3218c7a34b30e6936f8b1a4516cb097f1a85a1c7d98b5977ec769",
          NULL, HOOK_NO_SECRET },
        { SECRET, "Hello, World!", "x-other: 1", NULL, HOOK_UNSIGNED },
        { SECRET, "Hello, World!", "x-hub-signature-256:", NULL, HOOK_UNSIGNED },
        { SECRET, "Hello, World!", "x-hub-signature-256: sha256=", NULL, HOOK_MALFORMED },
        { SECRET, "Hello, World!", "x-hub-signature-256: sha256=7571", NULL, HOOK_MALFORMED },
        { SECRET, "Hello, World!", "x-hub-signature-256: sha256=" HELLO "00", NULL,
          HOOK_MALFORMED },
        { SECRET, "Hello, World!", "x-hub-signature-256: sha256=" HELLO "0", NULL, HOOK_MALFORMED },
        { SECRET, "Hello, World!", "x-hub-signature-256: " HELLO, NULL, HOOK_MALFORMED },
        { SECRET, "Hello, World!", "x-hub-signature-256: SHA256=" HELLO, NULL, HOOK_MALFORMED },
        { SECRET, "Hello, World!",
          "x-hub-signature-256: sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59", NULL,
          HOOK_MALFORMED },
        { SECRET, "Hello, World!",
          "x-hub-signature-256: sha256=01dc10d0c83e72ed246219cdd91669667fe2ca59", NULL,
          HOOK_MALFORMED },
        { SECRET, "Hello, World!", "x-hub-signature: sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59",
          NULL, HOOK_UNSIGNED },
        { SECRET, "Hello, World!", "x-hub-signature-256: sha256=" HELLO,
          "x-hub-signature-256: sha256=" HELLO, HOOK_TWICE },
        { SECRET, "Hello, World!", "x-hub-signature-256: sha256=00",
          "x-hub-signature-256: sha256=" HELLO, HOOK_TWICE },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        const char *headers[] = { cases[i].header, cases[i].second };
        Hook hook = hook_of(&arena, cases[i].body, headers, cases[i].second ? 2 : 1);
        HookTrust trust = trust_in(cases[i].secret);
        HookVerdict verdict = sign_check(&arena, &hook, &trust, &github);
        CHECK_AT(cases[i].header, verdict == cases[i].verdict);
    }
}

static void either_secret_holds_while_they_overlap(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Hook hook = HOOK(&arena, "Hello, World!", "x-hub-signature-256: sha256=" HELLO);
    HookTrust trust = { .secrets = { S("new"), S(SECRET) }, .secret_count = 2 };
    CHECK(sign_check(&arena, &hook, &trust, &github) == HOOK_VERIFIED);
    trust.secret_count = 1;
    CHECK(sign_check(&arena, &hook, &trust, &github) == HOOK_MISSIGNED);
    trust.secret_count = 0;
    CHECK(sign_check(&arena, &hook, &trust, &github) == HOOK_NO_SECRET);
    // An empty one beside a good one is no secret: what it signs does not hold.
    trust = (HookTrust){ .secrets = { S("new"), S("") }, .secret_count = 2 };
    SignForm form = github;
    Str signature = sign_text(&arena, &form, S(""), &hook.body, 1);
    HookHeader header = { github.header, signature };
    hook.headers = &header;
    CHECK(sign_check(&arena, &hook, &trust, &github) == HOOK_MISSIGNED);
}

static void base64_is_compared_whole(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    SignForm form = { HMAC_SHA512, SIGN_BASE64, S("x-signature"), STR_NONE };
    Hook hook = HOOK(&arena, "body", "x-signature: ");
    HookHeader header = { form.header, sign_text(&arena, &form, S("key"), &hook.body, 1) };
    HookTrust trust = trust_in("key");
    hook.headers = &header;
    CHECK(sign_check(&arena, &hook, &trust, &form) == HOOK_VERIFIED);
    header.value.len -= 4;
    CHECK(sign_check(&arena, &hook, &trust, &form) == HOOK_MALFORMED);
}

static void a_token_is_one_of_the_secrets(void)
{
    HookTrust trust = { .secrets = { S("new"), S("old") }, .secret_count = 2 };
    CHECK(sign_equals(&trust, S("new")) && sign_equals(&trust, S("old")));
    CHECK(!sign_equals(&trust, S("ne")) && !sign_equals(&trust, S("newer")));
    CHECK(!sign_equals(&trust, S("")) && !sign_equals(&trust, STR_NONE));
    trust = trust_in("");
    CHECK(!sign_equals(&trust, S("")) && !sign_equals(&trust, STR_NONE));
}

static void what_was_signed_may_come_for_a_while(void)
{
    Instant now = 1000 * SPAN_SECOND;
    CHECK(sign_age(now, now, 0, 0) == HOOK_VERIFIED);
    CHECK(sign_age(now - 60 * SPAN_SECOND, now, SPAN_MINUTE, 0) == HOOK_VERIFIED);
    CHECK(sign_age(now - 60 * SPAN_SECOND - 1, now, SPAN_MINUTE, 0) == HOOK_OLD);
    CHECK(sign_age(now + 60 * SPAN_SECOND, now, 0, SPAN_MINUTE) == HOOK_VERIFIED);
    CHECK(sign_age(now + 60 * SPAN_SECOND + 1, now, 0, SPAN_MINUTE) == HOOK_AHEAD);
    CHECK(sign_age(INSTANT_NONE, now, SPAN_DAY, SPAN_DAY) == HOOK_UNDATED);
}

static const Test tests[] = {
    TEST(published_vectors_are_made),
    TEST(a_signature_is_right_or_told_why_not),
    TEST(either_secret_holds_while_they_overlap),
    TEST(base64_is_compared_whole),
    TEST(a_token_is_one_of_the_secrets),
    TEST(what_was_signed_may_come_for_a_while),
};
TEST_MAIN(tests)
