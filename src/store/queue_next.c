#include "store/queue.h"

// When something falls due: asked with every claim, and by whoever shows how deep lanes are.

static const Statement next_send = {
    .name = "queue_next_send",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .many = true,
    .sql = "SELECT $2, due_at FROM queue WHERE lane = $1 AND step = 1 AND state <> 1"
           " ORDER BY due_at LIMIT 1",
    .postgres = "SELECT l.n, p.due_at FROM unnest($1, $2) AS l (number, n), LATERAL (SELECT due_at"
                " FROM queue WHERE lane = l.number AND step = 1 AND state <> 1"
                " ORDER BY due_at LIMIT 1) AS p",
};
static const Statement next_sweep = {
    .name = "queue_next_sweep",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT MIN(due_at) FROM queue WHERE step > 1",
};
static const Statement next_expiry = {
    .name = "ended_next_expiry",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT MIN(expires_at) FROM ended WHERE expires_at IS NOT NULL",
};

const Statement *const queue_next_statements[] = { &next_send, &next_sweep, &next_expiry, NULL };

// NextLane is one lane that is asked about, and the answer.
typedef struct NextLane {
    int64_t lane, n;
    Instant due_at;
} NextLane;

static const Columns next_asked = COLUMNS(NextLane, COLUMN(NextLane, lane), COLUMN(NextLane, n));
static const Columns next_told =
    COLUMNS(NextLane, COLUMN(NextLane, n), COLUMN_TIME(NextLane, due_at));

void queue_next(Db *db, QueueNext *next)
{
    NextLane *lanes = ARENA_ARRAY(next->arena, NextLane, next->lane_count);
    for (size_t i = 0; i < next->lane_count; i++)
        lanes[i] = (NextLane){ .lane = next->lanes[i], .n = (int64_t) i };
    db_send_rows(db, next->arena, &next_send, &next_asked, lanes, next->lane_count, &next->rows);
    db_send(db, next->arena, &next_sweep, NULL, &next->sweeps);
    db_send(db, next->arena, &next_expiry, NULL, &next->expiries);
}

void queue_next_take(QueueNext *next)
{
    next->lane_due = ARENA_ARRAY(next->arena, Instant, next->lane_count + 1);
    for (size_t i = 0; i < next->lane_count; i++)
        next->lane_due[i] = INSTANT_NONE;
    for (size_t i = 0; i < next->rows.count; i++) {
        NextLane lane;
        columns_read(&next_told, rows_at(&next->rows, i), &lane);
        next->lane_due[lane.n] = lane.due_at;
    }
    next->sweep_due =
        earlier(value_to_time(&next->sweeps.values[0]), value_to_time(&next->expiries.values[0]));
}
