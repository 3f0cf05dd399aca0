#include "store/part.h"

#include "base/log.h"
#include "store/generation.h"
#include "store/rule.h"

// A snapshot is made from another by what has changed since: rows carry the generation from which
// on they are seen, and each table has an index by it. From none it is made the same way, by all
// rows. Nothing is ever deleted that a snapshot may have: definitions and tenants are hidden, keys
// are revoked.
//
// Definitions are read page by page, so that a hundred thousand are never in memory twice. One that
// changes meanwhile is read again, further on: the snapshot then knows more than its generation
// says, and who decides on it is told by the store that it moved.

enum { PAGE_ROWS = 1000 };

static const Statement load_tenants = {
    .name = "registry_tenants",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT tenant, id, name, is_hidden, has_preferences FROM tenant WHERE generation > $1",
};
static const Statement load_keys = {
    .name = "registry_keys",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT k.hash, k.id, k.tenant, k.role, k.is_system, k.expires_at, k.is_revoked, k.site,"
           " s.name, k.handlers, k.parent, p.hash FROM api_key k"
           " LEFT JOIN site s ON s.site = k.site"
           " LEFT JOIN api_key p ON p.tenant = k.tenant AND p.id = k.parent"
           " WHERE k.generation > $1",
};
static const Statement load_lanes = {
    .name = "registry_lanes",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT lane, tenant, channel FROM lane WHERE generation > $1",
};
// What is a rule comes with its number. The draft of a survey, which may have megabytes, is looked
// at by nobody here: what was published of it is there as rules.
static const Statement load_definitions = {
    .name = "registry_bodies",
    .scope = STATEMENT_SYSTEM,
    .params = "iitti",
    .sql =
        "SELECT d.generation, d.tenant, d.kind, d.id, d.version, d.is_hidden, v.body, r.rule"
        " FROM definition d"
        " JOIN definition_version v ON v.tenant = d.tenant AND v.kind = d.kind AND v.id = d.id"
        " AND v.version = d.version"
        " LEFT JOIN rule r ON r.tenant = d.tenant AND r.kind = " RULE_NUMBER_SQL " AND r.id = d.id"
        " WHERE (d.generation, d.tenant, d.kind, d.id) > ($1, $2, $3, $4) AND d.kind <> 'survey'"
        " ORDER BY d.generation, d.tenant, d.kind, d.id LIMIT $5",
};
static const Statement load_hold = {
    .name = "registry_hold",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT h.value, d.value FROM meta h LEFT JOIN meta d ON d.key = 'doubt'"
           " WHERE h.key = 'hold'",
};

const Statement *const registry_statements[] = {
    &load_tenants, &load_keys, &load_lanes, &load_definitions, &load_hold, NULL,
};

// Edit is a trigger that comes or goes, to those who listen to its kind.
typedef struct Edit {
    RegistryTrigger *trigger; // held
    size_t order;             // of two of one trigger the later counts
    bool is_gone;
} Edit;

typedef struct Edits {
    Edit *edits;
    size_t count, room;
} Edits;

// Making is a snapshot that nobody else has yet.
typedef struct Making {
    Registry *registry;
    Edits kinds, off_kinds;
} Making;

// stamps are given out once in the life of the process.
static _Atomic int64_t stamps = REGISTRY_UNMOVED;

// kind_of_edit is what the edits are put in order by.
typedef Str KindOf(const RegistryTrigger *trigger);

typedef void TakeRow(Making *making, const Value *row);

static Err make(Db *db, Registry *begun, int64_t since, Registry **ret, Error *error);
static Err read_changes(Making *making, Db *db, int64_t since, Error *error);
static void take_tenant(Making *making, const Value *row);
static void take_key(Making *making, const Value *row);
static void take_lane(Making *making, const Value *row);
static void take_hold(Registry *registry, const Rows *rows);
static Err take_definitions(Making *making, Db *db, Rows *page, Error *error);
static void take_definition(Making *making, const Value *row);
static void finish(Making *making);
static void edits_done(Edits *edits);

static Registry *registry_new(const KeyRing *ring)
{
    Registry *registry = memory_new(sizeof *registry);
    registry->holders = 1;
    registry->ring = ring;
    registry->stamp = ++stamps;
    registry->tenants.kind = &part_tenants;
    registry->keys.kind = &part_keys;
    registry->lanes.kind = &part_lanes;
    registry->sealed.kind = &part_channels;
    registry->paths.kind = &part_paths;
    return registry;
}

