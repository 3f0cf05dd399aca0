#include "store/message.h"

#include "store/act.h"
#include "store/columns.h"

static const Statement add = {
    .name = "resend_add",
    .scope = STATEMENT_TENANT,
    .params = "iutu",
    .many = true,
    .sql = "INSERT INTO resend (tenant, event, request, actor) VALUES ($1, $2, $3, $4)",
    .postgres = "INSERT INTO resend (tenant, event, request, actor)"
                " SELECT * FROM unnest($1, $2, $3, $4)",
};
static const Statement find = {
    .name = "resend_find",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3, request, actor FROM resend WHERE tenant = $1 AND event = $2",
    .postgres = "SELECT u.n, r.request, r.actor FROM unnest($1, $2, $3) AS u (tenant, event, n)"
                " JOIN resend r ON r.tenant = u.tenant AND r.event = u.event",
};
// The newest of the next kind: the index event_entity is skipped through, kind by kind.
static const Statement next_event = {
    .name = "entity_next_event",
    .scope = STATEMENT_TENANT,
    .params = "itt",
    .sql = "SELECT e.id, e.kind, e.correlation_id, e.occurred_at, e.received_at, e.recipient,"
           " e.payload FROM event e WHERE e.tenant = $1 AND e.entity = $2 AND e.kind ="
           " (SELECT MIN(x.kind) FROM event x WHERE x.tenant = $1 AND x.entity = $2 AND"
           " x.kind > $3) ORDER BY e.id DESC LIMIT 1",
};
static const Statement known = {
    .name = "entity_known",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT 1 FROM event e WHERE e.tenant = $1 AND e.entity = $2 LIMIT 1",
};
static const Statement live = {
    .name = "entity_live",
    .scope = STATEMENT_TENANT,
    .params = "ittti",
    .sql = "SELECT q.id FROM delivery d JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"
           " WHERE d.tenant = $1 AND d.entity = $2"
           " AND ($3 IS NULL OR (SELECT e.kind FROM event e WHERE e.tenant = d.tenant"
           " AND e.id = d.event) = $3)"
           " AND ($4 IS NULL OR d.lane = (SELECT l.lane FROM lane l WHERE l.tenant = $1"
           " AND l.channel = $4)) ORDER BY d.id LIMIT $5",
};

const Statement *const message_statements[] = { &add, &find, &next_event, &known, &live, NULL };

static const Columns added_columns = COLUMNS(Resend, COLUMN(Resend, tenant), COLUMN(Resend, event),
                                             COLUMN(Resend, request), COLUMN(Resend, actor));

void resend_add(Tx *tx, const Resend *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &add, &added_columns, rows, count, NULL);
}

Err resend_find(Db *db, Arena *arena, Resend *rows, size_t count, Error *error)
{
    Rows found;
    Value *values = ARENA_ARRAY(arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 3] = value_i64(rows[i].tenant);
        values[i * 3 + 1] = value_uuid(&rows[i].event);
        values[i * 3 + 2] = value_i64((int64_t) i);
    }
    db_send_many(db, arena, &find, values, count, &found);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < found.count; i++) {
        const Value *row = rows_at(&found, i);
        Resend *resend = &rows[value_to_i64(&row[0])];
        resend->request = value_to_str(&row[1]);
        resend->actor = value_to_uuid(&row[2]);
        resend->is_found = true;
    }
    return ERR_OK;
}

Err entity_events(Db *db, Arena *arena, int64_t tenant, Str entity, Event **ret, size_t *ret_count,
                  Error *error)
{
    Event *events = ARENA_ARRAY(arena, Event, ENTITY_KINDS_MAX);
    size_t count = 0;
    Str kind = S("");
    while (count < ENTITY_KINDS_MAX) {
        Rows rows;
        Value args[] = { value_i64(tenant), value_text(entity), value_text(kind) };
        TRY(db_query(db, arena, &next_event, args, &rows, error));
        if (rows.count == 0)
            break;
        const Value *row = rows.values;
        kind = value_to_str(&row[1]);
        events[count++] = (Event){ .id = value_to_uuid(&row[0]),
                                   .tenant = tenant,
                                   .kind = kind,
                                   .entity = entity,
                                   .correlation_id = value_to_str(&row[2]),
                                   .occurred_at = value_to_time(&row[3]),
                                   .received_at = value_to_i64(&row[4]),
                                   .recipient = value_to_str(&row[5]),
                                   .payload = value_to_str(&row[6]) };
    }
    *ret = events;
    *ret_count = count;
    return ERR_OK;
}

Err entity_unknown(Str entity, Error *error)
{
    return fail(error, ERR_NOT_FOUND, "nothing is known of %.*s", STR_ARG(entity));
}

Err entity_cancel(Tx *tx, EntityCancel *cancel, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(cancel->tenant), value_text(cancel->entity),
                     value_text(cancel->event_kind), value_text(cancel->channel),
                     value_i64(ENTITY_CANCEL_MAX + 1) };
    TRY(tx_query(tx, &known, args, &rows, error));
    if (rows.count == 0)
        return entity_unknown(cancel->entity, error);
    TRY(tx_query(tx, &live, args, &rows, error));
    cancel->is_cut = rows.count > ENTITY_CANCEL_MAX;
    size_t count = cancel->is_cut ? ENTITY_CANCEL_MAX : rows.count;
    Uuid *ids = ARENA_ARRAY(&tx->arena, Uuid, count + 1);
    Acted *acted = ARENA_ARRAY(&tx->arena, Acted, count + 1);
    for (size_t i = 0; i < count; i++)
        ids[i] = value_to_uuid(rows_at(&rows, i));
    TRY(act_all(tx, cancel->tenant, ids, count, DELIVERY_ACTION_CANCEL, cancel->note, acted,
                error));
    cancel->cancelled = 0;
    for (size_t i = 0; i < count; i++)
        cancel->cancelled += acted[i].err == ERR_OK;
    return ERR_OK;
}
