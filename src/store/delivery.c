#include "store/delivery.h"

#include "domain/cause.h"
#include "domain/members.h"
#include "domain/trigger.h"
#include "store/rule.h"
#include "store/site.h"

// Numbers in the SQL below are domain/delivery.h's: state 4 is parked, step 1 is a send.
_Static_assert(DELIVERY_PARKED == 4 && STEP_SEND == 1, "the SQL names them by number");

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
    "SELECT " PROMISE_OF_D                                                                         \
    ", COALESCE(r.kind, 0), r.id, NULLIF(l.channel, ''), s.name, d.tenant, d.event,"               \
    " e.kind, e.source, e.identity, e.entity, e.correlation_id, e.trace, e.occurred_at,"           \
    " e.received_at, " payload ", q.step, COALESCE(q.state, n.state, -1), q.due_at,"               \
    " COALESCE(q.attempt, n.attempt), COALESCE(q.failures, n.failures),"                           \
    " COALESCE(q.send, n.send),"                                                                   \
    " COALESCE(q.reminders_left, n.reminders_left), COALESCE(q.last_sent_at, n.last_sent_at),"     \
    " COALESCE(q.opened_at, n.opened_at), n.reason, n.ended_at, n.expires_at, n.note,"             \
    " COALESCE(q.started_at, n.started_at, a.started_at),"                                         \
    " COALESCE(n.verdict, a.verdict), COALESCE(n.tried_reason, a.reason),"                         \
    " COALESCE(n.detail, a.detail), COALESCE(n.provider_id, a.provider_id)"
#define WHOLE "e.payload, e.recipient"
#define BARE "'', NULL"
#define STATE_JOINS                                                                                \
    " LEFT JOIN queue q ON q.tenant = d.tenant AND q.id = d.id"                                    \
    " LEFT JOIN ended n ON n.tenant = d.tenant AND n.id = d.id"
#define VIEW_JOINS                                                                                 \
    STATE_JOINS                                                                                    \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"                                 \
    " LEFT JOIN lane l ON l.lane = d.lane AND l.tenant = d.tenant"                                 \
    " LEFT JOIN rule r ON r.rule = d.rule AND r.tenant = d.tenant"                                 \
    " LEFT JOIN site s ON s.site = d.site AND s.tenant = d.tenant"                                 \
    " LEFT JOIN attempt a ON n.verdict IS NULL AND a.tenant = d.tenant AND a.delivery = d.id "     \
    "AND"                                                                                          \
    " a.number ="                                                                                  \
    " (SELECT MAX(x.number) FROM attempt x WHERE x.tenant = d.tenant AND x.delivery = d.id)"

// What a walk meets is asked of one row of one table, and what lies elsewhere by a look-up of its
// own, row by row: a join could be carried out in another order, by reading all there is. $1
// tenant, $2 and $3 bounds of the id, $4 limit, then what the filter names.
#define FILTER_PARAMS "iuuiituttiit"
// $5 is the number of a rule, -1 where there is none of that name, and RULES_OF(kind) for all of a
// kind; of jobs (4), for automations (8) too.
_Static_assert(RULE_JOB == 4 && RULE_AUTOMATION == 8, "the SQL names kinds by number");
#define RULES_OF(kind) (-2 - (int64_t) (kind))
#define RULE_FITS(row)                                                                             \
    "($5 IS NULL OR " row ".rule = $5 OR ($5 < -1 AND"                                             \
    " (SELECT z.kind FROM rule z WHERE z.tenant = $1 AND z.rule = " row                            \
    ".rule) IN (-2 - $5, CASE WHEN -2 - $5 = 4 THEN 8 END)))"
#define LANE "(SELECT y.lane FROM lane y WHERE y.tenant = $1 AND y.channel = $6)"
#define SITE "(SELECT x.site FROM site x WHERE x.tenant = $1 AND x.name = $12)"
#define FITS(row)                                                                                  \
    " AND " RULE_FITS(row) " AND ($6 IS NULL OR " row ".lane = " LANE ")"                          \
                           " AND ($12 IS NULL OR " row ".site = " SITE ")"
// Each of the words ($9) is found in one of these. The subject is a notification's, whose payload
// Peal wrote itself; all else that an event may say is not searched.
#define HAS(text) "LOWER(COALESCE(" text ", '') COLLATE \"C\") LIKE w.value ESCAPE '!'"
#define SUBJECT(of)                                                                                \
    "(SELECT " of " FROM event e WHERE e.tenant = d.tenant AND e.id = d.event"                     \
    " AND e.kind = 'notification')"
#define SUBJECT_SQLITE SUBJECT("CASE WHEN json_valid(e.payload) THEN e.payload ->> 'subject' END")
#define SUBJECT_POSTGRES                                                                           \
    SUBJECT("substring(e.payload FROM '\"subject\":\"((?:[^\"\\\\]|\\\\.)*)\"')")
#define Q_FITS(words, subject)                                                                     \
    " AND ($9 IS NULL OR NOT EXISTS (SELECT 1 FROM " words                                         \
    " WHERE NOT (" HAS("d.address") " OR " HAS("d.customer_ref") " OR " HAS(                       \
        "d.public_id") " OR " HAS("d.entity") " OR " HAS(subject) ")))"
