#include "store/target.h"

#include "store/columns.h"

static const Statement insert = {
    .name = "target_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiti",
    .many = true,
    .sql = "INSERT INTO target (tenant, delivery, n, address, send) VALUES ($1, $2, $3, $4, $5)",
    .postgres = "INSERT INTO target (tenant, delivery, n, address, send)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5)",
};
#define LOADED "t.n, t.address, t.send, t.verdict, t.reason, t.code FROM "
static const Statement load = {
    .name = "target_load",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3, " LOADED "target t WHERE t.tenant = $1 AND t.delivery = $2 ORDER BY t.n",
    .postgres = "SELECT s.i, " LOADED "unnest($1, $2, $3) AS s (tenant, delivery, i)"
                " JOIN target t ON t.tenant = s.tenant AND t.delivery = s.delivery"
                " ORDER BY s.i, t.n",
};
static const Statement tell = {
    .name = "target_tell",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiitti",
    .many = true,
    .sql = "UPDATE target SET send = $4, verdict = $5, reason = $6, code = $7, provider_id = $8,"
           " detail = $9, told_at = $10 WHERE tenant = $1 AND delivery = $2 AND n = $3",
    .postgres = "UPDATE target t SET send = s.send, verdict = s.verdict, reason = s.reason,"
                " code = s.code, provider_id = s.provider_id, detail = s.detail,"
                " told_at = s.told_at FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS s"
                " (tenant, delivery, n, send, verdict, reason, code, provider_id, detail, told_at)"
                " WHERE t.tenant = s.tenant AND t.delivery = s.delivery AND t.n = s.n",
};
static const Statement list = {
    .name = "target_list",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = "SELECT tenant, delivery, n, send, verdict, reason, code, provider_id, detail, told_at,"
           " address FROM target WHERE tenant = $1 AND delivery = $2 ORDER BY n",
};

const Statement *const target_statements[] = { &insert, &load, &tell, &list, NULL };

static const Columns insert_columns = COLUMNS(
    TargetRow, COLUMN(TargetRow, tenant), COLUMN(TargetRow, delivery), COLUMN(TargetRow, target.n),
    COLUMN(TargetRow, target.address), COLUMN(TargetRow, target.send));
static const Columns asked_columns = COLUMNS(TargetsOf, COLUMN(TargetsOf, tenant),
                                             COLUMN(TargetsOf, delivery), COLUMN(TargetsOf, index));
static const Columns loaded_columns =
    COLUMNS(Target, COLUMN(Target, n), COLUMN(Target, address), COLUMN(Target, send),
            COLUMN(Target, outcome.verdict), COLUMN(Target, outcome.reason),
            COLUMN_SOME(Target, outcome.code));

#define TOLD_COLUMNS                                                                               \
    COLUMN(TargetRow, tenant), COLUMN(TargetRow, delivery), COLUMN(TargetRow, target.n),           \
        COLUMN(TargetRow, target.send), COLUMN(TargetRow, target.outcome.verdict),                 \
        COLUMN(TargetRow, target.outcome.reason), COLUMN_SOME(TargetRow, target.outcome.code),     \
        COLUMN(TargetRow, target.outcome.provider_id), COLUMN(TargetRow, target.outcome.detail),   \
        COLUMN_TIME(TargetRow, told_at)
static const Columns told_columns = COLUMNS(TargetRow, TOLD_COLUMNS);
static const Columns listed_columns =
    COLUMNS(TargetRow, TOLD_COLUMNS, COLUMN(TargetRow, target.address));

void target_insert(Tx *tx, const TargetRow *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert(rows[i].target.n >= 1 && rows[i].target.n <= TARGETS_MAX && !rows[i].target.send);
    db_send_rows(tx->db, &tx->arena, &insert, &insert_columns, rows, count, NULL);
}

// mend makes a target sound that was read. What nothing was told of, or is damaged, is unknown.
static void mend(Target *target)
{
    if (target->send > 0)
        target->outcome = outcome_mended(target->outcome);
    else
        target->outcome = (Outcome){ .verdict = VERDICT_UNKNOWN };
}

Err targets_load(Tx *tx, Arena *arena, TargetsOf *of, size_t count, Error *error)
{
    Rows rows;
    for (size_t i = 0; i < count; i++) {
        of[i].index = (int64_t) i;
        of[i].count = 0;
    }
    db_send_rows(tx->db, arena, &load, &asked_columns, of, count, &rows);
    TRY(tx_sync(tx, error));
    Target *targets = ARENA_ARRAY(arena, Target, rows.count);
    for (size_t i = 0; i < rows.count; i++) { // those of one delivery lie together
        const Value *row = rows_at(&rows, i);
        TargetsOf *owner = &of[value_to_i64(&row[0])];
        if (owner->count++ == 0)
            owner->targets = &targets[i];
        columns_read(&loaded_columns, &row[1], &targets[i]);
        mend(&targets[i]);
    }
    return ERR_OK;
}

void target_tell(Tx *tx, const TargetRow *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &tell, &told_columns, rows, count, NULL);
}

Err target_list(Db *db, Arena *arena, int64_t tenant, Uuid delivery, TargetRow **ret,
                size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&delivery) };
    TRY(db_query(db, arena, &list, args, &rows, error));
    *ret = ARENA_ARRAY(arena, TargetRow, rows.count);
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count; i++) {
        columns_read(&listed_columns, rows_at(&rows, i), &(*ret)[i]);
        mend(&(*ret)[i].target);
    }
    return ERR_OK;
}
