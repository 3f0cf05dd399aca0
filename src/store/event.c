#include "store/event.h"

#include "store/columns.h"

static const Statement insert = {
    .name = "event_insert",
    .scope = STATEMENT_TENANT,
    .params = "iutttttt"
              "iitttiib",
    .many = true,
    .sql = "INSERT INTO event (tenant, id, kind, source, identity, entity, correlation_id,"
           " trace, received_at, occurred_at, recipient, payload, topic, schema_version, depth,"
           " decided)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
    .postgres = "INSERT INTO event (tenant, id, kind, source, identity, entity, correlation_id,"
                " trace, received_at, occurred_at, recipient, payload, topic, schema_version,"
                " depth, decided) SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
                " $11, $12, $13, $14, $15, $16)",
};

#define EVENT_COLUMNS                                                                              \
    "SELECT e.id, e.kind, e.source, e.identity, e.entity, e.correlation_id, e.trace,"              \
    " e.received_at, e.occurred_at, e.recipient, e.payload, e.topic,"                              \
    " e.schema_version FROM event e"

static const Statement one = {
    .name = "event_row",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = EVENT_COLUMNS " WHERE e.tenant = $1 AND e.id = $2",
};
static const Statement owner = {
    .name = "event_owner",
    .scope = STATEMENT_SYSTEM,
    .params = "u",
    .sql = "SELECT t.id, e.topic FROM tenant t JOIN event e ON e.tenant = t.tenant AND e.id = $1",
};
#define MET "SELECT id FROM event WHERE tenant = $1 AND id < $2 AND id >= $3"

static const Statement edge = {
    .name = "event_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = MET " ORDER BY id DESC LIMIT 1 OFFSET $4",
};
#define HAS(column) "LOWER(" column " COLLATE \"C\") LIKE w.value ESCAPE '!'"
#define FIND(words)                                                                                \
    MET " AND ($5 IS NULL OR received_at >= $5) AND ($6 IS NULL OR received_at < $6)"              \
        " AND ($7 IS NULL OR kind = $7) AND ($8 IS NULL OR source = $8)"                           \
        " AND ($9 IS NULL OR entity = $9) AND ($10 IS NULL OR NOT EXISTS (SELECT 1 FROM " words    \
        " WHERE NOT (" HAS("payload") " OR " HAS("kind") " OR " HAS(                               \
            "source") " OR "                                                                       \
                      "COALESCE(" HAS("entity") ", 1 = 0)))) ORDER BY id DESC LIMIT $4"
static const Statement find = {
    .name = "event_find",
    .scope = STATEMENT_TENANT,
    .params = "iuuiiitttt",
    .sql = FIND(WORDS_SQLITE("$10")),
    .postgres = FIND(WORDS_POSTGRES("$10")),
};
static const Statement many = {
    .name = "event_rows",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = EVENT_COLUMNS " WHERE e.tenant = $1 AND e.id = $2",
    .postgres = EVENT_COLUMNS " JOIN unnest($1, $2) AS u (tenant, id)"
                              " ON e.tenant = u.tenant AND e.id = u.id ORDER BY e.id DESC",
};

const Statement *const event_statements[] = { &insert, &one, &owner, &edge, &find, &many, NULL };

void event_insert(Tx *tx, const EventRow *rows, size_t count)
{
    enum { WIDTH = 16 };
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * WIDTH);
    for (size_t i = 0; i < count; i++) {
        const Event *event = rows[i].event;
        Value *row = values + i * WIDTH;
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
        row[12] = value_text(event->topic);
        row[13] = event->schema_version ? value_i64(event->schema_version) : value_null();
        row[14] = event->depth ? value_i64(event->depth) : value_null();
        row[15] = value_bytes(rows[i].decided);
    }
    db_send_many(tx->db, &tx->arena, &insert, values, count, NULL);
    for (size_t i = 0; i < count; i++)
        tx_event(tx, rows[i].event->tenant, rows[i].event->id, rows[i].event->kind);
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
        .topic = value_to_str(&row[11]),
        .schema_version = (int) value_to_i64(&row[12]),
    };
}

static Err fail_unknown(Uuid id, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    return fail(error, ERR_NOT_FOUND, "there is no event %.*s", STR_ARG(uuid_text(id, text)));
}

Err event_owner(Db *db, Arena *arena, Uuid id, EventOwner *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_uuid(&id) };
    TRY(db_query(db, arena, &owner, args, &rows, error));
    if (rows.count == 0)
        return fail_unknown(id, error);
    const Value *row = rows_at(&rows, 0);
    *ret = (EventOwner){ value_to_str(&row[0]), value_to_str(&row[1]) };
    return ERR_OK;
}

Err event_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Event *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    if (rows.count == 0)
        return fail_unknown(id, error);
    Event event = read_event(rows_at(&rows, 0), tenant);
    if (event_parse(arena, &event, NULL) != ERR_OK)
        event.payload_json = event.recipient_json = NULL;
    *ret = event;
    return ERR_OK;
}

// FilterArgs are the parameters of a walk.
typedef struct FilterArgs {
    IdBounds bounds; // first: a walk narrows them
    Instant from, to;
    Str kind, source, entity, words;
} FilterArgs;

_Static_assert(offsetof(FilterArgs, bounds) == 0, "a walk finds its bounds there");

static const Columns filter_columns =
    COLUMNS(FilterArgs, ID_BOUNDS_COLUMNS(FilterArgs, bounds), COLUMN_SOME(FilterArgs, from),
            COLUMN_TIME(FilterArgs, to), COLUMN(FilterArgs, kind), COLUMN(FilterArgs, source),
            COLUMN(FilterArgs, entity), COLUMN(FilterArgs, words));
static const IdSource all_source = { &edge, &find, &filter_columns, &filter_columns };

// cost_of: a payload may be long, and lies apart from its row.
static WalkCost cost_of(const EventFilter *filter)
{
    if (filter->q.len)
        return WALK_FAR;
    return filter->kind.at || filter->source.at || filter->entity.at ? WALK_NEAR : WALK_DENSE;
}

Err event_page(Db *db, Arena *arena, int64_t tenant, const EventFilter *filter, const Walk *walk,
               Event **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    IdsSeen found;
    FilterArgs args = { { tenant, uuid_ceiling(filter->to), uuid_floor(filter->from), 0 },
                        filter->from,
                        filter->to,
                        filter->kind,
                        filter->source,
                        filter->entity,
                        walk_words(arena, filter->q) };
    TRY(walk_after(walk, true, &args.bounds.from, error));
    TRY(walk_ids(db, arena, &all_source, cost_of(filter), walk, &args.bounds, &found, error));
    TRY(walk_rows(db, arena, &many, tenant, &found, &rows, error));
    Event *events = ARENA_ARRAY(arena, Event, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        events[i] = read_event(rows_at(&rows, i), tenant);
    *ret = events;
    *ret_seen = walk_seen(arena, &found, walk_taken(&found, &rows, 0), rows.count, walk);
    return ERR_OK;
}
