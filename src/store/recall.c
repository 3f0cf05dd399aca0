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

#define RECALL_COLUMNS STANDING_COLUMNS("q.") ", r.key"
enum { KEY_COLUMN = STANDING_COLUMN_COUNT };

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

// The locks are taken in one order, so that nobody waits in a circle. They are by a hash: two keys
// that share one wait for each other, and nothing worse. No row is touched. SQLite has one writer
// and needs none.
static const Statement lock = {
    .name = "recall_lock",
    .scope = STATEMENT_SYSTEM,
    .params = "iu",
    .many = true,
    .sql = "SELECT 1 WHERE $1 IS NULL AND $2 IS NULL",
    .postgres = "SELECT pg_advisory_xact_lock(7327, s.hash) FROM (SELECT DISTINCT"
                " hashtext(CAST(u.tenant AS TEXT) || '/' || CAST(u.key AS TEXT)) AS hash"
                " FROM unnest($1, $2) AS u (tenant, key) ORDER BY 1) s",
};
// State 4 is parked: a person may set it going again.
#define IS_OVER                                                                                    \
    " AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.tenant = recall.tenant AND q.id ="             \
    " recall.delivery) AND NOT EXISTS (SELECT 1 FROM ended n WHERE n.tenant = recall.tenant AND"   \
    " n.id = recall.delivery AND n.state = 4)"
_Static_assert(DELIVERY_PARKED == 4, "the SQL names it by number");
static const Statement prune = {
    .name = "recall_prune",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = "DELETE FROM recall WHERE tenant = $1 AND key = $2" IS_OVER,
    .postgres = "DELETE FROM recall USING unnest($1, $2) AS u (tenant, key)"
                " WHERE recall.tenant = u.tenant AND recall.key = u.key" IS_OVER,
};

const Statement *const recall_statements[] = { &file, &find, &lock, &prune, NULL };

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

// pick sorts the keys and lists each of them once, or each deferral alone.
static size_t pick(Tx *tx, RecallKey *keys, size_t count, bool is_deferral, const void ***ret)
{
    size_t used = 0;
    *ret = ARENA_ARRAY(&tx->arena, const void *, count);
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count; i++)
        if ((i == 0 || by_key(&keys[i - 1], &keys[i]) != 0) &&
            (keys[i].is_deferral || !is_deferral))
            (*ret)[used++] = &keys[i];
    return used;
}

static void send_picked(Tx *tx, const Statement *statement, RecallKey *keys, size_t count,
                        bool is_deferral, Rows *ret)
{
    const void **asked;
    size_t used = pick(tx, keys, count, is_deferral, &asked);
    if (used > 0)
        db_send_picked(tx->db, &tx->arena, statement, &find_columns, asked, used, ret);
}

void recall_lock(Tx *tx, RecallKey *keys, size_t count)
{
    if (db_is_postgres(tx->db))
        send_picked(tx, &lock, keys, count, true, NULL);
}

static RecallKey *key_of(RecallKey *keys, size_t count, const QueueRow *row, Uuid key)
{
    RecallKey wanted = { .tenant = row->tenant, .key = key };
    RecallKey *found = bsearch(&wanted, keys, count, sizeof *keys, by_key);
    assert(found);
    return found;
}

// is_spared: a deferred run that has begun is not called off.
static bool is_spared(const RecallKey *key, const QueueRow *row)
{
    return key->is_deferral && row->live.state == DELIVERY_SENDING;
}

Err recall_call(Tx *tx, RecallKey *keys, size_t count, Error *error)
{
    if (count == 0)
        return ERR_OK;
    Rows rows;
    send_picked(tx, &find, keys, count, false, &rows);
    TRY(tx_sync(tx, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count) };
    for (size_t i = 0; i < count; i++)
        if (keys[i].called)
            *keys[i].called = 0;
    for (size_t i = 0; i < rows.count; i++) {
        QueueRow row;
        queue_read(rows_at(&rows, i), &row);
        RecallKey *key = key_of(keys, count, &row, value_to_uuid(&rows_at(&rows, i)[KEY_COLUMN]));
        if (is_spared(key, &row))
            continue;
        if (key->called)
            ++*key->called;
        batch.rows[batch.count++] = settle_called_off(
            &row, delivery_act_on(&row.live, DELIVERY_ACTION_RECALL, tx->now), tx->now);
    }
    TRY(queue_settle_now(tx, &batch, error));
    send_picked(tx, &prune, keys, count, true, NULL);
    return ERR_OK;
}
