#include "store/delivery.h"

#include "domain/members.h"
#include "domain/trigger.h"

// Numbers in the SQL below are domain/delivery.h's: state 4 is parked, step 1 is a send;
// rule.h's kind 0 is a trigger.
_Static_assert(DELIVERY_PARKED == 4 && STEP_SEND == 1 && RULE_TRIGGER == 0,
               "the SQL names them by number");

static const Statement insert = {
    .name = "delivery_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuuti"
              "iiiit"
              "ttt",
    .many = true,
    .sql = "INSERT INTO delivery (" PROMISE_NAMES ")"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    .postgres = "INSERT INTO delivery (" PROMISE_NAMES ")"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
};

// What the last attempt failed with is the last error: it stands where the delivery ended, else it
// is the newest of the others. One of queue and ended has a row. A delivery is shown also where its
// event, its lane or its rule got lost: it parked because of that, and a person decides.
#define VIEW_COLUMNS(payload)                                                                      \
    "SELECT " PROMISE_OF_D ", r.id, l.channel, d.tenant, d.event, e.kind,"                         \
    " e.source, e.entity, e.correlation_id, e.occurred_at, e.received_at, " payload                \
    ", q.step, COALESCE(q.state, n.state, -1), q.due_at,"                                          \
    " COALESCE(q.attempt, n.attempt), COALESCE(q.send, n.send),"                                   \
    " COALESCE(q.reminders_left, n.reminders_left), COALESCE(q.last_sent_at, n.last_sent_at),"     \
    " COALESCE(q.opened_at, n.opened_at), n.reason, n.ended_at, n.expires_at, n.note,"             \
    " COALESCE(n.verdict, a.verdict), COALESCE(n.tried_reason, a.reason),"                         \
    " COALESCE(n.detail, a.detail)"
#define WHOLE "e.payload, e.recipient"
#define BARE "'', NULL"
#define VIEW_JOINS                                                                                 \
    " LEFT JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"                                    \
    " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"                                    \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"                                 \
    " LEFT JOIN lane l ON l.lane = d.lane AND l.tenant = d.tenant"                                 \
    " LEFT JOIN rule r ON r.rule = d.rule AND r.tenant = d.tenant"                                 \
    " LEFT JOIN attempt a ON n.verdict IS NULL AND a.tenant = d.tenant AND a.delivery = d.id AND"  \
    " a.number ="                                                                                  \
    " (SELECT MAX(x.number) FROM attempt x WHERE x.tenant = d.tenant AND x.delivery = d.id)"

// A page is a walk along the ids of one table, then the view of what it found. CROSS JOIN keeps
// SQLite to the order of the walk: to sort again what came of it, it would hold the payloads of all
// rows before the page is cut. PostgreSQL promises no order; it sorts rows that only point to them.
#define PAGE_ROWS(payload, walk)                                                                   \
    VIEW_COLUMNS(payload)                                                                          \
    " FROM (" walk " LIMIT $4) AS w CROSS JOIN delivery d" VIEW_JOINS                              \
    " WHERE d.tenant = $1 AND d.id = w.id"
#define PAGE(payload, walk) PAGE_BY(payload, walk, walk)
#define PAGE_BY(payload, sqlite_walk, postgres_walk)                                               \
    .sql = PAGE_ROWS(payload, sqlite_walk),                                                        \
    .postgres = PAGE_ROWS(payload, postgres_walk) " ORDER BY d.id DESC"

