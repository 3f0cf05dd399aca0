#include "store/inbox.h"

#include "domain/event.h"
#include "store/columns.h"

#define INBOX_COLUMNS                                                                              \
    "tenant, id, source, kind, external_id, event_kind, entity, topic, correlation_id,"            \
    " schema_version, body, status, reason, error, attempts, next_at, received_at, processed_at,"  \
    " provider, headers"
#define INBOX_SELECT                                                                               \
    "SELECT i.tenant, i.id, i.source, i.kind, i.external_id, i.event_kind, i.entity, i.topic,"     \
    " i.correlation_id, i.schema_version, i.body, i.status, i.reason, i.error, i.attempts,"        \
    " i.next_at, i.received_at, i.processed_at, i.provider, i.headers FROM inbox i"
#define INBOX_NAMED                                                                                \
    INBOX_SELECT " JOIN unnest($1, $2) AS u (tenant, id) ON i.tenant = u.tenant AND i.id = u.id"

static const Statement put = {
    .name = "inbox_put",
    .scope = STATEMENT_TENANT,
    .params = "iutitttttib"
              "iitiiiitt",
    .many = true,
    .sql = "INSERT INTO inbox (" INBOX_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
           " $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) ON CONFLICT DO NOTHING",
    .postgres = "INSERT INTO inbox (" INBOX_COLUMNS ") SELECT * FROM unnest($1, $2, $3, $4, $5, $6,"
                " $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)"
                " ON CONFLICT DO NOTHING",
};

// A source is another's while that one's transaction lasts. The lock is by a hash: two sources that
// share one wait for each other, and nothing worse.
#define SOURCE_LOCK(tenant, source)                                                                \
    "(7326, hashtext(CAST(" tenant " AS TEXT) || '/' || " source "))"
#define NEXT_SOURCE                                                                                \
    "SELECT tenant, source FROM inbox WHERE status = 0 AND (tenant, source) > ($1, $2)"            \
    " ORDER BY tenant, source LIMIT 1"
static const Statement next_source = {
    .name = "inbox_next_source",
    .scope = STATEMENT_SYSTEM,
    .params = "it",
    .sql = "SELECT tenant, source, 1 FROM (" NEXT_SOURCE ")",
    .postgres = "SELECT tenant, source, CAST(pg_try_advisory_xact_lock" SOURCE_LOCK(
        "tenant", "source") " AS INTEGER) FROM (" NEXT_SOURCE ") n",
};
static const Statement lock_source = {
    .name = "inbox_lock_source",
    .scope = STATEMENT_SYSTEM,
    .params = "it",
    .sql = "SELECT $1, $2",
    .postgres = "SELECT 1 WHERE pg_advisory_xact_lock" SOURCE_LOCK("$1", "$2") " IS NOT NULL",
};
static const Statement held = {
    .name = "inbox_held",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = "SELECT processed_at FROM inbox WHERE tenant = $1 AND id = $2 AND status = 0"
           " AND reason = $3 AND attempts = $4",
};

static const Statement last_tenant = {
    .name = "inbox_last_tenant",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT tenant FROM inbox WHERE status = 0 ORDER BY tenant DESC, source DESC LIMIT 1",
};

// Sizes come first, so that no more is read than is taken; what is leased is among them, for
// nothing behind it is taken. Nobody else changes a row that is pending, and who holds its source's
// lock need not lock it. PostgreSQL is told of the source in a way by which only the index of
// pending rows is in order: where it has counted the rows while many wait, it thinks as well of the
// primary key, and walks there past all that are done.
#define PENDING(is_of_source, order)                                                               \
    "SELECT id, LENGTH(body), attempts, kind, CASE WHEN next_at > $3 THEN 1 ELSE 0 END"            \
    " FROM inbox WHERE tenant = $1 AND " is_of_source " AND status = 0"                            \
    " AND (next_at IS NULL OR next_at <= $3 OR reason = $5) ORDER BY " order " LIMIT $4"
