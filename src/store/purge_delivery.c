#include "store/purge.h"

#include "store/columns.h"
#include "store/delivery.h"

// GOES_WITH deletes the rows of a table that name a delivery, or an event, by its id.
#define GOES_WITH(table, column)                                                                   \
    .sql = "DELETE FROM " table " WHERE tenant = $1 AND " column " = $2",                          \
    .postgres = "DELETE FROM " table " USING unnest($1, $2) AS u (tenant, id)"                     \
                " WHERE " table ".tenant = u.tenant AND " table "." column " = u.id"
static const Statement attempts = {
    .name = "purge_attempt",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("attempt", "delivery"),
};
static const Statement recalls = {
    .name = "purge_recall",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("recall", "delivery"),
};
static const Statement awaiting = {
    .name = "purge_awaiting",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = "DELETE FROM awaiting WHERE tenant = $1 AND public_id ="
           " (SELECT public_id FROM delivery WHERE tenant = $1 AND id = $2)",
    .postgres = "DELETE FROM awaiting USING unnest($1, $2) AS u (tenant, id)"
                " JOIN delivery d ON d.tenant = u.tenant AND d.id = u.id"
                " WHERE awaiting.tenant = u.tenant AND awaiting.public_id = d.public_id",
};
static const Statement promises = {
    .name = "purge_delivery",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("delivery", "id"),
};
static const Statement decisions = {
    .name = "purge_decision",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("decision", "event"),
};
static const Statement campaign_failures = {
    .name = "purge_campaign_failure",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("campaign_failure", "campaign"),
};
static const Statement resends = {
    .name = "purge_resend",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("resend", "event"),
};

// A delivery to a list may have a hundred thousand targets, a job may have said a thousand things:
// such rows go by themselves, when their delivery is gone.
#define ORPHANS(table)                                                                             \
    "DELETE FROM " table " WHERE tenant = $1 AND (delivery, n) IN (SELECT t.delivery, t.n FROM "   \
    "" table " t WHERE t.tenant = $1 AND t.delivery > $2 AND t.delivery <= $3 AND NOT EXISTS"      \
    " (SELECT 1 FROM delivery d WHERE d.tenant = $1 AND d.id = t.delivery) LIMIT $4)"
static const Statement targets = {
    .name = "purge_target",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ORPHANS("target"),
};
static const Statement lines = {
    .name = "purge_progress",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ORPHANS("progress"),
};

static const Statement responses = {
    .name = "purge_response",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("response", "delivery"),
};
static const Statement results = {
    .name = "purge_trigger_result",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    GOES_WITH("trigger_result", "delivery"),
};
static const Statement actions = {
    .name = "purge_trigger_action",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ORPHANS("trigger_action"),
};

// What goes with a delivery. The public id is asked of the promise, which therefore goes last.
static const Statement *const with_delivery[] = { &attempts, &recalls,   &awaiting,
                                                  &results,  &responses, &promises };
static const Statement *const with_event[] = { &decisions, &resends };

// An event's deliveries are a range of ids.
static const Statement event = {
    .name = "purge_event",
    .scope = STATEMENT_TENANT,
    .params = "iuuu",
    .many = true,
    .sql = "DELETE FROM event WHERE tenant = $1 AND id = $2 AND NOT EXISTS (SELECT 1 FROM delivery"
           " d WHERE d.tenant = $1 AND d.id BETWEEN $3 AND $4) RETURNING tenant, id",
    .postgres = "DELETE FROM event USING unnest($1, $2, $3, $4) AS u (tenant, id, first, last)"
                " WHERE event.tenant = u.tenant AND event.id = u.id AND NOT EXISTS"
                " (SELECT 1 FROM delivery d WHERE d.tenant = u.tenant"
                " AND d.id BETWEEN u.first AND u.last) RETURNING event.tenant, event.id",
};

const Statement *const purge_delivery_statements[] = {
    &attempts, &targets,   &lines,   &results, &actions,   &recalls,           &awaiting,
    &promises, &decisions, &resends, &event,   &responses, &campaign_failures, NULL,
};

// Gone is a delivery that is gone from ended.
typedef struct Gone {
    int64_t tenant;
    Uuid id;
    int64_t lane, rule, site;
    int state;
} Gone;

static const Columns gone_columns =
    COLUMNS(Gone, COLUMN(Gone, tenant), COLUMN(Gone, id), COLUMN(Gone, lane), COLUMN(Gone, rule),
            COLUMN(Gone, site), COLUMN(Gone, state));