// $1 tenant, $2 and $3 bounds of the id, $4 limit, then what the filter names.
#define FILTER_PARAMS "iuuittuttii"
#define RULE "(SELECT z.rule FROM rule z WHERE z.tenant = $1 AND z.kind = 0 AND z.id = $5)"
#define FILTER                                                                                     \
    " AND ($5 IS NULL OR d.rule = " RULE ")"                                                       \
    " AND ($6 IS NULL OR d.lane ="                                                                 \
    " (SELECT y.lane FROM lane y WHERE y.tenant = $1 AND y.channel = $6))"                         \
    " AND ($7 IS NULL OR d.event = $7) AND ($8 IS NULL OR d.entity = $8)"                          \
    " AND ($9 IS NULL OR LOWER(d.address COLLATE \"C\") LIKE $9 ESCAPE '!'"                        \
    " OR LOWER(d.customer_ref COLLATE \"C\") LIKE $9 ESCAPE '!'"                                   \
    " OR LOWER(d.public_id COLLATE \"C\") LIKE $9 ESCAPE '!'"                                      \
    " OR LOWER(d.entity COLLATE \"C\") LIKE $9 ESCAPE '!')"                                        \
    " AND d.triggered_at >= $10 AND d.triggered_at < $11"
#define FROM_ANY(hint)                                                                             \
    " FROM delivery d " hint " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"           \
    " WHERE d.tenant = $1 AND ($12 < 0 OR n.state = $12)" FILTER
#define FROM_LIVE                                                                                  \
    " FROM queue q CROSS JOIN delivery d WHERE q.tenant = $1"                                      \
    " AND d.tenant = q.tenant AND d.id = q.id AND ($12 < 0 OR q.state = $12)"                      \
    " AND ($13 IS NULL OR (q.step = 1 AND q.state <> 1 AND q.first_due_at < $13))" FILTER
#define FROM_PARKED(hint)                                                                          \
    " FROM ended n " hint " CROSS JOIN delivery d WHERE n.tenant = $1"                             \
    " AND n.state = 4 AND d.tenant = n.tenant AND d.id = n.id" FILTER

// SQLite takes the primary key for as good as an index of fewer rows, which it is not.
#define PARKED_HINT "INDEXED BY ended_parked"
#define RULE_HINT "INDEXED BY delivery_rule"
#define ENTITY_HINT "INDEXED BY delivery_entity"

#define ANY_DOWN(hint, also)                                                                       \
    "SELECT d.id" FROM_ANY(hint) also " AND d.id < $2 AND d.id >= $3 ORDER BY d.id DESC"

static const Statement view_one = {
    .name = "delivery_view",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = VIEW_COLUMNS(WHOLE) " FROM delivery d" VIEW_JOINS " WHERE d.tenant = $1 AND d.id = $2",
};
static const Statement page_any = {
    .name = "delivery_page_any",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    PAGE(WHOLE, ANY_DOWN("", "")),
};

// What may be missing cannot be looked up by an index: each index has a statement of its own.
#define OF_RULE " AND d.rule = " RULE
#define OF_ENTITY " AND d.entity = $8"

static const Statement page_rule = {
    .name = "delivery_page_rule",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    PAGE_BY(WHOLE, ANY_DOWN(RULE_HINT, OF_RULE), ANY_DOWN("", OF_RULE)),
};
static const Statement page_entity = {
    .name = "delivery_page_entity",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    PAGE_BY(WHOLE, ANY_DOWN(ENTITY_HINT, OF_ENTITY), ANY_DOWN("", OF_ENTITY)),
};
static const Statement page_bare = {
    .name = "delivery_page_bare",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    PAGE(BARE, ANY_DOWN("", "")),
};
static const Statement page_live = {
    .name = "delivery_page_live",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    PAGE(WHOLE, "SELECT q.id" FROM_LIVE " AND q.id < $2 AND q.id >= $3 ORDER BY q.id DESC"),
};

#define PARKED_DOWN(hint)                                                                          \
    "SELECT n.id" FROM_PARKED(hint) " AND n.id < $2 AND n.id >= $3 ORDER BY n.id DESC"
#define PARKED_UP(hint) FROM_PARKED(hint) " AND n.id > $2 AND n.id <= $3"
#define LIVE_UP FROM_LIVE " AND q.id > $2 AND q.id <= $3"