static const Statement pending = {
    .name = "inbox_pending",
    .scope = STATEMENT_TENANT,
    .params = "itiii",
    .sql = PENDING("source = $2", "id"),
    .postgres = PENDING("source BETWEEN $2 AND $2", "source, id"),
};
static const Statement bodies = {
    .name = "inbox_bodies",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = INBOX_SELECT " WHERE i.tenant = $1 AND i.id = $2",
    .postgres = INBOX_NAMED " ORDER BY i.tenant, i.source, i.id",
};
static const Statement settle = {
    .name = "inbox_settle",
    .scope = STATEMENT_TENANT,
    .params = "iuiitiiit",
    .many = true,
    .sql = "UPDATE inbox SET status = $3, reason = $4, error = $5, attempts = $6, next_at = $7,"
           " processed_at = $8, external_id = $9 WHERE tenant = $1 AND id = $2",
    .postgres = "UPDATE inbox i SET status = u.status, reason = u.reason, error = u.error,"
                " attempts = u.attempts, next_at = u.next_at, processed_at = u.processed_at,"
                " external_id = u.external_id"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) AS u (tenant, id, status,"
                " reason, error, attempts, next_at, processed_at, external_id)"
                " WHERE i.tenant = u.tenant AND i.id = u.id",
};

// A SQLite file has no SQL functions to tell. The word lasts a second, and is given anew twice a
// second. A sequence takes it: emit reads it at every call, and nobody waits for who gives it.
static const Statement awake = {
    .name = "inbox_awake",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT $1",
    .postgres = "SELECT setval('emit_awake', $1) FROM emit_awake WHERE last_value < $1 - 500000",
};
static const Statement opened = {
    .name = "inbox_open",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "SELECT $1, $2",
    .postgres = "UPDATE emit_state SET manual_now = $1, payload_max = $2",
};

// A head is a row without its body: its length is known without reading it.
#define HEAD_SELECT                                                                                \
    "SELECT i.tenant, i.id, i.source, i.kind, i.external_id, i.provider, i.headers, i.status,"     \
    " i.reason, i.error, i.attempts, i.received_at, i.processed_at, LENGTH(i.body) FROM inbox i"
static const Statement head = {
    .name = "inbox_head",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = HEAD_SELECT " WHERE i.tenant = $1 AND i.id = $2 AND i.provider IS NOT NULL",
};
static const Statement head_before = {
    .name = "inbox_head_before",
    .scope = STATEMENT_TENANT,
    .params = "iuu",
    .sql = HEAD_SELECT " WHERE i.tenant = $1 AND i.id <= $2 AND i.id >= $3"
                       " AND i.provider IS NOT NULL ORDER BY i.id DESC LIMIT 1",
};
static const Statement heads = {
    .name = "inbox_heads",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = HEAD_SELECT " WHERE i.tenant = $1 AND i.id = $2",
    .postgres = HEAD_SELECT " JOIN unnest($1, $2) AS u (tenant, id) ON i.tenant = u.tenant"
                            " AND i.id = u.id ORDER BY i.id DESC",
};

// Nodes purge at the same time.
#define OLDEST                                                                                     \
    "SELECT tenant, id FROM inbox WHERE provider IS NOT NULL AND status <> 0"                      \
    " AND processed_at <= $1 ORDER BY processed_at LIMIT $2"
static const Statement purge = {
    .name = "inbox_purge",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "DELETE FROM inbox WHERE (tenant, id) IN (" OLDEST ")",
    .postgres = "DELETE FROM inbox WHERE (tenant, id) IN (" OLDEST " FOR UPDATE SKIP LOCKED)",
};
static const Statement depth = {
    .name = "inbox_depth",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE status = 0 LIMIT $1) AS w",
};

static const Statement one = {
    .name = "inbox_row",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = INBOX_SELECT " WHERE i.tenant = $1 AND i.id = $2",
};
#define FITS                                                                                       \
    " AND ($5 IS NULL OR received_at >= $5) AND ($6 IS NULL OR received_at < $6)"                  \
    " AND ($7 < 0 OR status = $7) AND ($8 < 0 OR (provider IS NOT NULL) = ($8 = 1))"               \
    " AND ($9 IS NULL OR source = $9) AND ($10 IS NULL OR provider = $10)"                         \
    " AND ($11 < 0 OR (attempts > 0) = ($11 = 1))"