static Registry *registry_copy(const Registry *from)
{
    Registry *registry = registry_new(from->ring);
    registry->tenants = trie_hold(&from->tenants);
    registry->keys = trie_hold(&from->keys);
    registry->lanes = trie_hold(&from->lanes);
    registry->sealed = trie_hold(&from->sealed);
    registry->paths = trie_hold(&from->paths);
    return registry;
}

Err registry_load(Db *db, const KeyRing *ring, Registry **ret, Error *error)
{
    return make(db, registry_new(ring), 0, ret, error);
}

Err registry_renew(Db *db, const Registry *old, Registry **ret, Error *error)
{
    return make(db, registry_copy(old), old->generation, ret, error);
}

// make fills a snapshot that was begun by what changed after since.
static Err make(Db *db, Registry *begun, int64_t since, Registry **ret, Error *error)
{
    Making making = { .registry = begun };
    Err err = read_changes(&making, db, since, error);
    if (err == ERR_OK)
        finish(&making);
    edits_done(&making.kinds);
    edits_done(&making.off_kinds);
    if (err == ERR_OK)
        *ret = begun;
    else
        registry_drop(begun);
    return err;
}

static void take_rows(Making *making, const Rows *rows, TakeRow *take)
{
    making->registry->rows_read += rows->count;
    for (size_t i = 0; i < rows->count; i++)
        take(making, rows_at(rows, i));
}

// read_changes takes in what changed after since.
static Err read_changes(Making *making, Db *db, int64_t since, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Rows tenants, keys, lanes, definitions, hold;
    Value after[] = { value_i64(since), value_i64(INT64_MAX), value_text(S("")), value_text(S("")),
                      value_i64(PAGE_ROWS) };
    // The generation comes first: where something changes in between, the snapshot is older than
    // it could be, never newer than it says.
    TRY(generation_read(db, &making->registry->generation, error));
    db_send(db, &arena, &load_tenants, after, &tenants);
    db_send(db, &arena, &load_keys, after, &keys);
    db_send(db, &arena, &load_lanes, after, &lanes);
    db_send(db, &arena, &load_definitions, after, &definitions);
    db_send(db, &arena, &load_hold, NULL, &hold);
    TRY(db_sync(db, error));
    take_rows(making, &tenants, take_tenant);
    take_rows(making, &keys, take_key);
    take_rows(making, &lanes, take_lane);
    take_hold(making->registry, &hold);
    return take_definitions(making, db, &definitions, error);
}

// put_tenant puts a tenant that this load made in place of the one before.
static RegistryTenant *put_tenant(Registry *registry, const RegistryTenant *old, int64_t number,
                                  Str id, Str name)
{
    RegistryTenant *tenant = old ? part_tenant_copy(old, id, name) : part_tenant(number, id, name);
    tenant->stamp = registry->stamp;
    trie_put(&registry->tenants, &tenant->item);
    return tenant;
}

// own_tenant returns the tenant to change: this load's own.
static RegistryTenant *own_tenant(Registry *registry, int64_t number)
{
    RegistryTenant *tenant = part_find_tenant(registry, number);
    if (tenant && tenant->stamp == registry->stamp)
        return tenant;
    return put_tenant(registry, tenant, number, tenant ? tenant->id : STR_NONE,
                      tenant ? tenant->name : STR_NONE);
}

static void take_tenant(Making *making, const Value *row)
{
    int64_t number = value_to_i64(&row[0]);
    bool is_hidden = value_to_i64(&row[3]) != 0;
    RegistryTenant *tenant =
        put_tenant(making->registry, part_find_tenant(making->registry, number), number,
                   is_hidden ? STR_NONE : value_to_str(&row[1]), value_to_str(&row[2]));
    tenant->has_preferences = value_to_i64(&row[4]) != 0;
}

static void take_key(Making *making, const Value *row)
{
    RegistryKey key = { .id = value_to_uuid(&row[1]),
                        .tenant = value_to_i64(&row[2]),
                        .is_system = value_to_i64(&row[4]) != 0,
                        .expires_at = value_to_time(&row[5]),
                        .site = value_to_i64(&row[7]),
                        .site_name = value_to_str(&row[8]),
                        .handlers = value_to_str(&row[9]) };
    Str hash = value_to_str(&row[0]);
    if (hash.len == sizeof key.hash.b)
        memcpy(key.hash.b, hash.at, hash.len);
    if (!role_parse(value_to_str(&row[3]), &key.role))
        key.role = ROLE_NONE;
    key.is_session = row[10].type != VALUE_NULL;
    Str parent = value_to_str(&row[11]);
    if (key.is_session)
        key.parent_id = value_to_uuid(&row[10]);
    if (key.is_session && parent.len == sizeof key.parent.b)
        memcpy(key.parent.b, parent.at, parent.len);
    RegistryKey *part = part_key(&key);
    bool is_revoked = value_to_i64(&row[6]) != 0;
    if (!is_revoked) {
        trie_put(&making->registry->keys, &part->item);
        return;
    }
    trie_remove(&making->registry->keys, &part->item);
    trie_item_drop(&part_keys, &part->item);
}

