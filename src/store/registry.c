#include "store/registry.h"

#include "base/log.h"
#include "store/generation.h"

static const Statement load_tenants = {
    .name = "registry_tenants",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT tenant, id, name FROM tenant WHERE is_hidden = 0 ORDER BY tenant",
};
static const Statement load_keys = {
    .name = "registry_keys",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT hash, id, tenant, role, is_system, expires_at FROM api_key"
           " WHERE is_revoked = 0 ORDER BY hash",
};
static const Statement load_channels = {
    .name = "registry_channels",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT d.tenant, d.id, d.version, v.body FROM definition d"
           " JOIN definition_version v ON v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
           " AND v.version = d.version"
           " WHERE d.kind = 'channel' AND d.is_hidden = 0 ORDER BY d.tenant, d.id",
};
// A trigger comes with the number of its rule; kind 0 is RULE_TRIGGER.
_Static_assert(RULE_TRIGGER == 0, "the SQL names the kind by number");
static const Statement load_triggers = {
    .name = "registry_triggers",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT d.tenant, d.id, d.version, v.body, r.rule FROM definition d"
           " JOIN definition_version v ON v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
           " AND v.version = d.version"
           " JOIN rule r ON r.tenant = d.tenant AND r.kind = 0 AND r.id = d.id"
           " WHERE d.kind = 'trigger' AND d.is_hidden = 0 ORDER BY d.tenant, d.id",
};
static const Statement load_lanes = {
    .name = "registry_lanes",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT lane, tenant, channel FROM lane ORDER BY lane",
};
static const Statement load_hold = {
    .name = "registry_hold",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT h.value, d.value FROM meta h LEFT JOIN meta d ON d.key = 'doubt'"
           " WHERE h.key = 'hold'",
};

const Statement *const registry_statements[] = {
    &load_tenants, &load_keys, &load_channels, &load_triggers, &load_lanes, &load_hold, NULL,
};

// Loaded is what the statements returned, before it is put in order.
typedef struct Loaded {
    Rows generation, tenants, keys, channels, triggers, lanes, hold;
} Loaded;

static Err read_all(Db *db, Arena *arena, Loaded *ret, Error *error)
{
    // The generation comes first: where something changes in between, the snapshot is older than
    // it could be, never newer than it says.
    TRY(db_query(db, arena, &generation_get, NULL, &ret->generation, error));
    db_send(db, arena, &load_tenants, NULL, &ret->tenants);
    db_send(db, arena, &load_keys, NULL, &ret->keys);
    db_send(db, arena, &load_channels, NULL, &ret->channels);
    db_send(db, arena, &load_triggers, NULL, &ret->triggers);
    db_send(db, arena, &load_lanes, NULL, &ret->lanes);
    db_send(db, arena, &load_hold, NULL, &ret->hold);
    TRY(db_sync(db, error));
    if (ret->generation.count != 1)
        return fail(error, ERR_CORRUPT, "the generation is missing");
    return ERR_OK;
}

// Look-ups are in tables that are sorted here: the database may have another idea of the order of
// texts. An empty table may be no table at all, which libc does not allow for.
typedef int Order(const void *a, const void *b);

static void sort(void *table, size_t count, size_t size, Order *order)
{
    if (count > 0)
        qsort(table, count, size, order);
}

static const void *find(const void *key, const void *table, size_t count, size_t size, Order *order)
{
    return count > 0 ? bsearch(key, table, count, size, order) : NULL;
}

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_named(int64_t tenant_a, Str a, int64_t tenant_b, Str b)
{
    int order = compare(tenant_a, tenant_b);
    return order ? order : str_cmp(a, b);
}

static int by_tenant(const void *a, const void *b)
{
    const RegistryTenant *x = a, *y = b;
    return compare(x->tenant, y->tenant);
}

static int by_hash(const void *a, const void *b)
{
    const RegistryKey *x = a, *y = b;
    return memcmp(x->hash.b, y->hash.b, sizeof x->hash.b);
}

static int by_channel_key(const void *a, const void *b)
{
    const RegistryChannel *x = a, *y = b;
    return compare_named(x->tenant, x->definition.key, y->tenant, y->definition.key);
}

