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

#define RECALL_FIND                                                                                \
    "SELECT q.tenant, q.id, q.lane, q.state, q.attempt, q.failures, q.send, q.reminders_left,"     \
    " q.triggered_at, q.first_due_at, q.last_sent_at FROM recall r"                                \
    " JOIN queue q ON q.tenant = r.tenant AND q.id = r.delivery"                                   \
    " WHERE r.tenant = $1 AND r.trigger_id = $2 AND r.hash = $3"

static const Statement find = {
    .name = "recall_find",
    .scope = STATEMENT_TENANT,
    .params = "itb",
    .sql = RECALL_FIND,
    .postgres = RECALL_FIND " FOR UPDATE OF q",
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

Err recall_call(Tx *tx, const RecallKey *key, Error *error)
{
    Value args[3];
    Rows rows;
    fill(args, key);
    TRY(tx_query(tx, &find, args, &rows, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count + 1),
                          .count = rows.count };
    for (size_t i = 0; i < rows.count; i++)
        cancel(rows_at(&rows, i), &batch.rows[i]);
    TRY(queue_settle(tx, &batch, error));
    TRY(tx_sync(tx, error));
    return queue_settle_check(tx, &batch, error);
}
