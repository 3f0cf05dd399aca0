#include "store/depth.h"

#include "store/queue.h"

#define CHEAP ((Span) 50 * SPAN_MILLISECOND) // reads that take no longer are never put off

static const Statement sums = {
    .name = "depth_sums",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT lane, state, CAST(SUM(n) AS BIGINT) FROM counter"
           " GROUP BY lane, state ORDER BY lane",
};

const Statement *const depth_statements[] = { &sums, NULL };

int64_t depth_live(const Depth *depth)
{
    int64_t live = 0;
    for (DeliveryState state = 0; state < DELIVERY_STATE_COUNT; state++)
        live += delivery_is_live(state) ? depth->n[state] : 0;
    return live;
}

static Err read_sums(Db *db, Arena *arena, Depth **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    size_t count = 0;
    TRY(db_query(db, arena, &sums, NULL, &rows, error));
    Depth *depths = ARENA_ARRAY(arena, Depth, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        int64_t lane = value_to_i64(&row[0]), state = value_to_i64(&row[1]);
        assert(state >= 0 && state < (int64_t) DELIVERY_STATE_COUNT);
        if (count == 0 || depths[count - 1].lane != lane)
            depths[count++] = (Depth){ .lane = lane, .due_at = INSTANT_NONE };
        depths[count - 1].n[state] = value_to_i64(&row[2]);
        depths[count - 1].known |= 1u << state;
    }
    *ret = depths;
    *ret_count = count;
    return ERR_OK;
}

// read_due asks only the lanes that have something to send.
static Err read_due(Db *db, Arena *arena, Depth *depths, size_t count, Error *error)
{
    int64_t *lanes = ARENA_ARRAY(arena, int64_t, count + 1);
    Depth **asked = ARENA_ARRAY(arena, Depth *, count + 1);
    QueueNext next = { .lanes = lanes, .arena = arena };
    for (size_t i = 0; i < count; i++) {
        if (depth_live(&depths[i]) == 0)
            continue;
        asked[next.lane_count] = &depths[i];
        lanes[next.lane_count++] = depths[i].lane;
    }
    queue_next(db, &next);
    TRY(db_sync(db, error));
    queue_next_take(&next);
    for (size_t i = 0; i < next.lane_count; i++)
        asked[i]->due_at = next.lane_due[i];
    return ERR_OK;
}

static bool is_fresh(const Depths *depths, Instant now)
{
    return depths->took > CHEAP && now - depths->read_at < depths->took * 20;
}

Err depths_renew(Depths *depths, Db *db, const Clock *clock, Error *error)
{
    Instant begun_at = clock_monotonic(clock);
    Depths renewed = { 0 };
    if (is_fresh(depths, begun_at))
        return ERR_OK;
    Err err = read_sums(db, &renewed.arena, &renewed.rows, &renewed.count, error);
    if (err == ERR_OK)
        err = read_due(db, &renewed.arena, renewed.rows, renewed.count, error);
    if (err != ERR_OK) {
        depths_done(&renewed);
        return err;
    }
    depths_done(depths);
    *depths = renewed;
    depths->read_at = clock_monotonic(clock);
    depths->took = depths->read_at - begun_at;
    return ERR_OK;
}

void depths_done(Depths *depths)
{
    arena_done(&depths->arena);
}
