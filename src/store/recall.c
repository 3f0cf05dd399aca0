#include "store/recall.h"

static const Statement file = {
    .name = "recall_file",
    .scope = STATEMENT_TENANT,
    .params = "iuu",
    .many = true,
    .sql = "INSERT INTO recall (tenant, key, delivery) VALUES ($1, $2, $3)",
    .postgres = "INSERT INTO recall (tenant, key, delivery)"
                " SELECT * FROM unnest($1, $2, $3)",
};

#define RECALL_COLUMNS STANDING_COLUMNS("q.")

static const Statement find = {
    .name = "recall_find",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = "SELECT " RECALL_COLUMNS " FROM recall r"
           " JOIN queue q ON q.tenant = r.tenant AND q.id = r.delivery"
           " WHERE r.tenant = $1 AND r.key = $2",
    .postgres = "SELECT " RECALL_COLUMNS " FROM unnest($1, $2) AS u (tenant, key)"
                " JOIN recall r ON r.tenant = u.tenant AND r.key = u.key"
                " JOIN queue q ON q.tenant = r.tenant AND q.id = r.delivery FOR UPDATE OF q",
};

const Statement *const recall_statements[] = { &file, &find, NULL };

static const Columns key_columns = COLUMNS(RecallKey, COLUMN(RecallKey, tenant),
                                           COLUMN(RecallKey, key), COLUMN(RecallKey, delivery));
static const Columns find_columns =
    COLUMNS(RecallKey, COLUMN(RecallKey, tenant), COLUMN(RecallKey, key));

void recall_file(Tx *tx, const RecallKey *keys, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &file, &key_columns, keys, count, NULL);
}

static int by_key(const void *a, const void *b)
{
    const RecallKey *x = a, *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return uuid_cmp(x->key, y->key);
}

// send_find asks for each key once: a delivery is filed under one, so none is found twice.
static void send_find(Tx *tx, RecallKey *keys, size_t count, Rows *ret)
{
    const void **asked = ARENA_ARRAY(&tx->arena, const void *, count);
    size_t used = 0;
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_key(&keys[i - 1], &keys[i]) != 0)
            asked[used++] = &keys[i];
    db_send_picked(tx->db, &tx->arena, &find, &find_columns, asked, used, ret);
}

Err recall_call(Tx *tx, RecallKey *keys, size_t count, Error *error)
{
    if (count == 0)
        return ERR_OK;
    Rows rows;
    send_find(tx, keys, count, &rows);
    TRY(tx_sync(tx, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count),
                          .count = rows.count };
    for (size_t i = 0; i < rows.count; i++) {
        QueueRow row;
        queue_read(rows_at(&rows, i), &row);
        batch.rows[i] = settle_called_off(
            &row, delivery_act_on(&row.live, DELIVERY_ACTION_RECALL, tx->now), tx->now);
    }
    return queue_settle_now(tx, &batch, error);
}
