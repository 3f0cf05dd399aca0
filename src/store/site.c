#include "store/site.h"

#include "store/definition.h"

static const Statement find = {
    .name = "site_find",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT site FROM site WHERE tenant = $1 AND name = $2",
};
// The select has a condition because SQLite would read its ON as a join's.
static const Statement insert = {
    .name = "site_insert",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "INSERT INTO site (site, tenant, name)"
           " SELECT COALESCE(MAX(site), 0) + 1, $1, $2 FROM site WHERE 1 = 1"
           " ON CONFLICT (tenant, name) DO NOTHING",
};

const Statement *const site_statements[] = { &find, &insert, NULL };

Err site_number(Tx *tx, int64_t tenant, Str name, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(name) };
    TRY(tx_query(tx, &find, args, &rows, error));
    if (rows.count == 0) {
        TRY(definition_lock(tx, error));
        TRY(tx_query(tx, &insert, args, &rows, error));
        TRY(tx_query(tx, &find, args, &rows, error));
        if (rows.count == 0)
            return fail(error, ERR_CORRUPT, "the site %.*s has no number", STR_ARG(name));
    }
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}
