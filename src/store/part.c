#include "store/part.h"

#include "base/log.h"
#include "base/time.h"
#include "store/secret.h"

// Texts are copied behind the part that they belong to.
static void *part_new(size_t size, size_t text_bytes, char **ret_at)
{
    TrieItem *item = memory_new(size + text_bytes);
    item->holders = 1;
    *ret_at = (char *) item + size;
    return item;
}

static Str put_text(char **at, Str text)
{
    if (!text.at)
        return STR_NONE;
    Str copy = { *at, text.len };
    if (text.len)
        memcpy(*at, text.at, text.len);
    *at += text.len;
    return copy;
}

static void free_plain(TrieItem *item)
{
    free(item);
}

static bool same_tenant(const TrieItem *a, const TrieItem *b)
{
    return ((const RegistryTenant *) a)->tenant == ((const RegistryTenant *) b)->tenant;
}

static void free_tenant(TrieItem *item)
{
    RegistryTenant *tenant = (RegistryTenant *) item;
    trie_drop(&tenant->kinds);
    trie_drop(&tenant->off_kinds);
    trie_drop(&tenant->triggers);
    trie_drop(&tenant->ways);
    trie_drop(&tenant->channels);
    trie_drop(&tenant->sources);
    free(tenant);
}

const TrieKind part_tenants = { same_tenant, free_tenant };

RegistryTenant *part_tenant(int64_t number, Str id, Str name)
{
    char *at;
    RegistryTenant *tenant = part_new(sizeof *tenant, id.len + name.len, &at);
    tenant->item.hash = trie_hash(number);
    tenant->tenant = number;
    tenant->id = put_text(&at, id);
    tenant->name = put_text(&at, name);
    tenant->triggers.kind = &part_triggers;
    tenant->kinds.kind = tenant->off_kinds.kind = &part_kinds;
    tenant->channels.kind = &part_channels;
    tenant->ways.kind = &part_ways;
    tenant->sources.kind = &part_sources;
    return tenant;
}

RegistryTenant *part_tenant_copy(const RegistryTenant *from, Str id, Str name)
{
    RegistryTenant *tenant = part_tenant(from->tenant, id, name);
    tenant->moved = from->moved;
    tenant->has_preferences = from->has_preferences;
    tenant->triggers = trie_hold(&from->triggers);
    tenant->kinds = trie_hold(&from->kinds);
    tenant->off_kinds = trie_hold(&from->off_kinds);
    tenant->channels = trie_hold(&from->channels);
    tenant->ways = trie_hold(&from->ways);
    tenant->sources = trie_hold(&from->sources);
    return tenant;
}

// hash_start makes do with the first bytes of a hash: it is one already.
static uint64_t hash_start(const Sha256 *hash)
{
    uint64_t start;
    memcpy(&start, hash->b, sizeof start);
    return start;
}

static bool same_key(const TrieItem *a, const TrieItem *b)
{
    const RegistryKey *x = (const RegistryKey *) a, *y = (const RegistryKey *) b;
    return memcmp(x->hash.b, y->hash.b, sizeof x->hash.b) == 0;
}

const TrieKind part_keys = { same_key, free_plain };

RegistryKey *part_key(const RegistryKey *from)
{
    char *at;
    RegistryKey *key = part_new(sizeof *key, from->site_name.len + from->handlers.len, &at);
    *key = *from;
    key->site_name = put_text(&at, from->site_name);
    key->handlers = put_text(&at, from->handlers);
    key->item.holders = 1;
    key->item.hash = hash_start(&from->hash);
    return key;
}

// RegistryCompiled is a trigger that was needed.
struct RegistryCompiled {
    Trigger trigger;
    Arena arena;
};

// Of the whole process: what is kept compiled, in all snapshots together.
static _Atomic size_t compiled_bytes;

static void free_compiled(RegistryCompiled *compiled)
{
    if (!compiled)
        return;
    compiled_bytes -= sizeof *compiled + compiled->arena.bytes;
    arena_done(&compiled->arena);
    free(compiled);
}

