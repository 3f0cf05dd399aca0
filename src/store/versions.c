#include "store/versions.h"

#include "base/log.h"
#include "store/rule.h"

#include <pthread.h>
#include <stdatomic.h>

static const Statement load = {
    .name = "version_load",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .many = true,
    .sql = "SELECT $4, r.kind, r.id, v.body FROM rule r LEFT JOIN definition_version v"
           " ON v.tenant = r.tenant AND v.kind = " RULE_DEFINITION_SQL " AND v.id = r.id"
           " AND v.version = $3 WHERE r.tenant = $1 AND r.rule = $2",
    .postgres = "SELECT u.n, r.kind, r.id, v.body"
                " FROM unnest($1, $2, $3, $4) AS u (tenant, rule, version, n)"
                " JOIN rule r ON r.tenant = u.tenant AND r.rule = u.rule"
                " LEFT JOIN definition_version v ON v.tenant = r.tenant"
                " AND v.kind = " RULE_DEFINITION_SQL " AND v.id = r.id AND v.version = u.version",
};

const Statement *const versions_statements[] = { &load, NULL };

// The cache is a table of short chains, each with its newest first. A chain that is full lets go of
// its last entry that nobody holds; where all are held, it is longer for a while.
enum { CHAIN_MAX = 8, CHAINS = VERSIONS_MAX / CHAIN_MAX };

typedef struct Version {
    Trigger trigger; // first: versions_drop() finds its Version by it
    struct Version *next;
    _Atomic int holders; // raised under the lock; whoever drops it touches nothing afterwards
    Arena arena;
} Version;

_Static_assert(offsetof(Version, trigger) == 0, "a Version is found by its trigger");

struct Versions {
    pthread_mutex_t lock;
    Version *chains[CHAINS]; // guarded by lock
};

Versions *versions_new(void)
{
    Versions *versions = memory_new(sizeof *versions);
    pthread_mutex_init(&versions->lock, NULL);
    return versions;
}

static void version_free(Version *version)
{
    arena_done(&version->arena);
    free(version);
}

void versions_free(Versions *versions)
{
    for (size_t i = 0; i < CHAINS; i++) {
        for (Version *next, *version = versions->chains[i]; version; version = next) {
            next = version->next;
            version_free(version);
        }
    }
    pthread_mutex_destroy(&versions->lock);
    free(versions);
}

static Version **chain_of(Versions *versions, int64_t rule, int64_t version)
{
    uint64_t hash = (uint64_t) rule * 0x9e3779b97f4a7c15u + (uint64_t) version;
    return &versions->chains[hash % CHAINS];
}

// unlink_entry takes what *at points to out of its chain.
static Version *unlink_entry(Version **at)
{
    Version *version = *at;
    *at = version->next;
    return version;
}

static void put_first(Version **chain, Version *version)
{
    version->next = *chain;
    *chain = version;
}

// find holds the version if it is there, and makes it its chain's newest. Needs the lock.
static Version *find(Version **chain, int64_t tenant, int64_t rule, int64_t version)
{
    for (Version **at = chain; *at; at = &(*at)->next) {
        const Rule *of = &(*at)->trigger.rule;
        if (of->number != rule || of->version != version || of->tenant != tenant)
            continue;
        Version *found = unlink_entry(at);
        put_first(chain, found);
        found->holders++;
        return found;
    }
    return NULL;
}

// make_room lets go of the oldest that nobody holds, if the chain is full. Needs the lock.
static void make_room(Version **chain)
{
    Version **oldest = NULL;
    int length = 0;
    for (Version **at = chain; *at; at = &(*at)->next, length++)
        if ((*at)->holders == 0)
            oldest = at;
    if (length >= CHAIN_MAX && oldest)
        version_free(unlink_entry(oldest));
}

// VersionRow is what is stored of a version; body is none where the rule has no such version.
typedef struct VersionRow {
    RuleKind kind;
    Str id, body;
} VersionRow;

