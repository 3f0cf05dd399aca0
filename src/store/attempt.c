#include "store/attempt.h"

#include "store/delivery.h"

#define ATTEMPT_COLUMNS                                                                            \
    "SELECT a.delivery, a.number, a.send, a.started_at, a.finished_at, a.verdict, a.reason,"       \
    " a.code, a.provider_id, a.detail, a.node, a.is_captured, COALESCE(m.name, CAST(a.node AS "    \
    "TEXT))"

static const Statement page = {
    .name = "attempt_page",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = ATTEMPT_COLUMNS " FROM attempt a LEFT JOIN node m ON m.node = a.node"
                           " WHERE a.tenant = $1 AND a.delivery = $2 AND a.number > $3"
                           " ORDER BY a.number LIMIT $4",
};
static const Statement of_event = {
    .name = "attempt_of_event",
    .scope = STATEMENT_TENANT,
    .params = "iuuui",
    .sql = ATTEMPT_COLUMNS " FROM attempt a CROSS JOIN delivery d"
                           " LEFT JOIN node m ON m.node = a.node"
                           " WHERE a.tenant = $1 AND a.delivery >= $3 AND a.delivery <= $4"
                           " AND d.tenant = a.tenant AND d.id = a.delivery AND d.event = $2"
                           " ORDER BY a.delivery, a.number LIMIT $5",
};
static const Statement captured = {
    .name = "captured_page",
    .scope = STATEMENT_TENANT,
    .params = "iuiuti",
    .sql = "SELECT a.delivery, a.number, a.send, a.started_at, d.event, d.public_id, r.id,"
           " l.channel, d.address, d.locale, d.customer_ref, e.kind, e.payload,"
           " COALESCE(e.occurred_at, e.received_at)"
           " FROM attempt a CROSS JOIN delivery d CROSS JOIN event e CROSS JOIN lane l"
           " CROSS JOIN rule r"
           " WHERE a.tenant = $1 AND a.is_captured = 1 AND (a.delivery, a.number) > ($2, $3)"
           " AND a.delivery <= $4 AND d.tenant = a.tenant AND d.id = a.delivery"
           " AND e.tenant = d.tenant AND e.id = d.event"
           " AND r.rule = d.rule AND r.tenant = d.tenant"
           " AND l.lane = d.lane AND l.tenant = d.tenant AND ($5 IS NULL OR l.channel = $5)"
           " ORDER BY a.delivery, a.number LIMIT $6",
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

static const Columns captured_columns =
    COLUMNS(Captured, COLUMN(Captured, delivery), COLUMN(Captured, number), COLUMN(Captured, send),
            COLUMN(Captured, started_at), COLUMN(Captured, event), COLUMN(Captured, public_id),
            COLUMN(Captured, trigger_id), COLUMN(Captured, channel), COLUMN(Captured, address),
            COLUMN(Captured, locale), COLUMN(Captured, customer_ref), COLUMN(Captured, event_kind),
            COLUMN(Captured, payload), COLUMN(Captured, occurred_at));

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