static int by_lane(const void *a, const void *b)
{
    const RegistryLane *x = a, *y = b;
    return compare(x->lane, y->lane);
}

static int by_lane_channel(const void *a, const void *b)
{
    const RegistryLane *x = *(const RegistryLane *const *) a, *y = *(const RegistryLane *const *) b;
    return compare_named(x->tenant, x->channel_key, y->tenant, y->channel_key);
}

static void build_tenants(Registry *registry, const Rows *rows)
{
    RegistryTenant *tenants = ARENA_ARRAY(&registry->arena, RegistryTenant, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        tenants[i] =
            (RegistryTenant){ value_to_i64(&row[0]), value_to_str(&row[1]), value_to_str(&row[2]) };
    }
    registry->tenants = tenants;
    registry->tenant_count = rows->count;
}

static void build_keys(Registry *registry, const Rows *rows)
{
    RegistryKey *keys = ARENA_ARRAY(&registry->arena, RegistryKey, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        RegistryKey *key = &keys[i];
        Str hash = value_to_str(&row[0]);
        if (hash.len == sizeof key->hash.b)
            memcpy(key->hash.b, hash.at, hash.len);
        key->id = value_to_uuid(&row[1]);
        key->tenant = value_to_i64(&row[2]);
        if (!role_parse(value_to_str(&row[3]), &key->role))
            key->role = ROLE_NONE;
        key->is_system = value_to_i64(&row[4]) != 0;
        key->expires_at = value_to_time(&row[5]);
    }
    registry->keys = keys;
    registry->key_count = rows->count;
}

// Opening is a channel's settings being opened: everything of it lies among the secrets.
typedef struct Opening {
    Arena *arena;
    const KeyRing *ring;
    JsonOut json;
} Opening;

// open_value writes a value with what each {"$sealed":…} in it hides. A secret is bound to its
// path.
static Err open_value(Opening *opening, Str path, const Json *value, Error *error)
{
    Arena *arena = opening->arena;
    Str sealed = json_str(json_get(value, S("$sealed"))), opened;
    if (sealed.at) {
        TRY(crypto_open(arena, opening->ring, path, sealed, &opened, error));
        json_add_raw(&opening->json, opened);
        return ERR_OK;
    }
    if (json_type(value) != JSON_OBJECT) {
        json_add_raw(&opening->json, json_text(arena, value));
        return ERR_OK;
    }
    json_open(&opening->json, '{');
    for (JsonIter it = json_each(value); json_next(&it);) {
        json_key(&opening->json, it.key);
        TRY(open_value(opening, str_format(arena, "%.*s/%.*s", STR_ARG(path), STR_ARG(it.key)),
                       it.value, error));
    }
    json_close(&opening->json, '}');
    return ERR_OK;
}

// open_config returns the settings with their secrets. A single one that cannot be opened leaves
// the whole unusable.
static Err open_config(Arena *secrets, const KeyRing *ring, const RegistryChannel *channel,
                       const Json **ret, Error *error)
{
    enum { OPENED_BYTES_MAX = 1 << 20 };
    static const KeyRing no_keys = { 0 };
    if (!channel->definition.config)
        return ERR_OK;
    Buf out = buf_new(secrets, OPENED_BYTES_MAX);
    Opening opening = { secrets, ring ? ring : &no_keys, json_out(&out) };
    Str path = str_format(secrets, "channel/%lld/%.*s", (long long) channel->tenant,
                          STR_ARG(channel->definition.key));
    TRY(open_value(&opening, path, channel->definition.config, error));
    if (out.overflowed)
        return fail(error, ERR_CORRUPT, "the settings are too large");
    return json_parse(secrets, buf_str(&out), ret, error);
}

// open_secrets makes the channel usable, or marks it as one that waits.
static void open_secrets(Registry *registry, const KeyRing *ring, RegistryChannel *channel)
{
    const Json *opened = NULL;
    Error error = { 0 };
    channel->is_sealed = open_config(&registry->secrets, ring, channel, &opened, &error) != ERR_OK;
    channel->definition.config = opened;
    if (!channel->is_sealed)
        return;
    registry->sealed_count++;
    log_error("channel.waits", "tenant=%lld reason=%s detail=%s", (long long) channel->tenant,
              log_quote(registry_wait(&registry->arena, channel)),
              log_quote(str_from(error.detail)));
}

