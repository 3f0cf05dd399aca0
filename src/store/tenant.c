#include "store/tenant.h"

#include "domain/definition.h"
#include "store/definition.h"
#include "store/lane.h"

static const Statement insert = {
    .name = "tenant_insert",
    .scope = STATEMENT_SYSTEM,
    .params = "ttii",
    .sql =
        "INSERT INTO tenant (tenant, id, name, is_hidden, has_preferences, created_at, generation)"
        " SELECT COALESCE(MAX(tenant), 0) + 1, $1, $2, 0, 0, $3, $4 FROM tenant WHERE 1 = 1"
        " ON CONFLICT (id) DO NOTHING RETURNING tenant",
};
static const Statement find = {
    .name = "tenant_find",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "SELECT tenant, id, name, created_at FROM tenant WHERE id = $1 AND is_hidden = 0",
};
static const Statement page = {
    .name = "tenant_page",
    .scope = STATEMENT_SYSTEM,
    .params = "ti",
    .sql = "SELECT tenant, id, name, created_at FROM tenant WHERE id > $1 AND is_hidden = 0"
           " ORDER BY id LIMIT $2",
};

static const Statement was = {
    .name = "tenant_was",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "SELECT 1 FROM tenant WHERE id = $1 AND is_hidden = 1",
};
static const Statement rename_one = {
    .name = "tenant_rename",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "UPDATE tenant SET name = $2, generation = $3 WHERE tenant = $1",
};
static const Statement hide = {
    .name = "tenant_hide",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "UPDATE tenant SET is_hidden = 1, generation = $2 WHERE tenant = $1",
    .postgres = "WITH nobody AS (DELETE FROM emitter WHERE tenant = $1)" // may emit for it
                " UPDATE tenant SET is_hidden = 1, generation = $2 WHERE tenant = $1",
};
// What a tenant is born with does not count.
static const Statement definitions = {
    .name = "tenant_definitions",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT kind, COUNT(*) FROM definition WHERE tenant = $1 AND is_hidden = 0"
           " AND NOT (kind = 'channel' AND id = $2) GROUP BY kind ORDER BY kind",
};
static const Statement keys = {
    .name = "tenant_keys",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT COUNT(*) FROM api_key WHERE tenant = $1 AND is_revoked = 0 AND parent IS NULL",
};
static const Statement live = {
    .name = "tenant_live",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT COUNT(*) FROM (SELECT id FROM queue WHERE tenant = $1 LIMIT $2) l",
};

const Statement *const tenant_statements[] = {
    &insert, &find, &page, &was, &rename_one, &hide, &definitions, &keys, &live, NULL,
};

static Tenant read_row(const Value *row)
{
    return (Tenant){ .tenant = value_to_i64(&row[0]),
                     .id = value_to_str(&row[1]),
                     .name = value_to_str(&row[2]),
                     .created_at = value_to_time(&row[3]) };
}

// taken says by whom an id is: one that was deleted keeps it, for its history does too.
static Err taken(Tx *tx, Str id, Error *error)
{
    Rows rows;
    Value args[] = { value_text(id) };
    TRY(tx_query(tx, &was, args, &rows, error));
    if (rows.count > 0)
        return fail(error, ERR_EXISTS, "there was a tenant %.*s; an id is not used again",
                    STR_ARG(id));
    return fail(error, ERR_EXISTS, "there is a tenant %.*s already", STR_ARG(id));
}

Err tenant_add(Tx *tx, Str id, Str name, Tenant *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_text(id), value_text(name), value_i64(tx->now),
                     value_i64(definition_generation(tx)) };
    TRY(definition_lock(tx, error));
    TRY(tx_query(tx, &insert, args, &rows, error));
    if (rows.count == 0)
        return taken(tx, id, error);
    tx->changes_definitions = true;
    Tenant tenant = { value_to_i64(&rows.values[0]), id, name, tx->now };
    tx_fact(tx, FACT_TENANT_MADE, tenant.tenant, id);
    TRY(tenant_equip(tx, tenant.tenant, error));
    *ret = tenant;
    return ERR_OK;
}

