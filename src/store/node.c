#include "store/node.h"

#include "store/columns.h"
#include "store/generation.h"

static const Statement join = {
    .name = "node_join",
    .scope = STATEMENT_SYSTEM,
    .params = "tiiit",
    .sql = "INSERT INTO node (node, name, started_at, seen_until, is_manual, version, beat_at,"
           " is_over, has_left, clock_offset, leases)"
           " SELECT COALESCE(MAX(node), 0) + 1, $1, $2, $3, $4, $5, $2, 0, 0, 0, 0 FROM node"
           " RETURNING node",
};
static const Statement beat = {
    .name = "node_beat",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiii",
    .sql = "UPDATE node SET seen_until = $2, beat_at = $3, clock_offset = $4, leases = $5"
           " WHERE node = $1",
};
static const Statement leave = {
    .name = "node_leave",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "UPDATE node SET seen_until = $2, is_over = 1, has_left = 1 WHERE node = $1",
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
// One that says it lives is believed only where others do: a file has one process at a time.
#define NODE_COLUMNS                                                                               \
    "SELECT n.node, n.name, n.version, n.is_manual, n.started_at, n.beat_at, n.seen_until,"        \
    " n.clock_offset, n.leases, n.has_left, "
#define NODE_PAGE " FROM node n WHERE n.node < $1 AND $2 > 0 ORDER BY n.node DESC LIMIT $3"
static const Statement page = {
    .name = "node_page",
    .scope = STATEMENT_SYSTEM,
    .params = "iii",
    .sql = NODE_COLUMNS "0" NODE_PAGE,
    .postgres = NODE_COLUMNS "CASE WHEN n.is_over = 0 AND n.seen_until > $2 AND " HAS_CONNECTION
                             " THEN 1 ELSE 0 END" NODE_PAGE,
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
                                             &deaths, &server_time, &page,  NULL };

Err node_join(Tx *tx, Str name, Str version, bool is_manual, Instant real_now, int64_t *ret,
              Error *error)
{
    Rows rows;
    TRY(tx_query(tx, &generation_lock, NULL, &rows, error));
    Value args[] = { value_text(name), value_i64(real_now), value_i64(real_now + NODE_LEASE),
                     value_i64(is_manual), value_text(version) };
    TRY(tx_query(tx, &join, args, &rows, error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

Err node_beat(Tx *tx, const NodeBeat *told, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(told->node), value_i64(told->real_now + NODE_LEASE),
                     value_i64(told->real_now), value_i64(told->clock_offset),
                     value_i64(told->leases) };
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

const char *node_state_text(NodeState state)
{
    static const char *const texts[] = { "alive", "left", "dead" };
    assert(state < ARRAY_LEN(texts));
    return texts[state];
}

typedef struct PageRow {
    NodeRow row;
    Instant seen_until;
    bool has_left, is_seen;
} PageRow;

static const Columns page_columns = COLUMNS(
    PageRow, COLUMN(PageRow, row.node), COLUMN(PageRow, row.name), COLUMN(PageRow, row.version),
    COLUMN(PageRow, row.is_manual), COLUMN(PageRow, row.started_at), COLUMN(PageRow, row.beat_at),
    COLUMN(PageRow, seen_until), COLUMN(PageRow, row.clock_offset), COLUMN(PageRow, row.leases),
    COLUMN(PageRow, has_left), COLUMN(PageRow, is_seen));

static NodeRow read_row(const Value *at, int64_t node, Instant real_now)
{
    PageRow read = { 0 };
    columns_read(&page_columns, at, &read);
    bool is_alive = read.row.node == node || read.is_seen;
    read.row.state = is_alive ? NODE_ALIVE : read.has_left ? NODE_LEFT : NODE_DEAD;
    if (read.has_left || (!is_alive && read.seen_until <= real_now))
        read.row.leases = 0;
    return read.row;
}

Err node_page(Db *db, Arena *arena, int64_t node, Instant real_now, const Walk *walk, NodeRow **ret,
              Seen *ret_seen, Error *error)
{
    Rows rows;
    int64_t before;
    TRY(walk_after_number(walk, &before, error));
    Value args[] = { value_i64(before ? before : INT64_MAX), value_i64(real_now),
                     value_i64(walk->limit + 1) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    NodeRow *found = ARENA_ARRAY(arena, NodeRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        found[i] = read_row(rows_at(&rows, i), node, real_now);
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, false, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place_number(arena, found[ret_seen->count - 1].node);
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
