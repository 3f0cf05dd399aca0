#include "fixture.h"

#include "base/time.h"
#include "store/definition.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/meta.h"
#include "store/tenant.h"

#include <pthread.h>

// What registry.h promises of snapshots that are made from each other, and writer.h of who makes
// them.

enum { LINES_MAX = 1 << 14, MANY = 2000 };

// Lines is a snapshot in words, in an order of its own.
typedef struct Lines {
    Arena *arena;
    const Registry *registry;
    Str *lines;
    size_t count;
} Lines;

static void add_line(Lines *lines, Str line)
{
    lines->lines[lines->count++] = line;
}

static void describe_kind(Lines *lines, const RegistryTenant *tenant, const RegistryKind *kind,
                          const char *word)
{
    Buf line = buf_new(lines->arena, 1 << 20);
    buf_add_format(&line, "%s %lld %.*s:", word, (long long) tenant->tenant, STR_ARG(kind->kind));
    for (size_t i = 0; i < kind->count; i++) {
        const RegistryTrigger *trigger = kind->triggers[i];
        const Trigger *compiled = registry_compiled(trigger, lines->arena);
        buf_add_format(&line, " %.*s/%lld/%lld/%lld/%d", STR_ARG(compiled->rule.id),
                       (long long) trigger->rule, (long long) trigger->version,
                       (long long) trigger->lane, compiled->enabled);
    }
    add_line(lines, buf_str(&line));
}

typedef struct OfTenant {
    Lines *lines;
    const RegistryTenant *tenant;
} OfTenant;

static void describe_listeners(void *with, TrieItem *item)
{
    const OfTenant *of = with;
    describe_kind(of->lines, of->tenant, (RegistryKind *) item, "listen");
}

static void describe_recallers(void *with, TrieItem *item)
{
    const OfTenant *of = with;
    describe_kind(of->lines, of->tenant, (RegistryKind *) item, "recall");
}

static void describe_channel(void *with, TrieItem *item)
{
    const OfTenant *of = with;
    const RegistryChannel *channel = (RegistryChannel *) item;
    const Json *config = channel->is_sealed ? NULL : registry_config(of->lines->registry, channel);
    add_line(of->lines, str_format(of->lines->arena, "channel %lld %.*s/%lld %d %.*s",
                                   (long long) channel->tenant, STR_ARG(channel->definition.key),
                                   (long long) channel->version, channel->is_sealed,
                                   STR_ARG(json_text(of->lines->arena, config))));
}

// describe_source also finds it by its path and by its name.
static void describe_source(void *with, TrieItem *item)
{
    const OfTenant *of = with;
    const RegistryHook *hook = (RegistryHook *) item;
    CHECK(registry_hook(of->lines->registry, hook->path) == hook);
    CHECK(registry_source(of->lines->registry, hook->tenant, hook->source) == hook);
    add_line(of->lines,
             str_format(of->lines->arena, "source %lld %.*s/%lld at %.*s %d %d",
                        (long long) hook->tenant, STR_ARG(hook->source), (long long) hook->version,
                        STR_ARG(hook->path), hook->is_enabled, hook->is_sealed));
}

static void describe_tenant(void *with, TrieItem *item)
{
    Lines *lines = with;
    const RegistryTenant *tenant = (RegistryTenant *) item;
    OfTenant of = { lines, tenant };
    add_line(lines, str_format(lines->arena, "tenant %lld %.*s %.*s, triggers: %zu",
                               (long long) tenant->tenant, STR_ARG(tenant->id),
                               STR_ARG(tenant->name), tenant->triggers.count));
    trie_each(&tenant->kinds, describe_listeners, &of);
    trie_each(&tenant->off_kinds, describe_recallers, &of);
    trie_each(&tenant->channels, describe_channel, &of);
    trie_each(&tenant->sources, describe_source, &of);
}

static void describe_key(void *with, TrieItem *item)
{
    Lines *lines = with;
    const RegistryKey *key = (RegistryKey *) item;
    char id[UUID_TEXT_LEN + 1];
    add_line(lines, str_format(lines->arena, "key %.*s %lld %s %d", STR_ARG(uuid_text(key->id, id)),
                               (long long) key->tenant, role_text(key->role), key->is_system));
}