// read_row fills in a version from what is stored, which it copies.
static Err read_row(Version *version, const VersionRow *row, VersionKey key, Error *error)
{
    Arena *arena = &version->arena;
    if (row->body.at)
        return rule_parse(row->kind, arena, str_dup(arena, row->body), &version->trigger, error);
    if (key.version != 0)
        return fail(error, ERR_NOT_FOUND, "there is no such version");
    version->trigger.rule = rule_default(row->kind, str_dup(arena, row->id));
    return ERR_OK;
}

// compile makes an entry of what is stored; NULL where that cannot be read.
static Version *compile(int64_t tenant, VersionKey key, const VersionRow *row)
{
    Version *version = memory_new(sizeof *version);
    Error error = { .arena = &version->arena };
    if (read_row(version, row, key, &error) != ERR_OK) {
        log_error("version.unreadable", "rule=%lld version=%lld detail=%s", (long long) key.rule,
                  (long long) key.version, log_quote(str_from(error.detail)));
        version_free(version);
        return NULL;
    }
    version->trigger.rule.tenant = tenant;
    version->trigger.rule.number = key.rule;
    version->trigger.rule.version = key.version;
    version->holders = 1;
    return version;
}

// keep adds what was compiled outside the lock. Another thread may have been quicker: then its
// entry is the one.
static Version *keep(Versions *versions, Version **chain, Version *made)
{
    const Rule *rule = &made->trigger.rule;
    pthread_mutex_lock(&versions->lock);
    Version *kept = find(chain, rule->tenant, rule->number, rule->version);
    if (!kept) {
        make_room(chain);
        put_first(chain, made);
        kept = made;
    }
    pthread_mutex_unlock(&versions->lock);
    if (kept != made)
        version_free(made);
    return kept;
}

// fetch reads those of the keys that ret has no version for, all at once, and keeps them.
static Err fetch(Versions *versions, Db *db, int64_t tenant, const VersionKey *keys, size_t count,
                 const Trigger **ret, Error *error)
{
    DEFER(arena_done) Arena scratch = { 0 };
    Rows rows;
    size_t asked = 0;
    Value *values = ARENA_ARRAY(&scratch, Value, count * 4 + 1);
    for (size_t i = 0; i < count; i++) {
        if (ret[i])
            continue;
        Value *row = values + 4 * asked++;
        row[0] = value_i64(tenant);
        row[1] = value_i64(keys[i].rule);
        row[2] = value_i64(keys[i].version);
        row[3] = value_i64((int64_t) i);
    }
    db_send_many(db, &scratch, &load, values, asked, &rows);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        size_t at = (size_t) value_to_i64(&row[0]);
        VersionRow stored = { (RuleKind) value_to_i64(&row[1]), value_to_str(&row[2]),
                              value_to_str(&row[3]) };
        Version *made = compile(tenant, keys[at], &stored);
        if (made)
            ret[at] =
                &keep(versions, chain_of(versions, keys[at].rule, keys[at].version), made)->trigger;
    }
    if (rows.count < asked)
        log_error("version.missing", "count=%zu of=%zu", asked - rows.count, asked);
    return ERR_OK;
}

Err versions_load_all(Versions *versions, Db *db, int64_t tenant, const VersionKey *keys,
                      size_t count, const Trigger **ret, Error *error)
{
    size_t missing = 0;
    pthread_mutex_lock(&versions->lock);
    for (size_t i = 0; i < count; i++) {
        Version *found = find(chain_of(versions, keys[i].rule, keys[i].version), tenant,
                              keys[i].rule, keys[i].version);
        ret[i] = found ? &found->trigger : NULL;
        missing += !found;
    }
    pthread_mutex_unlock(&versions->lock);
    if (missing == 0)
        return ERR_OK;
    Err err = fetch(versions, db, tenant, keys, count, ret, error);
    for (size_t i = 0; i < count && err != ERR_OK; i++)
        versions_drop(ret[i]);
    return err;
}

Err versions_load(Versions *versions, Db *db, int64_t tenant, int64_t rule, int64_t version,
                  const Trigger **ret, Error *error)
{
    return versions_load_all(versions, db, tenant, &(VersionKey){ rule, version }, 1, ret, error);
}

void versions_drop(const Trigger *trigger)
{
    if (!trigger)
        return;
    Version *version = (Version *) (uintptr_t) trigger;
    int before = version->holders--;
    assert(before > 0);
}
