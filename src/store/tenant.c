#include "store/tenant.h"

#include "store/definition.h"

static const Statement insert = {
    .name = "tenant_insert",
    .scope = STATEMENT_SYSTEM,
    .params = "ttii",
    .sql = "INSERT INTO tenant (tenant, id, name, is_hidden, created_at, generation)"
           " SELECT COALESCE(MAX(tenant), 0) + 1, $1, $2, 0, $3, $4 FROM tenant WHERE 1 = 1"
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

const Statement *const tenant_statements[] = { &insert, &find, &page, NULL };

static Tenant read_row(const Value *row)
{
    return (Tenant){ .tenant = value_to_i64(&row[0]),
                     .id = value_to_str(&row[1]),
                     .name = value_to_str(&row[2]),
                     .created_at = value_to_time(&row[3]) };
}

Err tenant_add(Tx *tx, Str id, Str name, Tenant *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_text(id), value_text(name), value_i64(tx->now),
                     value_i64(definition_generation(tx)) };
    TRY(definition_lock(tx, error));
    TRY(tx_query(tx, &insert, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_EXISTS, "there is a tenant %.*s already", STR_ARG(id));
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