static const Columns id_columns = COLUMNS(Gone, COLUMN(Gone, tenant), COLUMN(Gone, id));

// uncount takes them out of the counters, apart from the transaction's own changes: those also tell
// how many deliveries have arrived (pace.h).
static void uncount(Tx *tx, const Gone *gone, size_t count)
{
    Counters counters = { 0 };
    for (size_t i = 0; i < count; i++)
        counter_fold(&counters, &tx->arena,
                     &(Move){ .tenant = gone[i].tenant,
                              .lane = gone[i].lane,
                              .rule = gone[i].rule,
                              .site = gone[i].site,
                              .from = gone[i].state,
                              .to = MOVE_NOWHERE });
    counter_send(&counters, tx->db, &tx->arena, tx->writer);
}

Err purge_deliveries(Tx *tx, PurgeSlice *slice, const Rows *old, Error *error)
{
    Gone *gone = ARENA_ARRAY(&tx->arena, Gone, old->count + 1);
    for (size_t i = 0; i < old->count; i++)
        columns_read(&gone_columns, rows_at(old, i), &gone[i]);
    for (size_t i = 0; i < ARRAY_LEN(with_delivery); i++)
        db_send_rows(tx->db, &tx->arena, with_delivery[i], &id_columns, gone, old->count, NULL);
    uncount(tx, gone, old->count);
    slice->gone = (int64_t) old->count;
    return tx_sync(tx, error);
}

// OldEvent is one that may go, and the first and the last id that a delivery of it can have.
typedef struct OldEvent {
    int64_t tenant;
    Uuid id, first, last;
} OldEvent;

static const Columns old_columns = COLUMNS(OldEvent, COLUMN(OldEvent, tenant), COLUMN(OldEvent, id),
                                           COLUMN(OldEvent, first), COLUMN(OldEvent, last));

Err purge_events(Tx *tx, PurgeSlice *slice, const Rows *old, Error *error)
{
    Rows rows = { 0 };
    OldEvent *events = ARENA_ARRAY(&tx->arena, OldEvent, old->count + 1);
    Gone *gone = ARENA_ARRAY(&tx->arena, Gone, old->count + 1);
    for (size_t i = 0; i < old->count; i++) {
        Uuid id = value_to_uuid(rows_at(old, i));
        events[i] =
            (OldEvent){ slice->tenant, id, delivery_id_of(id, 1), delivery_id_of(id, UINT16_MAX) };
    }
    db_send_rows(tx->db, &tx->arena, &event, &old_columns, events, old->count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++)
        columns_read(&id_columns, rows_at(&rows, i), &gone[i]);
    for (size_t i = 0; i < ARRAY_LEN(with_event); i++)
        db_send_rows(tx->db, &tx->arena, with_event[i], &id_columns, gone, rows.count, NULL);
    slice->gone = (int64_t) rows.count;
    return tx_sync(tx, error);
}

Err purge_campaigns(Tx *tx, PurgeSlice *slice, const Rows *old, Error *error)
{
    Gone *gone = ARENA_ARRAY(&tx->arena, Gone, old->count + 1);
    for (size_t i = 0; i < old->count; i++)
        columns_read(&id_columns, rows_at(old, i), &gone[i]);
    db_send_rows(tx->db, &tx->arena, &campaign_failures, &id_columns, gone, old->count, NULL);
    slice->gone = (int64_t) old->count;
    return tx_sync(tx, error);
}

static Err purge_orphans(Tx *tx, const Statement *orphans, PurgeSlice *slice, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(slice->tenant), value_uuid(&slice->after), value_uuid(&slice->until),
                     value_i64(slice->limit) };
    TRY(tx_query(tx, orphans, args, &rows, error));
    slice->gone = rows.changed;
    slice->is_last = rows.changed < slice->limit;
    slice->end = slice->after; // what is gone is not met again
    return ERR_OK;
}

Err purge_targets(Tx *tx, PurgeSlice *slice, Error *error)
{
    return purge_orphans(tx, &targets, slice, error);
}

Err purge_progress(Tx *tx, PurgeSlice *slice, Error *error)
{
    return purge_orphans(tx, &lines, slice, error);
}

Err purge_actions(Tx *tx, PurgeSlice *slice, Error *error)
{
    return purge_orphans(tx, &actions, slice, error);
}
