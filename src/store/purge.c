#include "store/purge.h"

#include "domain/inbox.h"
#include "store/columns.h"

// Place is how far the run has come: the number of its table below, the tenant, the key behind
// which it goes on, and how many rows of that tenant and table are gone so far.
typedef struct Place {
    int64_t walk, tenant;
    Uuid position;
    int64_t gone;
    Instant next_at; // not before
} Place;

static const Columns place_columns =
    COLUMNS(Place, COLUMN(Place, walk), COLUMN(Place, tenant), COLUMN(Place, position),
            COLUMN(Place, gone), COLUMN(Place, next_at));

// One node at a time purges, and no other waits for it.
#define PLACE "SELECT walk, tenant, position, gone, next_at FROM purge"
static const Statement place_get = {
    .name = "purge_place",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = PLACE,
    .postgres = PLACE " FOR UPDATE SKIP LOCKED",
};
static const Statement place_put = {
    .name = "purge_move_on",
    .scope = STATEMENT_SYSTEM,
    .params = "iiuii",
    .sql = "UPDATE purge SET walk = $1, tenant = $2, position = $3, gone = $4, next_at = $5",
};
static const Statement next_tenant = {
    .name = "purge_next_tenant",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT tenant FROM tenant WHERE tenant > $1 ORDER BY tenant LIMIT 1",
};

// EDGE finds the key at which a slice is full; none: there is not so much left.
#define EDGE(table, key)                                                                           \
    "SELECT " key " FROM " table " WHERE tenant = $1 AND " key " > $2 AND " key " <= $3 ORDER BY " \
    "" key " LIMIT 1 OFFSET $4"
#define WITHIN(key) " WHERE tenant = $1 AND " key " > $2 AND " key " <= $3 AND "
// OLD_ROWS deletes what is old within a slice. What somebody is changing is not waited for.
#define OLD_ROWS(table, key, is_old, returning)                                                    \
    .sql = "DELETE FROM " table WITHIN(key)                                                        \
    is_old returning, .postgres = "DELETE FROM " table " WHERE (tenant, " key                      \
                                  ") IN (SELECT tenant, " key " FROM " table                       \
                                  WITHIN(key) is_old " FOR UPDATE SKIP LOCKED)" returning

// States that ended are 4, parked, and those behind it; 5 is delivered.
_Static_assert(DELIVERY_PARKED == 4 && DELIVERY_DELIVERED == 5 && DELIVERY_DISCARDED == 9 &&
                   DELIVERY_STATE_COUNT == 10,
               "the SQL names them by number");
static const Statement ended_edge = {
    .name = "purge_ended_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = EDGE("ended", "id"),
};
static const Statement ended_old = {
    .name = "purge_ended",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    OLD_ROWS("ended", "id",
             "state BETWEEN 4 AND 9 AND ended_at < CASE WHEN state = 5 THEN $5 ELSE $4 END",
             " RETURNING tenant, id, lane, rule, site, state"),
};
static const Statement event_edge = {
    .name = "purge_event_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = EDGE("event", "id"),
};
static const Statement event_old = {
    .name = "purge_event_old",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = "SELECT id FROM event" WITHIN("id") "received_at < $4",
};
_Static_assert(INBOX_PENDING == 0, "the SQL names it by number");
static const Statement inbox_edge = {
    .name = "purge_inbox_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = EDGE("inbox", "id"),
};
static const Statement inbox_old = {
    .name = "purge_inbox",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    OLD_ROWS("inbox", "id", "status <> 0 AND processed_at < $4", ""),
};
static const Statement operation_edge = {
    .name = "purge_operation_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = EDGE("operation", "id"),
};
static const Statement operation_old = {
    .name = "purge_operation",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    OLD_ROWS("operation", "id", "state IN ('done', 'cancelled') AND finished_at < $4", ""),
};
static const Statement key_edge = {
    .name = "purge_key_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = EDGE("dedup", "key"),
};
static const Statement key_old = {
    .name = "purge_key",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    OLD_ROWS("dedup", "key", "taken_at < $4", ""),
};

static const Statement campaign_edge = {
    .name = "purge_campaign_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = EDGE("campaign", "id"),
};
static const Statement campaign_old = {
    .name = "purge_campaign",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    OLD_ROWS("campaign", "id", "work = 0 AND finished_at < $4", " RETURNING tenant, id"),
};

const Statement *const purge_statements[] = {
    &place_get, &place_put,      &next_tenant,   &ended_edge,
    &ended_old, &event_edge,     &event_old,     &inbox_edge,
    &inbox_old, &operation_edge, &operation_old, &key_edge,
    &key_old,   &campaign_edge,  &campaign_old,  NULL,
};

// Window is how long the rows of a table are kept; keys are in no order of time, either.
typedef enum Window { WINDOW_ENDED, WINDOW_DELIVERED, WINDOW_KEYS } Window;

// PurgeWalk is a table that is walked. take() is for what is not simply deleted by old: it is given
// what old returned.
typedef struct PurgeWalk {
    const char *what; // in the audit
    Window window;
    const Statement *edge, *old;
    Err (*take)(Tx *tx, PurgeSlice *slice, const Rows *old, Error *error);
    Err (*instead)(Tx *tx, PurgeSlice *slice, Error *error); // of edge, old and take
} PurgeWalk;

