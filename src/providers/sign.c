#include "providers/sign.h"

#include "base/time.h"

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

// is_among compares with each, however early one is equal.
static bool is_among(const Hmac *own, const Str *macs, size_t count)
{
    bool is_equal = false;
    for (size_t i = 0; i < count; i++)
        is_equal |= crypto_equal(bytes_of(own), macs[i]);
    return is_equal;
}

bool sign_holds_any(const HookTrust *trust, HmacAlgorithm algorithm, const Str *parts, size_t count,
                    const Str *macs, size_t mac_count)
{
    for (size_t i = 0; i < trust->secret_count; i++) {
        if (trust->secrets[i].len == 0)
            continue;
        Hmac own = hmac(algorithm, trust->secrets[i], parts, count);
        if (is_among(&own, macs, mac_count))
            return true;
    }
    return false;
}

bool sign_holds(const HookTrust *trust, HmacAlgorithm algorithm, const Str *parts, size_t count,
                Str mac)
{
    return sign_holds_any(trust, algorithm, parts, count, &mac, 1);
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

HookVerdict sign_check_parts(Arena *arena, const Hook *hook, const HookTrust *trust,
                             const SignForm *form, const Str *parts, size_t count)
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
    return sign_holds(trust, form->algorithm, parts, count, mac) ? HOOK_VERIFIED : HOOK_MISSIGNED;
}

HookVerdict sign_check(Arena *arena, const Hook *hook, const HookTrust *trust, const SignForm *form)
{
    return sign_check_parts(arena, hook, trust, form, &hook->body, 1);
}

HookVerdict sign_age(Instant signed_at, Instant now, Span behind, Span ahead)
{
    if (signed_at == INSTANT_NONE)
        return HOOK_UNDATED;
    if (now - signed_at > behind)
        return HOOK_OLD;
    return signed_at - now > ahead ? HOOK_AHEAD : HOOK_VERIFIED;
}

Instant sign_seconds(Str text)
{
    int64_t seconds;
    return str_to_i64(text, 0, TIME_LAST / SPAN_SECOND, &seconds) ? seconds * SPAN_SECOND
                                                                  : INSTANT_NONE;
}

HookVerdict sign_dated(const Hook *hook, Str header, Span window, Str *ret)
{
    HookVerdict verdict = sign_given(hook, header, ret);
    if (verdict == HOOK_VERIFIED)
        return sign_age(sign_seconds(*ret), hook->at, window, window);
    return verdict == HOOK_UNSIGNED ? HOOK_UNDATED : verdict;
}

Str sign_text(Arena *arena, const SignForm *form, Str secret, const Str *parts, size_t count)
{
    Hmac mac = hmac(form->algorithm, secret, parts, count);
    Str text = form->encoding == SIGN_HEX ? hex_text(arena, mac.b, mac.len)
                                          : base64_text(arena, bytes_of(&mac));
    return STR_JOIN(arena, form->prefix, text);
}

size_t sign_body(Arena *arena, const SignForm *form, const Hook *hook, Str secret, HookHeader *ret)
{
    *ret = (HookHeader){ form->header, sign_text(arena, form, secret, &hook->body, 1) };
    return 1;
}
