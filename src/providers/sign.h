// sign.h - signatures of webhooks: the one HMAC, and the steps that every verify is made of.
//
// A provider that signs its body and nothing else has one line: sign_check with its SignForm. Who
// signs more (a time before the body, a list of signatures, a key of its own form) takes the steps:
// sign_given finds the header, sign_dated the time, sign_decode reads what stands there, sign_holds
// compares.
//
// Decoded bytes are compared, in constant time, so either case of hex is good; a signature that is
// shorter or longer than its algorithm's is malformed, never compared by its beginning. An empty
// secret verifies nothing: whoever guesses that it is empty could sign.
#pragma once

#include "base/crypto.h"
#include "providers/provider.h"

typedef enum SignEncoding { SIGN_HEX, SIGN_BASE64 } SignEncoding;

typedef struct SignForm {
    HmacAlgorithm algorithm;
    SignEncoding encoding;
    Str header; // in lower case
    Str prefix; // stands before the signature, such as "sha256="; none
} SignForm;

// sign_check is the whole of verify where the body is signed as the form says.
HookVerdict sign_check(Arena *arena, const Hook *hook, const HookTrust *trust,
                       const SignForm *form);

// sign_check_parts is the same where parts are signed, one behind the other, instead of the body.
HookVerdict sign_check_parts(Arena *arena, const Hook *hook, const HookTrust *trust,
                             const SignForm *form, const Str *parts, size_t count);

// sign_trusts tells whether there is a secret at all.
bool sign_trusts(const HookTrust *trust);

// sign_given is the value of a header that must be there once: HOOK_VERIFIED, or what is wrong.
HookVerdict sign_given(const Hook *hook, Str header, Str *ret);

// sign_decode reads a signature, without its prefix: false where it is not one of that algorithm.
bool sign_decode(Arena *arena, HmacAlgorithm algorithm, SignEncoding encoding, Str text, Str *ret);

// sign_holds tells whether mac is that of the parts, one behind the other, by any of the secrets.
bool sign_holds(const HookTrust *trust, HmacAlgorithm algorithm, const Str *parts, size_t count,
                Str mac);

// sign_holds_any is the same for a list of signatures of which one must hold: who is signed with
// more than SIGN_MACS_MAX is none that we know. The parts are hashed once for each secret.
enum { SIGN_MACS_MAX = 8 };
bool sign_holds_any(const HookTrust *trust, HmacAlgorithm algorithm, const Str *parts, size_t count,
                    const Str *macs, size_t mac_count);

// sign_equals tells whether a text is one of the secrets, for those who send it instead of signing.
bool sign_equals(const HookTrust *trust, Str text);

// sign_age says whether what was signed at a moment may come now: HOOK_OLD more than behind after
// it, HOOK_AHEAD more than ahead before it, HOOK_UNDATED where there is no moment.
HookVerdict sign_age(Instant signed_at, Instant now, Span behind, Span ahead);

// sign_seconds reads a moment that is written in whole seconds since 1970, or gives INSTANT_NONE.
// sign_dated finds one in a header that must be there once, and says whether it lies within the
// window from now, before or behind; ret is its text, which is what was signed.
Instant sign_seconds(Str text);
HookVerdict sign_dated(const Hook *hook, Str header, Span window, Str *ret);

// sign_text is a signature as the form writes it, with its prefix. sign_body is the whole of a
// provider's sign where the body is signed as the form says: one header.
Str sign_text(Arena *arena, const SignForm *form, Str secret, const Str *parts, size_t count);
size_t sign_body(Arena *arena, const SignForm *form, const Hook *hook, Str secret, HookHeader *ret);
