#include "base/crypto.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sodium.h>

enum {
    NONCE_LEN = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    TAG_LEN = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    KEY_ID_DIGITS = 8,
};

_Static_assert(MASTER_KEY_LEN == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "one key length");

// Looking an algorithm up costs more than hashing a short text, so it happens once; a context is
// made once per thread.
typedef struct Contexts {
    EVP_MD_CTX *digest;
    EVP_MAC_CTX *hmac[HMAC_ALGORITHMS];
} Contexts;

static const struct {
    const char *digest;
    size_t len;
} hmacs[] = {
    [HMAC_SHA1] = { "SHA1", 20 },
    [HMAC_SHA256] = { "SHA256", SHA256_LEN },
    [HMAC_SHA512] = { "SHA512", HMAC_LEN_MAX },
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t contexts_key; // of each thread's Contexts
static EVP_MD *digest_algorithm;
static EVP_MAC *hmac_algorithm;

// must stops the program: a hash that cannot be made leaves nothing safe to do.
static void must(bool is_done)
{
    if (is_done)
        return;
    fprintf(stderr, "peal: the cryptography library failed\n");
    abort();
}

static void free_contexts(void *at)
{
    Contexts *contexts = at;
    EVP_MD_CTX_free(contexts->digest);
    for (size_t i = 0; i < HMAC_ALGORITHMS; i++)
        EVP_MAC_CTX_free(contexts->hmac[i]);
    free(contexts);
}

static void start(void)
{
    digest_algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
    hmac_algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    must(digest_algorithm && hmac_algorithm);
    must(pthread_key_create(&contexts_key, free_contexts) == 0);
    must(sodium_init() >= 0);
}

static EVP_MAC_CTX *new_hmac(const char *digest)
{
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(hmac_algorithm);
    must(context);
    char name[8];
    snprintf(name, sizeof name, "%s", digest);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_construct_end(),
    };
    must(EVP_MAC_CTX_set_params(context, params) == 1);
    return context;
}

static Contexts *thread_contexts(void)
{
    pthread_once(&once, start);
    Contexts *contexts = pthread_getspecific(contexts_key);
    if (contexts)
        return contexts;
    contexts = memory_new(sizeof *contexts);
    contexts->digest = EVP_MD_CTX_new();
    must(contexts->digest);
    for (size_t i = 0; i < HMAC_ALGORITHMS; i++)
        contexts->hmac[i] = new_hmac(hmacs[i].digest);
    must(pthread_setspecific(contexts_key, contexts) == 0);
    return contexts;
}

static const uint8_t *bytes_of(Str s)
{
    return (const uint8_t *) (s.at ? s.at : "");
}

Sha256 sha256(Str data)
{
    EVP_MD_CTX *context = thread_contexts()->digest;
    Sha256 hash;
    must(EVP_DigestInit_ex2(context, digest_algorithm, NULL) == 1);
    must(EVP_DigestUpdate(context, bytes_of(data), data.len) == 1);
    must(EVP_DigestFinal_ex(context, hash.b, NULL) == 1);
    return hash;
}

size_t hmac_len(HmacAlgorithm algorithm)
{
    return hmacs[algorithm].len;
}

Hmac hmac(HmacAlgorithm algorithm, Str key, const Str *parts, size_t count)
{
    EVP_MAC_CTX *context = thread_contexts()->hmac[algorithm];
    Hmac mac = { 0 };
    // The key is never NULL, not even when it is empty: NULL would mean the one before.
    must(EVP_MAC_init(context, bytes_of(key), key.len, NULL) == 1);
    for (size_t i = 0; i < count; i++)
        must(EVP_MAC_update(context, bytes_of(parts[i]), parts[i].len) == 1);
    must(EVP_MAC_final(context, mac.b, &mac.len, sizeof mac.b) == 1);
    must(mac.len == hmacs[algorithm].len);
    return mac;
}

Sha256 hmac_sha256(Str key, Str data)
{
    Hmac mac = hmac(HMAC_SHA256, key, &data, 1);
    Sha256 hash;
    memcpy(hash.b, mac.b, sizeof hash.b);
    return hash;
}

bool crypto_equal(Str a, Str b)
{
    return a.len == b.len && sodium_memcmp(bytes_of(a), bytes_of(b), a.len) == 0;
}

void crypto_wipe(void *at, size_t len)
{
    sodium_memzero(at, len);
}

Str hex_text(Arena *arena, const void *at, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = at;
    char *text = arena_alloc(arena, 2 * len + 1);
    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[from[i] >> 4];
        text[2 * i + 1] = digits[from[i] & 0x0f];
    }
    return (Str){ text, 2 * len };
}

