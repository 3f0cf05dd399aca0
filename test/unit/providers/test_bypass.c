// Ways around a signature, tried on every provider: each row says what it signs, and everything
// else is done to all of them alike. A provider without a row fails the test.
#include "hooks.h"

#define SECRET "3b9e1d2c4f5a60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
#define OTHER "3b9e1d2c4f5a60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8fa"
#define BODY "{'webhookTimestamp':1778735554000,'type':'x','id':'1'}" // 2026-05-14T05:12:34Z

typedef struct Signer {
    ProviderName provider;
    bool has_body;         // the body is signed; otherwise the secret itself is sent
    Span window;           // what is signed may be that old, or that far ahead; 0: it has no time
    const char *signature; // the header of it
    const char *prefix;    // stands before a signature in hex; NULL: it is not in hex
    const char *config;
} Signer;

#define GENERIC(verify) "{'verify':{" verify "}}"
static const Signer signers[] = {
    { PROVIDER_GITHUB, true, 0, "x-hub-signature-256", "sha256=", NULL },
    { PROVIDER_LINEAR, true, SPAN_MINUTE, "linear-signature", "", NULL },
    { PROVIDER_SENTRY, true, 0, "sentry-hook-signature", "", NULL },
    { PROVIDER_POSTHOG, false, 0, "x-posthog-token", NULL, NULL },
    { PROVIDER_GMAIL, false, 0, "x-goog-channel-token", NULL, NULL },
    { PROVIDER_NANGO, true, 0, "x-nango-hmac-sha256", "", NULL },
    { PROVIDER_NANGO, true, 0, "x-nango-hmac-sha256", "", "{'legacy':true}" },
    { PROVIDER_COMPOSIO, true, 5 * SPAN_MINUTE, "webhook-signature", NULL, NULL },
    { PROVIDER_SLACK, true, 5 * SPAN_MINUTE, "x-slack-signature", "v0=", NULL },
    { PROVIDER_STRIPE, true, 5 * SPAN_MINUTE, "stripe-signature", "t=1778735554,v1=", NULL },
    { PROVIDER_JIRA, true, 0, "x-hub-signature", "sha256=", NULL },
    { PROVIDER_STANDARD_WEBHOOKS, true, 5 * SPAN_MINUTE, "webhook-signature", NULL, NULL },
    { PROVIDER_GENERIC, true, 0, "x-signature", "", NULL },
    { PROVIDER_GENERIC, true, 0, "x-hub",
      "sha1=", GENERIC("'kind':'hmac','header':'X-Hub','algorithm':'sha1','prefix':'sha1='") },
    { PROVIDER_GENERIC, true, 0, "x-signature", NULL,
      GENERIC("'kind':'hmac','algorithm':'sha512','encoding':'base64'") },
    { PROVIDER_GENERIC, false, 0, "authorization", NULL, GENERIC("'kind':'token'") },
    { PROVIDER_GENERIC, false, 0, "authorization", NULL, GENERIC("'kind':'basic','user':'u'") },
};

// Try is one webhook of a signer, as it should be signed.
typedef struct Try {
    Arena arena;
    const Signer *signer;
    HookHeader headers[PROVIDER_HEADERS_MAX + 1];
    Hook hook;
    HookTrust trust;
} Try;

static void done(Try *try)
{
    arena_done(&try->arena);
}

static const Provider *provider(const Try *try)
{
    return provider_of(try->signer->provider);
}

static void sign_it(Try *try, const char *secret)
{
    try->hook.headers = try->headers;
    try->hook.header_count = provider(try)->sign(&try->arena, &try->hook, str_from(secret),
                                                 try->trust.config, try->headers);
}

static Try begin(const Signer *signer)
{
    Try try = { .signer = signer, .trust = trust_in(SECRET) };
    try.hook = hook_lines(&try.arena, NULL, quoted(&try.arena, BODY));
    try.trust.config = signer->config ? document(&try.arena, signer->config) : NULL;
    return try;
}

static HookVerdict verdict(Try *try)
{
    try->hook.headers = try->headers;
    return provider(try)->verify(&try->arena, &try->hook, &try->trust);
}

// value_of is the header that holds the signature; a test changes a copy of its value.
static Str *value_of(Try *try)
{
    for (size_t i = 0; i < try->hook.header_count; i++)
        if (str_eq(try->headers[i].name, str_from(try->signer->signature)))
            return &try->headers[i].value;
    printf("Bail out! %s is not signed by %s\n", provider_id_text(try->signer->provider),
           try->signer->signature);
    abort();
}

static char *copy_of(Try *try, Str text)
{
    return arena_copy(&try->arena, text.at, text.len);
}

#define REFUSED(try)                                                                               \
    CHECK_AT(provider_id_text((try)->signer->provider), verdict(try) != HOOK_VERIFIED)
#define TAKEN(try)                                                                                 \
    CHECK_AT(provider_id_text((try)->signer->provider), verdict(try) == HOOK_VERIFIED)

static void what_is_signed_is_taken(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    TAKEN(&try);
    // While secrets overlap either is good.
    try.trust.secrets[0] = S(OTHER);
    try.trust.secrets[1] = S(SECRET);
    try.trust.secret_count = 2;
    TAKEN(&try);
}

