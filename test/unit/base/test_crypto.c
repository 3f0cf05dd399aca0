#include "base/crypto.h"
#include "test.h"

#include <pthread.h>

static bool is_hash(Arena *arena, Sha256 hash, const char *hex)
{
    return str_eq(hex_text(arena, hash.b, sizeof hash.b), str_from(hex));
}

static void sha256_matches_known_answers(void)
{
    static const struct {
        const char *data, *hex;
    } rows[] = {
        { NULL, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    // Twice, because the second time the context is used again.
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        size_t row = i % ARRAY_LEN(rows);
        CHECK_AT(rows[row].hex, is_hash(&arena, sha256(str_from(rows[row].data)), rows[row].hex));
    }
}

static void hmac_matches_known_answers(void)
{
    static char long_key[131], short_key[20];
    memset(long_key, 0xaa, sizeof long_key);
    memset(short_key, 0x0b, sizeof short_key);
    // From RFC 4231; the keyless rows stand between others, where an old key would show.
    const struct {
        Str key, data;
        const char *hex;
    } rows[] = {
        { { short_key, sizeof short_key },
          S("Hi There"),
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
        { STR_NONE, STR_NONE, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad" },
        { S("Jefe"), S("what do ya want for nothing?"),
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { S(""), S(""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad" },
        { { long_key, sizeof long_key },
          S("Test Using Larger Than Block-Size Key - Hash Key First"),
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        size_t row = i % ARRAY_LEN(rows);
        CHECK_AT(rows[row].hex,
                 is_hash(&arena, hmac_sha256(rows[row].key, rows[row].data), rows[row].hex));
    }
}

// hash_many returns its argument where a hash was wrong, NULL otherwise.
static void *hash_many(void *wrong)
{
    Sha256 expected = sha256(S("abc"));
    for (int i = 0; i < 2000; i++) {
        Sha256 hash = sha256(S("abc"));
        Sha256 signature = hmac_sha256(S("Jefe"), S("what do ya want for nothing?"));
        if (memcmp(hash.b, expected.b, sizeof hash.b) != 0 || signature.b[0] != 0x5b)
            return wrong;
    }
    return NULL;
}

static void threads_hash_side_by_side(void)
{
    pthread_t threads[4];
    int wrong;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, hash_many, &wrong) == 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        CHECK(!failed);
    }
}

static void texts_are_equal_or_not(void)
{
    CHECK(crypto_equal(S("secret"), S("secret")));
    CHECK(!crypto_equal(S("secret"), S("secreT")));
    CHECK(!crypto_equal(S("xecret"), S("secret")));
    CHECK(!crypto_equal(S("secret"), S("secre")));
    CHECK(!crypto_equal(S(""), S("s")));
    CHECK(crypto_equal(STR_NONE, S("")));
}

static void hex_reads_back(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str bytes = STR_NONE;
    CHECK(str_eq(hex_text(&arena, "\x00\x9f\xff", 3), S("009fff")));
    CHECK(str_eq(hex_text(&arena, NULL, 0), S("")));
    CHECK(hex_parse(&arena, S("009FfF"), &bytes) && str_eq(bytes, S("\x00\x9f\xff")));
    CHECK(hex_parse(&arena, S(""), &bytes) && bytes.len == 0);
    static const char *const bad[] = { "0", "0g", "g0", "00 ", " 0", "0x00", "000" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i], !hex_parse(&arena, str_from(bad[i]), &bytes));
}

static void base64_matches_known_answers(void)
{
    static const struct {
        const char *data, *text;
    } rows[] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
        { "\xfb\xff\xfe", "+//+" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str data = str_from(rows[i].data), text = str_from(rows[i].text), back = STR_NONE;
        CHECK_AT(rows[i].text, str_eq(base64_text(&arena, data), text));
        CHECK_AT(rows[i].text, base64_parse(&arena, text, &back) && str_eq(back, data));
        while (text.len > 0 && text.at[text.len - 1] == '=')
            text.len--;
        CHECK_AT(rows[i].text, base64_parse(&arena, text, &back) && str_eq(back, data));
    }
    Str back = STR_NONE;
    CHECK(base64_parse(&arena, S("-__-"), &back) && str_eq(back, S("\xfb\xff\xfe")));
}

static void other_base64_is_refused(void)
{
    static const char *const rows[] = {
        "Z",    "Zm9vY", "Zg=",  "Zg===",    "Zm9v=",    "Zm9v==", "=",
        "==",   "====",  "Z===", "Zm=8",     "Zm 8",     "Zm8\n",  "Zm9*",
        "Zh==", "Zh",    "Zm9=", "Zm9v====", "Zm8=Zm8=",
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str back = S("untouched");
        CHECK_AT(rows[i], !base64_parse(&arena, str_from(rows[i]), &back));
        CHECK_AT(rows[i], str_eq(back, S("untouched")));
    }
}

static const char key_a[] = "0123456789abcdef0123456789abcdef";
static const char key_b[] = "fedcba9876543210fedcba9876543210";

static KeyRing ring_of(const char *first, const char *second)
{
    KeyRing ring = { 0 };
    CHECK(key_ring_add(&ring, str_from(first), NULL) == ERR_OK);
    if (second)
        CHECK(key_ring_add(&ring, str_from(second), NULL) == ERR_OK);
    return ring;
}

static void a_secret_opens_where_it_was_sealed(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_system();
    KeyRing ring = ring_of(key_a, NULL);
    const Str secrets[] = { S("hunter2"), S(""), S("a\0b") };
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        Str sealed = crypto_seal(&arena, &ring, &random, S("channel/1"), secrets[i]), back;
        CHECK(!str_contains(sealed, S("hunter2")) && str_is_printable(sealed));
        CHECK(crypto_open(&arena, &ring, S("channel/1"), sealed, &back, NULL) == ERR_OK);
        CHECK(str_eq(back, secrets[i]));
        Str again = crypto_seal(&arena, &ring, &random, S("channel/1"), secrets[i]);
        CHECK(!str_eq(sealed, again));
    }
}

static void sealed_text_names_its_key(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_seeded(1);
    KeyRing ring = ring_of(key_a, key_b);
    Str sealed = crypto_seal(&arena, &ring, &random, S(""), S("x"));
    Sha256 hash = sha256(str_from(key_b));
    Str rest = sealed;
    CHECK(str_eq(str_cut(&rest, '.'), S("v1")));
    CHECK(str_eq(str_cut(&rest, '.'), hex_text(&arena, hash.b, 4)));
    Str box;
    CHECK(base64_parse(&arena, rest, &box) && box.len == 24 + 1 + 16);
}

static void old_secrets_open_after_a_new_key_came(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_system();
    KeyRing before = ring_of(key_a, NULL), after = ring_of(key_a, key_b);
    Str sealed = crypto_seal(&arena, &before, &random, S("b"), S("old")), back;
    CHECK(crypto_open(&arena, &after, S("b"), sealed, &back, NULL) == ERR_OK);
    CHECK(str_eq(back, S("old")));
    Str fresh = crypto_seal(&arena, &after, &random, S("b"), S("new"));
    Error error = { 0 };
    CHECK(crypto_open(&arena, &before, S("b"), fresh, &back, &error) == ERR_CORRUPT);
    Sha256 hash = sha256(str_from(key_b));
    CHECK(str_contains(str_from(error.detail), hex_text(&arena, hash.b, 4)));
}

static void a_secret_does_not_open_elsewhere(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_system();
    KeyRing ring = ring_of(key_a, NULL);
    Str sealed = crypto_seal(&arena, &ring, &random, S("channel/1"), S("hunter2"));
    Str back = S("untouched");
    CHECK(crypto_open(&arena, &ring, S("channel/2"), sealed, &back, NULL) == ERR_CORRUPT);
    CHECK(crypto_open(&arena, &ring, S(""), sealed, &back, NULL) == ERR_CORRUPT);
    CHECK(str_eq(back, S("untouched")));
}

static void another_key_under_the_same_name_does_not_open(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_system();
    KeyRing ring = ring_of(key_a, NULL);
    CHECK(memcmp(ring.keys[0].key, key_a, MASTER_KEY_LEN) == 0);
    Str sealed = crypto_seal(&arena, &ring, &random, S("b"), S("hunter2")), back;
    ring.keys[0].key[31] ^= 1;
    CHECK(crypto_open(&arena, &ring, S("b"), sealed, &back, NULL) == ERR_CORRUPT);
}

static void no_character_of_a_sealed_text_may_change(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Random random = random_system();
    KeyRing ring = ring_of(key_a, NULL);
    // A secret of this length needs no padding, which could be cut off without harm.
    Str sealed = crypto_seal(&arena, &ring, &random, S("b"), S("hunter22")), back;
    char *text = arena_copy(&arena, sealed.at, sealed.len);
    for (size_t i = 0; i < sealed.len; i++) {
        text[i] = text[i] == 'A' ? 'B' : 'A';
        Str changed = { text, sealed.len };
        CHECK_AT(sealed.at + i,
                 crypto_open(&arena, &ring, S("b"), changed, &back, NULL) == ERR_CORRUPT);
        text[i] = sealed.at[i];
        Str cut = { text, i };
        CHECK_AT(sealed.at + i,
                 crypto_open(&arena, &ring, S("b"), cut, &back, NULL) == ERR_CORRUPT);
    }
}

static void a_ring_refuses_bad_keys(void)
{
    KeyRing ring = ring_of(key_a, NULL);
    Error error = { 0 };
    CHECK(key_ring_add(&ring, S("short"), &error) == ERR_SETUP);
    CHECK(!str_contains(str_from(error.detail), S("short")));
    CHECK(key_ring_add(&ring, S("0123456789abcdef0123456789abcdef0"), NULL) == ERR_SETUP);
    CHECK(key_ring_add(&ring, str_from(key_a), NULL) == ERR_SETUP);
    CHECK(ring.count == 1);
    for (char c = 'a'; ring.count < KEY_RING_MAX; c++) {
        char key[MASTER_KEY_LEN];
        memset(key, c, sizeof key);
        CHECK(key_ring_add(&ring, (Str){ key, sizeof key }, NULL) == ERR_OK);
    }
    CHECK(key_ring_add(&ring, str_from(key_b), NULL) == ERR_SETUP);
    CHECK(ring.count == KEY_RING_MAX);
}

static void wiped_memory_is_zero(void)
{
    char secret[] = "hunter2", zero[sizeof secret] = { 0 };
    crypto_wipe(secret, sizeof secret);
    CHECK(memcmp(secret, zero, sizeof secret) == 0);
}

static const Test tests[] = {
    TEST(sha256_matches_known_answers),
    TEST(hmac_matches_known_answers),
    TEST(threads_hash_side_by_side),
    TEST(texts_are_equal_or_not),
    TEST(hex_reads_back),
    TEST(base64_matches_known_answers),
    TEST(other_base64_is_refused),
    TEST(a_secret_opens_where_it_was_sealed),
    TEST(sealed_text_names_its_key),
    TEST(old_secrets_open_after_a_new_key_came),
    TEST(a_secret_does_not_open_elsewhere),
    TEST(another_key_under_the_same_name_does_not_open),
    TEST(no_character_of_a_sealed_text_may_change),
    TEST(a_ring_refuses_bad_keys),
    TEST(wiped_memory_is_zero),
};
TEST_MAIN(tests)