static void build_channels(Registry *registry, const KeyRing *ring, const Rows *rows)
{
    RegistryChannel *channels = ARENA_ARRAY(&registry->arena, RegistryChannel, rows->count);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        RegistryChannel *channel = &channels[count];
        const Json *body;
        Error error = { .arena = &registry->arena };
        channel->tenant = value_to_i64(&row[0]);
        channel->version = value_to_i64(&row[2]);
        if (json_parse(&registry->arena, value_to_str(&row[3]), &body, &error) != ERR_OK ||
            channel_compile(body, &channel->definition, &error) != ERR_OK) {
            log_error("channel.unreadable", "channel=%s detail=%s",
                      log_quote(value_to_str(&row[1])), log_quote(str_from(error.detail)));
            continue;
        }
        open_secrets(registry, ring, channel);
        count++;
    }
    sort(channels, count, sizeof *channels, by_channel_key);
    registry->channels = channels;
    registry->channel_count = count;
}

static void build_lanes(Registry *registry, const Rows *rows)
{
    RegistryLane *lanes = ARENA_ARRAY(&registry->arena, RegistryLane, rows->count);
    registry->lanes_by_channel = ARENA_ARRAY(&registry->arena, const RegistryLane *, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        lanes[i] = (RegistryLane){ value_to_i64(&row[0]), value_to_i64(&row[1]),
                                   value_to_str(&row[2]), NULL };
        lanes[i].channel = registry_channel(registry, lanes[i].tenant, lanes[i].channel_key);
        registry->lanes_by_channel[i] = &lanes[i];
    }
    sort(registry->lanes_by_channel, rows->count, sizeof(RegistryLane *), by_lane_channel);
    registry->lanes = lanes;
    registry->lane_count = rows->count;
}

static int64_t lane_of(const Registry *registry, int64_t tenant, Str channel)
{
    RegistryLane wanted = { .tenant = tenant, .channel_key = channel };
    const RegistryLane *key = &wanted;
    const RegistryLane *const *found = find(&key, registry->lanes_by_channel, registry->lane_count,
                                            sizeof(RegistryLane *), by_lane_channel);
    return found ? (*found)->lane : 0;
}

static int by_kind(const void *a, const void *b)
{
    const Trigger *x = *(const Trigger *const *) a, *y = *(const Trigger *const *) b;
    int order = compare_named(x->rule.tenant, x->event_kind, y->rule.tenant, y->event_kind);
    return order ? order : str_cmp(x->rule.id, y->rule.id);
}

static int by_cancel_kind(const void *a, const void *b)
{
    const Trigger *x = *(const Trigger *const *) a, *y = *(const Trigger *const *) b;
    int order = compare_named(x->rule.tenant, x->cancel_kind, y->rule.tenant, y->cancel_kind);
    return order ? order : str_cmp(x->rule.id, y->rule.id);
}

static void build_triggers(Registry *registry, const Rows *rows)
{
    registry->triggers = ARENA_ARRAY(&registry->arena, const Trigger *, rows->count);
    registry->recallers = ARENA_ARRAY(&registry->arena, const Trigger *, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        Trigger *trigger = ARENA_NEW(&registry->arena, Trigger);
        Error error = { .arena = &registry->arena };
        if (trigger_parse(&registry->arena, value_to_str(&row[3]), trigger, &error) != ERR_OK) {
            log_error("trigger.unreadable", "trigger=%s detail=%s",
                      log_quote(value_to_str(&row[1])), log_quote(str_from(error.detail)));
            continue;
        }
        trigger->rule.tenant = value_to_i64(&row[0]);
        trigger->rule.version = value_to_i64(&row[2]);
        trigger->rule.number = value_to_i64(&row[4]);
        trigger->rule.lane = lane_of(registry, trigger->rule.tenant, trigger->channel);
        registry->triggers[registry->trigger_count++] = trigger;
        if (trigger->cancel_kind.len)
            registry->recallers[registry->recaller_count++] = trigger;
    }
    sort(registry->triggers, registry->trigger_count, sizeof(Trigger *), by_kind);
    sort(registry->recallers, registry->recaller_count, sizeof(Trigger *), by_cancel_kind);
}

