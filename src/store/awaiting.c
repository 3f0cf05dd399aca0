#include "store/awaiting.h"

#include "store/columns.h"

static const Statement file = {
    .name = "awaiting_file",
    .scope = STATEMENT_TENANT,
    .params = "itu",
    .many = true,
    .sql = "INSERT INTO awaiting (tenant, public_id, delivery) VALUES ($1, $2, $3)",
    .postgres = "INSERT INTO awaiting (tenant, public_id, delivery)"
                " SELECT * FROM unnest($1, $2, $3)",
};

// Nobody who answers says whose he is.
static const Statement find = {
    .name = "awaiting_find",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "SELECT tenant, public_id, delivery FROM awaiting WHERE public_id = $1",
};

const Statement *const awaiting_statements[] = { &file, &find, NULL };

static const Columns columns = COLUMNS(Awaiting, COLUMN(Awaiting, tenant),
                                       COLUMN(Awaiting, public_id), COLUMN(Awaiting, delivery));

void awaiting_file(Tx *tx, const Awaiting *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &file, &columns, rows, count, NULL);
}

Err awaiting_find(Db *db, Arena *arena, Str public_id, Awaiting *ret, Error *error)
{
    Rows rows = { 0 };
    Value args[] = { value_text(public_id) };
    if (public_id.len == PUBLIC_ID_LEN)
        TRY(db_query(db, arena, &find, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "nothing awaits an answer under this id");
    columns_read(&columns, rows.values, ret);
    return ERR_OK;
}