static void describe_lane(void *with, TrieItem *item)
{
    Lines *lines = with;
    const RegistryLane *lane = (RegistryLane *) item;
    const RegistryChannel *channel = lane->channel;
    add_line(lines,
             str_format(lines->arena, "lane %lld %lld %.*s -> %.*s/%lld %d", (long long) lane->lane,
                        (long long) lane->tenant, STR_ARG(lane->channel_key),
                        STR_ARG(channel ? channel->definition.key : S("none")),
                        channel ? (long long) channel->version : 0, registry_lane_may_send(lane)));
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const Str *) a, *(const Str *) b);
}

static Str describe(Store *store, const Registry *registry)
{
    Lines lines = { .arena = &store->arena,
                    .registry = registry,
                    .lines = ARENA_ARRAY(&store->arena, Str, LINES_MAX) };
    trie_each(&registry->tenants, describe_tenant, &lines);
    trie_each(&registry->keys, describe_key, &lines);
    trie_each(&registry->lanes, describe_lane, &lines);
    qsort(lines.lines, lines.count, sizeof(Str), by_text);
    Buf text = buf_new(&store->arena, 16 << 20);
    buf_add_format(&text, "%lld held %d sealed %zu paths %zu: %.*s\n",
                   (long long) registry->generation, registry->is_held, registry->sealed.count,
                   registry->paths.count, STR_ARG(registry->hold_reason));
    for (size_t i = 0; i < lines.count; i++)
        buf_add_format(&text, "%.*s\n", STR_ARG(lines.lines[i]));
    return buf_str(&text);
}

static void check_same(Store *store, int step, const Registry *made, const Registry *whole)
{
    Str is = describe(store, made), should_be = describe(store, whole);
    CHECK(str_eq(is, should_be));
    if (!str_eq(is, should_be))
        printf("# step %d: is\n%.*s# should be\n%.*s", step, STR_ARG(is), STR_ARG(should_be));
}

// World is what the moves of the model test are made on.
typedef struct World {
    Store *store;
    Random random;
    const KeyRing *ring;
    Key keys[40];
    int key_count;
    int step;
} World;

static int draw(World *world, int below)
{
    return (int) (random_u64(&world->random) % (unsigned) below);
}

static Err put(Tx *tx, int64_t tenant, Str kind, Str id, Str body, Error *error)
{
    Definition made;
    Error taken = { 0 };
    Err err = definition_create(tx, tenant, kind, id, body, &made, &taken);
    if (err == ERR_EXISTS)
        return definition_replace(tx, tenant, kind, id, DEFINITION_ANY_VERSION, body, &made, error);
    return err == ERR_OK ? ERR_OK : fail(error, err, "%s", taken.detail);
}

static int64_t draw_tenant(World *world)
{
    return 1 + draw(world, 3);
}

static Err save_trigger(Tx *tx, void *with, Error *error)
{
    World *world = with;
    int64_t tenant = draw_tenant(world);
    Str id = str_format(&tx->arena, "t%d", draw(world, 8));
    Str channel = str_format(&tx->arena, "memory:%d", draw(world, 5));
    Str cancel = draw(world, 3) ? S("")
                                : str_format(&tx->arena,
                                             ",\"cancelOn\":{\"eventKind\":\"k%d\","
                                             "\"match\":[\"candidate.x\"]}",
                                             draw(world, 3));
    Str body = str_format(&tx->arena,
                          "{\"id\":\"%.*s\",\"eventKind\":\"k%d\",\"channel\":\"%.*s\","
                          "\"enabled\":%s%.*s}",
                          STR_ARG(id), draw(world, 3), STR_ARG(channel),
                          draw(world, 2) ? "true" : "false", STR_ARG(cancel));
    if (draw(world, 10) == 0)
        body = S("{\"id\":5}"); // valid once, for an older Peal
    TRY(put(tx, tenant, DEFINITION_TRIGGER, id, body, error));
    return lane_ensure(tx, tenant, channel, error);
}

