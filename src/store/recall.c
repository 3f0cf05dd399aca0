#include "store/recall.h"

static const Statement file = {
    .name = "recall_file",
    .scope = STATEMENT_TENANT,
    .params = "itbu",
    .many = true,
    .sql = "INSERT INTO recall (tenant, trigger_id, hash, delivery) VALUES ($1, $2, $3, $4)",
    .postgres = "INSERT INTO recall (tenant, trigger_id, hash, delivery)"
                " SELECT * FROM unnest($1, $2, $3, $4)",
};

#define RECALL_COLUMNS                                                                             \
    "q.tenant, q.id, q.lane, q.state, q.attempt, q.failures, q.send, q.reminders_left,"            \
    " q.triggered_at, q.first_due_at, q.last_sent_at"

static const Statement find = {
    .name = "recall_find",
    .scope = STATEMENT_TENANT,
    .params = "itb",
    .many = true,
    .sql = "SELECT " RECALL_COLUMNS " FROM recall r"
           " JOIN queue q ON q.tenant = r.tenant AND q.id = r.delivery"
           " WHERE r.tenant = $1 AND r.trigger_id = $2 AND r.hash = $3",
    .postgres = "SELECT " RECALL_COLUMNS " FROM unnest($1, $2, $3) AS u (tenant, trigger_id, hash)"
                " JOIN recall r ON r.tenant = u.tenant AND r.trigger_id = u.trigger_id"
                " AND r.hash = u.hash"
                " JOIN queue q ON q.tenant = r.tenant AND q.id = r.delivery FOR UPDATE OF q",
};

const Statement *const recall_statements[] = { &file, &find, NULL };

static void fill(Value *row, const RecallKey *key)
{
    row[0] = value_i64(key->tenant);
    row[1] = value_text(key->trigger_id);
    row[2] = value_bytes((Str){ (const char *) key->hash.b, sizeof key->hash.b });
}

void recall_file(Tx *tx, const RecallKey *keys, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 4 + 1);
    for (size_t i = 0; i < count; i++) {
        fill(values + i * 4, &keys[i]);
        values[i * 4 + 3] = value_uuid(&keys[i].delivery);
    }
    db_send_many(tx->db, &tx->arena, &file, values, count, NULL);
}

static void cancel(const Value *row, Settle *ret)
{
    *ret = (Settle){ .tenant = value_to_i64(&row[0]),
                     .id = value_to_uuid(&row[1]),
                     .lane = value_to_i64(&row[2]),
                     .was = (DeliveryState) value_to_i64(&row[3]),
                     .fence = (int) value_to_i64(&row[4]) };
    ret->to = (Settlement){ .reason = REASON_CALLED_OFF, .expires_at = INSTANT_NONE };
    ret->to.live = (Live){
        .state = DELIVERY_CANCELLED,
        .attempt = ret->fence,
        .failures = (int) value_to_i64(&row[5]),
        .send = (int) value_to_i64(&row[6]),
        .reminders_left = (int) value_to_i64(&row[7]),
        .triggered_at = value_to_i64(&row[8]),
        .first_due_at = value_to_i64(&row[9]),
        .last_sent_at = value_to_time(&row[10]),
    };
}

static int by_key(const void *a, const void *b)
{
    const RecallKey *x = a, *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    int order = str_cmp(x->trigger_id, y->trigger_id);
    return order ? order : memcmp(x->hash.b, y->hash.b, sizeof x->hash.b);
}

// send_find asks for each key once: a delivery is filed under one, so none is found twice.
static void send_find(Tx *tx, RecallKey *keys, size_t count, Rows *ret)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3);
    size_t used = 0;
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_key(&keys[i - 1], &keys[i]) != 0)
            fill(values + used++ * 3, &keys[i]);
    db_send_many(tx->db, &tx->arena, &find, values, used, ret);
}

Err recall_call(Tx *tx, RecallKey *keys, size_t count, Error *error)
{
    if (count == 0)
        return ERR_OK;
    Rows rows;
    send_find(tx, keys, count, &rows);
    TRY(tx_sync(tx, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count + 1),
                          .count = rows.count };
    for (size_t i = 0; i < rows.count; i++)
        cancel(rows_at(&rows, i), &batch.rows[i]);
    TRY(queue_settle(tx, &batch, error));
    TRY(tx_sync(tx, error));
    return queue_settle_check(tx, &batch, error);
}