#define FITTING "iuuiiiiitti"
#define MET "SELECT id FROM inbox WHERE tenant = $1 AND id < $2 AND id >= $3"
static const Statement edge = {
    .name = "inbox_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = MET " ORDER BY id DESC LIMIT 1 OFFSET $4",
};
static const Statement find = {
    .name = "inbox_find",
    .scope = STATEMENT_TENANT,
    .params = FITTING,
    .sql = MET FITS " ORDER BY id DESC LIMIT $4",
};
#define MET_UP "SELECT id FROM inbox WHERE tenant = $1 AND id > $2 AND id <= $3"
static const Statement edge_up = {
    .name = "inbox_edge_up",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = MET_UP " ORDER BY id LIMIT 1 OFFSET $4",
};
static const Statement find_up = {
    .name = "inbox_find_up",
    .scope = STATEMENT_TENANT,
    .params = FITTING,
    .sql = MET_UP FITS " ORDER BY id LIMIT $4",
};
// What a row became is still known by processed_at: its event may be stored.
#define SET_BACK "status = 0, reason = 0, error = NULL, attempts = 0, next_at = NULL"
static const Statement replay = {
    .name = "inbox_replay",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql =
        "UPDATE inbox SET " SET_BACK " WHERE tenant = $1 AND id = $2 AND status <> 0 RETURNING id",
    .postgres = "UPDATE inbox i SET " SET_BACK " FROM unnest($1, $2) AS u (tenant, id)"
                " WHERE i.tenant = u.tenant AND i.id = u.id AND i.status <> 0 RETURNING i.id",
};
#define RETOLD                                                                                     \
    "INSERT INTO inbox_retell (tenant, source, external_id)"                                       \
    " SELECT i.tenant, i.source, i.external_id FROM inbox i"
static const Statement retell = {
    .name = "inbox_retell",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = RETOLD " WHERE i.tenant = $1 AND i.id = $2 AND i.external_id IS NOT NULL"
                  " AND i.provider IS NULL"
                  " ON CONFLICT DO NOTHING",
    .postgres = RETOLD " JOIN unnest($1, $2) AS u (tenant, id) ON i.tenant = u.tenant"
                       " AND i.id = u.id WHERE i.external_id IS NOT NULL"
                       " AND i.provider IS NULL ON CONFLICT DO NOTHING",
};
static const Statement many = {
    .name = "inbox_rows",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = INBOX_SELECT " WHERE i.tenant = $1 AND i.id = $2",
    .postgres = INBOX_NAMED " ORDER BY i.id DESC",
};

const Statement *const inbox_statements[] = {
    &put,    &last_tenant, &next_source, &pending,     &bodies, &settle, &awake,   &opened,
    &held,   &lock_source, &one,         &edge,        &find,   &many,   &edge_up, &find_up,
    &replay, &retell,      &head,        &head_before, &heads,  &purge,  &depth,   NULL
};

static const Columns row_columns = COLUMNS(
    InboxRow, COLUMN(InboxRow, tenant), COLUMN(InboxRow, id), COLUMN(InboxRow, source),
    COLUMN(InboxRow, kind), COLUMN(InboxRow, external_id), COLUMN(InboxRow, event_kind),
    COLUMN(InboxRow, entity), COLUMN(InboxRow, topic), COLUMN(InboxRow, correlation_id),
    COLUMN_SOME(InboxRow, schema_version), COLUMN_BYTES(InboxRow, body), COLUMN(InboxRow, status),
    COLUMN(InboxRow, reason), COLUMN(InboxRow, error), COLUMN(InboxRow, attempts),
    COLUMN_TIME(InboxRow, next_at), COLUMN(InboxRow, received_at),
    COLUMN_TIME(InboxRow, processed_at), COLUMN(InboxRow, provider), COLUMN(InboxRow, headers));
static const Columns head_columns =
    COLUMNS(InboxRow, COLUMN(InboxRow, tenant), COLUMN(InboxRow, id), COLUMN(InboxRow, source),
            COLUMN(InboxRow, kind), COLUMN(InboxRow, external_id), COLUMN(InboxRow, provider),
            COLUMN(InboxRow, headers), COLUMN(InboxRow, status), COLUMN(InboxRow, reason),
            COLUMN(InboxRow, error), COLUMN(InboxRow, attempts), COLUMN(InboxRow, received_at),
            COLUMN_TIME(InboxRow, processed_at), COLUMN(InboxRow, size));
static const Columns settled_columns =
    COLUMNS(InboxRow, COLUMN(InboxRow, tenant), COLUMN(InboxRow, id), COLUMN(InboxRow, status),
            COLUMN(InboxRow, reason), COLUMN(InboxRow, error), COLUMN(InboxRow, attempts),
            COLUMN_TIME(InboxRow, next_at), COLUMN_TIME(InboxRow, processed_at),
            COLUMN(InboxRow, external_id));

