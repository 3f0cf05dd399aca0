#include "store/key.h"

#include "store/definition.h"
#include "store/session.h"
#include "store/tenant.h"

enum { KEY_BYTES = 32, KEY_DIGITS = 43 };

// The name of a key that came from PEAL_ADMIN_KEY, by which a later start finds it again.
#define GIVEN_NAME S("given at the start")

static const Statement insert = {
    .name = "key_insert",
    .scope = STATEMENT_TENANT,
    .params = "iutitbiiiit",
    .sql = "INSERT INTO api_key (tenant, id, role, is_system, name, hash, created_at, expires_at,"
           " is_revoked, generation, site, handlers)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11)",
};
#define SELECT_KEY                                                                                 \
    "SELECT k.id, k.tenant, COALESCE(p.role, k.role), k.is_system, COALESCE(p.name, k.name),"      \
    " k.created_at, k.expires_at, k.site, s.name, k.handlers, k.parent FROM api_key k"             \
    " LEFT JOIN api_key p ON p.tenant = k.tenant AND p.id = k.parent"                              \
    " LEFT JOIN site s ON s.site = k.site"
// A session that is over is listed no more; a key that is may be given more time.
#define IS_THERE " AND k.is_revoked = 0 AND (k.parent IS NULL OR k.expires_at > $3)"
static const Statement page = {
    .name = "key_page",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = SELECT_KEY " WHERE k.tenant = $1 AND k.id > $2" IS_THERE " ORDER BY k.id LIMIT $4",
};
static const Statement find = {
    .name = "key_find",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = SELECT_KEY " WHERE k.tenant = $1 AND k.id = $2" IS_THERE,
};
static const Statement name_of = {
    .name = "key_name",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = "SELECT COALESCE(p.name, k.name) FROM api_key k"
           " LEFT JOIN api_key p ON p.tenant = k.tenant AND p.id = k.parent"
           " WHERE k.tenant = $1 AND k.id = $2",
};
static const Statement update = {
    .name = "key_update",
    .scope = STATEMENT_TENANT,
    .params = "iuttiiit",
    .sql = "UPDATE api_key SET role = $3, name = $4, expires_at = $5, generation = $6, site = $7,"
           " handlers = $8 WHERE tenant = $1 AND id = $2",
};
static const Statement revoke = {
    .name = "key_revoke",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = "UPDATE api_key SET is_revoked = 1, generation = $3 WHERE tenant = $1 AND id = $2",
};
static const Statement tenant_of = {
    .name = "key_tenant",
    .scope = STATEMENT_SYSTEM,
    .params = "u",
    .sql = "SELECT tenant FROM api_key WHERE id = $1 AND is_revoked = 0",
};
static const Statement system_keys = {
    .name = "key_system",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT hash FROM api_key WHERE is_system = 1 AND is_revoked = 0 AND parent IS NULL",
};
static const Statement promote = {
    .name = "key_promote",
    .scope = STATEMENT_SYSTEM,
    .params = "bti",
    .sql = "UPDATE api_key SET role = 'admin', is_system = 1, is_revoked = 0,"
           " expires_at = NULL, name = $2, generation = $3 WHERE hash = $1 AND parent IS NULL",
};
// Whoever makes a key may choose its name, but not the system right.
static const Statement replace = {
    .name = "key_replace",
    .scope = STATEMENT_SYSTEM,
    .params = "bti",
    .sql = "UPDATE api_key SET is_revoked = 1, generation = $3"
           " WHERE is_system = 1 AND is_revoked = 0 AND parent IS NULL AND name = $2"
           " AND hash <> $1 RETURNING tenant, id",
};

const Statement *const key_statements[] = {
    &insert,    &page,        &find,    &name_of, &update, &revoke,
    &tenant_of, &system_keys, &promote, &replace, NULL,
};

Str key_text_new(Arena *arena, Random *random, const char prefix[4])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const unsigned base = sizeof digits - 1;
    uint8_t number[KEY_BYTES]; // big-endian; 43 digits of base 62 hold any 256 bits
    char text[3 + KEY_DIGITS];
    memcpy(text, prefix, 3);
    random_fill(random, number, sizeof number);
    for (size_t i = sizeof text; i-- > 3;) {
        unsigned rest = 0;
        for (size_t b = 0; b < sizeof number; b++) {
            unsigned part = rest << 8 | number[b];
            number[b] = (uint8_t) (part / base);
            rest = part % base;
        }
        text[i] = digits[rest];
    }
    Str key = str_dup(arena, (Str){ text, sizeof text });
    crypto_wipe(text, sizeof text);
    return key;
}

