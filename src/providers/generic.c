// generic.c - whatever can post: a signature whose form the source's config says, and any body.
//
// By default the body is signed with HMAC-SHA256, in hex, in x-signature: the form that most who
// write a sender themselves choose. Where no prefix is configured the algorithm's own name may
// stand before it ("sha256="), never another's. Nothing is taken unsigned unless the config says
// "none".
//
// Handshakes: Meta's (hub.challenge, by the secret as its verify token), that of CloudEvents'
// webhooks (OPTIONS), and Dropbox's (challenge). X's CRC is not answered: it asks for the signature
// of any text the caller likes, with the very key and in the very form that webhooks are signed.
#include "providers/generic.h"

#include "base/crypto.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"

enum { CHALLENGE_MAX = 1024, ORIGIN_MAX = 255, NAME_MAX = 100 };

typedef enum VerifyKind { VERIFY_HMAC, VERIFY_TOKEN, VERIFY_BASIC, VERIFY_NONE } VerifyKind;

typedef struct GenericConfig {
    int kind; // a VerifyKind
    Str header, query, prefix, user;
    int algorithm; // a HmacAlgorithm
    int encoding;  // a SignEncoding
} GenericConfig;

static const char *const kinds[] = { "hmac", "token", "basic", "none", NULL };
static const char *const algorithms[] = { "sha1", "sha256", "sha512", NULL };
static const char *const encodings[] = { "hex", "base64", NULL };

// The rows cannot say which members go together; nothing may be kept, so the JSON is asked.
static void check_verify(const Members *members, void *value)
{
    (void) value;
    Str kind = json_str(members_get(members, "kind"));
    bool has_query = members_get(members, "query") != NULL;
    if (has_query && !str_eq(kind, S("token")))
        members_note(members, S("query"), "bad-value", "only a token may stand in the query");
    else if (has_query && members_get(members, "header"))
        members_note(members, S("query"), "bad-value", "a token stands in one place only");
    if (members_get(members, "user") && !str_eq(kind, S("basic")))
        members_note(members, S("user"), "bad-value", "only kind basic has a user");
    if (str_contains(json_str(members_get(members, "user")), S(":")))
        members_note(members, S("user"), "bad-value", "must not contain a colon");
    if (str_starts(json_str(members_get(members, "prefix")), S(" ")))
        members_note(members, S("prefix"), "bad-value", "must not begin with a blank");
}

// clang-format off
#define AT(member) .offset = offsetof(GenericConfig, member)
static const Field verify_fields[] = {
    { "kind", FIELD_WORD, FIELD_NEEDED, AT(kind), .words = kinds, .noun = "a kind", .help = "how a sender shows that it knows the secret; none: it need not" },
    { "header", FIELD_KEY, AT(header), .max = NAME_MAX, .help = "where signature or token stand; x-signature, or authorization for a token, unless said" },
    { "query", FIELD_KEY, AT(query), .max = NAME_MAX, .help = "of a token: the parameter that it stands in, instead of a header" },
    { "algorithm", FIELD_WORD, AT(algorithm), .words = algorithms, .noun = "an algorithm", .help = "of hmac; sha256 unless said" },
    { "encoding", FIELD_WORD, AT(encoding), .words = encodings, .noun = "an encoding", .help = "of hmac; hex unless said" },
    { "prefix", FIELD_TEXT, AT(prefix), .max = NAME_MAX, .help = "what stands before signature or token, such as sha256=" },
    { "user", FIELD_TEXT, AT(user), .max = NAME_MAX, .help = "of basic: the user name; any unless said" },
};
#undef AT
static const Shape verify_shape = { "GenericVerify", SHAPE_ROWS(verify_fields), .size = sizeof(GenericConfig), .check = check_verify };
static const Field config_fields[] = {
    { "verify", FIELD_OBJECT, .inside = &verify_shape },
};
static const Shape config_shape = { "GenericConfig", SHAPE_ROWS(config_fields), .size = sizeof(GenericConfig) };
// clang-format on

