// standard_webhooks.c - whoever signs by the Standard Webhooks specification, or as Svix does.
//
// A secret is "whsec_" and the key in base64; without the prefix it is base64 as well, as the
// specification's libraries read it, and a text that is no base64 is the key itself. Signatures of
// the version v1 count; v1a (ed25519) is not taken, and neither is any other.
#include "providers/standard_webhooks.h"

#include "base/crypto.h"
#include "providers/generic.h"
#include "providers/providers.h"
#include "providers/read.h"
#include "providers/sign.h"

#define WINDOW (5 * SPAN_MINUTE)

// Names are the headers of one family.
typedef struct Names {
    Str id, timestamp, signature;
} Names;

static const Names *names_of(const Hook *hook)
{
    static const Names families[] = {
        { S("webhook-id"), S("webhook-timestamp"), S("webhook-signature") },
        { S("svix-id"), S("svix-timestamp"), S("svix-signature") },
    };
    bool is_svix =
        hook_header(hook, families[1].signature).at && !hook_header(hook, families[0].signature).at;
    return &families[is_svix];
}

// read_list finds the signatures of a list "v1,… v1,… v1a,…" that are of the version v1.
static size_t read_list(Arena *arena, Str list, Str ret[SIGN_MACS_MAX])
{
    size_t count = 0;
    while (list.at && count < SIGN_MACS_MAX) {
        Str text = str_cut(&list, ' '), version = str_cut(&text, ',');
        if (str_eq(version, S("v1")) &&
            sign_decode(arena, HMAC_SHA256, SIGN_BASE64, text, &ret[count]))
            count++;
    }
    return count;
}

HookVerdict standard_check(Arena *arena, const Hook *hook, const HookTrust *keys)
{
    Str id, timestamp, list, macs[SIGN_MACS_MAX];
    const Names *names = names_of(hook);
    if (!sign_trusts(keys))
        return HOOK_NO_SECRET;
    HookVerdict verdict = sign_given(hook, names->signature, &list);
    if (verdict == HOOK_VERIFIED)
        verdict = sign_given(hook, names->id, &id);
    if (verdict == HOOK_VERIFIED)
        verdict = sign_dated(hook, names->timestamp, WINDOW, &timestamp);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    size_t count = read_list(arena, list, macs);
    const Str parts[] = { id, S("."), timestamp, S("."), hook->body };
    if (count == 0)
        return HOOK_MALFORMED;
    return sign_holds_any(keys, HMAC_SHA256, parts, ARRAY_LEN(parts), macs, count) ? HOOK_VERIFIED
                                                                                   : HOOK_MISSIGNED;
}

Str standard_id(Arena *arena, const Hook *hook)
{
    return read_id(arena, hook_header_text(hook, names_of(hook)->id));
}

size_t standard_sign(Arena *arena, const Hook *hook, Str key, HookHeader ret[PROVIDER_HEADERS_MAX])
{
    static const SignForm form = { HMAC_SHA256, SIGN_BASE64, S("webhook-signature"), S("v1,") };
    Str timestamp = str_i64(arena, hook->at / SPAN_SECOND);
    Sha256 hash = sha256(STR_JOIN(arena, timestamp, hook->body));
    Str id = STR_JOIN(arena, S("msg_"), hex_text(arena, hash.b, 12));
    const Str parts[] = { id, S("."), timestamp, S("."), hook->body };
    ret[0] = (HookHeader){ S("webhook-id"), id };
    ret[1] = (HookHeader){ S("webhook-timestamp"), timestamp };
    ret[2] = (HookHeader){ form.header, sign_text(arena, &form, key, parts, ARRAY_LEN(parts)) };
    return 3;
}

// key_of is what a secret stands for; none where it says that it is base64 and is not.
static Str key_of(Arena *arena, Str secret)
{
    Str prefix = S("whsec_"), key = STR_NONE;
    bool is_marked = str_starts(secret, prefix);
    if (base64_parse(arena, is_marked ? str_skip(secret, prefix.len) : secret, &key))
        return key;
    return is_marked ? STR_NONE : secret;
}

static HookVerdict verify(Arena *arena, const Hook *hook, const HookTrust *trust)
{
    HookTrust keys = *trust;
    for (size_t i = 0; i < trust->secret_count; i++)
        keys.secrets[i] = key_of(arena, trust->secrets[i]);
    return standard_check(arena, hook, &keys);
}

static size_t sign(Arena *arena, const Hook *hook, Str secret, const Json *config,
                   HookHeader ret[PROVIDER_HEADERS_MAX])
{
    (void) config;
    return standard_sign(arena, hook, key_of(arena, secret), ret);
}

static Err parse(Arena *arena, const Hook *hook, ProviderRead *ret, Error *error)
{
    ProviderEvent *event = ARENA_NEW(arena, ProviderEvent);
    TRY(generic_read(arena, hook, PROVIDER_STANDARD_WEBHOOKS, standard_id(arena, hook), event,
                     error));
    *ret = (ProviderRead){ .events = event, .count = 1 };
    return ERR_OK;
}

static const ProviderExample examples[] = {
    { "contact.created", NULL,
      "{\"type\":\"contact.created\",\"timestamp\":\"%time%\",\"data\":{"
      "\"id\":\"1f81eb52-5198-4599-803e-%id%\",\"type\":\"contact\",\"name\":\"John Smith\""
      "}}" },
};

const Provider provider_standard_webhooks = {
    .name = PROVIDER_STANDARD_WEBHOOKS,
    .ways = PROVIDER_WEBHOOK,
    .verify = verify,
    .identify = standard_id,
    .parse = parse,
    .sign = sign,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
};