void inbox_put(Tx *tx, const InboxRow *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &put, &row_columns, rows, count, NULL);
}

void inbox_settle(Tx *tx, const InboxRow *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &settle, &settled_columns, rows, count, NULL);
}

void inbox_awake(Tx *tx, Instant until)
{
    Value args[] = { value_i64(until) };
    db_send(tx->db, &tx->arena, &awake, args, NULL);
}

void inbox_open(Tx *tx, Instant manual_now, size_t payload_max)
{
    Value args[] = { value_time(manual_now), value_i64((int64_t) payload_max) };
    db_send(tx->db, &tx->arena, &opened, args, NULL);
}

// Source is one whose rows this transaction may take.
typedef struct Source {
    int64_t tenant;
    Str name;
    Rows pending; // id, size, attempts, kind, whether it is leased
    size_t count; // of these, that are taken
} Source;

typedef struct Sources {
    Source at[INBOX_SOURCES_MAX];
    size_t count;
    bool has_more;
} Sources;

// find_sources walks from source to source along the index, beginning with the given tenant, and
// keeps those that no other node is at.
static Err find_sources(Tx *tx, int64_t from, int64_t to, Sources *ret, Error *error)
{
    Value place[] = { value_i64(from), value_text(S("")) };
    for (;;) {
        Rows rows;
        TRY(tx_query(tx, &next_source, place, &rows, error));
        if (rows.count == 0 || value_to_i64(&rows.values[0]) >= to)
            return ERR_OK;
        if (ret->count == INBOX_SOURCES_MAX) {
            ret->has_more = true;
            return ERR_OK;
        }
        if (value_to_i64(&rows.values[2]) != 0)
            ret->at[ret->count++] = (Source){ .tenant = value_to_i64(&rows.values[0]),
                                              .name = value_to_str(&rows.values[1]) };
        place[0] = rows.values[0];
        place[1] = rows.values[1];
    }
}

static Err look(Tx *tx, Sources *sources, Error *error)
{
    for (size_t i = 0; i < sources->count; i++) {
        Source *source = &sources->at[i];
        Value *args = ARENA_ARRAY(&tx->arena, Value, 5);
        args[0] = value_i64(source->tenant);
        args[1] = value_text(source->name);
        args[2] = value_i64(tx->now);
        args[3] = value_i64(INBOX_ROWS_MAX);
        args[4] = value_i64(INBOX_REASON_BEING_READ);
        db_send(tx->db, &tx->arena, &pending, args, &source->pending);
    }
    return tx_sync(tx, error);
}

static bool has_failed(const Source *source, size_t row)
{
    return value_to_i64(&rows_at(&source->pending, row)[2]) > 0;
}

static int64_t size_of(const Source *source, size_t row)
{
    return value_to_i64(&rows_at(&source->pending, row)[1]);
}

static Uuid id_of(const Source *source, size_t row)
{
    return value_to_uuid(rows_at(&source->pending, row));
}

// is_long: it is a hook that somebody has to read outside of the transaction.
static bool is_long(const Source *source, size_t row)
{
    bool is_hook = value_to_i64(&rows_at(&source->pending, row)[3]) == INBOX_HOOK;
    return is_hook && (has_failed(source, row) || size_of(source, row) > INBOX_LONG);
}

// waits: the next row of a source is being read, or cannot be yet.
static bool waits(const Source *source, const InboxAsk *ask)
{
    bool is_leased = value_to_i64(&rows_at(&source->pending, 0)[4]) != 0;
    if (uuid_cmp(id_of(source, 0), ask->read) == 0)
        return true;
    bool takes_long = !ask->is_leaving && uuid_is_none(ask->read);
    return (is_leased && !ask->breaks_hold) || (is_long(source, 0) && !takes_long);
}

// share says how many rows of a source are taken: as many as its part of the bytes allows, and none
// behind one that failed before, or that is long.
static void share(Source *source, int64_t bytes)
{
    for (size_t i = 0; i < source->pending.count; i++) {
        bytes -= size_of(source, i);
        if (bytes < 0 || (i > 0 && (has_failed(source, i) || is_long(source, i))))
            return;
        source->count++;
    }
}

