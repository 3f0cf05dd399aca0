// nango.c - Nango, which holds other services' connections: what it forwards, and what became of a
// connection.
//
// One source takes what comes for all connections: each envelope names its own. The signature is an
// HMAC of the body. The older one, a plain hash of key and body, can be extended by whoever has
// seen one, so it is taken only where the source's config says "legacy", and never in place of an
// HMAC that came and is wrong.
#include "base/crypto.h"
#include "providers/envelope.h"
#include "providers/generic.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"

static const SignForm signature = { HMAC_SHA256, SIGN_HEX, S("x-nango-hmac-sha256"), STR_NONE };
static const Str legacy_header = S("x-nango-signature");

typedef struct NangoConfig {
    bool legacy;
} NangoConfig;

static const Field config_fields[] = {
    { "legacy", FIELD_BOOL, .offset = offsetof(NangoConfig, legacy),
      .help = "take X-Nango-Signature where there is no X-Nango-Hmac-Sha256" },
};
static const Shape config_shape = { "NangoConfig", SHAPE_ROWS(config_fields),
                                    .size = sizeof(NangoConfig) };

// verify_legacy compares with the hash of a secret and the body behind it.
static HookVerdict verify_legacy(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    Str given, hash;
    HookVerdict verdict = sign_given(hook, legacy_header, &given);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    if (!sign_decode(arena, HMAC_SHA256, SIGN_HEX, given, &hash))
        return HOOK_MALFORMED;
    for (size_t i = 0; i < trust->secret_count; i++) {
        Sha256 own = sha256(STR_JOIN(arena, trust->secrets[i], hook->body));
        if (trust->secrets[i].len > 0 &&
            crypto_equal((Str){ (const char *) own.b, SHA256_LEN }, hash))
            return HOOK_VERIFIED;
    }
    return HOOK_MISSIGNED;
}

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    bool is_legacy = json_bool(json_get(trust->config, S("legacy")));
    if (is_legacy && sign_trusts(trust) && !hook_header(hook, signature.header).at)
        return verify_legacy(arena, hook, trust);
    return sign_check(arena, hook, trust, &signature);
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    ret[0] = (HookHeader){ signature.header, sign_text(arena, &signature, secret, &hook->body, 1) };
    return 1;
}

// whose_service is known by the service's name, or by what the integration is called at Nango.
static bool whose_service(const Json *body, const char *named, ProviderName *ret)
{
    return envelope_provider(read_text(body, named), ret) ||
           envelope_provider(read_text(body, "providerConfigKey"), ret);
}

// read_unknown makes an event of Nango's own of what a service sent that Peal does not know.
static Err read_unknown(Arena *arena, const Hook *hook, const Json *body, ProviderRead *ret,
                        Error *error)
{
    Hook opened = *hook;
    opened.body = json_text(arena, json_get(body, S("payload")));
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    TRY(generic_read(arena, &opened, PROVIDER_NANGO, generic_id(arena, hook), event, error));
    event->provider_type = STR_JOIN(arena, str_head(read_text(body, "from"), READ_ID_MAX), S(":"),
                                    event->provider_type);
    event->place.connection_id = read_id(arena, read_text(body, "connectionId"));
    *ret = (ProviderRead){ .events = event, .count = 1 };
    return ERR_OK;
}

static Err read_forward(Arena *arena, const Hook *hook, const Json *body, ProviderRead *ret,
                        Error *error)
{
    ProviderName provider;
    Str connection_id = read_id(arena, read_text(body, "connectionId"));
    const Json *payload = json_get(body, S("payload"));
    if (!connection_id.at || !payload)
        return fail(error, ERR_INVALID, "what Nango forwards has a connectionId and a payload");
    if (!whose_service(body, "from", &provider))
        return read_unknown(arena, hook, body, ret, error);
    return envelope_open(arena, hook, provider, payload, connection_id, ret, error);
}