#define Q_SQLITE Q_FITS(WORDS_SQLITE("$9"), SUBJECT_SQLITE)
#define Q_POSTGRES Q_FITS(WORDS_POSTGRES("$9"), SUBJECT_POSTGRES)
#define PROMISE_FITS(q)                                                                            \
    " AND ($7 IS NULL OR d.event = $7) AND ($8 IS NULL OR d.entity = $8)" q                        \
    " AND ($10 IS NULL OR d.triggered_at >= $10) AND ($11 IS NULL OR d.triggered_at < $11)"
#define PROMISE_OF(row, q)                                                                         \
    " AND (($7 IS NULL AND COALESCE($8, $9) IS NULL AND COALESCE($10, $11) IS NULL) OR"            \
    " (SELECT 1 FROM delivery d WHERE d.tenant = " row ".tenant AND d.id = " row                   \
    ".id" PROMISE_FITS(q) ") = 1)"
#define STATE_OF_D                                                                                 \
    " AND ($13 < 0 OR COALESCE("                                                                   \
    "(SELECT n.state FROM ended n WHERE n.tenant = d.tenant AND n.id = d.id),"                     \
    " (SELECT q.state FROM queue q WHERE q.tenant = d.tenant AND q.id = d.id)) = $13)"
#define IS_STUCK " AND ($14 IS NULL OR (q.step = 1 AND q.state <> 1 AND q.first_due_at < $14))"

#define DOWN(row) " AND " row ".id < $2 AND " row ".id >= $3 ORDER BY " row ".id DESC"
#define UP(row) " AND " row ".id > $2 AND " row ".id <= $3 ORDER BY " row ".id"
#define AT_EDGE " LIMIT 1 OFFSET $4"
#define AT_LIMIT " LIMIT $4"

// Each index is a source. A rule is of one tenant: its deliveries are found by it alone, or the
// primary key would look as good. SQLite takes the primary key for as good as an index of fewer
// rows, which it is not: there the index is named.
#define ALL "SELECT d.id FROM delivery d WHERE d.tenant = $1"
#define OF_RULE(hint)                                                                              \
    "SELECT d.id FROM delivery d" hint                                                             \
    " WHERE d.rule = (SELECT z.rule FROM rule z WHERE z.tenant = $1 AND z.rule = $5)"
#define OF_ENTITY(hint, n)                                                                         \
    "SELECT d.id FROM delivery d" hint " WHERE d.tenant = $1 AND d.entity = " n
#define LIVE "SELECT q.id FROM queue q WHERE q.tenant = $1"
#define ENDED "SELECT n.id FROM ended n WHERE n.tenant = $1"
#define PARKED(hint) "SELECT n.id FROM ended n" hint " WHERE n.tenant = $1 AND n.state = 4"
#define LIVE_OF_CAUSE(hint, n)                                                                     \
    "SELECT q.id FROM queue q" hint " WHERE q.tenant = $1 AND q.cause = " n
#define PARKED_OF_CAUSE(hint, n) PARKED(hint) " AND n.cause = " n
#define BY(index) " INDEXED BY " index

#define PROMISE_FILTER(q) FITS("d") PROMISE_FITS(q) STATE_OF_D
#define LIVE_FILTER(q) FITS("q") PROMISE_OF("q", q) " AND ($13 < 0 OR q.state = $13)" IS_STUCK
#define ENDED_FILTER(q) FITS("n") PROMISE_OF("n", q) " AND n.state = $13"
#define PARKED_FILTER(q) FITS("n") PROMISE_OF("n", q)
#define LIVE_CAUSE_FILTER(q) FITS("q") PROMISE_OF("q", q) " AND ($14 < 0 OR q.state = $14)"