static const Statement page_parked = {
    .name = "delivery_page_parked",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS,
    PAGE_BY(WHOLE, PARKED_DOWN(PARKED_HINT), PARKED_DOWN("")),
};
static const Statement walk_live = {
    .name = "delivery_walk_live",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    .sql = "SELECT q.id" LIVE_UP " ORDER BY q.id LIMIT $4",
};
static const Statement walk_parked = {
    .name = "delivery_walk_parked",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS,
    .sql = "SELECT n.id" PARKED_UP(PARKED_HINT) " ORDER BY n.id LIMIT $4",
    .postgres = "SELECT n.id" PARKED_UP("") " ORDER BY n.id LIMIT $4",
};
static const Statement count_live = {
    .name = "delivery_count_live",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    .sql = "SELECT COUNT(*) FROM (SELECT 1" LIVE_UP " LIMIT $4) AS w",
};
static const Statement count_parked = {
    .name = "delivery_count_parked",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS,
    .sql = "SELECT COUNT(*) FROM (SELECT 1" PARKED_UP(PARKED_HINT) " LIMIT $4) AS w",
    .postgres = "SELECT COUNT(*) FROM (SELECT 1" PARKED_UP("") " LIMIT $4) AS w",
};

// What an action starts from. The row is locked, so that the state that was seen is the state that
// is left; SQLite has one writer and needs no lock.
#define STANDING_LIVE                                                                              \
    "SELECT " STANDING_COLUMNS("q.") " FROM queue q WHERE q.tenant = $1 AND q.id = $2"
#define STANDING_ENDED                                                                             \
    "SELECT " ENDED_COLUMNS " FROM ended n"                                                        \
    " JOIN delivery d ON d.tenant = n.tenant AND d.id = n.id WHERE n.tenant = $1 AND n.id = $2"

static const Statement standing_live = {
    .name = "delivery_standing_live",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = STANDING_LIVE,
    .postgres = STANDING_LIVE " FOR UPDATE",
};
static const Statement standing_ended = {
    .name = "delivery_standing_ended",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = STANDING_ENDED,
    .postgres = STANDING_ENDED " FOR UPDATE OF n",
};
const Statement *const delivery_statements[] = {
    &insert,     &view_one,     &page_any,      &page_rule,      &page_entity,
    &page_bare,  &page_live,    &page_parked,   &walk_live,      &walk_parked,
    &count_live, &count_parked, &standing_live, &standing_ended, NULL,
};

Uuid delivery_id_of(Uuid event, unsigned n)
{
    assert(n >= 1 && n <= UINT16_MAX);
    Uuid id = event;
    id.b[14] = (uint8_t) (n >> 8);
    id.b[15] = (uint8_t) n;
    return id;
}

static const Columns promise_columns = COLUMNS(Promise, PROMISE_COLUMNS(Promise, ));

void delivery_insert(Tx *tx, const Promise *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &insert, &promise_columns, rows, count, NULL);
}

// ViewRow is a view as it is read, and what its last fields are made of.
typedef struct ViewRow {
    DeliveryView view;
    Step step; // none for what ended
    int state; // -1: neither in the queue nor ended
    Instant due_at;
    Verdict verdict; // of the last attempt; the first value when there was none
    DeliveryReason tried_reason;
    Str tried_detail;
} ViewRow;

static const Columns view_columns = COLUMNS(
    ViewRow, PROMISE_COLUMNS(ViewRow, view.promise.) COLUMN(ViewRow, view.rule_id),
    COLUMN(ViewRow, view.channel), COLUMN(ViewRow, view.origin.tenant),
    COLUMN(ViewRow, view.origin.id), COLUMN(ViewRow, view.origin.kind),
    COLUMN(ViewRow, view.origin.source), COLUMN(ViewRow, view.origin.entity),
    COLUMN(ViewRow, view.origin.correlation_id), COLUMN_TIME(ViewRow, view.origin.occurred_at),
    COLUMN(ViewRow, view.origin.received_at), COLUMN(ViewRow, view.origin.payload),
    COLUMN(ViewRow, view.origin.recipient), COLUMN(ViewRow, step), COLUMN(ViewRow, state),
    COLUMN_TIME(ViewRow, due_at), COLUMN(ViewRow, view.attempt), COLUMN(ViewRow, view.send),
    COLUMN(ViewRow, view.reminders_left), COLUMN_TIME(ViewRow, view.last_sent_at),
    COLUMN_TIME(ViewRow, view.opened_at), COLUMN(ViewRow, view.reason),
    COLUMN_TIME(ViewRow, view.ended_at), COLUMN_TIME(ViewRow, view.expires_at),
    COLUMN(ViewRow, view.note), COLUMN(ViewRow, verdict), COLUMN(ViewRow, tried_reason),
    COLUMN(ViewRow, tried_detail));