Err registry_load(Db *db, const KeyRing *ring, Registry **ret, Error *error)
{
    Registry *registry = memory_new(sizeof *registry);
    registry->holders = 1;
    Loaded loaded;
    Err err = read_all(db, &registry->arena, &loaded, error);
    if (err != ERR_OK) {
        registry_drop(registry);
        return err;
    }
    registry->generation = value_to_i64(&loaded.generation.values[0]);
    build_tenants(registry, &loaded.tenants);
    build_keys(registry, &loaded.keys);
    build_channels(registry, ring, &loaded.channels);
    build_lanes(registry, &loaded.lanes);
    build_triggers(registry, &loaded.triggers);
    registry->is_held = loaded.hold.count > 0;
    if (registry->is_held) {
        registry->hold_reason = value_to_str(&loaded.hold.values[0]);
        registry->is_doubted = str_eq(registry->hold_reason, value_to_str(&loaded.hold.values[1]));
    }
    *ret = registry;
    return ERR_OK;
}

Registry *registry_hold(Registry *registry)
{
    registry->holders++;
    return registry;
}

void registry_drop(Registry *registry)
{
    if (!registry || --registry->holders > 0)
        return;
    arena_wipe(&registry->secrets);
    arena_done(&registry->arena);
    free(registry);
}

const RegistryTenant *registry_tenant(const Registry *registry, int64_t tenant)
{
    RegistryTenant wanted = { .tenant = tenant };
    return find(&wanted, registry->tenants, registry->tenant_count, sizeof wanted, by_tenant);
}

const RegistryKey *registry_key(const Registry *registry, const Sha256 *hash)
{
    RegistryKey wanted = { .hash = *hash }; // the comparison of hashes tells nothing about a key
    return find(&wanted, registry->keys, registry->key_count, sizeof wanted, by_hash);
}

const RegistryChannel *registry_channel(const Registry *registry, int64_t tenant, Str key)
{
    RegistryChannel wanted = { .tenant = tenant, .definition = { .key = key } };
    return find(&wanted, registry->channels, registry->channel_count, sizeof wanted,
                by_channel_key);
}

const RegistryLane *registry_lane(const Registry *registry, int64_t lane)
{
    RegistryLane wanted = { .lane = lane };
    return find(&wanted, registry->lanes, registry->lane_count, sizeof wanted, by_lane);
}

bool registry_lane_may_send(const RegistryLane *lane)
{
    return !lane->channel || !lane->channel->is_sealed;
}

Str registry_wait(Arena *arena, const RegistryChannel *channel)
{
    assert(channel->is_sealed);
    return str_format(arena, "channel %.*s waits: its secret cannot be opened with this master key",
                      STR_ARG(channel->definition.key));
}

RetryPolicy registry_retry(const RegistryLane *lane, const Trigger *trigger)
{
    if (trigger->rule.has_retry)
        return trigger->rule.retry;
    const RegistryChannel *channel = lane ? lane->channel : NULL;
    return channel && channel->definition.has_retry ? channel->definition.retry : retry_default();
}

// range finds the triggers of one tenant and kind in an ordered table.
static const Trigger *const *range(const Trigger **table, size_t count, const Trigger *wanted,
                                   int (*order)(const void *, const void *), size_t *ret_count)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(&table[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < count && table[end]->rule.tenant == wanted->rule.tenant &&
           str_eq(order == by_kind ? table[end]->event_kind : table[end]->cancel_kind,
                  order == by_kind ? wanted->event_kind : wanted->cancel_kind))
        end++;
    *ret_count = end - low;
    return table + low;
}

const Trigger *const *registry_triggers(const Registry *registry, int64_t tenant, Str kind,
                                        size_t *ret_count)
{
    Trigger wanted = { .rule = { .tenant = tenant }, .event_kind = kind };
    return range(registry->triggers, registry->trigger_count, &wanted, by_kind, ret_count);
}

const Trigger *const *registry_recallers(const Registry *registry, int64_t tenant, Str kind,
                                         size_t *ret_count)
{
    Trigger wanted = { .rule = { .tenant = tenant }, .cancel_kind = kind };
    return range(registry->recallers, registry->recaller_count, &wanted, by_cancel_kind, ret_count);
}