static const Statement all_edge = {
    .name = "delivery_all_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ALL DOWN("d") AT_EDGE,
};
static const Statement all_find = {
    .name = "delivery_all_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    .sql = ALL PROMISE_FILTER(Q_SQLITE) DOWN("d") AT_LIMIT,
    .postgres = ALL PROMISE_FILTER(Q_POSTGRES) DOWN("d") AT_LIMIT,
};
static const Statement rule_edge = {
    .name = "delivery_rule_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .sql = OF_RULE(BY("delivery_rule")) DOWN("d") AT_EDGE,
    .postgres = OF_RULE("") DOWN("d") AT_EDGE,
};
static const Statement rule_find = {
    .name = "delivery_rule_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    .sql = OF_RULE(BY("delivery_rule")) PROMISE_FILTER(Q_SQLITE) DOWN("d") AT_LIMIT,
    .postgres = OF_RULE("") PROMISE_FILTER(Q_POSTGRES) DOWN("d") AT_LIMIT,
};
static const Statement entity_edge = {
    .name = "delivery_entity_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuuit",
    .sql = OF_ENTITY(BY("delivery_entity"), "$5") DOWN("d") AT_EDGE,
    .postgres = OF_ENTITY("", "$5") DOWN("d") AT_EDGE,
};
static const Statement entity_find = {
    .name = "delivery_entity_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    .sql = OF_ENTITY(BY("delivery_entity"), "$8") PROMISE_FILTER(Q_SQLITE) DOWN("d") AT_LIMIT,
    .postgres = OF_ENTITY("", "$8") PROMISE_FILTER(Q_POSTGRES) DOWN("d") AT_LIMIT,
};
static const Statement live_edge = {
    .name = "delivery_live_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = LIVE DOWN("q") AT_EDGE,
};
static const Statement live_find = {
    .name = "delivery_live_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    .sql = LIVE LIVE_FILTER(Q_SQLITE) DOWN("q") AT_LIMIT,
    .postgres = LIVE LIVE_FILTER(Q_POSTGRES) DOWN("q") AT_LIMIT,
};
static const Statement live_up_edge = {
    .name = "delivery_live_up_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = LIVE UP("q") AT_EDGE,
};
static const Statement live_up_find = {
    .name = "delivery_live_up_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    .sql = LIVE LIVE_FILTER(Q_SQLITE) UP("q") AT_LIMIT,
    .postgres = LIVE LIVE_FILTER(Q_POSTGRES) UP("q") AT_LIMIT,
};
static const Statement ended_edge = {
    .name = "delivery_ended_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = ENDED DOWN("n") AT_EDGE,
};
static const Statement ended_find = {
    .name = "delivery_ended_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    .sql = ENDED ENDED_FILTER(Q_SQLITE) DOWN("n") AT_LIMIT,
    .postgres = ENDED ENDED_FILTER(Q_POSTGRES) DOWN("n") AT_LIMIT,
};
static const Statement parked_edge = {
    .name = "delivery_parked_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = PARKED(BY("ended_parked")) DOWN("n") AT_EDGE,
    .postgres = PARKED("") DOWN("n") AT_EDGE,
};
static const Statement parked_find = {
    .name = "delivery_parked_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS,
    .sql = PARKED(BY("ended_parked")) PARKED_FILTER(Q_SQLITE) DOWN("n") AT_LIMIT,
    .postgres = PARKED("") PARKED_FILTER(Q_POSTGRES) DOWN("n") AT_LIMIT,
};
static const Statement parked_up_edge = {
    .name = "delivery_parked_up_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuui",
    .sql = PARKED(BY("ended_parked")) UP("n") AT_EDGE,
    .postgres = PARKED("") UP("n") AT_EDGE,
};
static const Statement parked_up_find = {
    .name = "delivery_parked_up_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS,
    .sql = PARKED(BY("ended_parked")) PARKED_FILTER(Q_SQLITE) UP("n") AT_LIMIT,
    .postgres = PARKED("") PARKED_FILTER(Q_POSTGRES) UP("n") AT_LIMIT,
};
static const Statement live_cause_edge = {
    .name = "delivery_live_cause_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .sql = LIVE_OF_CAUSE(BY("queue_cause"), "$5") DOWN("q") AT_EDGE,
    .postgres = LIVE_OF_CAUSE("", "$5") DOWN("q") AT_EDGE,
};
static const Statement live_cause_find = {
    .name = "delivery_live_cause_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    .sql = LIVE_OF_CAUSE(BY("queue_cause"), "$13") LIVE_CAUSE_FILTER(Q_SQLITE) DOWN("q") AT_LIMIT,
    .postgres = LIVE_OF_CAUSE("", "$13") LIVE_CAUSE_FILTER(Q_POSTGRES) DOWN("q") AT_LIMIT,
};
static const Statement live_cause_up_edge = {
    .name = "delivery_live_cause_up_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .sql = LIVE_OF_CAUSE(BY("queue_cause"), "$5") UP("q") AT_EDGE,
    .postgres = LIVE_OF_CAUSE("", "$5") UP("q") AT_EDGE,
};
static const Statement live_cause_up_find = {
    .name = "delivery_live_cause_up_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "ii",
    .sql = LIVE_OF_CAUSE(BY("queue_cause"), "$13") LIVE_CAUSE_FILTER(Q_SQLITE) UP("q") AT_LIMIT,
    .postgres = LIVE_OF_CAUSE("", "$13") LIVE_CAUSE_FILTER(Q_POSTGRES) UP("q") AT_LIMIT,
};
static const Statement parked_cause_edge = {
    .name = "delivery_parked_cause_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .sql = PARKED_OF_CAUSE(BY("ended_cause"), "$5") DOWN("n") AT_EDGE,
    .postgres = PARKED_OF_CAUSE("", "$5") DOWN("n") AT_EDGE,
};
static const Statement parked_cause_find = {
    .name = "delivery_parked_cause_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    .sql = PARKED_OF_CAUSE(BY("ended_cause"), "$13") PARKED_FILTER(Q_SQLITE) DOWN("n") AT_LIMIT,
    .postgres = PARKED_OF_CAUSE("", "$13") PARKED_FILTER(Q_POSTGRES) DOWN("n") AT_LIMIT,
};
static const Statement parked_cause_up_edge = {
    .name = "delivery_parked_cause_up_edge",
    .scope = STATEMENT_TENANT,
    .params = "iuuii",
    .sql = PARKED_OF_CAUSE(BY("ended_cause"), "$5") UP("n") AT_EDGE,
    .postgres = PARKED_OF_CAUSE("", "$5") UP("n") AT_EDGE,
};
static const Statement parked_cause_up_find = {
    .name = "delivery_parked_cause_up_find",
    .scope = STATEMENT_TENANT,
    .params = FILTER_PARAMS "i",
    .sql = PARKED_OF_CAUSE(BY("ended_cause"), "$13") PARKED_FILTER(Q_SQLITE) UP("n") AT_LIMIT,
    .postgres = PARKED_OF_CAUSE("", "$13") PARKED_FILTER(Q_POSTGRES) UP("n") AT_LIMIT,
};