static Str last_error(const ViewRow *row)
{
    if (row->verdict == VERDICT_DELIVERED)
        return STR_NONE;
    return row->tried_detail.len ? row->tried_detail : str_from(reason_code(row->tried_reason));
}

static Err read_view(const Value *at, DeliveryView *ret, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    ViewRow row;
    columns_read(&view_columns, at, &row);
    if (row.state < 0 && !row.step)
        return fail(error, ERR_CORRUPT, "delivery %.*s stands nowhere",
                    STR_ARG(uuid_text(row.view.promise.id, text)));
    *ret = row.view;
    ret->state = (DeliveryState) row.state;
    // Somebody damaged its row. It is shown as live_mended() takes it, until it is parked.
    if (row.state < 0 || row.state >= (int) DELIVERY_STATE_COUNT) {
        ret->state = DELIVERY_PENDING;
        ret->reason = REASON_UNREADABLE;
    }
    bool awaits_send = row.step == STEP_SEND && ret->state != DELIVERY_SENDING;
    ret->due_at = awaits_send ? row.due_at : INSTANT_NONE;
    if (row.step == STEP_EXPIRE)
        ret->expires_at = row.due_at;
    if (ret->state == DELIVERY_RETRYING)
        ret->reason = row.tried_reason;
    ret->last_error = last_error(&row);
    ret->is_in_flight = ret->state == DELIVERY_SENDING ||
                        (row.verdict == VERDICT_UNKNOWN && row.tried_reason == REASON_CALLED_OFF);
    return ERR_OK;
}

static Err no_such(Uuid id, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    return fail(error, ERR_NOT_FOUND, "there is no delivery %.*s", STR_ARG(uuid_text(id, text)));
}

Err delivery_view(Db *db, Arena *arena, int64_t tenant, Uuid id, DeliveryView *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &view_one, args, &rows, error));
    if (rows.count == 0)
        return no_such(id, error);
    return read_view(rows_at(&rows, 0), ret, error);
}

DeliveryFilter delivery_filter_any(void)
{
    return (DeliveryFilter){ .stuck_before = INSTANT_NONE, .to = INSTANT_NONE };
}

Err delivery_filter_read(const Json *source, Str pointer, DeliveryFilter *ret, Error *error)
{
    static const char *const known[] = { "state",  "trigger", "channel", "event",
                                         "entity", "from",    "to" };
    DeliveryFilter filter = delivery_filter_any();
    Members members = members_open(source, pointer, error);
    Str state = STR_NONE, event = STR_NONE;
    if (members_check(&members, known, ARRAY_LEN(known))) {
        members_text(&members, "state", DELIVERY_QUERY_MAX, &state);
        members_text(&members, "trigger", TRIGGER_ID_MAX, &filter.trigger);
        members_text(&members, "channel", CHANNEL_KEY_MAX, &filter.channel);
        members_text(&members, "event", DELIVERY_QUERY_MAX, &event);
        members_text(&members, "entity", EVENT_ENTITY_MAX, &filter.entity);
        members_time(&members, "from", &filter.from);
        members_time(&members, "to", &filter.to);
    }
    filter.has_state = state.at && delivery_state_parse(state, &filter.state);
    if (state.at && !filter.has_state)
        members_note(&members, S("state"), "bad-value", "\"%.*s\" is not a state",
                     STR_ARG(members_shown(state)));
    filter.has_event = event.at && uuid_parse(event, &filter.event);
    if (event.at && !filter.has_event)
        members_note(&members, S("event"), "bad-value", "must be the id of an event");
    TRY(members_close(&members, ERR_INVALID));
    *ret = filter;
    return ERR_OK;
}