// hash_name is of a rule's name: an id may be of a trigger and of a template.
static uint64_t hash_name(RuleKind kind, Str id)
{
    return str_hash(id) + trie_hash((int64_t) kind);
}

static bool same_trigger(const TrieItem *a, const TrieItem *b)
{
    const RegistryTrigger *x = (const RegistryTrigger *) a, *y = (const RegistryTrigger *) b;
    return x->rule_kind == y->rule_kind && str_eq(x->id, y->id);
}

static void free_trigger(TrieItem *item)
{
    RegistryTrigger *trigger = (RegistryTrigger *) item;
    free_compiled(trigger->compiled);
    free(trigger);
}

const TrieKind part_triggers = { same_trigger, free_trigger };

RegistryTrigger *part_trigger(const Trigger *from, Str body)
{
    const Rule *rule = &from->rule;
    FilterGate gate = filter_gate(from->filter);
    size_t keys_size = gate.count * sizeof *gate.keys;
    char *at;
    RegistryTrigger *trigger =
        part_new(sizeof *trigger,
                 keys_size + rule->id.len + from->event_kind.len + from->cancel_kind.len +
                     from->automation.len + gate.path.len + body.len,
                 &at);
    trigger->gate_keys = memcpy(at, gate.keys, keys_size); // first: they want to be aligned
    trigger->gate_count = gate.count;
    at += keys_size;
    trigger->item.hash = hash_name(rule->kind, rule->id);
    trigger->rule_kind = rule->kind;
    trigger->tenant = rule->tenant;
    trigger->rule = rule->number;
    trigger->version = rule->version;
    trigger->lane = rule->lane;
    trigger->id = put_text(&at, rule->id);
    trigger->kind = put_text(&at, from->event_kind);
    trigger->off_kind = put_text(&at, from->cancel_kind);
    trigger->automation = put_text(&at, from->automation);
    trigger->gate_path = put_text(&at, gate.path);
    trigger->is_enabled = from->enabled;
    trigger->is_provided = from->feed.type;
    trigger->body = put_text(&at, body);
    return trigger;
}

// compile reads a trigger that was read before, when it was loaded.
static Trigger compile(const RegistryTrigger *trigger, Arena *arena)
{
    Trigger compiled;
    Error error = { .arena = arena };
    Err err = rule_parse(trigger->rule_kind, arena, trigger->body, &compiled, &error);
    assert(err == ERR_OK);
    compiled.rule.tenant = trigger->tenant;
    compiled.rule.number = trigger->rule;
    compiled.rule.version = trigger->version;
    compiled.rule.lane = trigger->lane;
    return compiled;
}

const Trigger *registry_compiled(const RegistryTrigger *trigger, Arena *arena)
{
    RegistryCompiled *known = trigger->compiled;
    if (known)
        return &known->trigger;
    if (compiled_bytes > REGISTRY_COMPILED_BYTES) {
        Trigger *mine = ARENA_NEW(arena, Trigger);
        *mine = compile(trigger, arena);
        return mine;
    }
    RegistryCompiled *made = memory_new(sizeof *made);
    made->arena.first = sizeof(Trigger);
    made->trigger = compile(trigger, &made->arena);
    compiled_bytes += sizeof *made + made->arena.bytes;
    // The trigger is as it was, whoever compiles it: only what is kept beside it changes.
    _Atomic(RegistryCompiled *) *place = &((RegistryTrigger *) (uintptr_t) trigger)->compiled;
    if (atomic_compare_exchange_strong(place, &known, made))
        return &made->trigger;
    free_compiled(made);
    return &known->trigger;
}

bool registry_keeps(const RegistryTrigger *trigger, const Trigger *compiled)
{
    const RegistryCompiled *known = trigger->compiled;
    return known && &known->trigger == compiled;
}

static bool same_kind(const TrieItem *a, const TrieItem *b)
{
    return str_eq(((const RegistryKind *) a)->kind, ((const RegistryKind *) b)->kind);
}

static void free_kind(TrieItem *item)
{
    RegistryKind *kind = (RegistryKind *) item;
    sieve_free(kind->sieve);
    free(kind->triggers);
    free(kind);
}

