#include "store/node.h"

#include "store/generation.h"

static const Statement join = {
    .name = "node_join",
    .scope = STATEMENT_SYSTEM,
    .params = "tiii",
    .sql = "INSERT INTO node (node, name, started_at, seen_until, is_manual, is_over)"
           " SELECT COALESCE(MAX(node), 0) + 1, $1, $2, $3, $4, 0 FROM node RETURNING node",
};
static const Statement beat = {
    .name = "node_beat",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "UPDATE node SET seen_until = $2 WHERE node = $1",
};
static const Statement leave = {
    .name = "node_leave",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "UPDATE node SET seen_until = $2, is_over = 1 WHERE node = $1",
};
// A node that was killed has no connection left, whatever its beat said.
#define HAS_CONNECTION                                                                             \
    "EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.datname = current_database()"                \
    " AND a.application_name = LEFT('peal ' || n.name, 63))"
static const Statement others = {
    .name = "node_others",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "SELECT COUNT(*) FROM node WHERE node <> $1 AND seen_until > $2 AND node < 0",
    .postgres = "SELECT COUNT(*) FROM node n WHERE n.node <> $1 AND n.seen_until > $2"
                " AND " HAS_CONNECTION,
};
static const Statement deaths = {
    .name = "node_deaths",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "UPDATE node SET is_over = 1 WHERE is_over = 0 AND node <> $1 AND $2 > 0 RETURNING node",
    .postgres = "UPDATE node n SET is_over = 1 WHERE n.is_over = 0 AND n.node <> $1"
                " AND (n.seen_until <= $2 OR NOT " HAS_CONNECTION
                " OR n.name IN (SELECT name FROM node WHERE node = $1)) RETURNING n.node",
};
static const Statement server_time = {
    .name = "node_server_time",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 0",
    // The one statement that asks the server for the time: to measure its clock, not to use it.
    .postgres = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
};

const Statement *const node_statements[] = { &join,   &beat,        &leave, &others,
                                             &deaths, &server_time, NULL };

Err node_join(Tx *tx, Str name, bool is_manual, Instant real_now, int64_t *ret, Error *error)
{
    Rows rows;
    TRY(tx_query(tx, &generation_lock, NULL, &rows, error));
    Value args[] = { value_text(name), value_i64(real_now), value_i64(real_now + NODE_LEASE),
                     value_i64(is_manual) };
    TRY(tx_query(tx, &join, args, &rows, error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

Err node_beat(Tx *tx, int64_t node, Instant real_now, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(node), value_i64(real_now + NODE_LEASE) };
    return tx_query(tx, &beat, args, &rows, error);
}

void node_leave(Tx *tx, int64_t node, Instant real_now)
{
    Value args[] = { value_i64(node), value_i64(real_now) };
    db_send(tx->db, &tx->arena, &leave, args, NULL);
}

Err node_others(Db *db, int64_t node, Instant real_now, int64_t *ret, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Rows rows;
    Value args[] = { value_i64(node), value_i64(real_now) };
    TRY(db_query(db, &arena, &others, args, &rows, error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

Err node_deaths(Tx *tx, int64_t node, Instant real_now, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(node), value_i64(real_now) };
    TRY(tx_query(tx, &deaths, args, &rows, error));
    *ret = (int64_t) rows.count;
    return ERR_OK;
}

Err node_offset(Db *db, Clock *clock, ClockOffset *ret, Error *error)
{
    *ret = (ClockOffset){ 0 };
    if (!db_is_postgres(db))
        return ERR_OK;
    DEFER(arena_done) Arena arena = { 0 };
    Rows rows;
    Instant before = clock_now(clock);
    TRY(db_query(db, &arena, &server_time, NULL, &rows, error));
    // The server read its clock somewhere between our two readings.
    Span round_trip = clock_now(clock) - before;
    *ret = (ClockOffset){ .span = value_to_i64(&rows.values[0]) - (before + round_trip / 2),
                          .round_trip = round_trip };
    return ERR_OK;
}