static Err save_channel(Tx *tx, void *with, Error *error)
{
    World *world = with;
    int64_t tenant = draw_tenant(world);
    Str key = str_format(&tx->arena, "memory:%d", draw(world, 5));
    Str binding =
        str_format(&tx->arena, "channel/%lld/%.*s/word", (long long) tenant, STR_ARG(key));
    if (draw(world, 3) == 0)
        binding = S("elsewhere"); // it cannot be opened here
    Str sealed = crypto_seal(&tx->arena, world->ring, tx->random, binding, S("\"x\""));
    Str body = str_format(&tx->arena,
                          "{\"key\":\"%.*s\",\"type\":\"memory\","
                          "\"config\":{\"word\":{\"$sealed\":\"%.*s\"}}}",
                          STR_ARG(key), STR_ARG(sealed));
    TRY(put(tx, tenant, DEFINITION_CHANNEL, key, body, error));
    return lane_ensure(tx, tenant, key, error);
}

// save_sources has a tenant's sources change paths with each other, in one transaction.
static Err save_sources(Tx *tx, void *with, Error *error)
{
    enum { SOURCES = 4 };
    World *world = with;
    int64_t tenant = draw_tenant(world);
    int by = draw(world, SOURCES);
    const char *enabled = draw(world, 2) ? "true" : "false";
    for (int i = 0; i < SOURCES; i++) {
        Str id = str_format(&tx->arena, "s%d", i);
        Str body = str_format(&tx->arena,
                              "{\"id\":\"s%d\",\"provider\":\"github\",\"path\":\"p%d\","
                              "\"enabled\":%s}",
                              i, (i + by) % SOURCES, enabled);
        TRY(put(tx, tenant, S("source"), id, body, error));
    }
    return ERR_OK;
}

static Err hide(Tx *tx, World *world, Str kind, Str id)
{
    Error none = { 0 };
    Err err = definition_hide(tx, draw_tenant(world), kind, id, DEFINITION_ANY_VERSION, &none);
    return err == ERR_NOT_FOUND ? ERR_OK : err;
}

static Err hide_trigger(Tx *tx, void *with, Error *error)
{
    (void) error;
    World *world = with;
    return hide(tx, world, DEFINITION_TRIGGER, str_format(&tx->arena, "t%d", draw(world, 8)));
}

static Err hide_channel(Tx *tx, void *with, Error *error)
{
    (void) error;
    World *world = with;
    return hide(tx, world, DEFINITION_CHANNEL, str_format(&tx->arena, "memory:%d", draw(world, 5)));
}

static Err hide_source(Tx *tx, void *with, Error *error)
{
    (void) error;
    World *world = with;
    return hide(tx, world, S("source"), str_format(&tx->arena, "s%d", draw(world, 4)));
}

static Err make_key(Tx *tx, void *with, Error *error)
{
    World *world = with;
    if (world->key_count == ARRAY_LEN(world->keys))
        return ERR_OK;
    Key *key = &world->keys[world->key_count];
    *key = (Key){ .tenant = draw_tenant(world), .role = ROLE_ADMIN, .expires_at = INSTANT_NONE };
    TRY(key_add(tx, key, str_format(&tx->arena, "a key of step %d", world->step), error));
    world->key_count++;
    return ERR_OK;
}

static Err remove_key(Tx *tx, void *with, Error *error)
{
    World *world = with;
    if (world->key_count == 0)
        return ERR_OK;
    const Key *key = &world->keys[draw(world, world->key_count)];
    TRY(key_remove(tx, key->tenant, &key->id, error));
    world->keys[key - world->keys] = world->keys[--world->key_count];
    return ERR_OK;
}

static Err make_tenant(Tx *tx, void *with, Error *error)
{
    World *world = with;
    Tenant made;
    return tenant_add(tx, str_format(&tx->arena, "tenant-%d", world->step), S("Another"), &made,
                      error);
}

static Err hold_or_release(Tx *tx, void *with, Error *error)
{
    World *world = with;
    TRY(definition_lock(tx, error));
    if (draw(world, 2))
        meta_put(tx, META_HOLD, str_format(&tx->arena, "because of %d", world->step));
    else
        meta_remove(tx, META_HOLD);
    tx->changes_definitions = true;
    return ERR_OK;
}