static void put_lane(Registry *registry, int64_t number, const RegistryTenant *tenant, Str key)
{
    RegistryLane *lane = part_lane(number, tenant->tenant, key, part_find_channel(tenant, key));
    trie_put(&registry->lanes, &lane->item);
}

static void take_lane(Making *making, const Value *row)
{
    Registry *registry = making->registry;
    int64_t number = value_to_i64(&row[0]);
    Str key = value_to_str(&row[2]);
    RegistryTenant *tenant = own_tenant(registry, value_to_i64(&row[1]));
    trie_put(&tenant->ways, &part_way(key, number)->item);
    put_lane(registry, number, tenant, key);
}

static void take_hold(Registry *registry, const Rows *rows)
{
    registry->is_held = rows->count > 0;
    if (!registry->is_held)
        return;
    Str reason = value_to_str(&rows->values[0]);
    char *copy = memory_new(reason.len + 1);
    if (reason.len)
        memcpy(copy, reason.at, reason.len);
    registry->hold_reason = (Str){ copy, reason.len };
    registry->is_doubted = str_eq(reason, value_to_str(&rows->values[1]));
}

// DefinitionRow is a row of load_definitions.
typedef struct DefinitionRow {
    int64_t tenant, version, rule;
    Str kind, id, body;
    bool is_hidden;
    RuleKind rule_kind; // where rule is not 0
} DefinitionRow;

static void take_channel(Making *making, const DefinitionRow *row);
static void take_source(Making *making, const DefinitionRow *row);
static void take_trigger(Making *making, const DefinitionRow *row);

// take_definitions reads those that changed after since, page by page; the first is there already.
static Err take_definitions(Making *making, Db *db, Rows *page, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 }, last = { 0 };
    Rows rows = *page;
    take_rows(making, &rows, take_definition);
    while (rows.count == PAGE_ROWS) {
        const Value *row = rows_at(&rows, rows.count - 1);
        arena_reset(&last);
        Value after[] = { row[0], row[1], value_text(str_dup(&last, value_to_str(&row[2]))),
                          value_text(str_dup(&last, value_to_str(&row[3]))), value_i64(PAGE_ROWS) };
        arena_reset(&arena);
        TRY(db_query(db, &arena, &load_definitions, after, &rows, error));
        take_rows(making, &rows, take_definition);
    }
    return ERR_OK;
}

static void take_definition(Making *making, const Value *row)
{
    DefinitionRow definition = { .tenant = value_to_i64(&row[1]),
                                 .kind = value_to_str(&row[2]),
                                 .id = value_to_str(&row[3]),
                                 .version = value_to_i64(&row[4]),
                                 .is_hidden = value_to_i64(&row[5]) != 0,
                                 .body = value_to_str(&row[6]),
                                 .rule = value_to_i64(&row[7]) };
    if (str_eq(definition.kind, S("channel")))
        take_channel(making, &definition);
    else if (str_eq(definition.kind, S("source")))
        take_source(making, &definition);
    else if (definition.rule > 0 && rule_kind_parse(definition.kind, &definition.rule_kind))
        take_trigger(making, &definition);
}

// make_channel returns NULL for one that is hidden, or cannot be read any more.
static RegistryChannel *make_channel(const Registry *registry, const DefinitionRow *row)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *body;
    ChannelDefinition definition;
    Error error = { .arena = &arena };
    if (row->is_hidden)
        return NULL;
    if (json_parse(&arena, row->body, &body, &error) == ERR_OK &&
        channel_compile(body, &definition, &error) == ERR_OK)
        return part_channel(row->tenant, row->version, &definition, registry->ring);
    log_error("channel.unreadable", "channel=%s detail=%s", log_quote(row->id),
              log_quote(str_from(error.detail)));
    return NULL;
}

static void take_channel(Making *making, const DefinitionRow *row)
{
    Registry *registry = making->registry;
    RegistryTenant *tenant = own_tenant(registry, row->tenant);
    const RegistryChannel *old = part_find_channel(tenant, row->id);
    if (old && old->version == row->version && !row->is_hidden)
        return; // it was read a moment too early, the last time
    RegistryChannel *new = make_channel(registry, row);
    if (old)
        trie_remove(&registry->sealed, &old->item);
    if (new &&new->is_sealed) {
        trie_item_hold(&new->item);
        trie_put(&registry->sealed, &new->item);
    }
    if (new)
        trie_put(&tenant->channels, &new->item);
    else if (old)
        trie_remove(&tenant->channels, &old->item);
    const RegistryWay *way = part_find_way(tenant, row->id);
    if (way)
        put_lane(registry, way->lane, tenant, way->channel_key);
}

