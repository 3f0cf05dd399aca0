#include "store/dedup.h"

static const Statement take = {
    .name = "dedup_take",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .many = true,
    .returned = 3,
    .sql = "INSERT INTO dedup (tenant, key, holder, taken_at) VALUES ($1, $2, $3, $4)"
           " ON CONFLICT (tenant, key) DO NOTHING",
    .postgres = "INSERT INTO dedup (tenant, key, holder, taken_at)"
                " SELECT * FROM unnest($1, $2, $3, $4)"
                " ON CONFLICT (tenant, key) DO NOTHING RETURNING holder",
};
static const Statement find = {
    .name = "dedup_find",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3, d.holder, v.public_id FROM dedup d"
           " LEFT JOIN delivery v ON v.tenant = d.tenant AND v.id = d.holder"
           " WHERE d.tenant = $1 AND d.key = $2",
    .postgres = "SELECT u.n, d.holder, v.public_id"
                " FROM unnest($1, $2, $3) AS u (tenant, key, n)"
                " JOIN dedup d ON d.tenant = u.tenant AND d.key = u.key"
                " LEFT JOIN delivery v ON v.tenant = d.tenant AND v.id = d.holder",
};

const Statement *const dedup_statements[] = { &take, &find, NULL };

static int by_key(const DedupKey *a, const DedupKey *b)
{
    if (a->tenant != b->tenant)
        return a->tenant < b->tenant ? -1 : 1;
    return uuid_cmp(a->key, b->key);
}

static int by_key_and_order(const void *a, const void *b)
{
    const DedupKey *x = *(DedupKey *const *) a, *y = *(DedupKey *const *) b;
    int order = by_key(x, y);
    if (order)
        return order;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(Uuid));
}

// send_takers asks for the first of each run of equal keys.
static void send_takers(Tx *tx, DedupKey **keys, size_t count, Rows *ret)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 4);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && by_key(keys[i - 1], keys[i]) == 0)
            continue;
        Value *row = values + used++ * 4;
        row[0] = value_i64(keys[i]->tenant);
        row[1] = value_uuid(&keys[i]->key);
        row[2] = value_uuid(&keys[i]->wanted_by);
        row[3] = value_i64(tx->now);
    }
    db_send_many(tx->db, &tx->arena, &take, values, used, ret);
}

// find_holders looks up who holds the keys that were not won and not lost within this batch.
static Err find_holders(Tx *tx, DedupKey **keys, size_t count, Error *error)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (keys[i]->is_won || (i > 0 && by_key(keys[i - 1], keys[i]) == 0))
            continue;
        Value *row = values + used++ * 3;
        row[0] = value_i64(keys[i]->tenant);
        row[1] = value_uuid(&keys[i]->key);
        row[2] = value_i64((int64_t) i);
    }
    if (used == 0)
        return ERR_OK;
    Rows rows;
    db_send_many(tx->db, &tx->arena, &find, values, used, &rows);
    TRY(tx_sync(tx, error));
    if (rows.count != used)
        return fail(error, ERR_BUSY, "a dedup key vanished meanwhile");
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        DedupKey *key = keys[value_to_i64(&row[0])];
        key->holder = value_to_uuid(&row[1]);
        key->public_id = value_to_str(&row[2]);
    }
    return ERR_OK;
}

Err dedup_take(Tx *tx, DedupKey **keys, size_t count, Error *error)
{
    if (count == 0)
        return ERR_OK;
    qsort(keys, count, sizeof *keys, by_key_and_order);
    Rows rows;
    send_takers(tx, keys, count, &rows);
    TRY(tx_sync(tx, error));

    Uuid *winners = ARENA_ARRAY(&tx->arena, Uuid, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        winners[i] = value_to_uuid(rows_at(&rows, i));
    qsort(winners, rows.count, sizeof *winners, by_id);
    for (size_t i = 0; i < count; i++) {
        DedupKey *key = keys[i];
        bool is_first = i == 0 || by_key(keys[i - 1], key) != 0;
        key->is_won =
            is_first && bsearch(&key->wanted_by, winners, rows.count, sizeof *winners, by_id);
        key->holder = key->wanted_by;
        key->public_id = STR_NONE;
    }
    TRY(find_holders(tx, keys, count, error));
    // Equal keys that came later in the batch are held by whoever holds the first.
    for (size_t i = 1; i < count; i++) {
        if (by_key(keys[i - 1], keys[i]) == 0) {
            keys[i]->holder = keys[i - 1]->holder;
            keys[i]->public_id = keys[i - 1]->public_id;
        }
    }
    return ERR_OK;
}

Err dedup_look(Db *db, Arena *arena, DedupKey *const *keys, size_t count, Error *error)
{
    Rows rows;
    Value *values = ARENA_ARRAY(arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 3] = value_i64(keys[i]->tenant);
        values[i * 3 + 1] = value_uuid(&keys[i]->key);
        values[i * 3 + 2] = value_i64((int64_t) i);
        keys[i]->holder = (Uuid){ 0 };
        keys[i]->public_id = STR_NONE;
    }
    db_send_many(db, arena, &find, values, count, &rows);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        DedupKey *key = keys[value_to_i64(&row[0])];
        key->holder = value_to_uuid(&row[1]);
        key->public_id = value_to_str(&row[2]);
    }
    return ERR_OK;
}