static Err (*const moves[])(Tx *tx, void *with, Error *error) = {
    save_trigger, save_trigger, save_trigger, save_channel, save_channel,
    hide_trigger, hide_channel, make_key,     remove_key,   hold_or_release,
    make_tenant,  save_sources, save_sources, hide_source,
};

static KeyRing a_ring(void)
{
    KeyRing ring = { 0 };
    char key[MASTER_KEY_LEN];
    memset(key, 'a', sizeof key);
    must(NULL, key_ring_add(&ring, (Str){ key, sizeof key }, NULL), __FILE__, __LINE__);
    return ring;
}

static Registry *load(Store *store, const KeyRing *ring)
{
    Registry *registry = NULL;
    MUST(store, registry_load(store->db, ring, &registry, &store->error));
    return registry;
}

// renew_one brings a snapshot that is some changes behind up to date.
static void renew_one(Store *store, Registry **at)
{
    Registry *renewed = NULL;
    MUST(store, registry_renew(store->db, *at, &renewed, &store->error));
    registry_drop(*at);
    *at = renewed;
}

static void what_is_renewed_is_what_is_loaded(void)
{
    KeyRing ring = a_ring();
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .ring = &ring });
    World world = { .store = &store, .random = random_seeded(42), .ring = &ring };
    tenant_new(&store, "second");
    tenant_new(&store, "third");
    Registry *behind = load(&store, &ring);
    for (world.step = 0; world.step < 400; world.step++) {
        size_t move = (size_t) draw(&world, ARRAY_LEN(moves));
        MUST(&store, writer_run(store.writer, moves[move], &world, &store.error));
        if (draw(&world, 3))
            continue;
        Registry *whole = load(&store, &ring), *newest = writer_registry(store.writer);
        check_same(&store, world.step, newest, whole);
        if (draw(&world, 2)) {
            renew_one(&store, &behind);
            check_same(&store, world.step, behind, whole);
        }
        registry_drop(newest);
        registry_drop(whole);
    }
    registry_drop(behind);
}

// A secret that was rotated is good beside the new one until its time is over.
static Err save_rotated(Tx *tx, void *with, Error *error)
{
    const KeyRing *ring = with;
    Str binding = S("source/1/gh/secret");
    Str new = crypto_seal(&tx->arena, ring, tx->random, binding, S("\"new\""));
    Str old = crypto_seal(&tx->arena, ring, tx->random, binding, S("\"old\""));
    return put(tx, TENANT, S("source"), S("gh"),
               str_format(&tx->arena,
                          "{\"id\":\"gh\",\"provider\":\"github\",\"path\":\"t_x\",\"secret\":"
                          "{\"$sealed\":\"%.*s\",\"previous\":{\"$sealed\":\"%.*s\","
                          "\"until\":\"2026-05-14T00:00:00.000Z\"}}}",
                          STR_ARG(new), STR_ARG(old)),
               error);
}

static void a_source_knows_its_secrets_by_time(void)
{
    KeyRing ring = a_ring();
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .ring = &ring });
    MUST(&store, writer_run(store.writer, save_rotated, &ring, &store.error));
    Registry *registry = writer_registry(store.writer);
    const RegistryHook *hook = registry_hook(registry, S("t_x"));
    Str secrets[REGISTRY_SECRETS_MAX] = { 0 };
    const Json *config;
    Instant until;
    CHECK(time_parse(S("2026-05-14T00:00:00.000Z"), &until));
    CHECK(hook && !hook->is_sealed);
    CHECK(registry_hook_trust(registry, hook, until - 1, secrets, &config) == 2);
    CHECK(is_text(secrets[0], "new") && is_text(secrets[1], "old") && !config);
    CHECK(registry_hook_trust(registry, hook, until, secrets, &config) == 1);
    CHECK(!registry_hook(registry, S("default/t_x")) && !registry_hook(registry, S("")));
    registry_drop(registry);
    Registry *keyless = load(&store, NULL);
    hook = registry_hook(keyless, S("t_x"));
    CHECK(hook && hook->is_sealed);
    registry_drop(keyless);
}