#define VIEW_ONE(payload)                                                                          \
    VIEW_COLUMNS(payload) " FROM delivery d" VIEW_JOINS " WHERE d.tenant = $1 AND d.id = $2"

static const Statement view_one = {
    .name = "delivery_view",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = VIEW_ONE(WHOLE),
};
// What a walk found, in its order. PostgreSQL promises none; it sorts rows that only point to their
// payloads.
static const Statement view_many = {
    .name = "delivery_views",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = VIEW_ONE(WHOLE),
    .postgres =
        VIEW_COLUMNS(WHOLE) " FROM unnest($1, $2) AS u (tenant, id)"
                            " JOIN delivery d ON d.tenant = u.tenant AND d.id = u.id" VIEW_JOINS
                            " ORDER BY d.id DESC",
};
// Nobody who answers says whose he is.
#define AWAITED " FROM awaiting w JOIN delivery d ON d.tenant = w.tenant AND d.id = w.delivery"
static const Statement view_awaited = {
    .name = "delivery_view_awaited",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = VIEW_COLUMNS(WHOLE) AWAITED VIEW_JOINS " WHERE w.public_id = $1",
};
static const Statement awaited = {
    .name = "delivery_awaited",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "SELECT " PROMISE_OF_D ", q.step, COALESCE(q.state, n.state, -1),"
           " COALESCE(q.opened_at, n.opened_at)" AWAITED STATE_JOINS " WHERE w.public_id = $1",
};
static const Statement view_of_event = {
    .name = "delivery_of_event",
    .scope = STATEMENT_TENANT,
    .params = "iuuui",
    .sql = VIEW_COLUMNS(BARE) " FROM delivery d" VIEW_JOINS
                              " WHERE d.tenant = $1 AND d.event = $2 AND d.id > $3 AND d.id <= $4"
                              " ORDER BY d.id LIMIT $5",
};

static const Statement rules_of_event = {
    .name = "delivery_rules_of_event",
    .scope = STATEMENT_TENANT,
    .params = "iuu",
    .sql = "SELECT d.rule FROM delivery d WHERE d.tenant = $1 AND d.id >= $2 AND d.id <= $3",
};