static Str hash_bytes(const Sha256 *hash)
{
    return (Str){ (const char *) hash->b, sizeof hash->b };
}

Err key_add(Tx *tx, Key *key, Str text, Error *error)
{
    TRY(definition_lock(tx, error));
    Sha256 hash = sha256(text);
    key->id = uuid_new(tx->now, tx->random);
    key->created_at = tx->now;
    Value args[] = { value_i64(key->tenant),
                     value_uuid(&key->id),
                     value_text(str_from(role_text(key->role))),
                     value_i64(key->is_system),
                     value_text(key->name.at ? key->name : S("")),
                     value_bytes(hash_bytes(&hash)),
                     value_i64(key->created_at),
                     value_time(key->expires_at),
                     value_i64(definition_generation(tx)),
                     value_i64(key->site),
                     value_text(key->handlers) };
    Rows rows;
    TRY(tx_query(tx, &insert, args, &rows, error));
    tx->changes_definitions = true;
    tx_fact(tx, FACT_KEY_MADE, key->tenant, uuid_dup(&tx->arena, key->id));
    return ERR_OK;
}

static Err not_found(Error *error)
{
    return fail(error, ERR_NOT_FOUND, "there is no such key");
}

static Key read_row(const Value *row)
{
    Key key = { .id = value_to_uuid(&row[0]),
                .tenant = value_to_i64(&row[1]),
                .is_system = value_to_i64(&row[3]) != 0,
                .name = value_to_str(&row[4]),
                .created_at = value_to_time(&row[5]),
                .expires_at = value_to_time(&row[6]),
                .site = value_to_i64(&row[7]),
                .site_name = value_to_str(&row[8]),
                .handlers = value_to_str(&row[9]),
                .is_session = row[10].type != VALUE_NULL };
    if (key.is_session)
        key.session_of = value_to_uuid(&row[10]);
    if (!role_parse(value_to_str(&row[2]), &key.role))
        key.role = ROLE_NONE;
    return key;
}

Err key_page(Db *db, Arena *arena, int64_t tenant, Instant now, const Walk *walk, Key **ret,
             Seen *ret_seen, Error *error)
{
    Rows rows;
    Uuid after = { { 0 } };
    TRY(walk_after(walk, false, &after, error));
    Value args[] = { value_i64(tenant), value_uuid(&after), value_i64(now),
                     value_i64(walk->limit + 1) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    Key *found = ARENA_ARRAY(arena, Key, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        found[i] = read_row(rows_at(&rows, i));
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place(arena, found[ret_seen->count - 1].id);
    return ERR_OK;
}

Err key_find(Db *db, Arena *arena, int64_t tenant, const Uuid *id, Instant now, Key *ret,
             Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(id), value_i64(now) };
    TRY(db_query(db, arena, &find, args, &rows, error));
    if (rows.count == 0)
        return not_found(error);
    *ret = read_row(rows.values);
    return ERR_OK;
}

Err key_change(Tx *tx, const Key *key, Error *error)
{
    TRY(definition_lock(tx, error));
    Value args[] = { value_i64(key->tenant),
                     value_uuid(&key->id),
                     value_text(str_from(role_text(key->role))),
                     value_text(key->name.at ? key->name : S("")),
                     value_time(key->expires_at),
                     value_i64(definition_generation(tx)),
                     value_i64(key->site),
                     value_text(key->handlers) };
    Rows rows;
    TRY(tx_query(tx, &update, args, &rows, error));
    assert(rows.changed == 1); // the lock was taken before it was found
    session_shorten(tx, key);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_KEY_CHANGED, key->tenant, uuid_dup(&tx->arena, key->id));
    return ERR_OK;
}

Err key_names(Db *db, Arena *arena, int64_t tenant, const Uuid *ids, size_t count, Str *ret,
              Error *error)
{
    Rows *rows = ARENA_ARRAY(arena, Rows, count + 1);
    for (size_t i = 0; i < count; i++) {
        Value args[] = { value_i64(tenant), value_uuid(&ids[i]) };
        db_send(db, arena, &name_of, args, &rows[i]);
    }
    TRY(db_sync(db, error));
    for (size_t i = 0; i < count; i++) {
        Str name = rows[i].count ? value_to_str(rows[i].values) : STR_NONE;
        ret[i] = name.len ? name : STR_NONE;
    }
    return ERR_OK;
}