// fill publishes many triggers and channels in one transaction.
static Err fill(Tx *tx, void *with, Error *error)
{
    int count = *(int *) with;
    for (int i = 0; i < count; i++) {
        Str id = str_format(&tx->arena, "many-%d", i);
        Str key = str_format(&tx->arena, "memory:%d", i % 300);
        TRY(put(tx, TENANT, DEFINITION_TRIGGER, id,
                str_format(&tx->arena,
                           "{\"id\":\"%.*s\",\"eventKind\":\"k%d\",\"channel\":\"%.*s\"}",
                           STR_ARG(id), i % 100, STR_ARG(key)),
                error));
        if (i < 300) {
            TRY(put(tx, TENANT, DEFINITION_CHANNEL, key,
                    str_format(&tx->arena, "{\"key\":\"%.*s\",\"type\":\"memory\"}", STR_ARG(key)),
                    error));
            TRY(lane_ensure(tx, TENANT, key, error));
        }
    }
    return ERR_OK;
}

static size_t rows_read(Store *store)
{
    Registry *registry = writer_registry(store->writer);
    size_t rows = registry->rows_read;
    registry_drop(registry);
    return rows;
}

static void one_change_beside_many_reads_a_few_rows(void)
{
    STORE(store);
    int many = MANY;
    MUST(&store, writer_run(store.writer, fill, &many, &store.error));
    CHECK(rows_read(&store) > MANY);
    publish(&store, TENANT, "{'id':'one','eventKind':'k1','channel':'memory:1'}");
    CHECK(rows_read(&store) == 1);
    publish(&store, TENANT, "{'id':'one','eventKind':'k1','channel':'memory:new'}");
    CHECK(rows_read(&store) == 2); // it has a lane
    channel(&store, TENANT, "memory:new");
    CHECK(rows_read(&store) == 1);
    tenant_new(&store, "other");
    CHECK(rows_read(&store) == 3); // its channel, and that one's lane
    size_t count;
    Registry *registry = writer_registry(store.writer), *whole = load(&store, NULL);
    registry_triggers(registry, TENANT, S("k1"), &count);
    CHECK(count == MANY / 100 + 1);
    CHECK(registry_listeners(registry, TENANT) == MANY + 1);
    check_same(&store, 0, registry, whole);
    registry_drop(whole);
    registry_drop(registry);
}

static void an_old_snapshot_stays_as_it_was(void)
{
    STORE(store);
    int some = 300;
    MUST(&store, writer_run(store.writer, fill, &some, &store.error));
    Registry *old = writer_registry(store.writer);
    Str before = describe(&store, old);
    for (int i = 0; i < 20; i++) {
        const char *trigger = i % 2 ? "{'id':'many-7','eventKind':'k7','channel':'memory:7'}"
                                    : "{'id':'many-7','eventKind':'k8','channel':'memory:8'}";
        publish(&store, TENANT, trigger);
        channel_with(&store, TENANT, "memory:7", str_format(&store.arena, "{\"x\":%d}", i));
    }
    CHECK(str_eq(before, describe(&store, old)));
    registry_drop(old);
}

static void a_tenants_change_is_nobody_elses(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    publish(&store, TENANT, "{'id':'a','eventKind':'visit','channel':'memory:default'}");
    publish(&store, other, "{'id':'a','eventKind':'visit','channel':'memory:default'}");
    Registry *first = writer_registry(store.writer);
    Accept *accept = accept_of(&store, TENANT, "{'kind':'visit'}");
    MUST(&store, accept_decide(accept, first, &store.random, &store.error));
    const AcceptPair *pairs = accept->items[0].pairs;

    publish(&store, other, "{'id':'b','eventKind':'visit','channel':'memory:default'}");
    channel(&store, TENANT, "memory:x");
    Registry *second = writer_registry(store.writer);
    registry_drop(first); // what was decided lives on in the second
    MUST(&store, accept_decide(accept, second, &store.random, &store.error));
    CHECK(accept->items[0].pairs == pairs);
    CHECK(is_text(pairs[0].decision.trigger->rule.id, "a"));

    publish(&store, TENANT, "{'id':'c','eventKind':'visit','channel':'memory:default'}");
    Registry *third = writer_registry(store.writer);
    MUST(&store, accept_decide(accept, third, &store.random, &store.error));
    CHECK(accept->items[0].pair_count == 2);
    registry_drop(second);
    registry_drop(third);
}

