#include "fixture.h"

#include "store/seal.h"

// What registry.h promises of secrets that cannot be opened, and what seal.h does.

static KeyRing ring_of(char first, char second)
{
    KeyRing ring = { 0 };
    char key[MASTER_KEY_LEN];
    for (int i = 0; i < 2 && (i ? second : first); i++) {
        memset(key, i ? second : first, sizeof key);
        must(NULL, key_ring_add(&ring, (Str){ key, sizeof key }, NULL), __FILE__, __LINE__);
    }
    return ring;
}

// sealed_channel makes a channel with the secret "open sesame" as its member "word".
static void sealed_channel(Store *store, const char *key, const KeyRing *ring)
{
    Str binding = str_format(&store->arena, "channel/%d/%s/word", TENANT, key);
    Str sealed = crypto_seal(&store->arena, ring, &store->random, binding, S("\"open sesame\""));
    channel_with(store, TENANT, key,
                 str_format(&store->arena, "{\"plain\":1,\"word\":{\"$sealed\":\"%.*s\"}}",
                            STR_ARG(sealed)));
}

static Registry *load(Store *store, const KeyRing *ring)
{
    Registry *registry = NULL;
    MUST(store, registry_load(store->db, ring, &registry, &store->error));
    return registry;
}

static const RegistryLane *lane_named(const Registry *registry, const char *key)
{
    return registry_lane(registry, registry_lane_of(registry, TENANT, str_from(key)));
}

static void a_secret_is_opened_with_its_key(void)
{
    STORE(store);
    KeyRing ring = ring_of('a', 'b');
    sealed_channel(&store, "http:x", &ring);
    Registry *registry = load(&store, &ring);
    const RegistryChannel *found = registry_channel(registry, TENANT, S("http:x"));
    CHECK(found && !found->is_sealed && registry->sealed.count == 0);
    CHECK(!found->opened); // it was tried, and forgotten again
    const Json *config = registry_config(registry, found);
    CHECK(is_text(json_str(json_get(config, S("word"))), "open sesame"));
    CHECK(json_get(config, S("plain")) && registry_config(registry, found) == config);
    CHECK(registry_lane_may_send(lane_named(registry, "http:x")));
    registry_drop(registry);
}

// Left out, the secret would make an unsigned message of a signed one.
static void a_channel_whose_secret_cannot_be_opened_may_not_send(void)
{
    STORE(store);
    KeyRing right = ring_of('a', 0), wrong = ring_of('b', 0), none = { 0 };
    const KeyRing *unfit[] = { &wrong, &none, NULL };
    sealed_channel(&store, "http:x", &right);
    channel(&store, TENANT, "memory:plain");
    for (size_t i = 0; i < ARRAY_LEN(unfit); i++) {
        Registry *registry = load(&store, unfit[i]);
        const RegistryChannel *found = registry_channel(registry, TENANT, S("http:x"));
        CHECK(found && found->is_sealed && !found->opened);
        CHECK(registry->sealed.count == 1);
        CHECK(!registry_lane_may_send(lane_named(registry, "http:x")));
        CHECK(registry_lane_may_send(lane_named(registry, "memory:plain")));
        CHECK(is_text(registry_wait(&store.arena, found),
                      "channel http:x waits: its secret cannot be opened with this master key"));
        registry_drop(registry);
    }
}

static void a_lane_without_a_channel_is_not_held_back(void)
{
    CHECK(registry_lane_may_send(&(RegistryLane){ .lane = 1 })); // its deliveries park
}

static SealFit fit(Store *store, const KeyRing *ring)
{
    SealFit fit = SEAL_FITS;
    Registry *registry = load(store, ring);
    MUST(store, seal_fit(store->db, &store->arena, ring, registry, &fit, &store->error));
    registry_drop(registry);
    return fit;
}

static Err mark(Tx *tx, void *with, Error *error)
{
    seal_mark(tx, with);
    return tx_sync(tx, error);
}

static void a_database_knows_the_key_it_is_sealed_with(void)
{
    STORE(store);
    KeyRing none = { 0 }, first = ring_of('a', 0), both = ring_of('a', 'b');
    KeyRing second = ring_of('b', 0), other = ring_of('c', 0);
    CHECK(fit(&store, &none) == SEAL_UNMARKED && fit(&store, &first) == SEAL_UNMARKED);
    MUST(&store, writer_run(store.writer, mark, &first, &store.error));
    CHECK(fit(&store, &first) == SEAL_FITS);
    CHECK(fit(&store, &both) == SEAL_OUTDATED); // the mark wants the newest
    CHECK(fit(&store, &second) == SEAL_FOREIGN && fit(&store, &other) == SEAL_FOREIGN);
    CHECK(fit(&store, &none) == SEAL_FOREIGN);
    MUST(&store, writer_run(store.writer, mark, &both, &store.error));
    CHECK(fit(&store, &both) == SEAL_FITS && fit(&store, &second) == SEAL_FITS);
    CHECK(fit(&store, &first) == SEAL_FOREIGN); // it could not read what is sealed from now on
}

// Databases from before the mark have none, but may hold secrets.
static void secrets_without_a_mark_tell_a_foreign_key(void)
{
    STORE(store);
    KeyRing right = ring_of('a', 0), wrong = ring_of('b', 0), none = { 0 };
    sealed_channel(&store, "http:x", &right);
    CHECK(fit(&store, &right) == SEAL_UNMARKED);
    CHECK(fit(&store, &wrong) == SEAL_FOREIGN && fit(&store, &none) == SEAL_FOREIGN);
}

static const Test tests[] = {
    TEST(a_secret_is_opened_with_its_key),
    TEST(a_channel_whose_secret_cannot_be_opened_may_not_send),
    TEST(a_lane_without_a_channel_is_not_held_back),
    TEST(a_database_knows_the_key_it_is_sealed_with),
    TEST(secrets_without_a_mark_tell_a_foreign_key),
};
PART(secrets_part, tests);
