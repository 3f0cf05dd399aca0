#include "store/run.h"

#include "store/columns.h"

// Kinds 4 and 8 are RULE_JOB and RULE_AUTOMATION.
_Static_assert(RULE_JOB == 4 && RULE_AUTOMATION == 8, "the SQL names kinds by number");
#define RUN_FOUND                                                                                  \
    ", r.kind, r.id, d.entity, e.source, COALESCE(e.occurred_at, d.triggered_at), d.triggered_at," \
    " e.depth, e.trace, e.correlation_id FROM "
#define RUN_OF                                                                                     \
    " JOIN rule r ON r.tenant = d.tenant AND r.rule = d.rule AND r.kind IN (4, 8)"                 \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"

static const Statement look = {
    .name = "run_look",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3" RUN_FOUND "delivery d" RUN_OF " WHERE d.tenant = $1 AND d.id = $2",
    .postgres = "SELECT s.i" RUN_FOUND "unnest($1, $2, $3) AS s (tenant, id, i)"
                " JOIN delivery d ON d.tenant = s.tenant AND d.id = s.id" RUN_OF,
};

const Statement *const run_statements[] = { &look, NULL };

// RunFound is a row as it is read.
typedef struct RunFound {
    int64_t place; // in what was asked
    RunRow row;
    Str source;
} RunFound;

static const Columns found_columns = COLUMNS(
    RunFound, COLUMN(RunFound, place), COLUMN(RunFound, row.kind), COLUMN(RunFound, row.name),
    COLUMN(RunFound, row.entity), COLUMN(RunFound, source), COLUMN(RunFound, row.scheduled_for),
    COLUMN(RunFound, row.made_at), COLUMN(RunFound, row.depth), COLUMN(RunFound, row.trace),
    COLUMN(RunFound, row.correlation_id));

Err runs_look(Tx *tx, RunRow *rows, size_t count, Error *error)
{
    Rows found;
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        rows[i].is_found = false;
        values[i * 3] = value_i64(rows[i].tenant);
        values[i * 3 + 1] = value_uuid(&rows[i].id);
        values[i * 3 + 2] = value_i64((int64_t) i);
    }
    db_send_many(tx->db, &tx->arena, &look, values, count, &found);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < found.count; i++) {
        RunFound at = { 0 };
        columns_read(&found_columns, rows_at(&found, i), &at);
        RunRow *row = &rows[at.place];
        at.row.tenant = row->tenant;
        at.row.id = row->id;
        at.row.source = run_source(at.source);
        at.row.is_found = true;
        *row = at.row;
    }
    return ERR_OK;
}