// Crowd is several connections that ask for the newest snapshot at once.
typedef struct Crowd {
    Store *store;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int asked, loads; // guarded by lock
    bool breaks;      // what the writer itself reads after its commit
} Crowd;

enum { CROWD = 4 };

// watch makes whoever loads wait until all have seen that the generation moved.
static int watch(void *with, const char *call)
{
    Crowd *crowd = with;
    pthread_mutex_lock(&crowd->lock);
    if (strcmp(call, "generation_get") == 0) {
        crowd->asked++;
        pthread_cond_broadcast(&crowd->moved);
    }
    if (strcmp(call, "registry_bodies") == 0) {
        crowd->loads++;
        while (crowd->asked < CROWD)
            pthread_cond_wait(&crowd->moved, &crowd->lock);
    }
    pthread_mutex_unlock(&crowd->lock);
    return 0;
}

static int break_refresh(void *with, const char *call)
{
    const Crowd *crowd = with;
    return crowd->breaks && strcmp(call, "registry_bodies") == 0 ? 1 : 0;
}

static void *refresh(void *with)
{
    Crowd *crowd = with;
    Error error = { 0 };
    Db *db = NULL;
    must(crowd->store,
         db_open(&(DbOptions){ .url = crowd->store->url, .is_reader = true }, &db, &error),
         __FILE__, __LINE__);
    db->fault = watch;
    db->fault_with = crowd;
    must(crowd->store, writer_refresh(crowd->store->writer, db, &error), __FILE__, __LINE__);
    db_close(db);
    return NULL;
}

static void one_loads_for_all(void)
{
    Crowd crowd = { 0 };
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .fault = break_refresh, .fault_with = &crowd });
    crowd.store = &store;
    pthread_mutex_init(&crowd.lock, NULL);
    pthread_cond_init(&crowd.moved, NULL);
    crowd.breaks = true; // so the snapshot stays behind, as that of another node would
    publish(&store, TENANT, "{'id':'a','eventKind':'visit','channel':'memory:default'}");
    crowd.breaks = false;
    size_t count;
    Registry *registry = writer_registry(store.writer);
    registry_triggers(registry, TENANT, S("visit"), &count);
    CHECK(count == 0);
    registry_drop(registry);
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        if (pthread_create(&threads[i], NULL, refresh, &crowd) != 0)
            abort();
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    CHECK(crowd.loads == 1);
    registry = writer_registry(store.writer);
    registry_triggers(registry, TENANT, S("visit"), &count);
    CHECK(count == 1);
    registry_drop(registry);
    pthread_mutex_destroy(&crowd.lock);
    pthread_cond_destroy(&crowd.moved);
}

// What somebody else did to the store, without a word: only who reads everything sees it.
static const Statement hide_quietly = {
    .name = "test_hide_quietly",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "UPDATE definition SET is_hidden = 1 WHERE id = 'b'",
};
static const Statement put_back = {
    .name = "test_put_back",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "UPDATE generation SET n = n - 1",
};

static Err restore(Tx *tx, void *with, Error *error)
{
    db_send(tx->db, &tx->arena, &hide_quietly, NULL, NULL);
    if (*(bool *) with)
        db_send(tx->db, &tx->arena, &put_back, NULL, NULL);
    return tx_sync(tx, error);
}

static size_t listeners(Store *store)
{
    size_t count;
    Registry *registry = writer_registry(store->writer);
    registry_triggers(registry, TENANT, S("visit"), &count);
    registry_drop(registry);
    return count;
}

static void publish_two(Store *store)
{
    publish(store, TENANT, "{'id':'a','eventKind':'visit','channel':'memory:default'}");
    publish(store, TENANT, "{'id':'b','eventKind':'visit','channel':'memory:default'}");
    CHECK(listeners(store) == 2);
}