const Statement *const delivery_statements[] = {
    &insert,
    &all_edge,
    &all_find,
    &rule_edge,
    &rule_find,
    &entity_edge,
    &entity_find,
    &live_edge,
    &live_find,
    &live_up_edge,
    &live_up_find,
    &ended_edge,
    &ended_find,
    &parked_edge,
    &parked_find,
    &parked_up_edge,
    &parked_up_find,
    &view_one,
    &view_many,
    &view_awaited,
    &awaited,
    &view_of_event,
    &rules_of_event,
    &live_cause_edge,
    &live_cause_find,
    &live_cause_up_edge,
    &live_cause_up_find,
    &parked_cause_edge,
    &parked_cause_find,
    &parked_cause_up_edge,
    &parked_cause_up_find,
    NULL,
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

enum { ID_COLUMN = 1 }; // behind the tenant

static const Columns view_columns = COLUMNS(
    ViewRow, PROMISE_COLUMNS(ViewRow, view.promise.) COLUMN(ViewRow, view.rule_kind),
    COLUMN(ViewRow, view.rule_id), COLUMN(ViewRow, view.channel), COLUMN(ViewRow, view.site),
    COLUMN(ViewRow, view.origin.tenant), COLUMN(ViewRow, view.origin.id),
    COLUMN(ViewRow, view.origin.kind), COLUMN(ViewRow, view.origin.source),
    COLUMN(ViewRow, view.origin.identity), COLUMN(ViewRow, view.origin.entity),
    COLUMN(ViewRow, view.origin.correlation_id), COLUMN(ViewRow, view.origin.trace),
    COLUMN_TIME(ViewRow, view.origin.occurred_at), COLUMN(ViewRow, view.origin.received_at),
    COLUMN(ViewRow, view.origin.payload), COLUMN(ViewRow, view.origin.recipient),
    COLUMN(ViewRow, step), COLUMN(ViewRow, state), COLUMN_TIME(ViewRow, due_at),
    COLUMN(ViewRow, view.attempt), COLUMN(ViewRow, view.failures), COLUMN(ViewRow, view.send),
    COLUMN(ViewRow, view.reminders_left), COLUMN_TIME(ViewRow, view.last_sent_at),
    COLUMN_TIME(ViewRow, view.opened_at), COLUMN(ViewRow, view.reason),
    COLUMN_TIME(ViewRow, view.ended_at), COLUMN_TIME(ViewRow, view.expires_at),
    COLUMN(ViewRow, view.note), COLUMN_TIME(ViewRow, view.last_tried_at), COLUMN(ViewRow, verdict),
    COLUMN(ViewRow, tried_reason), COLUMN(ViewRow, tried_detail),
    COLUMN(ViewRow, view.provider_id));

static Str last_error(const ViewRow *row)
{
    if (row->verdict == VERDICT_DELIVERED)
        return STR_NONE;
    return row->tried_detail.len ? row->tried_detail : str_from(reason_code(row->tried_reason));
}

StatusFamily view_family(const Registry *registry, const DeliveryView *view)
{
    const RegistryTrigger *rule =
        registry_rule(registry, view->promise.tenant, view->rule_kind, view->rule_id);
    bool is_run = rule && (rule->automation.at || rule->is_provided);
    return is_run ? STATUS_W : rule_family(view->rule_kind);
}

Str view_status(StatusFamily family, const DeliveryView *view)
{
    Live live = { .last_sent_at = view->last_sent_at,
                  .opened_at = view->opened_at,
                  .failures = view->failures };
    return str_from(delivery_status(family, view->state, &live));
}

static bool is_state(int state)
{
    return state >= 0 && state < (int) DELIVERY_STATE_COUNT;
}

// read_state says where a row stands. Where somebody damaged it, it is shown as live_mended() takes
// it, until it is parked, and where it has ended, as parked_mended() does.
static Err read_state(const ViewRow *row, DeliveryState *ret, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    if (row->state == -1 && !row->step)
        return fail(error, ERR_CORRUPT, "delivery %.*s stands nowhere",
                    STR_ARG(uuid_text(row->view.promise.id, text)));
    *ret = (DeliveryState) row->state;
    if (!is_state(row->state))
        *ret = row->step ? DELIVERY_PENDING : DELIVERY_PARKED;
    return ERR_OK;
}

static Err read_view(const Value *at, DeliveryView *ret, Error *error)
{
    ViewRow row;
    DeliveryState state;
    columns_read(&view_columns, at, &row);
    TRY(read_state(&row, &state, error));
    row.tried_reason = reason_mended(row.tried_reason);
    *ret = row.view;
    ret->reason = reason_mended(ret->reason);
    if (ret->rule_kind >= TABLE_ROWS(RULE_KIND_TABLE))
        ret->rule_kind = RULE_TRIGGER;
    ret->state = state;
    if (!is_state(row.state))
        ret->reason = REASON_UNREADABLE;
    bool awaits_send = row.step == STEP_SEND && ret->state != DELIVERY_SENDING;
    ret->due_at = awaits_send ? row.due_at : INSTANT_NONE;
    if (row.step == STEP_EXPIRE)
        ret->expires_at = row.due_at;
    if (ret->state == DELIVERY_RETRYING && row.verdict != VERDICT_DELIVERED)
        ret->reason = row.tried_reason;
    ret->last_error = last_error(&row);
    ret->is_in_flight = ret->state == DELIVERY_SENDING ||
                        (row.verdict == VERDICT_UNKNOWN && row.tried_reason == REASON_CALLED_OFF);
    return ERR_OK;
}

Err delivery_missing(Uuid id, Error *error)
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
        return delivery_missing(id, error);
    return read_view(rows_at(&rows, 0), ret, error);
}

