#include "store/attempt.h"

#include "store/delivery.h"

#define ATTEMPT_COLUMNS                                                                            \
    "SELECT a.delivery, a.number, a.send, a.started_at, a.finished_at, a.verdict, a.reason,"       \
    " a.code, a.provider_id, a.detail, a.node, COALESCE(m.name, CAST(a.node AS TEXT))"

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
    .params = "iiuiuti",
    .sql = "SELECT a.delivery, a.number, a.send, a.started_at, d.event, d.public_id, d.trigger_id,"
           " l.channel, d.address, d.locale, d.customer_ref, e.kind, e.payload,"
           " COALESCE(e.occurred_at, e.received_at)"
           " FROM attempt a CROSS JOIN delivery d CROSS JOIN event e CROSS JOIN lane l"
           " WHERE a.tenant = $1 AND a.reason = $2 AND (a.delivery, a.number) > ($3, $4)"
           " AND a.delivery <= $5 AND d.tenant = a.tenant AND d.id = a.delivery"
           " AND e.tenant = d.tenant AND e.id = d.event"
           " AND l.lane = d.lane AND l.tenant = d.tenant AND ($6 IS NULL OR l.channel = $6)"
           " ORDER BY a.delivery, a.number LIMIT $7",
};

const Statement *const attempt_statements[] = { &page, &of_event, &captured, NULL };

static void take_attempts(const Rows *rows, Arena *arena, AttemptView **ret, size_t *ret_count)
{
    AttemptView *views = ARENA_ARRAY(arena, AttemptView, rows->count + 1);
    for (size_t i = 0; i < rows->count; i++) {
        const Value *row = rows_at(rows, i);
        views[i] = (AttemptView){
            .delivery = value_to_uuid(&row[0]),
            .attempt = {
                .number = (int) value_to_i64(&row[1]),
                .send = (int) value_to_i64(&row[2]),
                .started_at = value_to_i64(&row[3]),
                .finished_at = value_to_i64(&row[4]),
                .outcome = {
                    .verdict = (Verdict) value_to_i64(&row[5]),
                    .reason = (DeliveryReason) value_to_i64(&row[6]),
                    .code = (int) value_to_i64(&row[7]),
                    .provider_id = value_to_str(&row[8]),
                    .detail = value_to_str(&row[9]),
                },
                .node = value_to_i64(&row[10]),
            },
            .node = value_to_str(&row[11]),
        };
    }
    *ret = views;
    *ret_count = rows->count;
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

static Captured read_captured(const Value *row)
{
    return (Captured){
        .delivery = value_to_uuid(&row[0]),
        .number = (int) value_to_i64(&row[1]),
        .send = (int) value_to_i64(&row[2]),
        .started_at = value_to_i64(&row[3]),
        .event = value_to_uuid(&row[4]),
        .public_id = value_to_str(&row[5]),
        .trigger_id = value_to_str(&row[6]),
        .channel = value_to_str(&row[7]),
        .address = value_to_str(&row[8]),
        .locale = value_to_str(&row[9]),
        .customer_ref = value_to_str(&row[10]),
        .event_kind = value_to_str(&row[11]),
        .payload = value_to_str(&row[12]),
        .occurred_at = value_to_i64(&row[13]),
    };
}

Err captured_page(Db *db, Arena *arena, int64_t tenant, const CapturedFilter *filter,
                  CapturedKey after, int64_t limit, Captured **ret, size_t *ret_count, Error *error)
{
    Uuid last;
    memset(&last, 0xff, sizeof last);
    if (filter->has_delivery) {
        last = filter->delivery;
        if (uuid_cmp(after.delivery, filter->delivery) < 0)
            after = (CapturedKey){ .delivery = filter->delivery };
    }
    Rows rows;
    Value args[] = {
        value_i64(tenant),       value_i64(REASON_CAPTURED), value_uuid(&after.delivery),
        value_i64(after.number), value_uuid(&last),          value_text(filter->channel),
        value_i64(limit)
    };
    TRY(db_query(db, arena, &captured, args, &rows, error));
    Captured *all = ARENA_ARRAY(arena, Captured, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        all[i] = read_captured(rows_at(&rows, i));
    *ret = all;
    *ret_count = rows.count;
    return ERR_OK;
}
