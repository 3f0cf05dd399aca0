#include "store/event.h"

static const Statement insert = {
    .name = "event_insert",
    .scope = STATEMENT_TENANT,
    .params = "iutttttt"
              "iitt",
    .many = true,
    .sql = "INSERT INTO event (tenant, id, kind, source, identity, entity, correlation_id,"
           " trace, received_at, occurred_at, recipient, payload)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    .postgres = "INSERT INTO event (tenant, id, kind, source, identity, entity, correlation_id,"
                " trace, received_at, occurred_at, recipient, payload)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
};

#define EVENT_COLUMNS                                                                              \
    "SELECT id, kind, source, identity, entity, correlation_id, trace, received_at,"               \
    " occurred_at, recipient, payload FROM event"

static const Statement one = {
    .name = "event_row",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = EVENT_COLUMNS " WHERE tenant = $1 AND id = $2",
};
static const Statement page = {
    .name = "event_page",
    .scope = STATEMENT_TENANT,
    .params = "iuuiiti",
    .sql = EVENT_COLUMNS " WHERE tenant = $1 AND id < $2 AND id >= $3 AND received_at >= $4"
                         " AND received_at < $5 AND ($6 IS NULL OR kind = $6)"
                         " ORDER BY id DESC LIMIT $7",
};

const Statement *const event_statements[] = { &insert, &one, &page, NULL };

void event_insert(Tx *tx, const Event *const *events, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 12);
    for (size_t i = 0; i < count; i++) {
        const Event *event = events[i];
        Value *row = values + i * 12;
        row[0] = value_i64(event->tenant);
        row[1] = value_uuid(&event->id);
        row[2] = value_text(event->kind);
        row[3] = value_text(event->source);
        row[4] = value_text(event->identity);
        row[5] = value_text(event->entity);
        row[6] = value_text(event->correlation_id);
        row[7] = value_text(event->trace);
        row[8] = value_time(event->received_at);
        row[9] = value_time(event->occurred_at);
        row[10] = value_text(event->recipient);
        row[11] = value_text(event->payload);
    }
    db_send_many(tx->db, &tx->arena, &insert, values, count, NULL);
    tx->event_count += (int64_t) count;
}

static Event read_event(const Value *row, int64_t tenant)
{
    return (Event){
        .tenant = tenant,
        .id = value_to_uuid(&row[0]),
        .kind = value_to_str(&row[1]),
        .source = value_to_str(&row[2]),
        .identity = value_to_str(&row[3]),
        .entity = value_to_str(&row[4]),
        .correlation_id = value_to_str(&row[5]),
        .trace = value_to_str(&row[6]),
        .received_at = value_to_i64(&row[7]),
        .occurred_at = value_to_time(&row[8]),
        .recipient = value_to_str(&row[9]),
        .payload = value_to_str(&row[10]),
    };
}

Err event_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Event *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    if (rows.count == 0) {
        char text[UUID_TEXT_LEN + 1];
        return fail(error, ERR_NOT_FOUND, "there is no event %.*s", STR_ARG(uuid_text(id, text)));
    }
    Event event = read_event(rows_at(&rows, 0), tenant);
    if (event_parse(arena, &event, NULL) != ERR_OK)
        event.payload_json = event.recipient_json = NULL;
    *ret = event;
    return ERR_OK;
}

Err event_page(Db *db, Arena *arena, int64_t tenant, const EventFilter *filter, const Uuid *before,
               int64_t limit, Event **ret, size_t *ret_count, bool *ret_is_cut, Error *error)
{
    Uuid first = uuid_floor(filter->from), bound = uuid_ceiling(filter->to);
    if (before && uuid_cmp(*before, bound) < 0)
        bound = *before;
    Rows rows;
    Value args[] = { value_i64(tenant),       value_uuid(&bound),    value_uuid(&first),
                     value_i64(filter->from), value_i64(filter->to), value_text(filter->kind),
                     value_i64(limit) };
    db_page(db);
    TRY(db_query(db, arena, &page, args, &rows, error));
    Event *events = ARENA_ARRAY(arena, Event, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        events[i] = read_event(rows_at(&rows, i), tenant);
    *ret = events;
    *ret_count = rows.count;
    *ret_is_cut = rows.is_cut;
    return ERR_OK;
}