const TrieKind part_kinds = { same_kind, free_kind };

RegistryKind *part_kind(Str text, size_t count)
{
    char *at;
    RegistryKind *kind = part_new(sizeof *kind, text.len, &at);
    kind->item.hash = str_hash(text);
    kind->kind = put_text(&at, text);
    kind->triggers = memory_new(count * sizeof *kind->triggers);
    return kind;
}

// RegistryOpened is the settings of a channel or source with their secrets; everything of it lies
// in its arena.
struct RegistryOpened {
    const Json *config; // NULL: there are none
    const Json *secret; // an object of what stands beside config; NULL
    Arena secrets;
};

// Stored is the same as it is stored.
typedef struct Stored {
    SecretOwner owner;
    Str config, secret;
} Stored;

static void free_opened(RegistryOpened *opened)
{
    if (!opened)
        return;
    arena_wipe(&opened->secrets);
    free(opened);
}

static bool same_channel(const TrieItem *a, const TrieItem *b)
{
    const RegistryChannel *x = (const RegistryChannel *) a, *y = (const RegistryChannel *) b;
    return x->tenant == y->tenant && str_eq(x->definition.key, y->definition.key);
}

static void free_channel(TrieItem *item)
{
    RegistryChannel *channel = (RegistryChannel *) item;
    free_opened(channel->opened);
    free(channel);
}

const TrieKind part_channels = { same_channel, free_channel };

static Err open_text(Arena *secrets, const KeyRing *ring, const SecretOwner *owner, Str stored,
                     const Json **ret, Error *error)
{
    const Json *json = NULL;
    if (stored.at)
        TRY(json_parse(secrets, stored, &json, error));
    return secret_open(secrets, ring, owner, json, ret, error);
}

static Err open_stored(RegistryOpened *ret, const KeyRing *ring, const Stored *stored, Error *error)
{
    ret->secrets.first = stored->config.len + stored->secret.len;
    TRY(open_text(&ret->secrets, ring, &stored->owner, stored->config, &ret->config, error));
    return open_text(&ret->secrets, ring, &stored->owner, stored->secret, &ret->secret, error);
}

// opens tries it once, so that who asks knows whether it waits for its key.
static bool opens(const KeyRing *ring, const Stored *stored, Error *error)
{
    RegistryOpened tried = { 0 };
    Err err = open_stored(&tried, ring, stored, error);
    arena_wipe(&tried.secrets);
    return err == ERR_OK;
}

// keep_open returns what is stored, opened; from now on it is kept at place. That it opens was
// tried, and nothing has changed since.
static const RegistryOpened *keep_open(_Atomic(RegistryOpened *) *place, const KeyRing *ring,
                                       const Stored *stored)
{
    RegistryOpened *known = *place;
    if (known)
        return known;
    RegistryOpened *made = memory_new(sizeof *made);
    Error error = { 0 };
    Err err = open_stored(made, ring, stored, &error);
    assert(err == ERR_OK);
    if (atomic_compare_exchange_strong(place, &known, made))
        return made;
    free_opened(made);
    return known;
}

static Stored channel_stored(const RegistryChannel *channel)
{
    return (Stored){ .owner = { S("channel"), channel->tenant, channel->definition.key },
                     .config = channel->config };
}

static void try_channel(RegistryChannel *channel, const KeyRing *ring)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Error error = { 0 };
    Stored stored = channel_stored(channel);
    channel->is_sealed = !opens(ring, &stored, &error);
    if (channel->is_sealed)
        log_error("channel.waits", "tenant=%lld reason=%s detail=%s", (long long) channel->tenant,
                  log_quote(registry_wait(&scratch, channel)), log_quote(str_from(error.detail)));
}

RegistryChannel *part_channel(int64_t tenant, int64_t version, const ChannelDefinition *from,
                              const KeyRing *ring)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Str config = from->config ? json_text(&scratch, from->config) : STR_NONE;
    char *at;
    RegistryChannel *channel =
        part_new(sizeof *channel, from->key.len + from->type.len + config.len, &at);
    channel->item.hash = str_hash(from->key);
    channel->tenant = tenant;
    channel->version = version;
    channel->definition = *from;
    channel->definition.key = put_text(&at, from->key);
    channel->definition.type = put_text(&at, from->type);
    channel->definition.config = NULL;
    channel->config = put_text(&at, config);
    try_channel(channel, ring);
    return channel;
}

