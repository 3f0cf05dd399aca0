// crypto.h - hashes, signatures, comparisons in constant time, secrets at rest, base64 and hex.
//
// Hashing is OpenSSL's, sealing is libsodium's XChaCha20-Poly1305 with a random nonce. A KeyRing
// holds one or more master keys; sealing uses the newest, opening tries the one that is named.
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/random.h"
#include "base/str.h"

enum { SHA256_LEN = 32, MASTER_KEY_LEN = 32, KEY_RING_MAX = 8 };

typedef struct Sha256 {
    uint8_t b[SHA256_LEN];
} Sha256;

Sha256 sha256(Str data);
Sha256 hmac_sha256(Str key, Str data);

// Hmac is a signature by a shared key; hmac makes that of parts as if they stood one behind the
// other, so that nobody copies a long body to put a few bytes before it.
typedef enum HmacAlgorithm { HMAC_SHA1, HMAC_SHA256, HMAC_SHA512 } HmacAlgorithm;
enum { HMAC_ALGORITHMS = HMAC_SHA512 + 1, HMAC_LEN_MAX = 64 };

typedef struct Hmac {
    uint8_t b[HMAC_LEN_MAX];
    size_t len;
} Hmac;

Hmac hmac(HmacAlgorithm algorithm, Str key, const Str *parts, size_t count);
size_t hmac_len(HmacAlgorithm algorithm); // of what it makes, in bytes
bool crypto_equal(Str a, Str b);          // constant time for equal lengths

Str hex_text(Arena *arena, const void *at, size_t len); // lower case
bool hex_parse(Arena *arena, Str text, Str *ret);
Str base64_text(Arena *arena, Str data);             // standard alphabet, padded
bool base64_parse(Arena *arena, Str text, Str *ret); // standard or URL-safe, padding optional

typedef struct KeyRing {
    size_t count; // oldest first
    struct {
        uint32_t id; // of the key: the first four bytes of its SHA-256
        uint8_t key[MASTER_KEY_LEN];
    } keys[KEY_RING_MAX];
} KeyRing;

// key_ring_add appends a master key of MASTER_KEY_LEN bytes; it becomes the one that seals.
Err key_ring_add(KeyRing *ring, Str key, Error *error) MUST_USE;

// crypto_seal returns "v1.<key id>.<base64>"; binding is the row's identity and must be given again
// to open. Opening fails with ERR_CORRUPT where text, key or binding do not fit.
Str crypto_seal(Arena *arena, const KeyRing *ring, Random *random, Str binding, Str secret);
Err crypto_open(Arena *arena, const KeyRing *ring, Str binding, Str sealed, Str *ret,
                Error *error) MUST_USE;

// crypto_is_newest tells whether a sealed text names the key that seals now.
bool crypto_is_newest(const KeyRing *ring, Str sealed);

// crypto_wipe overwrites memory that held a secret.
void crypto_wipe(void *at, size_t len);