// ask_awaited reads the row under a public id by one of the statements for it.
static Err ask_awaited(Db *db, Arena *arena, const Statement *by, Str public_id, const Value **ret,
                       Error *error)
{
    Rows rows = { 0 };
    Value args[] = { value_text(public_id) };
    if (public_id.len == PUBLIC_ID_LEN)
        TRY(db_query(db, arena, by, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "nothing awaits an answer under this id");
    *ret = rows_at(&rows, 0);
    return ERR_OK;
}

Err delivery_view_awaited(Db *db, Arena *arena, Str public_id, DeliveryView *ret, Error *error)
{
    const Value *row;
    TRY(ask_awaited(db, arena, &view_awaited, public_id, &row, error));
    return read_view(row, ret, error);
}

static const Columns awaited_columns =
    COLUMNS(ViewRow, PROMISE_COLUMNS(ViewRow, view.promise.) COLUMN(ViewRow, step),
            COLUMN(ViewRow, state), COLUMN_TIME(ViewRow, view.opened_at));

Err delivery_awaited(Db *db, Arena *arena, Str public_id, Awaited *ret, Error *error)
{
    const Value *at;
    ViewRow row = { 0 };
    DeliveryState state;
    TRY(ask_awaited(db, arena, &awaited, public_id, &at, error));
    columns_read(&awaited_columns, at, &row);
    TRY(read_state(&row, &state, error));
    *ret = (Awaited){ row.view.promise, state, row.view.opened_at };
    return ERR_OK;
}

// FilterArgs are the parameters of a walk.
typedef struct FilterArgs {
    IdBounds bounds; // first: a walk narrows them
    int64_t rule;    // 0: any
    Str channel;
    const Uuid *event;
    Str entity, words;
    Instant triggered_from, triggered_to;
    Str site;
    int state; // -1: any
    Instant stuck_before;
    int64_t cause;
} FilterArgs;

_Static_assert(offsetof(FilterArgs, bounds) == 0, "a walk finds its bounds there");

#define FILTER_COLUMNS                                                                             \
    ID_BOUNDS_COLUMNS(FilterArgs, bounds), COLUMN_SOME(FilterArgs, rule),                          \
        COLUMN(FilterArgs, channel), COLUMN(FilterArgs, event), COLUMN(FilterArgs, entity),        \
        COLUMN(FilterArgs, words), COLUMN_SOME(FilterArgs, triggered_from),                        \
        COLUMN_TIME(FilterArgs, triggered_to), COLUMN(FilterArgs, site)
static const Columns filter_columns = COLUMNS(FilterArgs, FILTER_COLUMNS, COLUMN(FilterArgs, state),
                                              COLUMN_TIME(FilterArgs, stuck_before));
static const Columns of_cause_columns =
    COLUMNS(FilterArgs, FILTER_COLUMNS, COLUMN(FilterArgs, cause), COLUMN(FilterArgs, state));
static const Columns cause_columns =
    COLUMNS(FilterArgs, ID_BOUNDS_COLUMNS(FilterArgs, bounds), COLUMN(FilterArgs, cause));
static const Columns trigger_columns =
    COLUMNS(FilterArgs, ID_BOUNDS_COLUMNS(FilterArgs, bounds), COLUMN_SOME(FilterArgs, rule));
static const Columns entity_columns =
    COLUMNS(FilterArgs, ID_BOUNDS_COLUMNS(FilterArgs, bounds), COLUMN(FilterArgs, entity));

static const IdSource all_source = { &all_edge, &all_find, &filter_columns, &filter_columns };
static const IdSource rule_source = { &rule_edge, &rule_find, &trigger_columns, &filter_columns };
static const IdSource entity_source = { &entity_edge, &entity_find, &entity_columns,
                                        &filter_columns };
static const IdSource live_source = { &live_edge, &live_find, &filter_columns, &filter_columns };
static const IdSource ended_source = { &ended_edge, &ended_find, &filter_columns, &filter_columns };
static const IdSource parked_source = { &parked_edge, &parked_find, &filter_columns,
                                        &filter_columns };
static const IdSource live_up = { &live_up_edge, &live_up_find, &filter_columns, &filter_columns };
static const IdSource parked_up = { &parked_up_edge, &parked_up_find, &filter_columns,
                                    &filter_columns };
static const IdSource live_cause_source = { &live_cause_edge, &live_cause_find, &cause_columns,
                                            &of_cause_columns };
static const IdSource live_cause_up = { &live_cause_up_edge, &live_cause_up_find, &cause_columns,
                                        &of_cause_columns };
static const IdSource parked_cause_source = { &parked_cause_edge, &parked_cause_find,
                                              &cause_columns, &of_cause_columns };
static const IdSource parked_cause_up = { &parked_cause_up_edge, &parked_cause_up_find,
                                          &cause_columns, &of_cause_columns };

static bool has_rule(const DeliveryFilter *filter)
{
    return filter->trigger.at || filter->list.at || filter->job.at;
}

// find_rule is what the filter says of the rule, as a walk takes it; 0: nothing.
static Err find_rule(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                     int64_t *ret, Error *error)
{
    const struct {
        Str id;
        RuleKind kind;
    } names[] = { { filter->trigger, RULE_TRIGGER },
                  { filter->list, RULE_NOTIFY },
                  { filter->job, RULE_JOB } };
    int64_t given = 0;
    *ret = filter->is_to_list ? RULES_OF(RULE_NOTIFY) : filter->is_run ? RULES_OF(RULE_JOB) : 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!names[i].id.at)
            continue;
        TRY(rule_number(db, arena, tenant, names[i].kind, names[i].id, ret, error));
        given++;
    }
    if (given > 1 || (given == 1 && *ret == 0))
        *ret = -1; // no rule is both
    return ERR_OK;
}

