#include "store/sample.h"

#include "store/columns.h"
#include "store/duty.h"

#define DUTY_SAMPLE S("sample")

// Sample is a row: n is by state.
typedef struct Sample {
    int64_t tenant;
    Instant at;
    int64_t n[DELIVERY_STATE_COUNT];
} Sample;

// The columns of the table are the states, in their order.
#define STATE_NAME(name, text, ...) ", " text
#define STATE_COLUMN(name, ...) , COLUMN(Sample, n[DELIVERY_##name])
_Static_assert(DELIVERY_STATE_COUNT == 10, "as many as there are parameters below, less two");

static const Columns columns =
    COLUMNS(Sample, COLUMN(Sample, tenant), COLUMN(Sample, at) DELIVERY_STATE_TABLE(STATE_COLUMN));

static const Statement sums = {
    .name = "sample_sums",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT tenant, state, CAST(SUM(n) AS BIGINT) FROM counter"
           " GROUP BY tenant, state ORDER BY tenant",
};
static const Statement last = {
    .name = "sample_last",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .many = true,
    .sql = "SELECT tenant, at" DELIVERY_STATE_TABLE(
        STATE_NAME) " FROM sample"
                    " WHERE tenant = $1 AND at <= $2 ORDER BY at DESC LIMIT 1",
    .postgres =
        "SELECT s.* FROM unnest($1, $2) AS u (tenant, at), LATERAL"
        " (SELECT tenant, at" DELIVERY_STATE_TABLE(
            STATE_NAME) " FROM sample"
                        " WHERE tenant = u.tenant AND at <= u.at ORDER BY at DESC LIMIT 1) AS s",
};
static const Statement insert = {
    .name = "sample_insert",
    .scope = STATEMENT_TENANT,
    .params = "iiiiiiiiiiii",
    .many = true,
    .sql = "INSERT INTO sample (tenant, at" DELIVERY_STATE_TABLE(
        STATE_NAME) ")"
                    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    .postgres = "INSERT INTO sample (tenant, at" DELIVERY_STATE_TABLE(
        STATE_NAME) ")"
                    " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
};
// Nodes purge at the same time.
#define OLDEST "SELECT tenant, at FROM sample WHERE at <= $1 ORDER BY at LIMIT $2"
static const Statement purge = {
    .name = "sample_purge",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "DELETE FROM sample WHERE (tenant, at) IN (" OLDEST ")",
    .postgres = "DELETE FROM sample WHERE (tenant, at) IN (" OLDEST " FOR UPDATE SKIP LOCKED)",
};

const Statement *const sample_statements[] = { &sums, &last, &insert, &purge, NULL };

// read_now sums the counters: a sample for each tenant that has any, by tenant.
static Err read_now(Tx *tx, Instant at, Sample **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    TRY(tx_query(tx, &sums, NULL, &rows, error));
    Sample *samples = ARENA_ARRAY(&tx->arena, Sample, rows.count + 1);
    size_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        int64_t tenant = value_to_i64(&row[0]), state = value_to_i64(&row[1]);
        assert(state >= 0 && state < (int64_t) DELIVERY_STATE_COUNT);
        if (count == 0 || samples[count - 1].tenant != tenant)
            samples[count++] = (Sample){ .tenant = tenant, .at = at };
        samples[count - 1].n[state] = value_to_i64(&row[2]);
    }
    *ret = samples;
    *ret_count = count;
    return ERR_OK;
}

static int by_tenant(const void *a, const void *b)
{
    const Sample *x = a, *y = b;
    return x->tenant < y->tenant ? -1 : x->tenant > y->tenant;
}

// drop_known keeps those that say something new: nothing is known of this minute, and a number is
// another than before.
static Err drop_known(Tx *tx, Sample *samples, size_t *count, Error *error)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, *count * 2 + 1);
    Rows rows;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        values[i * 2] = value_i64(samples[i].tenant);
        values[i * 2 + 1] = value_i64(samples[i].at);
    }
    db_send_many(tx->db, &tx->arena, &last, values, *count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        Sample before;
        columns_read(&columns, rows_at(&rows, i), &before);
        Sample *after = bsearch(&before, samples, *count, sizeof *samples, by_tenant);
        assert(after);
        if (before.at == after->at || memcmp(before.n, after->n, sizeof before.n) == 0)
            after->at = INSTANT_NONE;
    }
    for (size_t i = 0; i < *count; i++)
        if (samples[i].at != INSTANT_NONE)
            samples[kept++] = samples[i];
    *count = kept;
    return ERR_OK;
}

Err sample_take(Tx *tx, Error *error)
{
    Sample *samples;
    size_t count;
    bool is_ours = false;
    // Held for this transaction alone, like the sequencer's: who comes next finds the minute done.
    TRY(duty_lease(tx, DUTY_SAMPLE, tx->writer, 0, &is_ours, error));
    if (!is_ours)
        return ERR_OK;
    TRY(read_now(tx, tx->now - tx->now % SPAN_MINUTE, &samples, &count, error));
    if (count == 0)
        return ERR_OK;
    TRY(drop_known(tx, samples, &count, error));
    db_send_rows(tx->db, &tx->arena, &insert, &columns, samples, count, NULL);
    return tx_sync(tx, error);
}

Err sample_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error)
{
    Rows gone;
    Value args[] = { value_i64(tx->now - SAMPLE_KEPT), value_i64(limit) };
    TRY(tx_query(tx, &purge, args, &gone, error));
    *ret = gone.changed;
    return ERR_OK;
}