// pattern_of makes a LIKE pattern that finds q anywhere; ! keeps its wildcards plain. Case is that
// of ASCII: what else has a case, and which, two databases would not agree on.
static Str pattern_of(Arena *arena, Str q)
{
    if (!q.len)
        return STR_NONE;
    Buf pattern = buf_new(arena, q.len * 2 + 2);
    buf_add_char(&pattern, '%');
    for (size_t i = 0; i < q.len; i++) {
        if (q.at[i] == '%' || q.at[i] == '_' || q.at[i] == '!')
            buf_add_char(&pattern, '!');
        buf_add_char(&pattern, str_lower_char(q.at[i]));
    }
    buf_add_char(&pattern, '%');
    return buf_str(&pattern);
}

// FilterArgs are the parameters of a page or a walk: the ids between from and to, whichever of the
// two may be met itself, and in which order they go, being the statement's.
typedef struct FilterArgs {
    int64_t tenant;
    Uuid from, to;
    int64_t limit;
    Str trigger, channel;
    const Uuid *event;
    Str entity, pattern;
    Instant triggered_from, triggered_to;
    int state; // -1: any
    Instant stuck_before;
} FilterArgs;

static const Columns filter_columns = COLUMNS(
    FilterArgs, COLUMN(FilterArgs, tenant), COLUMN(FilterArgs, from), COLUMN(FilterArgs, to),
    COLUMN(FilterArgs, limit), COLUMN(FilterArgs, trigger), COLUMN(FilterArgs, channel),
    COLUMN(FilterArgs, event), COLUMN(FilterArgs, entity), COLUMN(FilterArgs, pattern),
    COLUMN(FilterArgs, triggered_from), COLUMN(FilterArgs, triggered_to), COLUMN(FilterArgs, state),
    COLUMN_TIME(FilterArgs, stuck_before));

static FilterArgs filter_args(Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                              int64_t limit)
{
    return (FilterArgs){
        .tenant = tenant,
        .limit = limit,
        .trigger = filter->trigger,
        .channel = filter->channel,
        .event = filter->has_event ? &filter->event : NULL,
        .entity = filter->entity,
        .pattern = pattern_of(arena, filter->q),
        .triggered_from = filter->from,
        .triggered_to = filter->to,
        .state = filter->has_state ? (int) filter->state : -1,
        .stuck_before = filter->stuck_before,
    };
}

// IdRange is where to look. An event's deliveries are a range of ids, and ids begin with the time:
// of a range of time they enclose a little more, which the filter leaves out.
typedef struct IdRange {
    Uuid first, last;
} IdRange;

static IdRange range_of(const DeliveryFilter *filter)
{
    IdRange range = { uuid_floor(filter->from), uuid_ceiling(filter->to) };
    if (filter->has_event) {
        range.first = delivery_id_of(filter->event, 1);
        range.last = delivery_id_of(filter->event, UINT16_MAX);
    }
    return range;
}

static Err query_filter(Db *db, Arena *arena, const Statement *statement, const FilterArgs *args,
                        Rows *ret, Error *error)
{
    db_send_row(db, arena, statement, &filter_columns, args, ret);
    return db_sync(db, error);
}

static bool is_for_queue(const DeliveryFilter *filter)
{
    return filter->is_live || filter->stuck_before != INSTANT_NONE ||
           (filter->has_state && delivery_is_live(filter->state));
}

static bool is_for_parked(const DeliveryFilter *filter)
{
    return filter->has_state && filter->state == DELIVERY_PARKED && !is_for_queue(filter);
}

// page_for picks the walk that meets the fewest rows.
static const Statement *page_for(const DeliveryFilter *filter)
{
    if (is_for_queue(filter))
        return &page_live;
    if (is_for_parked(filter))
        return &page_parked;
    if (filter->is_bare)
        return &page_bare;
    if (filter->has_event)
        return &page_any; // a few ids
    if (filter->entity.at)
        return &page_entity;
    return filter->trigger.at ? &page_rule : &page_any;
}