static Err filter_args(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                       FilterArgs *ret, Error *error)
{
    int64_t cause = 0, rule; // the cause is one that there is not
    (void) cause_parse(filter->cause, &cause);
    TRY(find_rule(db, arena, tenant, filter, &rule, error));
    *ret = (FilterArgs){
        .bounds.tenant = tenant,
        .rule = rule,
        .channel = filter->channel,
        .event = filter->has_event ? &filter->event : NULL,
        .entity = filter->entity,
        .words = walk_words(arena, filter->q),
        .triggered_from = filter->from,
        .triggered_to = filter->to,
        .site = filter->site,
        .state = filter->has_state ? (int) filter->state : -1,
        .stuck_before = filter->stuck_before,
        .cause = cause,
    };
    return ERR_OK;
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

static bool is_for_queue(const DeliveryFilter *filter)
{
    return filter->is_live || filter->stuck_before != INSTANT_NONE ||
           (filter->has_state && delivery_is_live(filter->state));
}

static bool is_for_parked(const DeliveryFilter *filter)
{
    return filter->has_state && filter->state == DELIVERY_PARKED && !is_for_queue(filter);
}

// source_of picks the walk that meets the fewest rows: an entity has few, most deliveries are
// neither live nor parked.
static const IdSource *source_of(const DeliveryFilter *filter)
{
    bool is_whole = filter->is_live || filter->stuck_before != INSTANT_NONE;
    if (filter->cause.at)
        return is_for_queue(filter) ? &live_cause_source : &parked_cause_source;
    if (filter->entity.at && !is_whole)
        return &entity_source;
    if (is_for_queue(filter))
        return &live_source;
    if (is_for_parked(filter))
        return &parked_source;
    if (has_rule(filter))
        return &rule_source;
    return filter->has_state ? &ended_source : &all_source;
}

// cost_of is what the filter asks beyond the source's index. The queue and the ended have rule,
// lane and state in the rows that are walked along; an index of the others only points to them.
// What from and to leave out of their range of ids is little.
static WalkCost cost_of(const DeliveryFilter *filter, const IdSource *source)
{
    bool is_row = source == &all_source;
    bool is_state = source == &live_source || source == &live_up || source == &ended_source;
    bool is_parked = source == &parked_source || source == &parked_up ||
                     source == &parked_cause_source || source == &parked_cause_up;
    bool asks_promise = filter->q.at || (filter->entity.at && source != &entity_source);
    bool asks_rule = filter->channel.at || filter->site.at || filter->is_to_list ||
                     filter->is_run || (has_rule(filter) && source != &rule_source);
    bool asks_state = (filter->has_state && !is_parked) || filter->stuck_before != INSTANT_NONE;
    bool has_times = filter->from > 0 || filter->to != INSTANT_NONE;
    if (!asks_promise && !asks_rule && !asks_state)
        return WALK_DENSE;
    if (is_row || (is_state && !asks_promise && !has_times && !filter->has_event))
        return WALK_NEAR;
    return WALK_FAR;
}

// fits_still asks again of what was read after the walk had met it: it may have moved on.
static bool fits_still(const DeliveryFilter *filter, const DeliveryView *view)
{
    return (!filter->has_state || view->state == filter->state) &&
           (!is_for_queue(filter) || delivery_is_live(view->state)) &&
           (!filter->fits || filter->fits(view, filter->fits_with));
}

// PageRead is what a page found so far.
typedef struct PageRead {
    DeliveryView *views; // up to the walk's limit
    size_t count;
    Seen seen;
} PageRead;

// read_part reads up to the walk's limit of what the index tells, and keeps what fits.
static Err read_part(Db *db, Arena *arena, const DeliveryFilter *filter, const Walk *walk,
                     FilterArgs args, PageRead *read, Error *error)
{
    IdsSeen found;
    Rows rows;
    size_t before = read->count;
    const IdSource *source = source_of(filter);
    TRY(walk_after(walk, true, &args.bounds.from, error));
    TRY(walk_ids(db, arena, source, cost_of(filter, source), walk, &args.bounds, &found, error));
    TRY(walk_rows(db, arena, &view_many, args.bounds.tenant, &found, &rows, error));
    for (size_t i = 0; i < rows.count; i++) {
        TRY(read_view(rows_at(&rows, i), &read->views[read->count], error));
        read->count += fits_still(filter, &read->views[read->count]);
    }
    read->seen =
        walk_seen(arena, &found, walk_taken(&found, &rows, ID_COLUMN), read->count - before, walk);
    return ERR_OK;
}

// What only fits() can tell is looked for in a few parts, so that a page is not as rare as what it
// looks for; each is no longer than what the page still holds.
Err delivery_page(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                  const Walk *walk, DeliveryView **ret, Seen *ret_seen, Error *error)
{
    enum { PARTS_MAX = 10 };
    IdRange range = range_of(filter);
    Walk part = *walk;
    PageRead read = { .views = ARENA_ARRAY(arena, DeliveryView, (size_t) walk->limit + 1) };
    FilterArgs args;
    TRY(filter_args(db, arena, tenant, filter, &args, error));
    args.bounds.from = range.last;
    args.bounds.to = range.first;
    for (int i = 0; i == 0 || (filter->fits && i < PARTS_MAX && read.seen.has_more); i++) {
        TRY(read_part(db, arena, filter, &part, args, &read, error));
        if (read.count == (size_t) walk->limit)
            break;
        part.after = read.seen.next;
        part.limit = walk->limit - (int64_t) read.count;
    }
    *ret = read.views;
    *ret_seen = read.seen;
    ret_seen->count = read.count;
    ret_seen->is_cut = read.seen.has_more && read.count < (size_t) walk->limit;
    return ERR_OK;
}

Err delivery_views(Db *db, Arena *arena, int64_t tenant, Uuid *ids, size_t count,
                   DeliveryView **ret, size_t *ret_count, bool *ret_cut, Error *error)
{
    Rows rows = { 0 };
    TRY(walk_rows(db, arena, &view_many, tenant, &(IdsSeen){ .ids = ids, .count = count }, &rows,
                  error));
    *ret = ARENA_ARRAY(arena, DeliveryView, rows.count + 1);
    *ret_count = rows.count;
    *ret_cut = rows.is_cut && count > 1;
    for (size_t i = 0; i < rows.count; i++)
        TRY(read_view(rows_at(&rows, i), &(*ret)[i], error));
    return ERR_OK;
}

Err delivery_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, unsigned after,
                      int64_t limit, DeliveryView **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    Uuid from = event, last = delivery_id_of(event, UINT16_MAX);
    from.b[14] = (uint8_t) (after >> 8);
    from.b[15] = (uint8_t) after;
    Value args[] = { value_i64(tenant), value_uuid(&event), value_uuid(&from), value_uuid(&last),
                     value_i64(limit) };
    TRY(db_query(db, arena, &view_of_event, args, &rows, error));
    *ret = ARENA_ARRAY(arena, DeliveryView, rows.count + 1);
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        TRY(read_view(rows_at(&rows, i), &(*ret)[i], error));
    return ERR_OK;
}

