#include "store/lane.h"

#include "store/definition.h"

// Step 1 is a send's and state 1 means that it is under way (domain/delivery.h). Each step of the
// recursion is one look into the index queue_send, for the next higher lane.
#define USED                                                                                       \
    "WITH RECURSIVE used (lane) AS"                                                                \
    " (SELECT (SELECT lane FROM queue WHERE step = 1 ORDER BY lane LIMIT 1)"                       \
    " UNION ALL SELECT (SELECT q.lane FROM queue q WHERE q.step = 1 AND q.lane > u.lane"           \
    " ORDER BY q.lane LIMIT 1) FROM used u WHERE u.lane IS NOT NULL)"

static const Statement used = {
    .name = "lane_used",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = USED " SELECT lane FROM used WHERE lane IS NOT NULL",
};
static const Statement next = {
    .name = "lane_next",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = USED " SELECT u.lane, (SELECT q.due_at FROM queue q WHERE q.lane = u.lane"
                " AND q.step = 1 AND q.state <> 1 ORDER BY q.due_at LIMIT 1)"
                " FROM used u WHERE u.lane IS NOT NULL",
};

// The select has a condition because SQLite would read its ON as a join's.
static const Statement insert = {
    .name = "lane_insert",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "INSERT INTO lane (lane, tenant, channel, generation)"
           " SELECT COALESCE(MAX(lane), 0) + 1, $1, $2, $3 FROM lane WHERE 1 = 1"
           " ON CONFLICT (tenant, channel) DO NOTHING",
};

const Statement *const lane_statements[] = { &used, &next, &insert, NULL };

Err lane_ensure(Tx *tx, int64_t tenant, Str channel_key, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_text(channel_key),
                     value_i64(definition_generation(tx)) };
    TRY(definition_lock(tx, error));
    TRY(tx_query(tx, &insert, args, &rows, error));
    if (rows.changed > 0)
        tx->changes_definitions = true;
    return ERR_OK;
}

Err lane_used(Tx *tx, int64_t **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    TRY(tx_query(tx, &used, NULL, &rows, error));
    *ret = ARENA_ARRAY(&tx->arena, int64_t, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        (*ret)[i] = value_to_i64(rows_at(&rows, i));
    *ret_count = rows.count;
    return ERR_OK;
}

void lane_next(Db *db, LaneNext *of)
{
    db_send(db, of->arena, &next, NULL, &of->rows);
}

size_t lane_next_take(const LaneNext *of, int64_t **ret_lanes, Instant **ret_due)
{
    size_t count = of->rows.count;
    *ret_lanes = ARENA_ARRAY(of->arena, int64_t, count + 1);
    *ret_due = ARENA_ARRAY(of->arena, Instant, count + 1);
    for (size_t i = 0; i < count; i++) {
        const Value *row = rows_at(&of->rows, i);
        (*ret_lanes)[i] = value_to_i64(&row[0]);
        (*ret_due)[i] = value_to_time(&row[1]);
    }
    return count;
}