// share_all shares the take among the sources. The next row of a source may be longer than its part
// is: one such goes into a take, of any source, so that none is always the last.
static void share_all(Sources *sources, size_t first, const InboxAsk *ask, InboxTaken *ret)
{
    bool has_long = false;
    int64_t part = INBOX_BYTES_MAX / (int64_t) sources->count;
    for (size_t i = 0; i < sources->count; i++) {
        Source *source = &sources->at[(first + i) % sources->count];
        if (source->pending.count == 0 || waits(source, ask))
            continue;
        if (size_of(source, 0) > part || is_long(source, 0)) {
            source->count = !has_long;
            has_long = true;
        } else {
            share(source, part);
        }
        ret->count += source->count;
        ret->has_more |= source->count < source->pending.count || source->count == INBOX_ROWS_MAX;
    }
}

// find_failed is the source whose next row failed before: that of the row that was tried, else any;
// NULL.
static Source *find_failed(Sources *sources, const InboxAsk *ask)
{
    Source *found = NULL;
    for (size_t i = 0; i < sources->count; i++) {
        Source *source = &sources->at[i];
        if (source->pending.count == 0 || !has_failed(source, 0) || waits(source, ask))
            continue;
        if (!found || uuid_cmp(id_of(source, 0), ask->tried) == 0)
            found = source;
    }
    return found;
}

// choose says which rows are taken. One that failed before, and is the next of its source, is all
// that is.
static void choose(Tx *tx, Sources *sources, const InboxAsk *ask, InboxTaken *ret)
{
    Source *failed = find_failed(sources, ask);
    if (failed) {
        failed->count = ret->count = 1;
        ret->is_alone = ret->has_more = true;
    } else if (sources->count > 0) {
        share_all(sources, random_u64(tx->random) % sources->count, ask, ret);
    }
}

static Err read_taken(Tx *tx, const Sources *sources, InboxTaken *ret, Error *error)
{
    Rows rows;
    size_t asked = 0;
    Value *values = ARENA_ARRAY(&tx->arena, Value, ret->count * 2);
    for (size_t i = 0; i < sources->count; i++) {
        for (size_t n = 0; n < sources->at[i].count; n++) {
            values[asked * 2] = value_i64(sources->at[i].tenant);
            values[asked++ * 2 + 1] = rows_at(&sources->at[i].pending, n)[0];
        }
    }
    db_send_many(tx->db, &tx->arena, &bodies, values, asked, &rows);
    TRY(tx_sync(tx, error));
    ret->rows = ARENA_ARRAY(&tx->arena, InboxRow, rows.count + 1);
    ret->count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&row_columns, rows_at(&rows, i), &ret->rows[i]);
    return ERR_OK;
}

Err inbox_take(Tx *tx, const InboxAsk *ask, InboxTaken *ret, Error *error)
{
    Rows last;
    Sources *sources = ARENA_NEW(&tx->arena, Sources);
    *sources = (Sources){ 0 };
    *ret = (InboxTaken){ 0 };
    TRY(tx_query(tx, &last_tenant, NULL, &last, error));
    if (last.count == 0)
        return ERR_OK;
    // It begins anywhere among the tenants that have rows, so that none is always the last.
    uint64_t tenants = (uint64_t) value_to_i64(last.values) + 1;
    int64_t begin = (int64_t) (random_u64(tx->random) % tenants);
    TRY(find_sources(tx, begin, INT64_MAX, sources, error));
    if (begin > 0)
        TRY(find_sources(tx, 0, begin, sources, error));
    TRY(look(tx, sources, error));
    choose(tx, sources, ask, ret);
    ret->has_more |= sources->has_more;
    ret->is_pending = sources->count > 0;
    return ret->count > 0 ? read_taken(tx, sources, ret, error) : ERR_OK;
}

Err inbox_hold(Tx *tx, InboxRow *row, bool *ret, Error *error)
{
    Rows locked, rows;
    Value source[] = { value_i64(row->tenant), value_text(row->source) };
    Value marked[] = { value_i64(row->tenant), value_uuid(&row->id),
                       value_i64(INBOX_REASON_BEING_READ), value_i64(row->attempts) };
    db_send(tx->db, &tx->arena, &lock_source, source, &locked);
    db_send(tx->db, &tx->arena, &held, marked, &rows);
    TRY(tx_sync(tx, error));
    *ret = rows.count > 0;
    if (*ret)
        row->processed_at = value_to_time(rows.values);
    return ERR_OK;
}