// A connection may be bound to the tenant and the integration that it was made for: whoever began
// the session at Nango named them as tags, or the end user's organization is the tenant.
static void read_binding(Arena *arena, const Json *body, ProviderChange *change)
{
    change->tenant = read_id(arena, READ_FIRST(read_text(body, "tags.tenant"),
                                               read_text(body, "endUser.tags.tenant"),
                                               read_text(body, "tags.organization_id"),
                                               read_text(body, "endUser.organizationId")));
    change->integration = read_id(arena, READ_FIRST(read_text(body, "tags.integration"),
                                                    read_text(body, "endUser.tags.integration")));
}

static Err read_auth(Arena *arena, const Hook *hook, const Json *body, ProviderRead *ret,
                     Error *error)
{
    (void) hook;
    Str operation = read_text(body, "operation");
    bool is_good = json_bool(json_get(body, S("success")));
    ProviderChange *change = ARENA_NEW(arena, ProviderChange);
    change->place.connection_id = read_id(arena, read_text(body, "connectionId"));
    if (!change->place.connection_id.at)
        return fail(error, ERR_INVALID, "an auth envelope of Nango has a connectionId");
    if (!whose_service(body, "provider", &change->provider))
        change->provider = PROVIDER_NANGO;
    change->state = is_good ? PROVIDER_ACTIVE : PROVIDER_FAILED;
    change->is_new = is_good && str_eq(operation, S("creation"));
    read_binding(arena, body, change);
    if (!is_good)
        change->reason =
            read_title(READ_FIRST(read_text(body, "error.description"),
                                  read_text(body, "error.type"), S("Nango could not log in")));
    *ret = (ProviderRead){ .changes = change,
                           .change_count = 1,
                           .note = STR_JOIN(arena, S("auth "), str_head(operation, 40)) };
    return ERR_OK;
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    const Json *body = NULL;
    if (json_parse(arena, hook->body, &body, NULL) != ERR_OK)
        return fail(error, ERR_INVALID, "the body is not JSON that can be read");
    Str type = read_text(body, "type");
    bool is_envelope = type.at && read_text(body, "from").at;
    if (is_envelope && str_eq(type, S("forward")))
        return read_forward(arena, hook, body, ret, error);
    if (is_envelope && str_eq(type, S("auth")))
        return read_auth(arena, hook, body, ret, error);
    *ret = (ProviderRead){ .note = is_envelope ? str_dup(arena, str_head(type, 40))
                                               : S("forwarded without a connection") };
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "auth.creation", NULL,
      "{\"from\":\"nango\",\"type\":\"auth\",\"connectionId\":\"c-1\",\"authMode\":\"OAUTH2\","
      "\"providerConfigKey\":\"github\",\"provider\":\"github\",\"environment\":\"dev\","
      "\"success\":true,\"operation\":\"creation\",\"endUser\":{\"endUserId\":\"u-1\"}}" },
    { "forward.github", "X-GitHub-Event: issues",
      "{\"from\":\"github\",\"providerConfigKey\":\"github\",\"type\":\"forward\",\"connectionId\":"
      "\"c-1\",\"payload\":{\"action\":\"opened\",\"issue\":{\"id\":%id%,\"number\":1,\"title\":"
      "\"Spelling "
      "error\",\"html_url\":\"https://github.com/octo/hello/issues/1\",\"state\":\"open\","
      "\"updated_at\":\"%time%\",\"labels\":[{\"name\":\"bug\"}]},\"repository\":{"
      "\"id\":2,\"full_name\":\"octo/hello\"}}}" },
    { "sync", NULL,
      "{\"from\":\"nango\",\"type\":\"sync\",\"connectionId\":\"c-1\",\"providerConfigKey\":"
      "\"github\",\"syncName\":\"issues\",\"model\":\"Issue\",\"success\":true,\"modifiedAfter\":"
      "\"2024-05-31T09:00:00.000Z\",\"responseResults\":{\"added\":1,\"updated\":0,\"deleted\":0}"
      "}" },
};

const Provider provider_nango = {
    .name = PROVIDER_NANGO,
    .ways = PROVIDER_WEBHOOK,
    .config = &config_shape,
    .verify = verify,
    .identify = generic_id,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