// Stored by their place: rows are only ever added at the end.
static const PurgeWalk walks[] = {
    { "deliveries", .edge = &ended_edge, .old = &ended_old, .take = purge_deliveries },
    { "events", WINDOW_DELIVERED, .edge = &event_edge, .old = &event_old, .take = purge_events },
    { "outbox rows", .edge = &inbox_edge, .old = &inbox_old },
    { "operations", .edge = &operation_edge, .old = &operation_old },
    { "dedup keys", WINDOW_KEYS, .edge = &key_edge, .old = &key_old },
    { "targets", WINDOW_DELIVERED, .instead = purge_targets },
    { "audit rows", .instead = purge_audit },
    { "progress lines", WINDOW_DELIVERED, .instead = purge_progress },
    { "run actions", WINDOW_DELIVERED, .instead = purge_actions },
    { "campaigns", .edge = &campaign_edge, .old = &campaign_old, .take = purge_campaigns },
};
enum { WALKS = ARRAY_LEN(walks), STEPS_MAX = 20 };

static Span kept(Window window, const PurgeTimes *times)
{
    Span longer = times->kept + PURGE_KEYS_LONGER;
    switch (window) {
    case WINDOW_ENDED:
        return times->kept;
    case WINDOW_DELIVERED:
        return times->delivered;
    case WINDOW_KEYS:
        return longer > PURGE_KEYS_KEPT ? longer : PURGE_KEYS_KEPT;
    }
    assert(!"a window");
    return 0;
}

static PurgeSlice slice_at(const Tx *tx, const Place *place, const PurgeTimes *times, int64_t limit)
{
    const PurgeWalk *walk = &walks[place->walk];
    PurgeSlice slice = { .tenant = place->tenant,
                         .after = place->position,
                         .limit = limit,
                         .before = tx->now - kept(walk->window, times),
                         .delivered_before = tx->now - times->delivered };
    slice.until = uuid_ceiling(walk->window == WINDOW_KEYS ? INSTANT_NONE : slice.delivered_before);
    return slice;
}

static Err find_end(Tx *tx, const PurgeWalk *walk, PurgeSlice *slice, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(slice->tenant), value_uuid(&slice->after), value_uuid(&slice->until),
                     value_i64(slice->limit - 1) };
    TRY(tx_query(tx, walk->edge, args, &rows, error));
    slice->is_last = rows.count == 0;
    slice->end = slice->is_last ? slice->until : value_to_uuid(&rows.values[0]);
    return ERR_OK;
}

static Err take(Tx *tx, const PurgeWalk *walk, PurgeSlice *slice, Error *error)
{
    Rows old;
    if (walk->instead)
        return walk->instead(tx, slice, error);
    TRY(find_end(tx, walk, slice, error));
    Value args[] = { value_i64(slice->tenant), value_uuid(&slice->after), value_uuid(&slice->end),
                     value_i64(slice->before), value_i64(slice->delivered_before) };
    TRY(tx_query(tx, walk->old, args, &old, error));
    slice->gone = old.changed;
    return walk->take ? walk->take(tx, slice, &old, error) : ERR_OK;
}

// leave_tenant tells what is gone, and goes on to the next tenant, or table.
static Err leave_tenant(Tx *tx, Place *place, Error *error)
{
    Rows rows;
    Value arg = value_i64(place->tenant);
    if (place->gone > 0)
        tx_fact(
            tx, FACT_PURGED, place->tenant,
            str_format(&tx->arena, "%s: %lld", walks[place->walk].what, (long long) place->gone));
    TRY(tx_query(tx, &next_tenant, &arg, &rows, error));
    *place = (Place){ .walk = place->walk + (rows.count == 0),
                      .tenant = rows.count ? value_to_i64(&rows.values[0]) : 0,
                      .next_at = place->next_at };
    return ERR_OK;
}

static Err step(Tx *tx, const PurgeTimes *times, int64_t limit, Place *place, PurgeReport *report,
                bool *ret_full, Error *error)
{
    PurgeSlice slice = slice_at(tx, place, times, limit);
    TRY(take(tx, &walks[place->walk], &slice, error));
    place->position = slice.end;
    place->gone += slice.gone;
    report->gone += slice.gone;
    *ret_full = !slice.is_last || report->gone >= limit;
    return slice.is_last ? leave_tenant(tx, place, error) : ERR_OK;
}

// is_due: a moment further away than a day was set by a clock that was wrong.
static bool is_due(const Place *place, Instant now)
{
    return place->next_at <= now || place->next_at > now + SPAN_DAY;
}

Err purge_walk(Tx *tx, const PurgeTimes *times, int64_t limit, PurgeReport *ret, Error *error)
{
    Rows rows;
    Place place;
    bool is_full = false;
    assert(limit > 0 && times->delivered <= times->kept);
    *ret = (PurgeReport){ 0 };
    TRY(tx_query(tx, &place_get, NULL, &rows, error));
    if (rows.count == 0)
        return ERR_OK; // another node is at it
    columns_read(&place_columns, rows.values, &place);
    if (!is_due(&place, tx->now))
        return ERR_OK;
    if (place.walk < 0 || place.walk >= WALKS)
        place = (Place){ 0 };
    for (int i = 0; i < STEPS_MAX && place.walk < WALKS && !is_full; i++)
        TRY(step(tx, times, limit, &place, ret, &is_full, error));
    ret->has_more = place.walk < WALKS;
    if (!ret->has_more)
        place = (Place){ .next_at = tx->now + SPAN_DAY };
    db_send_row(tx->db, &tx->arena, &place_put, &place_columns, &place, NULL);
    return tx_sync(tx, error);
}
