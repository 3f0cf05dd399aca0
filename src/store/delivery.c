#include "store/delivery.h"

#include "domain/event.h"
#include "domain/members.h"
#include "domain/trigger.h"

// Numbers in the SQL below are domain/delivery.h's: state 4 is parked, step 1 is a send.
_Static_assert(DELIVERY_PARKED == 4 && STEP_SEND == 1, "the SQL names them by number");

static const Statement insert = {
    .name = "delivery_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuutt"
              "iiit"
              "tttb",
    .many = true,
    .sql = "INSERT INTO delivery (tenant, id, event, public_id, trigger_id, trigger_version, lane,"
           " triggered_at, address, locale, customer_ref, entity, dedup_hash)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    .postgres = "INSERT INTO delivery (tenant, id, event, public_id, trigger_id, trigger_version,"
                " lane, triggered_at, address, locale, customer_ref, entity, dedup_hash)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
};

// The attempt that is joined is the last one: what it failed with is the last error. One of queue
// and ended has a row.
#define VIEW_COLUMNS                                                                               \
    "SELECT d.id, d.event, d.public_id, d.trigger_id, d.trigger_version, d.lane, l.channel,"       \
    " d.triggered_at, d.address, d.locale, d.customer_ref, d.entity, d.dedup_hash, e.kind,"        \
    " e.payload, e.occurred_at, e.received_at, q.step, COALESCE(q.state, n.state), q.due_at,"      \
    " COALESCE(q.attempt, n.attempt), COALESCE(q.send, n.send),"                                   \
    " COALESCE(q.reminders_left, n.reminders_left), COALESCE(q.last_sent_at, n.last_sent_at),"     \
    " COALESCE(q.opened_at, n.opened_at), n.reason, n.ended_at, n.expires_at, n.note,"             \
    " a.verdict, a.reason, a.detail"
#define VIEW_JOINS                                                                                 \
    " LEFT JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"                                    \
    " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"                                    \
    " JOIN event e ON e.tenant = d.tenant AND e.id = d.event"                                      \
    " JOIN lane l ON l.lane = d.lane AND l.tenant = d.tenant"                                      \
    " LEFT JOIN attempt a ON a.tenant = d.tenant AND a.delivery = d.id AND a.number ="             \
    " (SELECT MAX(x.number) FROM attempt x WHERE x.tenant = d.tenant AND x.delivery = d.id)"

// A page is a walk along the ids of one table, then the view of what it found. CROSS JOIN keeps
// SQLite from turning the walk around.
#define PAGE(walk)                                                                                 \
    VIEW_COLUMNS " FROM (" walk " LIMIT $4) AS w CROSS JOIN delivery d" VIEW_JOINS                 \
                 " WHERE d.tenant = $1 AND d.id = w.id ORDER BY d.id DESC"

// $1 tenant, $2 and $3 bounds of the id, $4 limit, then what the filter names.
#define FILTER_PARAMS "iuuittuttii"
#define FILTER                                                                                     \
    " AND ($5 IS NULL OR d.trigger_id = $5) AND ($6 IS NULL OR d.lane ="                           \
    " (SELECT y.lane FROM lane y WHERE y.tenant = $1 AND y.channel = $6))"                         \
    " AND ($7 IS NULL OR d.event = $7) AND ($8 IS NULL OR d.entity = $8)"                          \
    " AND ($9 IS NULL OR LOWER(d.address) LIKE LOWER($9) ESCAPE '!'"                               \
    " OR LOWER(d.customer_ref) LIKE LOWER($9) ESCAPE '!'"                                          \
    " OR LOWER(d.public_id) LIKE LOWER($9) ESCAPE '!'"                                             \
    " OR LOWER(d.entity) LIKE LOWER($9) ESCAPE '!')"                                               \
    " AND d.triggered_at >= $10 AND d.triggered_at < $11"
#define FROM_ANY                                                                                   \
    " FROM delivery d LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"                    \
    " WHERE d.tenant = $1 AND ($12 IS NULL OR n.state = $12)" FILTER
#define FROM_LIVE                                                                                  \
    " FROM queue q CROSS JOIN delivery d WHERE q.tenant = $1"                                      \
    " AND d.tenant = q.tenant AND d.id = q.id AND ($12 IS NULL OR q.state = $12)"                  \
    " AND ($13 IS NULL OR (q.step = 1 AND q.first_due_at < $13))" FILTER
#define FROM_PARKED(hint)                                                                          \
    " FROM ended n " hint " CROSS JOIN delivery d WHERE n.tenant = $1"                             \
    " AND n.state = 4 AND d.tenant = n.tenant AND d.id = n.id" FILTER

// SQLite takes the primary key for as good as the index of parked rows, which it is not.
#define PARKED_HINT "INDEXED BY ended_parked"

static const Statement view_one = {
    .name = "delivery_view",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = VIEW_COLUMNS " FROM delivery d" VIEW_JOINS " WHERE d.tenant = $1 AND d.id = $2",
};
static const Statement page_any = {
    .name = "delivery_page_any",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    .sql = PAGE("SELECT d.id" FROM_ANY " AND d.id < $2 AND d.id >= $3 ORDER BY d.id DESC"),
};
static const Statement page_live = {
    .name = "delivery_page_live",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    .sql = PAGE("SELECT q.id" FROM_LIVE " AND q.id < $2 AND q.id >= $3 ORDER BY q.id DESC"),
};

#define PARKED_DOWN(hint)                                                                          \
    "SELECT n.id" FROM_PARKED(hint) " AND n.id < $2 AND n.id >= $3 ORDER BY n.id DESC"
#define PARKED_UP(hint) FROM_PARKED(hint) " AND n.id > $2 AND n.id <= $3"
#define LIVE_UP FROM_LIVE " AND q.id > $2 AND q.id <= $3"

static const Statement page_parked = {
    .name = "delivery_page_parked",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS,
    .sql = PAGE(PARKED_DOWN(PARKED_HINT)),
    .postgres = PAGE(PARKED_DOWN("")),
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
    "SELECT q.lane, q.state, q.attempt, q.failures, q.send, q.reminders_left, q.triggered_at,"     \
    " q.first_due_at, q.last_sent_at FROM queue q WHERE q.tenant = $1 AND q.id = $2"
#define STANDING_ENDED                                                                             \
    "SELECT n.lane, n.state, n.attempt, n.failures, n.send, n.reminders_left, d.triggered_at,"     \
    " n.first_due_at, n.last_sent_at FROM ended n"                                                 \
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
static const Statement parked_delete = {
    .name = "delivery_parked_delete",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = "DELETE FROM ended WHERE tenant = $1 AND id = $2 AND state = 4",
};
static const Statement parked_end = {
    .name = "delivery_parked_end",
    .scope = STATEMENT_TENANT,
    .params = "iuiiit",
    .sql = "UPDATE ended SET state = $3, reason = $4, ended_at = $5, expires_at = NULL, note = $6"
           " WHERE tenant = $1 AND id = $2 AND state = 4",
};

const Statement *const delivery_statements[] = {
    &insert,         &view_one,      &page_any,   &page_live,    &page_parked,
    &walk_live,      &walk_parked,   &count_live, &count_parked, &standing_live,
    &standing_ended, &parked_delete, &parked_end, NULL,
};

Uuid delivery_id_of(Uuid event, unsigned n)
{
    assert(n >= 1 && n <= UINT16_MAX);
    Uuid id = event;
    id.b[14] = (uint8_t) (n >> 8);
    id.b[15] = (uint8_t) n;
    return id;
}

void delivery_insert(Tx *tx, const DeliveryNew *rows, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 13);
    for (size_t i = 0; i < count; i++) {
        const DeliveryNew *new = &rows[i];
        Value *row = values + i * 13;
        row[0] = value_i64(new->tenant);
        row[1] = value_uuid(&new->id);
        row[2] = value_uuid(&new->event);
        row[3] = value_text(new->public_id);
        row[4] = value_text(new->trigger_id);
        row[5] = value_i64(new->trigger_version);
        row[6] = value_i64(new->lane);
        row[7] = value_i64(new->triggered_at);
        row[8] = value_text(new->address);
        row[9] = value_text(new->locale);
        row[10] = value_text(new->customer_ref);
        row[11] = value_text(new->entity);
        row[12] = new->dedup_hash
                      ? value_bytes((Str){ (const char *) new->dedup_hash->b, SHA256_LEN })
                      : value_null();
    }
    db_send_many(tx->db, &tx->arena, &insert, values, count, NULL);
}

static Str last_error(const Value *verdict, const Value *reason, const Value *detail)
{
    if (verdict->type == VALUE_NULL || value_to_i64(verdict) == VERDICT_DELIVERED)
        return STR_NONE;
    Str said = value_to_str(detail);
    return said.len ? said : str_from(reason_code((DeliveryReason) value_to_i64(reason)));
}

static Err read_view(const Value *row, DeliveryView *ret, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    *ret = (DeliveryView){
        .id = value_to_uuid(&row[0]),
        .event = value_to_uuid(&row[1]),
        .public_id = value_to_str(&row[2]),
        .trigger_id = value_to_str(&row[3]),
        .trigger_version = value_to_i64(&row[4]),
        .lane = value_to_i64(&row[5]),
        .channel = value_to_str(&row[6]),
        .triggered_at = value_to_i64(&row[7]),
        .address = value_to_str(&row[8]),
        .locale = value_to_str(&row[9]),
        .customer_ref = value_to_str(&row[10]),
        .entity = value_to_str(&row[11]),
        .dedup_hash = value_to_str(&row[12]),
        .event_kind = value_to_str(&row[13]),
        .payload = value_to_str(&row[14]),
        .occurred_at = value_to_time(&row[15]),
        .received_at = value_to_i64(&row[16]),
        .state = (DeliveryState) value_to_i64(&row[18]),
        .due_at = INSTANT_NONE,
        .attempt = (int) value_to_i64(&row[20]),
        .send = (int) value_to_i64(&row[21]),
        .reminders_left = (int) value_to_i64(&row[22]),
        .last_sent_at = value_to_time(&row[23]),
        .opened_at = value_to_time(&row[24]),
        .reason = (DeliveryReason) value_to_i64(&row[25]),
        .ended_at = value_to_time(&row[26]),
        .expires_at = value_to_time(&row[27]),
        .note = value_to_str(&row[28]),
        .last_error = last_error(&row[29], &row[30], &row[31]),
    };
    if (row[18].type == VALUE_NULL)
        return fail(error, ERR_CORRUPT, "delivery %.*s stands nowhere",
                    STR_ARG(uuid_text(ret->id, text)));
    int64_t step = value_to_i64(&row[17]);
    if (step == STEP_SEND)
        ret->due_at = value_to_i64(&row[19]);
    else if (step == STEP_EXPIRE)
        ret->expires_at = value_to_i64(&row[19]);
    if (ret->state == DELIVERY_RETRYING)
        ret->reason = (DeliveryReason) value_to_i64(&row[30]);
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

// pattern_of makes a LIKE pattern that finds q anywhere; ! keeps its wildcards plain.
static Str pattern_of(Arena *arena, Str q)
{
    if (!q.len)
        return STR_NONE;
    Buf pattern = buf_new(arena, q.len * 2 + 2);
    buf_add_char(&pattern, '%');
    for (size_t i = 0; i < q.len; i++) {
        if (q.at[i] == '%' || q.at[i] == '_' || q.at[i] == '!')
            buf_add_char(&pattern, '!');
        buf_add_char(&pattern, q.at[i]);
    }
    buf_add_char(&pattern, '%');
    return buf_str(&pattern);
}

// FilterArgs are the parameters of a page or a walk; the ids lie here until the sync.
typedef struct FilterArgs {
    Uuid above, below, event;
    Value values[13];
} FilterArgs;

// fill_filter sets the parameters for ids between above and below; which of the two may be met is
// the statement's. An event's deliveries are a range of ids.
static void fill_filter(FilterArgs *args, Arena *arena, int64_t tenant,
                        const DeliveryFilter *filter, int64_t limit)
{
    args->event = filter->event;
    Value *row = args->values;
    row[0] = value_i64(tenant);
    row[3] = value_i64(limit);
    row[4] = value_text(filter->trigger);
    row[5] = value_text(filter->channel);
    row[6] = filter->has_event ? value_uuid(&args->event) : value_null();
    row[7] = value_text(filter->entity);
    row[8] = value_text(pattern_of(arena, filter->q));
    row[9] = value_i64(filter->from);
    row[10] = value_i64(filter->to);
    row[11] = filter->has_state ? value_i64(filter->state) : value_null();
    row[12] = value_time(filter->stuck_before);

    args->above = (Uuid){ { 0 } };
    memset(&args->below, 0xff, sizeof args->below);
    if (filter->has_event) {
        args->above = delivery_id_of(filter->event, 1);
        args->below = delivery_id_of(filter->event, UINT16_MAX);
    }
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

Err delivery_page(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                  const Uuid *before, int64_t limit, DeliveryView **ret, size_t *ret_count,
                  Error *error)
{
    FilterArgs args;
    Rows rows;
    fill_filter(&args, arena, tenant, filter, limit);
    if (before && uuid_cmp(*before, args.below) < 0)
        args.below = *before;
    args.values[1] = value_uuid(&args.below);
    args.values[2] = value_uuid(&args.above);
    const Statement *page = is_for_queue(filter)    ? &page_live
                            : is_for_parked(filter) ? &page_parked
                                                    : &page_any;
    TRY(db_query(db, arena, page, args.values, &rows, error));
    DeliveryView *views = ARENA_ARRAY(arena, DeliveryView, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        TRY(read_view(rows_at(&rows, i), &views[i], error));
    *ret = views;
    *ret_count = rows.count;
    return ERR_OK;
}

static Err query_walk(Db *db, Arena *arena, const Statement *live, const Statement *parked,
                      int64_t tenant, const DeliveryFilter *filter, Uuid after, int64_t limit,
                      Rows *ret, Error *error)
{
    FilterArgs args;
    assert(is_for_queue(filter) || is_for_parked(filter));
    fill_filter(&args, arena, tenant, filter, limit);
    // The first of an event's own range is met by what lies just before it: the event's 15th and
    // 16th byte as 0.
    if (filter->has_event)
        args.above.b[14] = args.above.b[15] = 0;
    if (uuid_cmp(after, args.above) > 0)
        args.above = after;
    args.values[1] = value_uuid(&args.above);
    args.values[2] = value_uuid(&args.below);
    return db_query(db, arena, is_for_queue(filter) ? live : parked, args.values, ret, error);
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
static Err find_standing(Tx *tx, int64_t tenant, Uuid id, int64_t *ret_lane, Live *ret,
                         Error *error)
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
    const Value *row = rows_at(live.count ? &live : &ended, 0);
    *ret_lane = value_to_i64(&row[0]);
    *ret = (Live){
        .state = (DeliveryState) value_to_i64(&row[1]),
        .attempt = (int) value_to_i64(&row[2]),
        .failures = (int) value_to_i64(&row[3]),
        .send = (int) value_to_i64(&row[4]),
        .reminders_left = (int) value_to_i64(&row[5]),
        .triggered_at = value_to_i64(&row[6]),
        .first_due_at = value_to_i64(&row[7]),
        .last_sent_at = value_to_time(&row[8]),
        .due_at = INSTANT_NONE,
        .started_at = INSTANT_NONE,
    };
    return ERR_OK;
}

// Verb is what an action makes of a delivery; RETRY makes it live again instead.
typedef struct Verb {
    const char *participle; // none: not for persons
    DeliveryState to;
    DeliveryReason reason;
} Verb;

static const Verb verbs[] = {
    [DELIVERY_ACTION_CANCEL] = { "cancelled", DELIVERY_CANCELLED, REASON_BY_OPERATOR },
    [DELIVERY_ACTION_COMPLETE] = { "completed", DELIVERY_COMPLETED, REASON_ANSWERED },
    [DELIVERY_ACTION_RETRY] = { "retried", DELIVERY_PENDING, REASON_NONE },
    [DELIVERY_ACTION_DISCARD] = { "discarded", DELIVERY_DISCARDED, REASON_BY_OPERATOR },
};

static Err moved_on(Uuid id, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    return fail(error, ERR_CONFLICT, "delivery %.*s moved on meanwhile",
                STR_ARG(uuid_text(id, text)));
}

static Err end_live(Tx *tx, Settle settle, Error *error)
{
    SettleBatch batch = { .rows = &settle, .count = 1 };
    TRY(queue_settle(tx, &batch, error));
    TRY(tx_sync(tx, error));
    TRY(queue_settle_check(tx, &batch, error));
    return settle.is_stale ? moved_on(settle.id, error) : ERR_OK;
}

static Err end_parked(Tx *tx, const Settle *settle, Error *error)
{
    Rows rows;
    Value args[] = {
        value_i64(settle->tenant),    value_uuid(&settle->id), value_i64(settle->to.live.state),
        value_i64(settle->to.reason), value_i64(tx->now),      value_text(settle->note),
    };
    TRY(tx_query(tx, &parked_end, args, &rows, error));
    if (rows.changed == 0)
        return moved_on(settle->id, error);
    tx_count(tx, settle->tenant, settle->lane, DELIVERY_PARKED, -1);
    tx_count(tx, settle->tenant, settle->lane, settle->to.live.state, 1);
    return ERR_OK;
}

static Err revive(Tx *tx, const Settle *settle, const Live *parked, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(settle->tenant), value_uuid(&settle->id) };
    TRY(tx_query(tx, &parked_delete, args, &rows, error));
    if (rows.changed == 0)
        return moved_on(settle->id, error);
    QueueNew new = { .tenant = settle->tenant,
                     .id = &settle->id,
                     .lane = settle->lane,
                     .live = delivery_revive(parked, tx->now) };
    tx_count(tx, settle->tenant, settle->lane, DELIVERY_PARKED, -1);
    queue_insert(tx, &new, 1);
    return tx_sync(tx, error);
}

Err delivery_act(Tx *tx, int64_t tenant, Uuid id, DeliveryAction action, Str note, Error *error)
{
    assert(action < ARRAY_LEN(verbs) && verbs[action].participle);
    const Verb *verb = &verbs[action];
    Live live = { 0 };
    int64_t lane = 0;
    TRY(find_standing(tx, tenant, id, &lane, &live, error));
    if (!delivery_may(live.state, action))
        return fail(error, ERR_CONFLICT, "a delivery that is %s cannot be %s",
                    delivery_state_text(live.state), verb->participle);

    Settle settle = { .tenant = tenant,
                      .lane = lane,
                      .id = id,
                      .was = live.state,
                      .fence = live.attempt,
                      .to = { .live = live, .reason = verb->reason, .expires_at = INSTANT_NONE },
                      .note = note };
    settle.to.live.state = verb->to;
    if (action == DELIVERY_ACTION_RETRY)
        return revive(tx, &settle, &live, error);
    if (live.state == DELIVERY_PARKED)
        return end_parked(tx, &settle, error);
    return end_live(tx, settle, error);
}
