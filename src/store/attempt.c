#include "store/attempt.h"

#include "store/delivery.h"

// Attempts stand in two tables (queue.h): both are asked, each along its key, and make one list.
#define TRIED(where, ended_where)                                                                  \
    "(SELECT tenant, delivery, number, send, started_at, finished_at, verdict, reason, code,"      \
    " provider_id, detail, node, is_captured FROM attempt WHERE tenant = $1" where                 \
    " UNION ALL SELECT tenant, id, attempt, send, started_at, finished_at, verdict, tried_reason," \
    " code, provider_id, detail, node, is_captured FROM ended"                                     \
    " WHERE tenant = $1 AND verdict IS NOT NULL" ended_where
#define TRIED_FOR_ONE TRIED(" AND delivery = $2 AND number > $3", " AND id = $2 AND attempt > $3")
#define TRIED_FOR_EVENT                                                                            \
    TRIED(" AND delivery >= $3 AND delivery <= $4", " AND id >= $3 AND id <= $4")
#define TRIED_AND_CAPTURED                                                                         \
    TRIED(" AND is_captured = 1 AND (delivery, number) > ($2, $3) AND delivery <= $4" OF_CHANNEL,  \
          " AND is_captured = 1 AND id >= $2 AND (id, attempt) > ($2, $3) AND id <= $4"            \
          " AND ($5 IS NULL OR lane IN " LANES ")")
#define OF_CHANNEL                                                                                 \
    " AND ($5 IS NULL OR EXISTS (SELECT 1 FROM delivery x"                                         \
    " WHERE x.tenant = $1 AND x.id = attempt.delivery AND x.lane IN " LANES "))"
#define LANES "(SELECT y.lane FROM lane y WHERE y.tenant = $1 AND y.channel = $5)"

#define ATTEMPT_COLUMNS                                                                            \
    "SELECT a.delivery, a.number, a.send, a.started_at, a.finished_at, a.verdict, a.reason,"       \
    " a.code, a.provider_id, a.detail, a.node, a.is_captured, COALESCE(m.name, CAST(a.node AS "    \
    "TEXT)) FROM "

static const Statement page = {
    .name = "attempt_page",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = ATTEMPT_COLUMNS TRIED_FOR_ONE ") AS a LEFT JOIN node m ON m.node = a.node"
                                         " ORDER BY a.number LIMIT $4",
};
static const Statement of_event = {
    .name = "attempt_of_event",
    .scope = STATEMENT_TENANT,
    .params = "iuuui",
    .sql = ATTEMPT_COLUMNS TRIED_FOR_EVENT
    ") AS a CROSS JOIN delivery d LEFT JOIN node m ON m.node = a.node"
    " WHERE d.tenant = a.tenant AND d.id = a.delivery AND d.event = $2"
    " ORDER BY a.delivery, a.number LIMIT $5",
};
// A page's rows are picked before anything is joined to them: the walk ends with the page. CROSS
// JOIN keeps SQLite to their order; to sort them again it would hold the payloads of a whole page.
#define CAPTURED                                                                                   \
    "SELECT " PROMISE_OF_D ", a.number, a.send, a.started_at, r.id, l.channel, e.kind, e.payload," \
    " COALESCE(e.occurred_at, e.received_at) FROM " TRIED_AND_CAPTURED                             \
    " ORDER BY delivery, number LIMIT $6) AS a"                                                    \
    " CROSS JOIN delivery d CROSS JOIN event e CROSS JOIN lane l CROSS JOIN rule r"                \
    " WHERE d.tenant = a.tenant AND d.id = a.delivery"                                             \
    " AND e.tenant = d.tenant AND e.id = d.event"                                                  \
    " AND r.rule = d.rule AND r.tenant = d.tenant"                                                 \
    " AND l.lane = d.lane AND l.tenant = d.tenant"

static const Statement captured = {
    .name = "captured_page",
    .scope = STATEMENT_TENANT,
    .params = "iuiuti",
    .sql = CAPTURED,
    .postgres = CAPTURED " ORDER BY a.delivery, a.number",
};

const Statement *const attempt_statements[] = { &page, &of_event, &captured, NULL };

static const Columns attempt_columns =
    COLUMNS(AttemptView, COLUMN(AttemptView, delivery), COLUMN(AttemptView, attempt.number),
            COLUMN(AttemptView, attempt.send), COLUMN(AttemptView, attempt.started_at),
            COLUMN(AttemptView, attempt.finished_at), COLUMN(AttemptView, attempt.outcome.verdict),
            COLUMN(AttemptView, attempt.outcome.reason), COLUMN(AttemptView, attempt.outcome.code),
            COLUMN(AttemptView, attempt.outcome.provider_id),
            COLUMN(AttemptView, attempt.outcome.detail), COLUMN(AttemptView, attempt.node),
            COLUMN(AttemptView, attempt.outcome.is_captured), COLUMN(AttemptView, node));

static void take_attempts(const Rows *rows, Arena *arena, AttemptView **ret, size_t *ret_count)
{
    *ret = ARENA_ARRAY(arena, AttemptView, rows->count);
    *ret_count = rows->count;
    for (size_t i = 0; i < rows->count; i++)
        columns_read(&attempt_columns, rows_at(rows, i), &(*ret)[i]);
}

Err attempt_page(Db *db, Arena *arena, int64_t tenant, Uuid delivery, int after, int64_t limit,
                 AttemptView **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&delivery), value_i64(after), value_i64(limit) };
    TRY(db_query(db, arena, &page, args, &rows, error));
    take_attempts(&rows, arena, ret, ret_count);
    return ERR_OK;
}

Err attempt_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, int64_t limit,
                     AttemptView **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    Uuid first = delivery_id_of(event, 1), last = delivery_id_of(event, UINT16_MAX);
    Value args[] = { value_i64(tenant), value_uuid(&event), value_uuid(&first), value_uuid(&last),
                     value_i64(limit) };
    TRY(db_query(db, arena, &of_event, args, &rows, error));
    take_attempts(&rows, arena, ret, ret_count);
    return ERR_OK;
}

static const Columns captured_columns = COLUMNS(
    Captured, PROMISE_COLUMNS(Captured, promise.) COLUMN(Captured, number), COLUMN(Captured, send),
    COLUMN(Captured, started_at), COLUMN(Captured, trigger_id), COLUMN(Captured, channel),
    COLUMN(Captured, event_kind), COLUMN(Captured, payload), COLUMN(Captured, occurred_at));

Err captured_page(Db *db, Arena *arena, int64_t tenant, const CapturedFilter *filter,
                  CapturedKey after, int64_t limit, Captured **ret, size_t *ret_count,
                  bool *ret_is_cut, Error *error)
{
    Uuid last;
    memset(&last, 0xff, sizeof last);
    if (filter->has_delivery) {
        last = filter->delivery;
        if (uuid_cmp(after.delivery, filter->delivery) < 0)
            after = (CapturedKey){ .delivery = filter->delivery };
    }
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&after.delivery), value_i64(after.number),
                     value_uuid(&last), value_text(filter->channel), value_i64(limit) };
    db_page(db);
    TRY(db_query(db, arena, &captured, args, &rows, error));
    *ret = ARENA_ARRAY(arena, Captured, rows.count);
    *ret_count = rows.count;
    *ret_is_cut = rows.is_cut;
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&captured_columns, rows_at(&rows, i), &(*ret)[i]);
    return ERR_OK;
}