// make_source returns NULL for one that is hidden, that no webhooks come to, or that cannot be read
// any more.
static RegistryHook *make_source(const Registry *registry, const RegistryTenant *tenant,
                                 const DefinitionRow *row)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *body;
    SourceDefinition definition;
    Error error = { .arena = &arena };
    if (row->is_hidden)
        return NULL;
    if (json_parse(&arena, row->body, &body, &error) != ERR_OK ||
        source_compile(&arena, body, &definition, &error) != ERR_OK) {
        log_error("source.unreadable", "source=%s detail=%s", log_quote(row->id),
                  log_quote(str_from(error.detail)));
        return NULL;
    }
    // A tenant that was made a moment ago comes with the next load, and the source once more.
    if (!definition.path.at || !tenant->id.at)
        return NULL;
    definition.path = source_path(&arena, tenant->id, definition.path);
    return part_source(row->tenant, row->version, &definition, registry->ring);
}

static void take_source(Making *making, const DefinitionRow *row)
{
    Registry *registry = making->registry;
    RegistryTenant *tenant = own_tenant(registry, row->tenant);
    const RegistryHook *old = part_find_source(tenant, row->id);
    if (old && old->version == row->version && !row->is_hidden)
        return; // it was read a moment too early, the last time
    RegistryHook *new = make_source(registry, tenant, row);
    const RegistryPath *path = old ? part_find_path(registry, old->path) : NULL;
    if (path && path->hook == old) // else another has taken it
        trie_remove(&registry->paths, &path->item);
    if (new) {
        trie_put(&registry->paths, &part_path(new)->item);
        trie_put(&tenant->sources, &new->item);
    } else if (old) {
        trie_remove(&tenant->sources, &old->item);
    }
}

// make_trigger returns NULL for one that is hidden, or cannot be read any more.
static RegistryTrigger *make_trigger(const RegistryTenant *tenant, const DefinitionRow *row)
{
    DEFER(arena_done) Arena arena = { 0 };
    Trigger trigger;
    Error error = { .arena = &arena };
    if (row->is_hidden)
        return NULL;
    if (rule_parse(row->rule_kind, &arena, row->body, &trigger, &error) != ERR_OK) {
        log_error("rule.unreadable", "kind=%s id=%s detail=%s", rule_kind_text(row->rule_kind),
                  log_quote(row->id), log_quote(str_from(error.detail)));
        return NULL;
    }
    const RegistryWay *way = part_find_way(tenant, trigger.channel);
    trigger.rule.tenant = row->tenant;
    trigger.rule.number = row->rule;
    trigger.rule.version = row->version;
    trigger.rule.lane = way ? way->lane : 0;
    return part_trigger(&trigger, row->body);
}

static void add_edit(Edits *edits, RegistryTrigger *trigger, bool is_gone)
{
    if (edits->count == edits->room) {
        edits->room = edits->room ? edits->room * 2 : 16;
        edits->edits = memory_grow(edits->edits, edits->room * sizeof *edits->edits);
    }
    trie_item_hold(&trigger->item);
    edits->edits[edits->count] = (Edit){ trigger, edits->count, is_gone };
    edits->count++;
}

// add_edits notes that new stands in place of old: where both listen to one kind, that is one edit.
static void add_edits(Edits *edits, RegistryTrigger *old, Str old_kind, RegistryTrigger *new,
                      Str new_kind)
{
    if (old && old_kind.len && !(new &&str_eq(old_kind, new_kind)))
        add_edit(edits, old, true);
    if (new &&new_kind.len)
        add_edit(edits, new, false);
}

static void take_trigger(Making *making, const DefinitionRow *row)
{
    RegistryTenant *tenant = own_tenant(making->registry, row->tenant);
    RegistryTrigger *old = part_find_trigger(tenant, row->rule_kind, row->id);
    // It may have been read a moment too early, the last time: then it is known, but where it came
    // before its lane it does not know that.
    if (old && old->version == row->version && old->lane && !row->is_hidden)
        return;
    RegistryTrigger *new = make_trigger(tenant, row);
    tenant->moved = making->registry->stamp;
    add_edits(&making->kinds, old, old ? old->kind : STR_NONE, new, new ? new->kind : STR_NONE);
    add_edits(&making->off_kinds, old, old ? old->off_kind : STR_NONE, new,
              new ? new->off_kind : STR_NONE);
    if (new)
        trie_put(&tenant->triggers, &new->item);
    else if (old)
        trie_remove(&tenant->triggers, &old->item);
}

