#include "store/counter.h"

#include "store/columns.h"

static const Statement add = {
    .name = "counter_add",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiiii",
    .many = true,
    .sql = "INSERT INTO counter (writer, tenant, rule, lane, site, state, n)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT"
           " (writer, tenant, rule, lane, site, state) DO UPDATE SET n = counter.n + excluded.n",
    .postgres = "INSERT INTO counter (writer, tenant, rule, lane, site, state, n)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7) ON CONFLICT"
                " (writer, tenant, rule, lane, site, state)"
                " DO UPDATE SET n = counter.n + excluded.n",
};

// Nodes are numbered from 1 and have 16 writers each; numbers below zero are of those without one.
static const Statement take_gone = {
    .name = "counter_take_gone",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "DELETE FROM counter WHERE writer <> 0 AND NOT EXISTS (SELECT 1 FROM node n"
           " WHERE n.node = counter.writer / 16 AND n.seen_until > $1)"
           " RETURNING writer, tenant, rule, lane, site, state, n",
};

const Statement *const counter_statements[] = { &add, &take_gone, NULL };

static bool is_of(const CounterChange *change, const Move *move, int state)
{
    return change->lane == move->lane && change->state == state && change->rule == move->rule &&
           change->tenant == move->tenant && change->site == move->site;
}

static void change(Counters *counters, Arena *arena, const Move *move, int state, int64_t n)
{
    if (state == MOVE_NOWHERE)
        return;
    // Newest first: neighbours in a batch mostly touch the same counters.
    for (size_t i = counters->count; i-- > 0;) {
        if (is_of(&counters->changes[i], move, state)) {
            counters->changes[i].n += n;
            return;
        }
    }
    if (counters->count == counters->room) {
        counters->room = counters->room ? counters->room * 2 : 16;
        CounterChange *changes = ARENA_ARRAY(arena, CounterChange, counters->room);
        if (counters->count)
            memcpy(changes, counters->changes, counters->count * sizeof *changes);
        counters->changes = changes;
    }
    counters->changes[counters->count++] = (CounterChange){ .tenant = move->tenant,
                                                            .rule = move->rule,
                                                            .lane = move->lane,
                                                            .site = move->site,
                                                            .state = state,
                                                            .n = n };
}

void counter_fold(Counters *counters, Arena *arena, const Move *move)
{
    assert(move->from != move->to || move->from != MOVE_NOWHERE);
    Move left = *move;
    if (move->from_lane)
        left.lane = move->from_lane;
    change(counters, arena, &left, move->from, -1);
    change(counters, arena, move, move->to, 1);
}

static const Columns columns =
    COLUMNS(CounterChange, COLUMN(CounterChange, writer), COLUMN(CounterChange, tenant),
            COLUMN(CounterChange, rule), COLUMN(CounterChange, lane), COLUMN(CounterChange, site),
            COLUMN(CounterChange, state), COLUMN(CounterChange, n));

void counter_send(Counters *counters, Db *db, Arena *arena, int64_t writer)
{
    size_t used = 0;
    for (size_t i = 0; i < counters->count; i++) {
        if (counters->changes[i].n == 0)
            continue;
        counters->changes[used] = counters->changes[i];
        counters->changes[used++].writer = writer;
    }
    counters->count = used;
    db_send_rows(db, arena, &add, &columns, counters->changes, used, NULL);
}

Err counter_gather(Db *db, Arena *arena, Instant real_now, Error *error)
{
    Rows rows;
    Counters sums = { 0 };
    Value args[] = { value_i64(real_now - SPAN_MINUTE) };
    TRY(db_query(db, arena, &take_gone, args, &rows, error));
    for (size_t i = 0; i < rows.count; i++) {
        CounterChange row;
        columns_read(&columns, rows_at(&rows, i), &row);
        Move of = { .tenant = row.tenant, .rule = row.rule, .lane = row.lane, .site = row.site };
        change(&sums, arena, &of, row.state, row.n);
    }
    counter_send(&sums, db, arena, COUNTER_OF_THE_GONE);
    return db_sync(db, error);
}