static bool is_of(const InboxRow *row, InboxSide side)
{
    return side == INBOX_ANY_SIDE || (side == INBOX_HOOKS) == (row->kind == INBOX_HOOK);
}

static Err is_unknown(InboxSide side, Uuid id, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    return fail(error, ERR_NOT_FOUND, "there is no %s row %.*s",
                side == INBOX_HOOKS ? "inbox" : "outbox", STR_ARG(uuid_text(id, text)));
}

Err inbox_row(Db *db, Arena *arena, InboxSide side, int64_t tenant, Uuid id, InboxRow *ret,
              Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    *ret = (InboxRow){ 0 };
    if (rows.count > 0)
        columns_read(&row_columns, rows_at(&rows, 0), ret);
    ret->size = (int64_t) ret->body.len;
    return rows.count > 0 && is_of(ret, side) ? ERR_OK : is_unknown(side, id, error);
}

Err inbox_head(Db *db, Arena *arena, int64_t tenant, Uuid id, InboxRow *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &head, args, &rows, error));
    if (rows.count == 0)
        return is_unknown(INBOX_HOOKS, id, error);
    *ret = (InboxRow){ 0 };
    columns_read(&head_columns, rows_at(&rows, 0), ret);
    return ERR_OK;
}

enum { SHARED_BYTES = 10 }; // of the ids of a hook's events

Uuid inbox_event(Uuid row, size_t n)
{
    uint32_t tail = 0;
    for (int i = SHARED_BYTES; i < SHARED_BYTES + 4; i++)
        tail = tail << 8 | row.b[i];
    tail += (uint32_t) n;
    for (int i = SHARED_BYTES + 3; i >= SHARED_BYTES; i--, tail >>= 8)
        row.b[i] = (uint8_t) tail;
    return row;
}

Err inbox_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, InboxRow *ret, bool *ret_found,
                   Error *error)
{
    Rows rows;
    Uuid from = event;
    memset(from.b + SHARED_BYTES, 0, sizeof from.b - SHARED_BYTES);
    Value args[] = { value_i64(tenant), value_uuid(&event), value_uuid(&from) };
    TRY(db_query(db, arena, &head_before, args, &rows, error));
    *ret = (InboxRow){ 0 };
    *ret_found = rows.count > 0;
    if (*ret_found)
        columns_read(&head_columns, rows_at(&rows, 0), ret);
    return ERR_OK;
}

Err inbox_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error)
{
    Rows gone;
    Value args[] = { value_i64(tx->now - INBOX_HOOKS_KEPT), value_i64(limit) };
    TRY(tx_query(tx, &purge, args, &gone, error));
    *ret = gone.changed;
    return ERR_OK;
}

Err inbox_depth(Db *db, Arena *arena, int64_t *ret, Error *error)
{
    Rows rows;
    Value max = value_i64(INBOX_DEPTH_MAX);
    TRY(db_query(db, arena, &depth, &max, &rows, error));
    *ret = value_to_i64(rows.values);
    return ERR_OK;
}

// FilterArgs are the parameters of a walk.
typedef struct FilterArgs {
    IdBounds bounds; // first: a walk narrows them
    Instant from, to;
    int status; // -1: any
    int hook;   // 1: only hooks; 0: no hooks; -1: any
    Str source, provider;
    int tried; // 1: only what has attempts; 0: only what has none; -1: any
} FilterArgs;

_Static_assert(offsetof(FilterArgs, bounds) == 0, "a walk finds its bounds there");

static const Columns filter_columns =
    COLUMNS(FilterArgs, ID_BOUNDS_COLUMNS(FilterArgs, bounds), COLUMN_SOME(FilterArgs, from),
            COLUMN_TIME(FilterArgs, to), COLUMN(FilterArgs, status), COLUMN(FilterArgs, hook),
            COLUMN(FilterArgs, source), COLUMN(FilterArgs, provider), COLUMN(FilterArgs, tried));
static const IdSource source_down = { &edge, &find, &filter_columns, &filter_columns };

static const IdSource source_up = { &edge_up, &find_up, &filter_columns, &filter_columns };