// read_config is false for a config that nobody checked: it must not open a door.
static bool read_config(Arena *arena, const Json *source, GenericConfig *ret)
{
    Error error = { .arena = arena };
    GenericConfig config = { .algorithm = HMAC_SHA256, .encoding = SIGN_HEX };
    if (source && fields_read(arena, source, S(""), &config_shape, &config, &error) != ERR_OK)
        return false;
    Str usual = config.kind == VERIFY_TOKEN ? S("authorization") : S("x-signature");
    config.header = config.header.len > 0 ? read_lower(arena, config.header) : usual;
    *ret = config;
    return true;
}

static Str own_prefix(const GenericConfig *config)
{
    static const char *const prefixes[] = { "sha1=", "sha256=", "sha512=" };
    return str_from(prefixes[config->algorithm]);
}

static HookVerdict verify_hmac(Arena *arena, const Hook *hook, const HookTrust *trust,
                               const GenericConfig *config)
{
    SignForm form = { (HmacAlgorithm) config->algorithm, (SignEncoding) config->encoding,
                      config->header, config->prefix };
    Str given = str_trim(hook_header(hook, config->header));
    if (form.prefix.len == 0 && str_starts(given, own_prefix(config)))
        form.prefix = own_prefix(config);
    return sign_check(arena, hook, trust, &form);
}

// skip_scheme takes "Bearer " away, whose case does not matter.
static Str skip_scheme(Str value, Str scheme)
{
    bool has_scheme =
        value.len > scheme.len && str_eq_nocase((Str){ value.at, scheme.len }, scheme);
    return has_scheme ? str_trim(str_skip(value, scheme.len)) : value;
}

static HookVerdict verify_token(Arena *arena, const Hook *hook, const HookTrust *trust,
                                const GenericConfig *config)
{
    Str token = STR_NONE;
    if (config->query.len > 0) {
        if (!read_form(arena, hook->query, config->query, &token))
            return HOOK_UNSIGNED;
    } else {
        HookVerdict given = sign_given(hook, config->header, &token);
        if (given != HOOK_VERIFIED)
            return given;
    }
    if (!str_starts(token, config->prefix))
        return HOOK_MALFORMED;
    token = str_skip(token, config->prefix.len);
    if (config->prefix.len == 0 && str_eq(config->header, S("authorization")))
        token = skip_scheme(token, S("Bearer "));
    return sign_equals(trust, token) ? HOOK_VERIFIED : HOOK_MISSIGNED;
}

// The secret is the password, or user and password with a colon between them.
static HookVerdict verify_basic(Arena *arena, const Hook *hook, const HookTrust *trust,
                                const GenericConfig *config)
{
    Str value, both;
    HookVerdict given = sign_given(hook, S("authorization"), &value);
    if (given != HOOK_VERIFIED)
        return given;
    Str encoded = skip_scheme(value, S("Basic "));
    if (encoded.at == value.at || !base64_parse(arena, encoded, &both))
        return HOOK_MALFORMED;
    Str password = both, user = str_cut(&password, ':');
    bool is_user = config->user.len == 0 || crypto_equal(user, config->user);
    bool is_right = sign_equals(trust, both) || (password.at && sign_equals(trust, password));
    return is_user && is_right ? HOOK_VERIFIED : HOOK_MISSIGNED;
}

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    static HookVerdict (*const ways[])(Arena *, const Hook *, const HookTrust *,
                                       const GenericConfig *) = {
        [VERIFY_HMAC] = verify_hmac,
        [VERIFY_TOKEN] = verify_token,
        [VERIFY_BASIC] = verify_basic,
    };
    GenericConfig config;
    if (!read_config(arena, trust->config, &config))
        return HOOK_NO_SECRET;
    if (config.kind == VERIFY_NONE)
        return HOOK_UNCHECKED;
    return sign_trusts(trust) ? ways[config.kind](arena, hook, trust, &config) : HOOK_NO_SECRET;
}