static void what_lacks_a_header_is_not(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    size_t count = try.hook.header_count;
    for (size_t i = 0; i < count; i++) {
        HookHeader kept = try.headers[i];
        try.headers[i].value = S("");
        REFUSED(&try);
        try.headers[i].name = S("x-unrelated");
        REFUSED(&try);
        try.headers[i] = kept;
    }
    TAKEN(&try);
}

static void what_has_a_header_twice_is_not(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    size_t count = try.hook.header_count++;
    for (size_t i = 0; i < count; i++) {
        try.headers[count] = try.headers[i];
        REFUSED(&try);
        // Nor is a wrong one before or behind it.
        try.headers[count].value = S("0");
        REFUSED(&try);
        HookHeader right = try.headers[i];
        try.headers[i] = try.headers[count];
        try.headers[count] = right;
        REFUSED(&try);
        try.headers[i] = right;
    }
}

// Base64 may go without its padding: that is the same signature.
static void what_is_cut_short_is_not(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    Str *value = value_of(&try), whole = *value;
    for (size_t len = 0; len < whole.len; len++) {
        bool is_padding =
            whole.at[len] == '=' && (len + 1 == whole.len || whole.at[len + 1] == '=');
        *value = (Str){ whole.at, len };
        if (!is_padding || signer->prefix)
            REFUSED(&try);
    }
    *value = STR_JOIN(&try.arena, whole, S("0"));
    REFUSED(&try);
    *value = STR_JOIN(&try.arena, whole, S("00"));
    REFUSED(&try);
}

static void what_differs_by_a_character_is_not(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    Str *value = value_of(&try);
    char *text = copy_of(&try, *value);
    value->at = text;
    // "Bearer " and "Basic " are no secret; nor is the user's name, which has a test of its own.
    for (size_t i = signer->has_body ? 0 : 6; i < value->len; i++) {
        char was = text[i];
        text[i] = was == '0' ? '1' : '0';
        REFUSED(&try);
        text[i] = '\0';
        REFUSED(&try);
        text[i] = was;
    }
    TAKEN(&try);
}

static void either_case_of_hex_is_the_same(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    Str *value = value_of(&try);
    char *text = copy_of(&try, *value);
    value->at = text;
    for (size_t i = signer->prefix ? strlen(signer->prefix) : 0; i < value->len; i++)
        text[i] = (char) (text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
    if (signer->prefix)
        TAKEN(&try);
    else
        REFUSED(&try);
}

static void another_prefix_is_not_taken(const Signer *signer)
{
    static const char *const others[] = {
        "sha1=", "sha512=", "SHA256=", "md5=", "v1=", "=", "none"
    };
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    Str *value = value_of(&try), whole = *value;
    for (size_t i = 0; signer->prefix && i < ARRAY_LEN(others); i++) {
        if (strcmp(signer->prefix, others[i]) == 0)
            continue;
        *value = STR_JOIN(&try.arena, str_from(others[i]), str_skip(whole, strlen(signer->prefix)));
        REFUSED(&try);
        *value = str_from(others[i]);
        REFUSED(&try);
    }
}

static void another_body_is_not_taken(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    Str whole = try.hook.body;
    char *text = copy_of(&try, whole);
    if (!signer->has_body)
        return;
    try.hook.body.at = text;
    for (size_t i = 0; i < whole.len; i++) {
        text[i] = (char) (text[i] ^ 1);
        REFUSED(&try);
        text[i] = (char) (text[i] ^ 1);
    }
    for (size_t len = 0; len < whole.len; len++) {
        try.hook.body = (Str){ whole.at, len };
        REFUSED(&try);
    }
    try.hook.body = STR_JOIN(&try.arena, whole, S(" "));
    REFUSED(&try);
    try.hook.body = STR_JOIN(&try.arena, S("\xef\xbb\xbf"), whole);
    REFUSED(&try);
}

// Whoever knows that there is no secret must not be able to sign.
static void an_empty_secret_signs_nothing(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, "");
    REFUSED(&try);
    try.trust.secrets[0] = S("");
    REFUSED(&try);
    try.trust.secrets[0] = STR_NONE;
    REFUSED(&try);
    try.trust.secret_count = 0;
    REFUSED(&try);
    try.trust = (HookTrust){ .secrets = { S(SECRET), S("") },
                             .secret_count = 2,
                             .config = try.trust.config };
    REFUSED(&try);
}

static void another_secret_is_not_taken(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, OTHER);
    REFUSED(&try);
    sign_it(&try, SECRET "0");
    REFUSED(&try);
}

static void what_is_old_or_ahead_is_not_taken(const Signer *signer)
{
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    Instant signed_at = try.hook.at;
    if (signer->window == 0)
        return;
    try.hook.at = signed_at + signer->window;
    TAKEN(&try);
    try.hook.at = signed_at + signer->window + SPAN_SECOND;
    CHECK_AT(signer->signature, verdict(&try) == HOOK_OLD);
    try.hook.at = signed_at - signer->window;
    TAKEN(&try);
    try.hook.at = signed_at - signer->window - SPAN_SECOND;
    CHECK_AT(signer->signature, verdict(&try) == HOOK_AHEAD);
}