Err tenant_find(Db *db, Arena *arena, Str id, Tenant *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_text(id) };
    TRY(db_query(db, arena, &find, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no tenant %.*s", STR_ARG(id));
    *ret = read_row(rows.values);
    return ERR_OK;
}

Err tenant_page(Db *db, Arena *arena, const Walk *walk, Tenant **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    Str after;
    TRY(walk_after_text(walk, &after, error));
    Value args[] = { value_text(after), value_i64(walk->limit + 1) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    Tenant *found = ARENA_ARRAY(arena, Tenant, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        found[i] = read_row(rows_at(&rows, i));
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = found[ret_seen->count - 1].id;
    return ERR_OK;
}

Err tenant_equip(Tx *tx, int64_t tenant, Error *error)
{
    Definition made;
    Error taken = { 0 };
    Str body = S("{\"key\":\"memory:default\",\"type\":\"memory\"}");
    Err err =
        definition_create(tx, tenant, DEFINITION_CHANNEL, CHANNEL_ALWAYS, body, &made, &taken);
    if (err != ERR_OK && err != ERR_EXISTS)
        return fail(error, err, "%s", taken.detail);
    return lane_ensure(tx, tenant, CHANNEL_ALWAYS, error);
}

Err tenant_rename(Tx *tx, Tenant *tenant, Str name, Error *error)
{
    TRY(definition_lock(tx, error));
    Value args[] = { value_i64(tenant->tenant), value_text(name),
                     value_i64(definition_generation(tx)) };
    db_send(tx->db, &tx->arena, &rename_one, args, NULL);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_TENANT_CHANGED, tenant->tenant, tenant->id);
    tenant->name = name;
    return ERR_OK;
}

static void add_left(Buf *left, int64_t n, const char *one, const char *many)
{
    if (n > 0)
        buf_add_format(left, "%s%lld %s", left->len ? ", " : "", (long long) n,
                       n == 1 ? one : many);
}

// add_definitions names what is left by the words of the table of kinds.
static void add_definitions(Buf *left, const Rows *kinds)
{
    for (size_t i = 0; i < kinds->count; i++) {
        const Value *row = rows_at(kinds, i);
        for (size_t k = 0; definition_kinds[k]; k++)
            if (str_eq(value_to_str(&row[0]), str_from(definition_kinds[k]->kind)))
                add_left(left, value_to_i64(&row[1]), definition_kinds[k]->kind,
                         definition_kinds[k]->plural);
    }
}

// find_left says what a tenant still has, in words; empty: nothing.
static Err find_left(Tx *tx, int64_t tenant, Buf *ret, Error *error)
{
    enum { LIVE_COUNTED_MAX = 10000 };
    Rows kinds, held, queued;
    Value named[] = { value_i64(tenant), value_text(CHANNEL_ALWAYS) };
    Value limited[] = { value_i64(tenant), value_i64(LIVE_COUNTED_MAX) };
    db_send(tx->db, &tx->arena, &definitions, named, &kinds);
    db_send(tx->db, &tx->arena, &keys, named, &held);
    TRY(tx_query(tx, &live, limited, &queued, error));
    add_definitions(ret, &kinds);
    add_left(ret, value_to_i64(held.values), "key", "keys");
    add_left(ret, value_to_i64(queued.values), "live delivery", "live deliveries");
    return ERR_OK;
}

Err tenant_remove(Tx *tx, const Tenant *tenant, Error *error)
{
    TRY(definition_lock(tx, error));
    if (tenant->tenant == TENANT_FIRST)
        return fail(error, ERR_CONFLICT, "the tenant default always exists");
    Buf left = buf_new(&tx->arena, ERROR_DETAIL_MAX);
    TRY(find_left(tx, tenant->tenant, &left, error));
    if (left.len > 0)
        return fail(error, ERR_CONFLICT, "tenant %.*s still has %.*s", STR_ARG(tenant->id),
                    STR_ARG(buf_str(&left)));
    TRY(definition_hide(tx, tenant->tenant, DEFINITION_CHANNEL, CHANNEL_ALWAYS,
                        DEFINITION_ANY_VERSION, error));
    Value args[] = { value_i64(tenant->tenant), value_i64(definition_generation(tx)) };
    db_send(tx->db, &tx->arena, &hide, args, NULL);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_TENANT_DELETED, tenant->tenant, tenant->id);
    return ERR_OK;
}