static Str basic_text(Arena *arena, const GenericConfig *config, Str secret)
{
    bool is_both = str_contains(secret, S(":"));
    Str both = is_both ? secret : STR_JOIN(arena, config->user, S(":"), secret);
    return STR_JOIN(arena, S("Basic "), base64_text(arena, both));
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *source,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    GenericConfig config;
    if (!read_config(arena, source, &config) || config.kind == VERIFY_NONE || config.query.len > 0)
        return 0;
    SignForm form = { (HmacAlgorithm) config.algorithm, (SignEncoding) config.encoding,
                      config.header, config.prefix };
    if (config.kind == VERIFY_HMAC)
        ret[0] = (HookHeader){ config.header, sign_text(arena, &form, secret, &hook->body, 1) };
    else if (config.kind == VERIFY_BASIC)
        ret[0] = (HookHeader){ S("authorization"), basic_text(arena, &config, secret) };
    else
        ret[0] = (HookHeader){ config.header, STR_JOIN(arena, config.prefix, secret) };
    return 1;
}

// may_echo tells whether a stranger's text may stand in an answer.
static bool may_echo(Str text, size_t max)
{
    return text.len > 0 && text.len <= max && str_is_utf8(text) && str_is_printable(text);
}

static bool answer_text(Str text, HookAnswer *ret)
{
    if (!may_echo(text, CHALLENGE_MAX))
        return false;
    *ret = (HookAnswer){
        .status = 200,
        .type = S("text/plain; charset=utf-8"),
        .body = text,
        .headers = { { S("X-Content-Type-Options"), S("nosniff") } },
        .header_count = 1,
    };
    return true;
}

static bool answer_options(const Hook *hook, HookAnswer *ret)
{
    Str origin = str_trim(hook_header(hook, S("webhook-request-origin")));
    if (!may_echo(origin, ORIGIN_MAX))
        return false;
    *ret = (HookAnswer){
        .status = 200,
        .type = S("text/plain; charset=utf-8"),
        .headers = { { S("WebHook-Allowed-Origin"), origin },
                     { S("WebHook-Allowed-Rate"), S("*") },
                     { S("Allow"), S("POST") } },
        .header_count = 3,
    };
    return true;
}

static bool answer_get(Arena *arena, const Hook *hook, const HookTrust *trust, HookAnswer *ret)
{
    Str mode, token, challenge;
    if (read_form(arena, hook->query, S("hub.mode"), &mode))
        return str_eq(mode, S("subscribe")) &&
               read_form(arena, hook->query, S("hub.verify_token"), &token) &&
               sign_equals(trust, token) &&
               read_form(arena, hook->query, S("hub.challenge"), &challenge) &&
               answer_text(challenge, ret);
    return read_form(arena, hook->query, S("challenge"), &challenge) && answer_text(challenge, ret);
}

static bool answer(Arena *arena, const Hook *hook, const HookTrust *trust, HookAnswer *ret)
{
    if (str_eq(hook->method, S("OPTIONS")))
        return answer_options(hook, ret);
    return str_eq(hook->method, S("GET")) && answer_get(arena, hook, trust, ret);
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    TRY(generic_read(arena, hook, PROVIDER_GENERIC, generic_id(arena, hook), event, error));
    *ret = (ProviderRead){ .events = event, .count = 1 };
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "event", NULL,
      "{\"id\":\"ord-%id%\",\"type\":\"order.created\",\"title\":\"Order 1001\","
      "\"url\":\"https://shop.example/orders/1001\",\"total\":42.5}" },
};

const Provider provider_generic = {
    .name = PROVIDER_GENERIC,
    .ways = PROVIDER_WEBHOOK,
    .config = &config_shape,
    .verify = verify,
    .answer = answer,
    .identify = generic_id,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