// Nobody sends these; they must neither be taken nor do harm.
static void nonsense_is_not_taken(const Signer *signer)
{
    static const Str values[] = { S(""),    S(" "),      S("="),    S(","),     S(",,,,"),
                                  S("v1,"), S("t=,v1="), S("\xff"), S("\0\0"),  S("sha256="),
                                  S("v0="), S("Basic "), S("t=-1"), S("v1,=="), S("Bearer ") };
    DEFER(done) Try try = begin(signer);
    sign_it(&try, SECRET);
    Str *value = value_of(&try);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        *value = values[i];
        REFUSED(&try);
    }
    char *huge = arena_alloc(&try.arena, 1 << 20);
    *value = (Str){ memset(huge, 'a', 1 << 20), 1 << 20 };
    REFUSED(&try);
    *value = (Str){ memset(huge, ',', 1 << 20), 1 << 20 };
    REFUSED(&try);
    *value = (Str){ memset(huge, ' ', 1 << 20), 1 << 20 };
    REFUSED(&try);
}

static void (*const bypasses[])(const Signer *) = {
    what_is_signed_is_taken,     what_lacks_a_header_is_not,         what_has_a_header_twice_is_not,
    what_is_cut_short_is_not,    what_differs_by_a_character_is_not, either_case_of_hex_is_the_same,
    another_prefix_is_not_taken, another_body_is_not_taken,          an_empty_secret_signs_nothing,
    another_secret_is_not_taken, what_is_old_or_ahead_is_not_taken,  nonsense_is_not_taken,
};

static void no_way_leads_around_a_signature(void)
{
    for (size_t i = 0; i < ARRAY_LEN(signers); i++)
        for (size_t j = 0; provider_of(signers[i].provider) && j < ARRAY_LEN(bypasses); j++)
            bypasses[j](&signers[i]);
}

static void every_provider_was_tried(void)
{
    for (size_t i = 0; i < PROVIDERS; i++) {
        bool is_tried = provider_of((ProviderName) i) == NULL;
        for (size_t j = 0; j < ARRAY_LEN(signers); j++)
            is_tried |= signers[j].provider == (ProviderName) i;
        CHECK_AT(provider_ids[i], is_tried);
    }
}

// What names a webhook goes into the store: it must be a text that can stand there.
static void a_hostile_id_is_none(void)
{
    static const char *const headers[] = { "x-github-delivery",
                                           "linear-delivery",
                                           "request-id",
                                           "webhook-id",
                                           "svix-id",
                                           "ce-id",
                                           "x-atlassian-webhook-identifier" };
    static const Str values[] = { S("\xff\xfe"), S("a\0b"), S("a\nb"), S("\xc3") };
    for (size_t i = 0; i < PROVIDERS; i++)
        for (size_t j = 0; provider_of((ProviderName) i) && j < ARRAY_LEN(headers); j++)
            for (size_t k = 0; k < ARRAY_LEN(values); k++) {
                DEFER(arena_done) Arena arena = { 0 };
                HookHeader header = { str_from(headers[j]), values[k] };
                Hook hook = { .method = S("POST"), .headers = &header, .header_count = 1 };
                Str id = provider_of((ProviderName) i)->identify(&arena, &hook);
                CHECK_AT(provider_ids[i], str_is_utf8(id) && str_is_printable(id));
            }
}

// An example is what `peal hooks send` posts: it is signed, read, and does not tell of itself.
static void examples_are_taken_and_read(void)
{
    for (size_t i = 0; i < PROVIDERS; i++) {
        const Provider *of = provider_of((ProviderName) i);
        for (size_t j = 0; of && j < of->example_count; j++) {
            DEFER(arena_done) Arena arena = { 0 };
            const ProviderExample *example = &of->examples[j];
            HookHeader headers[PROVIDER_HEADERS_MAX + 1];
            Error error = { .arena = &arena };
            ProviderRead read = { 0 };
            Hook hook = hook_lines(&arena, NULL, provider_example(&arena, example, SPAN_DAY));
            hook.headers = headers;
            hook.header_count = of->sign(&arena, &hook, S(SECRET), NULL, headers);
            if (example->header) {
                Str value = str_from(example->header), name = str_cut(&value, ':');
                char *lower = arena_copy(&arena, name.at, name.len);
                for (size_t k = 0; k < name.len; k++)
                    lower[k] = str_lower_char(lower[k]);
                headers[hook.header_count++] = (HookHeader){ { lower, name.len }, str_trim(value) };
            }
            CHECK_AT(example->event, of->parse(&arena, &hook, &read, &error) == ERR_OK);
            CHECK_AT(example->event, read.count + read.change_count > 0 || read.note.len > 0);
        }
    }
}

static const Test tests[] = {
    TEST(no_way_leads_around_a_signature),
    TEST(every_provider_was_tried),
    TEST(a_hostile_id_is_none),
    TEST(examples_are_taken_and_read),
};
TEST_MAIN(tests)