Err delivery_rules_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, int64_t **ret,
                            size_t *ret_count, Error *error)
{
    Rows rows;
    Uuid first = delivery_id_of(event, 1), last = delivery_id_of(event, UINT16_MAX);
    Value args[] = { value_i64(tenant), value_uuid(&first), value_uuid(&last) };
    TRY(db_query(db, arena, &rules_of_event, args, &rows, error));
    *ret = ARENA_ARRAY(arena, int64_t, rows.count + 1);
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count; i++)
        (*ret)[i] = value_to_i64(rows_at(&rows, i));
    return ERR_OK;
}

static int order_ids(const void *left, const void *right)
{
    return uuid_cmp(*(const Uuid *) left, *(const Uuid *) right);
}

static Uuid uuid_before(Uuid id)
{
    for (size_t i = sizeof id.b; i-- > 0 && id.b[i]-- == 0;)
        ;
    return id;
}

// walk_named walks along the ids that the filter names instead of an index: each is asked for alone
// and all of them together, so that what else the filter says is asked of it as of any other.
static Err walk_named(Db *db, Arena *arena, const IdSource *source, const DeliveryFilter *filter,
                      const FilterArgs *args, const Walk *walk, IdsSeen *ret, Error *error)
{
    size_t limit = (size_t) walk->limit, asked = 0, at = 0;
    Rows *rows = ARENA_ARRAY(arena, Rows, filter->id_count + 1);
    FilterArgs *each = ARENA_ARRAY(arena, FilterArgs, filter->id_count + 1);
    Uuid *ids = arena_copy(arena, filter->ids, filter->id_count * sizeof *ids);
    qsort(ids, filter->id_count, sizeof *ids, order_ids);
    for (; at < filter->id_count && asked < limit; at++) {
        bool is_again = at > 0 && uuid_cmp(ids[at - 1], ids[at]) == 0;
        if (is_again || uuid_cmp(ids[at], args->bounds.from) <= 0 ||
            uuid_cmp(ids[at], args->bounds.to) > 0)
            continue;
        each[asked] = *args;
        each[asked].bounds.from = uuid_before(ids[at]);
        each[asked].bounds.to = ids[at];
        each[asked].bounds.limit = 1;
        db_send_row(db, arena, source->find, source->find_columns, &each[asked], &rows[asked]);
        asked++;
    }
    TRY(db_sync(db, error));
    *ret = (IdsSeen){ .ids = ARENA_ARRAY(arena, Uuid, asked + 1),
                      .has_more =
                          at<filter->id_count, .next = at> 0 ? ids[at - 1] : args->bounds.from };
    for (size_t i = 0; i < asked; i++)
        if (rows[i].count > 0)
            ret->ids[ret->count++] = each[i].bounds.to;
    return ERR_OK;
}

Err delivery_walk(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter, Uuid until,
                  const Walk *walk, IdsSeen *ret, Error *error)
{
    assert(is_for_queue(filter) || is_for_parked(filter));
    IdRange range = range_of(filter);
    const IdSource *source = is_for_queue(filter) ? &live_up : &parked_up;
    if (filter->cause.at)
        source = is_for_queue(filter) ? &live_cause_up : &parked_cause_up;
    FilterArgs args;
    TRY(filter_args(db, arena, tenant, filter, &args, error));
    args.bounds.from = range.first;
    // The first of an event's own range is met by what lies just before it: the event's 15th and
    // 16th byte as 0.
    if (filter->has_event)
        args.bounds.from.b[14] = args.bounds.from.b[15] = 0;
    args.bounds.to = uuid_cmp(until, range.last) < 0 ? until : range.last;
    TRY(walk_after(walk, false, &args.bounds.from, error));
    if (filter->id_count > 0)
        return walk_named(db, arena, source, filter, &args, walk, ret, error);
    return walk_ids(db, arena, source, cost_of(filter, source), walk, &args.bounds, ret, error);
}