Err key_tenant(Db *db, Arena *arena, const Uuid *id, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_uuid(id) };
    TRY(db_query(db, arena, &tenant_of, args, &rows, error));
    if (rows.count == 0)
        return not_found(error);
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

Err key_remove(Tx *tx, int64_t tenant, const Uuid *id, Error *error)
{
    Rows system;
    Key key;
    Value args[] = { value_i64(tenant), value_uuid(id), value_i64(definition_generation(tx)) };
    TRY(definition_lock(tx, error));
    db_send(tx->db, &tx->arena, &system_keys, NULL, &system);
    TRY(key_find(tx->db, &tx->arena, tenant, id, tx->now, &key, error));
    if (key.is_session)
        return session_close(tx, &key, error);
    if (key.is_system && system.count == 1)
        return fail(error, ERR_CONFLICT, "it is the last key with the system right");
    TRY(session_close_all(tx, tenant, id, error));
    db_send(tx->db, &tx->arena, &revoke, args, NULL);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_KEY_DELETED, tenant, uuid_dup(&tx->arena, *id));
    return ERR_OK;
}

// ensure_first makes the first tenant, or sees that it lacks nothing.
static Err ensure_first(Tx *tx, Error *error)
{
    Tenant first = { 0 };
    Error missing = { 0 };
    Err err = tenant_find(tx->db, &tx->arena, S("default"), &first, &missing);
    if (err == ERR_NOT_FOUND)
        TRY(tenant_add(tx, S("default"), S("Default"), &first, error));
    else if (err != ERR_OK)
        return fail(error, err, "%s", missing.detail);
    if (first.tenant != TENANT_FIRST)
        return fail(error, ERR_CORRUPT, "the tenant \"default\" is not the first");
    return tenant_equip(tx, first.tenant, error);
}

static Err add_system(Tx *tx, Str text, Str name, Error *error)
{
    Key key = { .tenant = TENANT_FIRST,
                .role = ROLE_ADMIN,
                .is_system = true,
                .name = name,
                .expires_at = INSTANT_NONE };
    return key_add(tx, &key, text, error);
}

// ensure_given sees that the key with this text has the system right, and none given earlier.
static Err ensure_given(Tx *tx, Str given, const Rows *system, int64_t *ret_replaced, Error *error)
{
    Sha256 hash = sha256(given);
    bool is_there = false;
    for (size_t i = 0; i < system->count && !is_there; i++)
        is_there = str_eq(value_to_str(rows_at(system, i)), hash_bytes(&hash));
    Rows promoted = { 0 }, replaced;
    Value args[] = { value_bytes(hash_bytes(&hash)), value_text(GIVEN_NAME),
                     value_i64(definition_generation(tx)) };
    if (!is_there)
        TRY(tx_query(tx, &promote, args, &promoted, error));
    if (!is_there && promoted.changed == 0)
        TRY(add_system(tx, given, GIVEN_NAME, error));
    TRY(tx_query(tx, &replace, args, &replaced, error));
    for (size_t i = 0; i < replaced.count; i++) {
        const Value *row = rows_at(&replaced, i);
        Uuid id = value_to_uuid(&row[1]);
        TRY(session_close_all(tx, value_to_i64(&row[0]), &id, error));
    }
    *ret_replaced = (int64_t) replaced.count;
    if (promoted.changed > 0 || replaced.count > 0)
        tx->changes_definitions = true;
    return ERR_OK;
}

Err key_bootstrap(Tx *tx, Arena *arena, Str given, KeyStart *ret, Error *error)
{
    if (given.at && given.len < KEY_GIVEN_MIN)
        return fail(error, ERR_SETUP, "the admin key must have at least %d characters",
                    KEY_GIVEN_MIN);
    Rows system;
    KeyStart start = { 0 };
    TRY(definition_lock(tx, error));
    TRY(ensure_first(tx, error));
    TRY(tx_query(tx, &system_keys, NULL, &system, error));
    if (given.at) {
        TRY(ensure_given(tx, given, &system, &start.replaced, error));
    } else if (system.count == 0) {
        start.made = key_text_new(arena, tx->random, KEY_PREFIX);
        TRY(add_system(tx, start.made, S("made at the first start"), error));
    }
    *ret = start;
    return ERR_OK;
}