bool hex_parse(Arena *arena, Str text, Str *ret)
{
    if (text.len % 2 != 0)
        return false;
    char *bytes = arena_alloc(arena, text.len / 2 + 1);
    for (size_t i = 0; i < text.len; i += 2) {
        int high = str_hex_value(text.at[i]), low = str_hex_value(text.at[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (char) (high << 4 | low);
    }
    *ret = (Str){ bytes, text.len / 2 };
    return true;
}

Str base64_text(Arena *arena, Str data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *from = bytes_of(data);
    size_t len = (data.len + 2) / 3 * 4;
    char *text = arena_alloc(arena, len + 1), *to = text;
    for (size_t i = 0; i < data.len; i += 3) {
        size_t left = data.len - i;
        uint32_t group = (uint32_t) from[i] << 16;
        group |= left > 1 ? (uint32_t) from[i + 1] << 8 : 0;
        group |= left > 2 ? from[i + 2] : 0;
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[group & 63] : '=';
    }
    return (Str){ text, len };
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    if (c == '/' || c == '_')
        return 63;
    return -1;
}

bool base64_parse(Arena *arena, Str text, Str *ret)
{
    // Padding, where there is any, must complete the last group of four.
    size_t padding = 0;
    while (padding < 2 && padding < text.len && text.at[text.len - 1 - padding] == '=')
        padding++;
    if (padding > 0 && text.len % 4 != 0)
        return false;
    size_t digits = text.len - padding;
    if (digits % 4 == 1)
        return false;
    char *bytes = arena_alloc(arena, digits / 4 * 3 + 3);
    size_t len = 0;
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < digits; i++) {
        int value = base64_value(text.at[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t) value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes[len++] = (char) (bits >> held);
        }
    }
    // Left-over bits must be zero, so that two texts never mean the same bytes.
    if (bits & ((1u << held) - 1))
        return false;
    *ret = (Str){ bytes, len };
    return true;
}

Err key_ring_add(KeyRing *ring, Str key, Error *error)
{
    if (key.len != MASTER_KEY_LEN)
        return fail(error, ERR_SETUP, "a master key has %d bytes, this one %zu", MASTER_KEY_LEN,
                    key.len);
    if (ring->count == KEY_RING_MAX)
        return fail(error, ERR_SETUP, "there are more than %d master keys", KEY_RING_MAX);
    Sha256 hash = sha256(key);
    uint32_t id = (uint32_t) hash.b[0] << 24 | (uint32_t) hash.b[1] << 16 |
                  (uint32_t) hash.b[2] << 8 | hash.b[3];
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i].id == id)
            return fail(error, ERR_SETUP, "the master key %08x is given twice", id);
    ring->keys[ring->count].id = id;
    memcpy(ring->keys[ring->count].key, key.at, MASTER_KEY_LEN);
    ring->count++;
    return ERR_OK;
}

Str crypto_seal(Arena *arena, const KeyRing *ring, Random *random, Str binding, Str secret)
{
    assert(ring->count > 0);
    pthread_once(&once, start);
    size_t newest = ring->count - 1;
    size_t len = NONCE_LEN + secret.len + TAG_LEN;
    uint8_t *sealed = arena_alloc(arena, len);
    random_fill(random, sealed, NONCE_LEN);
    int failed = crypto_aead_xchacha20poly1305_ietf_encrypt(
        sealed + NONCE_LEN, NULL, bytes_of(secret), secret.len, bytes_of(binding), binding.len,
        NULL, sealed, ring->keys[newest].key);
    must(!failed);
    Str text = base64_text(arena, (Str){ (const char *) sealed, len });
    return str_format(arena, "v1.%08x.%.*s", ring->keys[newest].id, STR_ARG(text));
}

bool crypto_is_newest(const KeyRing *ring, Str sealed)
{
    char head[3 + KEY_ID_DIGITS + 2] = "";
    if (ring->count == 0)
        return false;
    snprintf(head, sizeof head, "v1.%08x.", ring->keys[ring->count - 1].id);
    return str_starts(sealed, str_from(head));
}

static const uint8_t *find_key(const KeyRing *ring, uint32_t id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i].id == id)
            return ring->keys[i].key;
    return NULL;
}

// read_sealed takes the text apart; box is nonce and ciphertext.
static bool read_sealed(Arena *arena, Str sealed, uint32_t *ret_id, Str *ret_box)
{
    Str rest = sealed, id;
    if (!str_eq(str_cut(&rest, '.'), S("v1")))
        return false;
    Str digits = str_cut(&rest, '.');
    if (digits.len != KEY_ID_DIGITS || !hex_parse(arena, digits, &id))
        return false;
    if (!base64_parse(arena, rest, ret_box) || ret_box->len < NONCE_LEN + TAG_LEN)
        return false;
    const uint8_t *b = bytes_of(id);
    *ret_id = (uint32_t) b[0] << 24 | (uint32_t) b[1] << 16 | (uint32_t) b[2] << 8 | b[3];
    return true;
}

Err crypto_open(Arena *arena, const KeyRing *ring, Str binding, Str sealed, Str *ret, Error *error)
{
    uint32_t id;
    Str box;
    if (!read_sealed(arena, sealed, &id, &box))
        return fail(error, ERR_CORRUPT, "a stored secret cannot be read");
    const uint8_t *key = find_key(ring, id);
    if (!key)
        return fail(error, ERR_CORRUPT, "a stored secret needs the master key %08x", id);
    pthread_once(&once, start);
    size_t len = box.len - NONCE_LEN - TAG_LEN;
    char *secret = arena_alloc(arena, len + 1);
    const uint8_t *nonce = bytes_of(box);
    int failed = crypto_aead_xchacha20poly1305_ietf_decrypt(
        (uint8_t *) secret, NULL, NULL, nonce + NONCE_LEN, box.len - NONCE_LEN, bytes_of(binding),
        binding.len, nonce, key);
    if (failed)
        return fail(error, ERR_CORRUPT, "a stored secret does not belong where it stands");
    *ret = (Str){ secret, len };
    return ERR_OK;
}