Err delivery_page(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                  const Uuid *before, int64_t limit, DeliveryView **ret, size_t *ret_count,
                  bool *ret_is_cut, Error *error)
{
    Rows rows;
    IdRange range = range_of(filter);
    FilterArgs args = filter_args(arena, tenant, filter, limit);
    args.from = before && uuid_cmp(*before, range.last) < 0 ? *before : range.last;
    args.to = range.first;
    db_page(db);
    TRY(query_filter(db, arena, page_for(filter), &args, &rows, error));
    DeliveryView *views = ARENA_ARRAY(arena, DeliveryView, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        TRY(read_view(rows_at(&rows, i), &views[i], error));
    *ret = views;
    *ret_count = rows.count;
    *ret_is_cut = rows.is_cut;
    return ERR_OK;
}

static Err query_walk(Db *db, Arena *arena, const Statement *live, const Statement *parked,
                      int64_t tenant, const DeliveryFilter *filter, Uuid after, int64_t limit,
                      Rows *ret, Error *error)
{
    assert(is_for_queue(filter) || is_for_parked(filter));
    IdRange range = range_of(filter);
    FilterArgs args = filter_args(arena, tenant, filter, limit);
    // The first of an event's own range is met by what lies just before it: the event's 15th and
    // 16th byte as 0.
    if (filter->has_event)
        range.first.b[14] = range.first.b[15] = 0;
    args.from = uuid_cmp(after, range.first) > 0 ? after : range.first;
    args.to = range.last;
    return query_filter(db, arena, is_for_queue(filter) ? live : parked, &args, ret, error);
}

Err delivery_walk(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter, Uuid after,
                  int64_t limit, Uuid **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    TRY(query_walk(db, arena, &walk_live, &walk_parked, tenant, filter, after, limit, &rows,
                   error));
    Uuid *ids = ARENA_ARRAY(arena, Uuid, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        ids[i] = value_to_uuid(rows_at(&rows, i));
    *ret = ids;
    *ret_count = rows.count;
    return ERR_OK;
}

Err delivery_count(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                   int64_t limit, int64_t *ret, Error *error)
{
    Rows rows;
    Uuid first = { { 0 } };
    TRY(query_walk(db, arena, &count_live, &count_parked, tenant, filter, first, limit, &rows,
                   error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

// find_standing reads where a delivery stands. One that another node is just moving is in neither
// table for the statements that waited for it, so it is looked for twice.
static Err find_standing(Tx *tx, int64_t tenant, Uuid id, QueueRow *ret, Error *error)
{
    Rows live, ended;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    for (int look = 0;; look++) {
        db_send(tx->db, &tx->arena, &standing_live, args, &live);
        TRY(tx_query(tx, &standing_ended, args, &ended, error));
        if (live.count + ended.count > 0)
            break;
        if (look == 1)
            return no_such(id, error);
    }
    if (live.count > 0)
        queue_read(rows_at(&live, 0), ret);
    else
        columns_read(&standing_columns, rows_at(&ended, 0), ret);
    return ERR_OK;
}

Err delivery_act(Tx *tx, int64_t tenant, Uuid id, DeliveryAction action, Str note, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    QueueRow row = { 0 };
    TRY(find_standing(tx, tenant, id, &row, error));
    if (!delivery_may(row.live.state, action))
        return fail(error, ERR_CONFLICT, "a delivery that is %s cannot be %s",
                    delivery_state_text(row.live.state), delivery_action_participle(action));
    Settle settle = settle_called_off(&row, delivery_act_on(&row.live, action, tx->now), tx->now);
    settle.note = note;
    SettleBatch batch = { .rows = &settle, .count = 1 };
    TRY(queue_settle_now(tx, &batch, error));
    if (settle.is_stale)
        return fail(error, ERR_CONFLICT, "delivery %.*s moved on meanwhile",
                    STR_ARG(uuid_text(id, text)));
    return ERR_OK;
}