// clang-format off
static const char *const failed_word[] = { "Failed", NULL };
const char *const inbox_side_words[] = { [INBOX_ANY_SIDE] = "any", [INBOX_OUTBOX] = "outbox", [INBOX_HOOKS] = "inbox", NULL };
static const Field filter_fields[] = {
    { "status",   FIELD_WORD, .words = failed_word, .noun = "a status that can be replayed", .help = "Failed, whether or not it is said" },
    { "side",     FIELD_WORD, .offset = offsetof(InboxFilter, side), .words = inbox_side_words, .noun = "a side", .help = "outbox, inbox (webhooks), or any, unless said" },
    { "source",   FIELD_TEXT, .offset = offsetof(InboxFilter, source), .max = EVENT_SOURCE_MAX, .help = "sql, or the id of a source" },
    { "provider", FIELD_TEXT, .offset = offsetof(InboxFilter, provider), .max = EVENT_KIND_MAX, .help = "of webhooks" },
    { "from",     FIELD_TIME, .offset = offsetof(InboxFilter, from), .help = "written at this time or later" },
    { "to",       FIELD_TIME, .offset = offsetof(InboxFilter, to), .help = "written before this time" },
};
// clang-format on
const Shape inbox_filter_shape = {
    .name = "OutboxFilter",
    SHAPE_ROWS(filter_fields),
    .size = sizeof(InboxFilter),
};

Err inbox_filter_read(const Json *given, Str pointer, InboxFilter *ret, Error *error)
{
    InboxFilter filter = { .to = INSTANT_NONE };
    TRY(fields_read(NULL, given, pointer, &inbox_filter_shape, &filter, error));
    filter.has_status = true;
    filter.status = INBOX_FAILED;
    *ret = filter;
    return ERR_OK;
}

static FilterArgs args_of(const IdBounds *bounds, const InboxFilter *filter)
{
    return (FilterArgs){ .bounds = *bounds,
                         .from = filter->from,
                         .to = filter->to,
                         .status = filter->has_status ? (int) filter->status : -1,
                         .hook = (int) filter->side - 1,
                         .source = filter->source,
                         .provider = filter->provider,
                         .tried = (int) filter->tries - 1 };
}

Err inbox_walk(Db *db, Arena *arena, int64_t tenant, const InboxFilter *filter, Uuid until,
               const Walk *walk, IdsSeen *ret, Error *error)
{
    FilterArgs args = args_of(&(IdBounds){ .tenant = tenant, .to = until }, filter);
    TRY(walk_after(walk, false, &args.bounds.from, error));
    return walk_ids(db, arena, &source_up, WALK_NEAR, walk, &args.bounds, ret, error);
}

Err inbox_replay(Tx *tx, int64_t tenant, const Uuid *ids, size_t count, int64_t *ret_done,
                 Error *error)
{
    Rows rows = { 0 };
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 2);
    for (size_t i = 0; i < count; i++) {
        values[i * 2] = value_i64(tenant);
        values[i * 2 + 1] = value_uuid(&ids[i]);
    }
    db_send_many(tx->db, &tx->arena, &replay, values, count, &rows);
    db_send_many(tx->db, &tx->arena, &retell, values, count, NULL);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++)
        tx_fact(tx, FACT_OUTBOX_REPLAYED, tenant,
                uuid_dup(&tx->arena, value_to_uuid(rows_at(&rows, i))));
    *ret_done = (int64_t) rows.count;
    return ERR_OK;
}

Err inbox_page(Db *db, Arena *arena, int64_t tenant, const InboxFilter *filter, const Walk *walk,
               InboxRow **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    IdsSeen found;
    IdBounds bounds = { tenant, uuid_ceiling(filter->to), uuid_floor(filter->from), 0 };
    FilterArgs args = args_of(&bounds, filter);
    TRY(walk_after(walk, true, &args.bounds.from, error));
    TRY(walk_ids(db, arena, &source_down, WALK_NEAR, walk, &args.bounds, &found, error));
    bool is_heads = filter->side == INBOX_HOOKS;
    TRY(walk_rows(db, arena, is_heads ? &heads : &many, tenant, &found, &rows, error));
    InboxRow *shown = ARENA_ARRAY(arena, InboxRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        columns_read(is_heads ? &head_columns : &row_columns, rows_at(&rows, i), &shown[i]);
    *ret = shown;
    *ret_seen = walk_seen(arena, &found, walk_taken(&found, &rows, 1), rows.count, walk);
    return ERR_OK;
}
