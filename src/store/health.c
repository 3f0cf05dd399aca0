#include "store/health.h"

#include "store/columns.h"

// A pause that another node has written since is kept: the later one holds.
#define PUT_NAMES "tenant, lane, circuit, failures, since, probe_at, error, paused_until"
#define PUT_OVER                                                                                   \
    " ON CONFLICT (lane) DO UPDATE SET circuit = excluded.circuit, failures = excluded.failures,"  \
    " since = excluded.since, probe_at = excluded.probe_at, error = excluded.error,"               \
    " paused_until = CASE WHEN health.paused_until > excluded.paused_until"                        \
    "  OR excluded.paused_until IS NULL THEN health.paused_until ELSE excluded.paused_until END"

static const Statement put = {
    .name = "health_put",
    .scope = STATEMENT_TENANT,
    .params = "iiiiiiti",
    .many = true,
    .sql = "INSERT INTO health (" PUT_NAMES ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)" PUT_OVER,
    .postgres = "INSERT INTO health (" PUT_NAMES ")"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)" PUT_OVER,
};
static const Statement lift = {
    .name = "health_lift",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "UPDATE health SET paused_until = NULL WHERE tenant = $1 AND lane ="
           " (SELECT lane FROM lane WHERE tenant = $1 AND channel = $2)",
};
static const Statement list = {
    .name = "health_list",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT h.tenant, h.lane, h.circuit, h.failures, h.since, h.probe_at, h.error,"
           " h.paused_until, l.channel FROM health h JOIN lane l ON l.lane = h.lane"
           " WHERE h.tenant = $1 AND (h.circuit <> 0 OR h.paused_until > $2) ORDER BY l.channel",
};
static const Statement held = {
    .name = "health_held",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT lane, circuit, paused_until FROM health"
           " WHERE circuit <> 0 OR paused_until > $1 ORDER BY lane",
};
static const Statement pauses = {
    .name = "health_pauses",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT lane, paused_until FROM health WHERE paused_until > $1 ORDER BY lane",
};

const Statement *const health_statements[] = { &put, &lift, &list, &held, &pauses, NULL };

static const Columns columns =
    COLUMNS(Health, COLUMN(Health, tenant), COLUMN(Health, lane), COLUMN(Health, circuit),
            COLUMN(Health, failures), COLUMN_TIME(Health, since), COLUMN_TIME(Health, probe_at),
            COLUMN(Health, error), COLUMN_TIME(Health, paused_until), COLUMN(Health, channel));
static const Columns put_columns =
    COLUMNS(Health, COLUMN(Health, tenant), COLUMN(Health, lane), COLUMN(Health, circuit),
            COLUMN(Health, failures), COLUMN_TIME(Health, since), COLUMN_TIME(Health, probe_at),
            COLUMN(Health, error), COLUMN_TIME(Health, paused_until));

static const Columns held_columns = COLUMNS(Health, COLUMN(Health, lane), COLUMN(Health, circuit),
                                            COLUMN_TIME(Health, paused_until));

void health_put(Tx *tx, const Health *rows, size_t count)
{
    if (count > 0)
        db_send_rows(tx->db, &tx->arena, &put, &put_columns, rows, count, NULL);
}

void health_lift(Tx *tx, int64_t tenant, Str channel)
{
    Value args[] = { value_i64(tenant), value_text(channel) };
    db_send(tx->db, &tx->arena, &lift, args, NULL);
}

static Err read_held(Db *db, Arena *arena, const Statement *statement, const Value *args,
                     const Columns *of, Health **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, statement, args, &rows, error));
    *ret = ARENA_ARRAY(arena, Health, rows.count + 1);
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count; i++) {
        Health *health = &(*ret)[i];
        columns_read(of, rows_at(&rows, i), health);
        if (health->circuit >= TABLE_ROWS(CIRCUIT_STATE_TABLE))
            health->circuit = CIRCUIT_OPEN; // somebody damaged the row
    }
    return ERR_OK;
}

Err health_list(Db *db, Arena *arena, int64_t tenant, Instant now, Health **ret, size_t *ret_count,
                Error *error)
{
    Value args[] = { value_i64(tenant), value_i64(now) };
    return read_held(db, arena, &list, args, &columns, ret, ret_count, error);
}

Err health_held(Db *db, Arena *arena, Instant now, Health **ret, size_t *ret_count, Error *error)
{
    Value args[] = { value_i64(now) };
    return read_held(db, arena, &held, args, &held_columns, ret, ret_count, error);
}

void health_pauses(Db *db, Arena *arena, Instant now, Rows *ret)
{
    Value args[] = { value_i64(now) };
    db_send(db, arena, &pauses, args, ret);
}

Health health_pause(const Rows *rows, size_t at)
{
    const Value *row = rows_at(rows, at);
    return (Health){ .lane = value_to_i64(&row[0]), .paused_until = value_to_time(&row[1]) };
}