const Json *registry_config(const Registry *registry, const RegistryChannel *channel)
{
    assert(!channel->is_sealed);
    Stored stored = channel_stored(channel);
    // The channel is as it was, whoever opens it: only what is kept beside it changes.
    _Atomic(RegistryOpened *) *place = &((RegistryChannel *) (uintptr_t) channel)->opened;
    return keep_open(place, registry->ring, &stored)->config;
}

static bool same_source(const TrieItem *a, const TrieItem *b)
{
    return str_eq(((const RegistryHook *) a)->source, ((const RegistryHook *) b)->source);
}

static void free_source(TrieItem *item)
{
    RegistryHook *hook = (RegistryHook *) item;
    free_opened(hook->opened);
    free(hook);
}

const TrieKind part_sources = { same_source, free_source };

static Stored source_stored(const RegistryHook *hook)
{
    return (Stored){ .owner = { S("source"), hook->tenant, hook->source },
                     .config = hook->config,
                     .secret = hook->secret };
}

static void try_source(RegistryHook *hook, const KeyRing *ring)
{
    Error error = { 0 };
    Stored stored = source_stored(hook);
    hook->is_sealed = !opens(ring, &stored, &error);
    if (hook->is_sealed)
        log_error("source.sealed", "tenant=%lld source=%s detail=%s", (long long) hook->tenant,
                  log_quote(hook->source), log_quote(str_from(error.detail)));
}

// secret_text is the secret as the object's member that it was sealed as; none.
static Str secret_text(Arena *arena, const Json *secret)
{
    if (!secret)
        return STR_NONE;
    return str_format(arena, "{\"secret\":%.*s}", STR_ARG(json_text(arena, secret)));
}

RegistryHook *part_source(int64_t tenant, int64_t version, const SourceDefinition *from,
                          const KeyRing *ring)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Str config = from->config ? json_text(&scratch, from->config) : STR_NONE;
    Str secret = secret_text(&scratch, from->secret);
    char *at;
    RegistryHook *hook = part_new(
        sizeof *hook,
        from->id.len + from->path.len + from->integration.len + config.len + secret.len, &at);
    hook->item.hash = str_hash(from->id);
    hook->tenant = tenant;
    hook->version = version;
    hook->source = put_text(&at, from->id);
    hook->path = put_text(&at, from->path);
    hook->integration = put_text(&at, from->integration);
    hook->provider = (ProviderName) from->provider;
    hook->is_enabled = from->enabled;
    hook->is_shared = from->shared;
    hook->config = put_text(&at, config);
    hook->secret = put_text(&at, secret);
    try_source(hook, ring);
    return hook;
}

size_t registry_hook_trust(const Registry *registry, const RegistryHook *hook, Instant now,
                           Str ret_secrets[REGISTRY_SECRETS_MAX], const Json **ret_config)
{
    assert(!hook->is_sealed);
    Stored stored = source_stored(hook);
    _Atomic(RegistryOpened *) *place = &((RegistryHook *) (uintptr_t) hook)->opened;
    const RegistryOpened *opened = keep_open(place, registry->ring, &stored);
    const Json *previous = json_get(opened->secret, S("secret/previous"));
    Instant until;
    size_t count = 0;
    *ret_config = opened->config;
    if (json_str(json_get(opened->secret, S("secret"))).len)
        ret_secrets[count++] = json_str(json_get(opened->secret, S("secret")));
    if (time_parse(json_str(json_get(previous, S("until"))), &until) && until > now)
        ret_secrets[count++] = json_str(json_get(previous, S("value")));
    return count;
}

static bool same_path(const TrieItem *a, const TrieItem *b)
{
    return str_eq(((const RegistryPath *) a)->path, ((const RegistryPath *) b)->path);
}

const TrieKind part_paths = { same_path, free_plain };

