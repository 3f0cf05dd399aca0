#include "store/hook.h"

#include "store/definition.h"

static const Statement whose = {
    .name = "hook_path_whose",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT source FROM hook_path WHERE tenant = $1 AND path = $2",
};
static const Statement drop = {
    .name = "hook_path_drop",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "DELETE FROM hook_path WHERE tenant = $1 AND source = $2",
};
static const Statement take = {
    .name = "hook_path_take",
    .scope = STATEMENT_TENANT,
    .params = "itt",
    .sql = "INSERT INTO hook_path (tenant, source, path) VALUES ($1, $2, $3)",
};

const Statement *const hook_statements[] = { &whose, &drop, &take, NULL };

Err hook_path_check(Tx *tx, int64_t tenant, Str source, Str path, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(path) };
    TRY(definition_lock(tx, error));
    TRY(tx_query(tx, &whose, args, &rows, error));
    if (rows.count > 0 && !str_eq(value_to_str(rows_at(&rows, 0)), source))
        return fail(error, ERR_CONFLICT, "another source listens at the path %.*s", STR_ARG(path));
    return ERR_OK;
}

void hook_path_take(Tx *tx, int64_t tenant, Str source, Str path)
{
    Value args[] = { value_i64(tenant), value_text(source), value_text(path) };
    hook_path_drop(tx, tenant, source);
    db_send(tx->db, &tx->arena, &take, args, NULL);
}

void hook_path_drop(Tx *tx, int64_t tenant, Str source)
{
    Value args[] = { value_i64(tenant), value_text(source) };
    db_send(tx->db, &tx->arena, &drop, args, NULL);
}
