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

const Statement *const awaiting_statements[] = { &file, NULL };

static const Columns columns = COLUMNS(Awaiting, COLUMN(Awaiting, tenant),
                                       COLUMN(Awaiting, public_id), COLUMN(Awaiting, delivery));

void awaiting_file(Tx *tx, const Awaiting *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &file, &columns, rows, count, NULL);
}