static void a_store_that_was_put_back_is_read_whole(void)
{
    STORE(store);
    publish_two(&store);
    bool is_back = true;
    MUST(&store, writer_run(store.writer, restore, &is_back, &store.error));
    MUST(&store, writer_refresh(store.writer, store.db, &store.error));
    CHECK(listeners(&store) == 1);
}

// lose_once loses the connection with the next transaction, if it is told to.
static int lose_once(void *with, const char *call)
{
    bool *loses = with;
    bool is_lost = *loses && strcmp(call, suite_is_postgres() ? "sync" : "BEGIN IMMEDIATE") == 0;
    *loses &= !is_lost;
    return is_lost ? DB_FAULT_LOST : 0;
}

static Err nothing(Tx *tx, void *with, Error *error)
{
    (void) with;
    return tx_sync(tx, error);
}

// Whatever was away may come back as another.
static void a_store_that_was_away_is_read_whole(void)
{
    bool loses = false, is_back = false;
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .fault = lose_once, .fault_with = &loses });
    publish_two(&store);
    MUST(&store, writer_run(store.writer, restore, &is_back, &store.error));
    MUST(&store, writer_refresh(store.writer, store.db, &store.error));
    CHECK(listeners(&store) == 2); // nobody has said anything
    loses = true;
    MUST(&store, writer_run(store.writer, nothing, NULL, &store.error));
    CHECK(!loses && listeners(&store) == 1);
}

// Used is what lane.h tells, asked in a transaction.
typedef struct Used {
    int64_t *used, *next;
    Instant *due;
    size_t used_count, next_count;
    Arena *arena;
} Used;

static Err ask_used(Tx *tx, void *with, Error *error)
{
    Used *used = with;
    LaneNext next = { .arena = used->arena };
    TRY(lane_used(tx, &used->used, &used->used_count, error));
    used->used = arena_copy(used->arena, used->used, used->used_count * sizeof *used->used);
    lane_next(tx->db, &next);
    TRY(tx_sync(tx, error));
    used->next_count = lane_next_take(&next, &used->next, &used->due);
    return ERR_OK;
}

static void lanes_in_which_nothing_stands_are_not_looked_at(void)
{
    STORE(store);
    Used used = { .arena = &store.arena };
    MUST(&store, writer_run(store.writer, ask_used, &used, &store.error));
    CHECK(used.used_count == 0 && used.next_count == 0);
    for (int i = 0; i < 4; i++) // lanes 2 to 5
        channel(&store, TENANT, (const char *[]){ "m:2", "m:3", "m:4", "m:5" }[i]);
    publish(&store, TENANT, "{'id':'a','eventKind':'now','channel':'m:3'}");
    publish(&store, TENANT,
            "{'id':'b','eventKind':'later','channel':'m:5',"
            "'schedule':{'initialDelay':'1d'}}");
    take(&store, TENANT, "[{'kind':'now'},{'kind':'now'},{'kind':'later'},{'kind':'later'}]");
    MUST(&store, writer_run(store.writer, ask_used, &used, &store.error));
    CHECK(used.used_count == 2 && used.used[0] == 3 && used.used[1] == 5);
    CHECK(used.next_count == 2 && used.next[0] == 3 && used.next[1] == 5);
    CHECK(used.due[0] == now(&store) && used.due[1] == now(&store) + SPAN_DAY);
    claim_lane(&store, 3, 2);
    MUST(&store, writer_run(store.writer, ask_used, &used, &store.error));
    CHECK(used.used_count == 2);                                // what is being sent may lapse …
    CHECK(used.next_count == 2 && used.due[0] == INSTANT_NONE); // … and falls due by nothing else
}