static Str listened_kind(const RegistryTrigger *trigger)
{
    return trigger->kind;
}

static Str called_off_kind(const RegistryTrigger *trigger)
{
    return trigger->off_kind;
}

// by_name is the order of those who listen: triggers, then other kinds of rules, each by id.
static int by_name(const RegistryTrigger *a, const RegistryTrigger *b)
{
    if (a->rule_kind != b->rule_kind)
        return a->rule_kind < b->rule_kind ? -1 : 1;
    return str_cmp(a->id, b->id);
}

static int compare_edits(const Edit *x, const Edit *y, KindOf *kind_of)
{
    if (x->trigger->tenant != y->trigger->tenant)
        return x->trigger->tenant < y->trigger->tenant ? -1 : 1;
    int order = str_cmp(kind_of(x->trigger), kind_of(y->trigger));
    if (order == 0)
        order = by_name(x->trigger, y->trigger);
    return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static int by_kind(const void *a, const void *b)
{
    return compare_edits(a, b, listened_kind);
}

static int by_off_kind(const void *a, const void *b)
{
    return compare_edits(a, b, called_off_kind);
}

// place_of returns where a trigger of this name stands among those of a kind, or would.
static size_t place_of(const RegistryKind *kind, const RegistryTrigger *named)
{
    size_t low = 0, high = kind->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_name(kind->triggers[middle], named) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void copy_triggers(RegistryKind *to, const RegistryKind *from, size_t at, size_t end)
{
    if (at == end)
        return;
    assert(from->triggers && at < end); // with nobody before there is nothing to copy
    memcpy(to->triggers + to->count, from->triggers + at, (end - at) * sizeof *to->triggers);
    to->count += end - at;
}

// merge makes who listens to a kind of who did, by edits that are in order.
static RegistryKind *merge(const RegistryKind *old, Str kind, const Edit *edits, size_t count)
{
    static const RegistryKind nobody = { 0 };
    old = old ? old : &nobody;
    size_t at = 0;
    RegistryKind *new = part_kind(kind, old->count + count);
    for (size_t i = 0; i < count; i++) {
        const RegistryTrigger *edited = edits[i].trigger;
        if (i + 1 < count && by_name(edits[i + 1].trigger, edited) == 0)
            continue;
        size_t place = place_of(old, edited);
        copy_triggers(new, old, at, place);
        at = place + (place < old->count && by_name(old->triggers[place], edited) == 0);
        if (!edits[i].is_gone)
            new->triggers[new->count++] = edits[i].trigger;
    }
    copy_triggers(new, old, at, old->count);
    return new;
}

// apply_edits does so for each kind of each tenant that edits name.
static void apply_edits(Making *making, const Edits *edits, KindOf *kind_of, bool is_off)
{
    for (size_t from = 0, to; from < edits->count; from = to) {
        const RegistryTrigger *first = edits->edits[from].trigger;
        Str kind = kind_of(first);
        for (to = from + 1; to < edits->count; to++) {
            const RegistryTrigger *next = edits->edits[to].trigger;
            if (next->tenant != first->tenant || !str_eq(kind_of(next), kind))
                break;
        }
        RegistryTenant *tenant = own_tenant(making->registry, first->tenant);
        Trie *kinds = is_off ? &tenant->off_kinds : &tenant->kinds;
        RegistryKind *merged =
            merge(part_find_kind(kinds, kind), kind, edits->edits + from, to - from);
        if (merged->count > 0) {
            trie_put(kinds, &merged->item);
        } else {
            trie_remove(kinds, &merged->item);
            trie_item_drop(&part_kinds, &merged->item);
        }
    }
}

// finish puts the triggers that came and went among those who listen.
static void finish(Making *making)
{
    Edits *kinds = &making->kinds, *off_kinds = &making->off_kinds;
    if (kinds->count > 0)
        qsort(kinds->edits, kinds->count, sizeof *kinds->edits, by_kind);
    if (off_kinds->count > 0)
        qsort(off_kinds->edits, off_kinds->count, sizeof *off_kinds->edits, by_off_kind);
    apply_edits(making, kinds, listened_kind, false);
    apply_edits(making, off_kinds, called_off_kind, true);
}

static void edits_done(Edits *edits)
{
    for (size_t i = 0; i < edits->count; i++)
        trie_item_drop(&part_triggers, &edits->edits[i].trigger->item);
    free(edits->edits);
}