RegistryPath *part_path(const RegistryHook *hook)
{
    char *at;
    RegistryPath *path = part_new(sizeof *path, hook->path.len, &at);
    path->item.hash = str_hash(hook->path);
    path->path = put_text(&at, hook->path);
    path->hook = hook;
    return path;
}

static bool same_lane(const TrieItem *a, const TrieItem *b)
{
    const RegistryLane *x = (const RegistryLane *) a, *y = (const RegistryLane *) b;
    return x->lane == y->lane;
}

const TrieKind part_lanes = { same_lane, free_plain };

static bool same_way(const TrieItem *a, const TrieItem *b)
{
    const RegistryWay *x = (const RegistryWay *) a, *y = (const RegistryWay *) b;
    return str_eq(x->channel_key, y->channel_key);
}

const TrieKind part_ways = { same_way, free_plain };

RegistryWay *part_way(Str channel_key, int64_t lane)
{
    char *at;
    RegistryWay *way = part_new(sizeof *way, channel_key.len, &at);
    way->item.hash = str_hash(channel_key);
    way->channel_key = put_text(&at, channel_key);
    way->lane = lane;
    return way;
}

RegistryLane *part_lane(int64_t number, int64_t tenant, Str channel_key,
                        const RegistryChannel *channel)
{
    char *at;
    RegistryLane *lane = part_new(sizeof *lane, channel_key.len, &at);
    lane->item.hash = trie_hash(number);
    lane->lane = number;
    lane->tenant = tenant;
    lane->channel_key = put_text(&at, channel_key);
    lane->channel = channel;
    return lane;
}

RegistryTenant *part_find_tenant(const Registry *registry, int64_t tenant)
{
    RegistryTenant wanted = { .item.hash = trie_hash(tenant), .tenant = tenant };
    return (RegistryTenant *) trie_find(&registry->tenants, &wanted.item);
}

RegistryTrigger *part_find_trigger(const RegistryTenant *tenant, RuleKind kind, Str id)
{
    RegistryTrigger wanted = { .item.hash = hash_name(kind, id), .rule_kind = kind, .id = id };
    return (RegistryTrigger *) trie_find(&tenant->triggers, &wanted.item);
}

RegistryKind *part_find_kind(const Trie *kinds, Str kind)
{
    RegistryKind wanted = { .item.hash = str_hash(kind), .kind = kind };
    return (RegistryKind *) trie_find(kinds, &wanted.item);
}

RegistryChannel *part_find_channel(const RegistryTenant *tenant, Str key)
{
    RegistryChannel wanted = { .item.hash = str_hash(key),
                               .tenant = tenant->tenant,
                               .definition = { .key = key } };
    return (RegistryChannel *) trie_find(&tenant->channels, &wanted.item);
}

RegistryWay *part_find_way(const RegistryTenant *tenant, Str channel_key)
{
    RegistryWay wanted = { .item.hash = str_hash(channel_key), .channel_key = channel_key };
    return (RegistryWay *) trie_find(&tenant->ways, &wanted.item);
}

RegistryHook *part_find_source(const RegistryTenant *tenant, Str id)
{
    RegistryHook wanted = { .item.hash = str_hash(id), .source = id };
    return (RegistryHook *) trie_find(&tenant->sources, &wanted.item);
}

RegistryPath *part_find_path(const Registry *registry, Str path)
{
    RegistryPath wanted = { .item.hash = str_hash(path), .path = path };
    return (RegistryPath *) trie_find(&registry->paths, &wanted.item);
}

RegistryLane *part_find_lane(const Registry *registry, int64_t lane)
{
    RegistryLane wanted = { .item.hash = trie_hash(lane), .lane = lane };
    return (RegistryLane *) trie_find(&registry->lanes, &wanted.item);
}

RegistryKey *part_find_key(const Registry *registry, const Sha256 *hash)
{
    // The comparison of hashes tells nothing about a key.
    RegistryKey wanted = { .item.hash = hash_start(hash), .hash = *hash };
    return (RegistryKey *) trie_find(&registry->keys, &wanted.item);
}