// publish_large publishes a trigger whose filter is as long as one may be; of these a few hundred
// are more than is kept compiled.
static Err publish_large(Tx *tx, void *with, Error *error)
{
    enum { LARGE = 150, LEAVES = 900 };
    int round = *(int *) with;
    for (int i = 0; i < LARGE; i++) {
        Buf body = buf_new(&tx->arena, BUF_WHOLE);
        buf_add_format(&body,
                       "{\"id\":\"large-%03d\",\"eventKind\":\"visit\","
                       "\"channel\":\"memory:default\",\"address\":\"templateId\","
                       "\"filter\":{\"any\":[{\"path\":\"n\",\"op\":\"==\",\"value\":%d}",
                       i, i);
        for (int leaf = 0; leaf < LEAVES; leaf++)
            buf_add_format(&body, ",{\"path\":\"x\",\"op\":\"==\",\"value\":%d}", leaf);
        buf_add_format(&body, ",{\"path\":\"x\",\"op\":\"==\",\"value\":\"%d\"}]}}", round);
        TRY(put(tx, TENANT, DEFINITION_TRIGGER, str_format(&tx->arena, "large-%03d", i),
                buf_str(&body), error));
    }
    return ERR_OK;
}

static void what_is_not_kept_compiled_is_not_kept_by_events(void)
{
    STORE(store);
    int round = 1;
    MUST(&store, writer_run(store.writer, publish_large, &round, &store.error));
    Registry *registry = writer_registry(store.writer);
    size_t count;
    const RegistryTrigger *const *triggers =
        registry_triggers(registry, TENANT, S("visit"), &count);
    Accept *first = accept_of(&store, TENANT, "{'kind':'visit','payload':{'n':-1}}");
    MUST(&store, accept_decide(first, registry, &store.random, &store.error));
    CHECK(count == 150 && triggers[0]->compiled && !triggers[count - 1]->compiled);

    Accept *second = accept_of(&store, TENANT, "{'kind':'visit','payload':{'n':148}}");
    size_t before = second->arena->bytes;
    MUST(&store, accept_decide(second, registry, &store.random, &store.error));
    CHECK(second->arena->bytes - before < 2 << 20);
    CHECK(second->items[0].pair_count == 1);
    const Decision *decision = &second->items[0].pairs[0].decision;
    CHECK(is_text(decision->trigger->rule.id, "large-148"));
    CHECK(is_text(decision->address, "large-148"));
    registry_drop(registry);

    round = 2; // others in their place find room
    MUST(&store, writer_run(store.writer, publish_large, &round, &store.error));
    registry = writer_registry(store.writer);
    Accept *third = accept_of(&store, TENANT, "{'kind':'visit','payload':{'n':-1}}");
    MUST(&store, accept_decide(third, registry, &store.random, &store.error));
    CHECK(registry_triggers(registry, TENANT, S("visit"), &count)[0]->compiled);
    registry_drop(registry);
}

// Meddler publishes a trigger of a new channel while somebody reads the second page of definitions.
typedef struct Meddler {
    Store *store;
    int pages;
} Meddler;

static int meddle(void *with, const char *call)
{
    Meddler *meddler = with;
    if (strcmp(call, "registry_bodies") == 0 && ++meddler->pages == 2)
        publish(meddler->store, TENANT,
                "{'id':'late','eventKind':'visit','channel':'memory:late'}");
    return 0;
}

static void what_was_read_too_early_finds_its_lane(void)
{
    STORE(store);
    int many = 1500;
    MUST(&store, writer_run(store.writer, fill, &many, &store.error));
    Meddler meddler = { .store = &store };
    store.db->fault = meddle;
    store.db->fault_with = &meddler;
    Registry *early = load(&store, NULL);
    store.db->fault = NULL;
    CHECK(meddler.pages == 2);
    renew_one(&store, &early);
    Registry *whole = load(&store, NULL);
    check_same(&store, 0, early, whole);
    registry_drop(early);
    registry_drop(whole);
}

static const Test tests[] = {
    TEST(what_is_renewed_is_what_is_loaded),
    TEST(a_source_knows_its_secrets_by_time),
    TEST(one_change_beside_many_reads_a_few_rows),
    TEST(an_old_snapshot_stays_as_it_was),
    TEST(a_tenants_change_is_nobody_elses),
    TEST(one_loads_for_all),
    TEST(what_is_not_kept_compiled_is_not_kept_by_events),
    TEST(what_was_read_too_early_finds_its_lane),
    TEST(a_store_that_was_put_back_is_read_whole),
    TEST(a_store_that_was_away_is_read_whole),
    TEST(lanes_in_which_nothing_stands_are_not_looked_at),
};
PART(registry_part, tests);
