#include "providers/sign.h"

bool sign_trusts(const HookTrust *trust)
{
    for (size_t i = 0; i < trust->secret_count; i++)
        if (trust->secrets[i].len > 0)
            return true;
    return false;
}

HookVerdict sign_given(const Hook *hook, Str header, Str *ret)
{
    Str value = str_trim(hook_header(hook, header));
    if (value.len == 0)
        return HOOK_UNSIGNED;
    if (hook_header_twice(hook, header))
        return HOOK_TWICE;
    *ret = value;
    return HOOK_VERIFIED;
}

bool sign_decode(Arena *arena, HmacAlgorithm algorithm, SignEncoding encoding, Str text, Str *ret)
{
    // What is far too long is not even copied.
    if (text.len > 2 * HMAC_LEN_MAX)
        return false;
    bool is_read =
        encoding == SIGN_HEX ? hex_parse(arena, text, ret) : base64_parse(arena, text, ret);
    return is_read && ret->len == hmac_len(algorithm);
}

static Str bytes_of(const Hmac *mac)
{
    return (Str){ (const char *) mac->b, mac->len };
}

bool sign_holds(const HookTrust *trust, HmacAlgorithm algorithm, const Str *parts, size_t count,
                Str mac)
{
    for (size_t i = 0; i < trust->secret_count; i++) {
        if (trust->secrets[i].len == 0)
            continue;
        Hmac own = hmac(algorithm, trust->secrets[i], parts, count);
        if (crypto_equal(bytes_of(&own), mac))
            return true;
    }
    return false;
}

bool sign_equals(const HookTrust *trust, Str text)
{
    // Hashes are of one length: comparing them does not tell how long the secret is.
    Sha256 given = sha256(text);
    bool is_equal = false;
    for (size_t i = 0; i < trust->secret_count; i++) {
        Sha256 own = sha256(trust->secrets[i]);
        is_equal |=
            trust->secrets[i].len > 0 && crypto_equal((Str){ (const char *) own.b, SHA256_LEN },
                                                      (Str){ (const char *) given.b, SHA256_LEN });
    }
    return is_equal;
}

HookVerdict sign_check(Arena *arena, const Hook *hook, const HookTrust *trust, const SignForm *form)
{
    Str given, mac;
    if (!sign_trusts(trust))
        return HOOK_NO_SECRET;
    HookVerdict verdict = sign_given(hook, form->header, &given);
    if (verdict != HOOK_VERIFIED)
        return verdict;
    if (!str_starts(given, form->prefix) || !sign_decode(arena, form->algorithm, form->encoding,
                                                         str_skip(given, form->prefix.len), &mac))
        return HOOK_MALFORMED;
    return sign_holds(trust, form->algorithm, &hook->body, 1, mac) ? HOOK_VERIFIED : HOOK_MISSIGNED;
}

HookVerdict sign_age(Instant signed_at, Instant now, Span behind, Span ahead)
{
    if (signed_at == INSTANT_NONE)
        return HOOK_UNDATED;
    if (now - signed_at > behind)
        return HOOK_OLD;
    return signed_at - now > ahead ? HOOK_AHEAD : HOOK_VERIFIED;
}

Str sign_text(Arena *arena, const SignForm *form, Str secret, const Str *parts, size_t count)
{
    Hmac mac = hmac(form->algorithm, secret, parts, count);
    Str text = form->encoding == SIGN_HEX ? hex_text(arena, mac.b, mac.len)
                                          : base64_text(arena, bytes_of(&mac));
    return STR_JOIN(arena, form->prefix, text);
}
