#include "store/queue.h"

#include "base/log.h"
#include "domain/cause.h"
#include "domain/told.h"

// Numbers in the SQL below are domain/delivery.h's: states 1 sending, 2 retrying; steps 1 send, 2
// lease, 3 expire.
_Static_assert(DELIVERY_SENDING == 1 && DELIVERY_RETRYING == 2, "the SQL names states by number");
_Static_assert(STEP_SEND == 1 && STEP_LEASE == 2 && STEP_EXPIRE == 3,
               "the SQL names steps by number");

#define QUEUE_NAMES QUEUE_COLUMNS("")
static const Statement insert = {
    .name = "queue_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiiiiiii",
    .many = true,
    .sql = "INSERT INTO queue (" QUEUE_NAMES ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
           " $11, $12, $13, $14, $15, $16, $17, $18)",
    .postgres = "INSERT INTO queue (" QUEUE_NAMES ") SELECT * FROM unnest($1, $2, $3, $4, $5, $6,"
                " $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
};

// What a settle expects to find, in the queue and in `ended`; $1 to $5 in every statement of its.
#define GUARD "tenant = $1 AND id = $2 AND state = $3 AND fence = $4"
#define GUARD_LEASE " AND COALESCE(holder, 0) = $5"
#define GUARD_NAMES "tenant, id, state, fence, holder"
#define GUARD_MANY(t)                                                                              \
    t ".tenant = s.tenant AND " t ".id = s.id AND " t ".state = s.state AND " t ".fence = s.fence"
#define GUARD_LEASE_MANY(t) " AND COALESCE(" t ".holder, 0) = s.holder"

static const Statement settle_end = {
    .name = "queue_settle_end",
    .scope = STATEMENT_TENANT,
    .params = "iuiii",
    .many = true,
    .sql = "DELETE FROM queue WHERE " GUARD GUARD_LEASE,
    .postgres = "DELETE FROM queue q USING unnest($1, $2, $3, $4, $5) AS s (" GUARD_NAMES ")"
                " WHERE " GUARD_MANY("q") GUARD_LEASE_MANY("q"),
};
// A claim that is given back leaves the cause as it was: nothing was tried.
enum { CAUSE_AS_IT_WAS = -1 };
#define CAUSE(row, given)                                                                          \
    "CASE WHEN " given " < 0 THEN " row ".cause WHEN " given " > 0 THEN " given " END"
// That somebody looked stays noted: whoever settles may have read the row before.
static const Statement settle_live = {
    .name = "queue_settle_live",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiiiiiiiii",
    .many = true,
    .sql = "UPDATE queue SET state = $6, step = $7, due_at = $8, attempt = $9, failures = $10,"
           " send = $11, reminders_left = $12, first_due_at = $13, last_sent_at = $14,"
           " opened_at = COALESCE(opened_at, $15), started_at = $16, lease_until = $17,"
           " holder = CASE WHEN $6 = 1 THEN $18 END, cause = " CAUSE(
               "queue", "$19") ", lane = $20 WHERE " GUARD GUARD_LEASE,
    .postgres =
        "UPDATE queue q SET state = s.new_state, step = s.step, due_at = s.due_at,"
        " attempt = s.attempt, failures = s.failures, send = s.send,"
        " reminders_left = s.reminders_left, first_due_at = s.first_due_at,"
        " last_sent_at = s.last_sent_at, opened_at = COALESCE(q.opened_at, s.opened_at),"
        " started_at = s.started_at, lease_until = s.lease_until,"
        " holder = CASE WHEN s.new_state = 1 THEN s.new_holder END,"
        " cause = " CAUSE(
            "q",
            "s.cause") ", lane = s.lane FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, "
                       "$12,"
                       " $13, $14, $15, $16, $17, $18, $19, $20) AS s (" GUARD_NAMES
                       ", new_state, step, due_at, attempt, failures,"
                       " send, reminders_left, first_due_at, last_sent_at, opened_at, started_at,"
                       " lease_until, new_holder, cause, lane)"
                       " WHERE " GUARD_MANY("q") GUARD_LEASE_MANY("q"),
};
// A row that is there already belongs to a delivery that ended meanwhile, or an attempt that was
// recorded: the insert clashes, and the batch is replayed with care. Rows that are in nobody's way,
// which is nearly all, are not looked for first.
#define ENDED_NAMES                                                                                \
    "tenant, id, lane, rule, site, bytes, state, reason, ended_at, fence, attempt, failures, "     \
    "send, reminders_left, first_due_at, last_sent_at, opened_at, expires_at, note, started_at,"   \
    " finished_at, verdict, tried_reason, code, provider_id, detail, node, is_captured"

static const Statement ended_insert = {
    .name = "ended_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiiiiiiitiiiiittii",
    .many = true,
    .sql = "INSERT INTO ended (" ENDED_NAMES ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
           " $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27,"
           " $28)",
    .postgres = "INSERT INTO ended (" ENDED_NAMES ") SELECT * FROM unnest($1, $2, $3, $4, $5, $6,"
                " $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,"
                " $23, $24, $25, $26, $27, $28)",
};
// What is parked has a cause besides.
static const Statement ended_park = {
    .name = "ended_park",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiiiiiiitiiiiittiii",
    .many = true,
    .sql = "INSERT INTO ended (" ENDED_NAMES ", cause) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
           " $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,"
           " $27, $28, $29)",
    .postgres =
        "INSERT INTO ended (" ENDED_NAMES ", cause) SELECT * FROM unnest($1, $2, $3, $4, $5,"
        " $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,"
        " $23, $24, $25, $26, $27, $28, $29)",
};
static const Statement ended_change = {
    .name = "ended_change",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiit",
    .many = true,
    .sql = "UPDATE ended SET state = $5, reason = $6, ended_at = $7, expires_at = NULL, note = $8"
           " WHERE " GUARD,
    .postgres = "UPDATE ended n SET state = s.new_state, reason = s.reason, ended_at = s.ended_at,"
                " expires_at = NULL, note = s.note"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) AS s"
                " (tenant, id, state, fence, new_state, reason, ended_at, note)"
                " WHERE " GUARD_MANY("n"),
};
static const Statement ended_delete = {
    .name = "ended_delete",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = "DELETE FROM ended WHERE " GUARD,
    .postgres = "DELETE FROM ended n USING unnest($1, $2, $3, $4) AS s (tenant, id, state, fence)"
                " WHERE " GUARD_MANY("n"),
};
#define ATTEMPT_NAMES                                                                              \
    "tenant, delivery, number, send, started_at, finished_at, verdict, reason, code, provider_id," \
    " detail, node, is_captured"

static const Statement attempt_insert = {
    .name = "attempt_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiittii",
    .many = true,
    .sql = "INSERT INTO attempt (" ATTEMPT_NAMES ")"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    .postgres = "INSERT INTO attempt (" ATTEMPT_NAMES ") SELECT * FROM"
                " unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
};
// attempt_note is the careful insert: what was told first of an attempt stays, wherever it stands;
// and of a delivery that is purged by now nothing is left.
static const Statement attempt_note = {
    .name = "attempt_note",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiittii",
    .sql = "INSERT INTO attempt (" ATTEMPT_NAMES ")"
           " SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13"
           " WHERE NOT EXISTS (SELECT 1 FROM attempt"
           "  WHERE tenant = $1 AND delivery = $2 AND number = $3)"
           " AND NOT EXISTS (SELECT 1 FROM ended"
           "  WHERE tenant = $1 AND id = $2 AND attempt = $3 AND verdict IS NOT NULL)"
           " AND EXISTS (SELECT 1 FROM delivery WHERE tenant = $1 AND id = $2)",
};
#define CALLED_OFF_UNDER_WAY                                                                       \
    " WHERE tenant = $1 AND id = $2 AND ($3 = 0 OR fence = $3)"                                    \
    " AND ($4 = 0 OR attempt = $4) AND verdict = 3 AND tried_reason = 17"

// ended_tell is for an attempt that was called off while it was under way: nobody knew then what
// became of it, and whoever made it tells; the clock may have been put back since.
static const Statement ended_tell = {
    .name = "ended_tell",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiitti",
    .sql = "UPDATE ended SET"
           " finished_at = CASE WHEN started_at > $5 THEN started_at ELSE $5 END,"
           " verdict = $6, tried_reason = $7, code = $8,"
           " provider_id = $9, detail = $10, is_captured = $11" CALLED_OFF_UNDER_WAY,
};
// ended_untry is for one that was called off while it was claimed and had not begun: nothing was
// sent, so there is no attempt.
static const Statement ended_untry = {
    .name = "ended_untry",
    .scope = STATEMENT_TENANT,
    .params = "iuiiii",
    .sql = "UPDATE ended SET attempt = $5, send = $6, started_at = NULL, finished_at = NULL,"
           " verdict = NULL, tried_reason = NULL, node = NULL,"
           " is_captured = NULL" CALLED_OFF_UNDER_WAY,
};
_Static_assert(VERDICT_UNKNOWN == 3 && REASON_CALLED_OFF == 17, "the SQL names them by number");

// attempt_keep moves the attempt that ended a delivery to where it stays when that is revived.
#define ENDED_ATTEMPT                                                                              \
    "INSERT INTO attempt (" ATTEMPT_NAMES ") SELECT n.tenant, n.id, n.attempt, n.send,"            \
    " n.started_at, n.finished_at, n.verdict, n.tried_reason, n.code, n.provider_id, n.detail,"    \
    " n.node, n.is_captured FROM ended n"
#define ENDED_ATTEMPT_IS_NEW                                                                       \
    " n.verdict IS NOT NULL AND NOT EXISTS (SELECT 1 FROM attempt a"                               \
    " WHERE a.tenant = n.tenant AND a.delivery = n.id AND a.number = n.attempt)"

static const Statement attempt_keep = {
    .name = "attempt_keep",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = ENDED_ATTEMPT " WHERE " GUARD " AND" ENDED_ATTEMPT_IS_NEW,
    .postgres =
        ENDED_ATTEMPT " JOIN unnest($1, $2, $3, $4) AS s (tenant, id, state, fence)"
                      " ON " GUARD_MANY("n") " WHERE" ENDED_ATTEMPT_IS_NEW " FOR UPDATE OF n",
};
// A lease never shortens, even where the clock was set back.
static const Statement renew = {
    .name = "queue_renew",
    .scope = STATEMENT_TENANT,
    .params = "iuiiii",
    .many = true,
    .sql = "UPDATE queue SET lease_until = MAX(lease_until, $6) WHERE " GUARD GUARD_LEASE
           " RETURNING id",
    .postgres = "UPDATE queue q SET lease_until = GREATEST(q.lease_until, s.lease_until)"
                " FROM unnest($1, $2, $3, $4, $5, $6) AS s (" GUARD_NAMES ", lease_until)"
                " WHERE " GUARD_MANY("q") GUARD_LEASE_MANY("q") " RETURNING q.id",
};

// Where there is one writer, nobody waits for another.
static const Statement lock = {
    .name = "queue_lock",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = "SELECT 1 FROM queue WHERE tenant = $1 AND id = $2",
    .postgres = "SELECT 1 FROM unnest($1, $2) AS s (tenant, id)"
                " JOIN queue q ON q.tenant = s.tenant AND q.id = s.id"
                " ORDER BY q.tenant, q.id FOR UPDATE OF q",
};

static const Statement open_it = {
    .name = "queue_open",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "UPDATE queue SET opened_at = $3"
           " WHERE tenant = $1 AND id = $2 AND opened_at IS NULL",
    .postgres = "UPDATE queue q SET opened_at = s.opened_at"
                " FROM unnest($1, $2, $3) AS s (tenant, id, opened_at)"
                " WHERE q.tenant = s.tenant AND q.id = s.id AND q.opened_at IS NULL",
};

const Statement *const queue_statements[] = {
    &insert,       &settle_end,     &settle_live,  &ended_insert, &ended_park,  &ended_change,
    &ended_delete, &attempt_insert, &attempt_note, &ended_tell,   &ended_untry, &attempt_keep,
    &renew,        &lock,           &open_it,      NULL,
};

const Columns queue_columns =
    COLUMNS(QueueRow, COLUMN(QueueRow, tenant), COLUMN(QueueRow, id), COLUMN(QueueRow, lane),
            COLUMN(QueueRow, rule), COLUMN(QueueRow, site), COLUMN(QueueRow, bytes),
            LIVE_FIELDS(LIVE_COLUMN_, QueueRow, live));
const Columns standing_columns =
    COLUMNS(QueueRow, COLUMN(QueueRow, tenant), COLUMN(QueueRow, id), COLUMN(QueueRow, lane),
            COLUMN(QueueRow, rule), COLUMN(QueueRow, site), COLUMN(QueueRow, bytes),
            LIVE_FIELDS(LIVE_COLUMN_, QueueRow, live) COLUMN_TIME(QueueRow, live.started_at),
            COLUMN_TIME(QueueRow, live.lease_until), COLUMN(QueueRow, live.holder));

static const Columns origin_columns = COLUMNS(
    Origin, COLUMN(Origin, source), COLUMN(Origin, received_at), COLUMN(Origin, occurred_at));

void origin_read(const Value *at, Origin *ret)
{
    columns_read(&origin_columns, at, ret);
}

void queue_mend(QueueRow *row)
{
    char id[UUID_TEXT_LEN + 1];
    row->stored_state = (int) row->live.state;
    row->is_unsound = !live_is_sound(&row->live);
    if (!row->is_unsound)
        return;
    log_error("queue.unreadable", "delivery=%.*s state=%d step=%d attempt=%d send=%d",
              STR_ARG(uuid_text(row->id, id)), (int) row->live.state, (int) row->live.step,
              row->live.attempt, row->live.send);
    row->live = live_mended(&row->live);
}

void queue_read(const Value *at, QueueRow *ret)
{
    *ret = (QueueRow){ 0 };
    columns_read(&standing_columns, at, ret);
    queue_mend(ret);
}

void ended_read(const Value *at, QueueRow *ret)
{
    char id[UUID_TEXT_LEN + 1];
    *ret = (QueueRow){ 0 };
    columns_read(&standing_columns, at, ret);
    ret->stored_state = (int) ret->live.state;
    ret->is_unsound = !ended_is_sound(&ret->live);
    if (!ret->is_unsound)
        return;
    log_error("ended.unreadable", "delivery=%.*s state=%d attempt=%d send=%d",
              STR_ARG(uuid_text(ret->id, id)), ret->stored_state, ret->live.attempt,
              ret->live.send);
    ret->live = parked_mended(&ret->live);
}

void queue_insert(Tx *tx, const QueueRow *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &insert, &queue_columns, rows, count, NULL);
    for (size_t i = 0; i < count; i++)
        tx_move(tx, &(Move){ .tenant = rows[i].tenant,
                             .lane = rows[i].lane,
                             .rule = rows[i].rule,
                             .site = rows[i].site,
                             .delivery = rows[i].id,
                             .from = MOVE_NOWHERE,
                             .to = rows[i].live.state,
                             .attempt = rows[i].live.attempt,
                             .due_at = rows[i].live.first_due_at }); // due_at may be a place
}

#define SETTLE_GUARD                                                                               \
    COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, stored_state), COLUMN(Settle, fence)

static const Columns end_columns = COLUMNS(Settle, SETTLE_GUARD, COLUMN(Settle, holder));
static const Columns live_columns = COLUMNS(
    Settle, SETTLE_GUARD, COLUMN(Settle, holder), COLUMN(Settle, to.live.state),
    COLUMN(Settle, to.live.step), COLUMN(Settle, to.live.due_at), COLUMN(Settle, to.live.attempt),
    COLUMN(Settle, to.live.failures), COLUMN(Settle, to.live.send),
    COLUMN(Settle, to.live.reminders_left), COLUMN(Settle, to.live.first_due_at),
    COLUMN_TIME(Settle, to.live.last_sent_at), COLUMN_TIME(Settle, to.live.opened_at),
    COLUMN_TIME(Settle, to.live.started_at), COLUMN_TIME(Settle, to.live.lease_until),
    COLUMN(Settle, to.live.holder), COLUMN(Settle, cause), COLUMN(Settle, lane));
static const Columns parked_columns = COLUMNS(Settle, SETTLE_GUARD);
static const Columns change_columns =
    COLUMNS(Settle, SETTLE_GUARD, COLUMN(Settle, to.live.state), COLUMN(Settle, to.reason),
            COLUMN(Settle, at), COLUMN(Settle, note));
static const Columns revived_columns = COLUMNS(
    Settle, COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, lane), COLUMN(Settle, rule),
    COLUMN(Settle, site), COLUMN(Settle, bytes), LIVE_FIELDS(LIVE_COLUMN_, Settle, to.live));
#define ENDED_FIELDS                                                                               \
    COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, lane), COLUMN(Settle, rule),        \
        COLUMN(Settle, site), COLUMN(Settle, bytes), COLUMN(Settle, to.live.state),                \
        COLUMN(Settle, to.reason), COLUMN(Settle, at), COLUMN(Settle, to.live.fence),              \
        COLUMN(Settle, to.live.attempt), COLUMN(Settle, to.live.failures),                         \
        COLUMN(Settle, to.live.send), COLUMN(Settle, to.live.reminders_left),                      \
        COLUMN(Settle, to.live.first_due_at), COLUMN_TIME(Settle, to.live.last_sent_at),           \
        COLUMN_TIME(Settle, to.live.opened_at), COLUMN_TIME(Settle, to.expires_at),                \
        COLUMN(Settle, note), COLUMN_IF(Settle, has_attempt, attempt.started_at),                  \
        COLUMN_IF(Settle, has_attempt, attempt.finished_at),                                       \
        COLUMN_IF(Settle, has_attempt, attempt.outcome.verdict),                                   \
        COLUMN_IF(Settle, has_attempt, attempt.outcome.reason),                                    \
        COLUMN_SOME(Settle, attempt.outcome.code), COLUMN(Settle, attempt.outcome.provider_id),    \
        COLUMN(Settle, attempt.outcome.detail), COLUMN_SOME(Settle, attempt.node),                 \
        COLUMN_IF(Settle, has_attempt, attempt.outcome.is_captured)
static const Columns ended_columns = COLUMNS(Settle, ENDED_FIELDS);
static const Columns park_columns = COLUMNS(Settle, ENDED_FIELDS, COLUMN(Settle, cause));
static const Columns tell_columns =
    COLUMNS(Settle, COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, fence),
            COLUMN(Settle, attempt.number), COLUMN(Settle, attempt.finished_at),
            COLUMN(Settle, attempt.outcome.verdict), COLUMN(Settle, attempt.outcome.reason),
            COLUMN_SOME(Settle, attempt.outcome.code), COLUMN(Settle, attempt.outcome.provider_id),
            COLUMN(Settle, attempt.outcome.detail), COLUMN(Settle, attempt.outcome.is_captured));
static const Columns untry_columns = COLUMNS(
    Settle, COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, fence),
    COLUMN(Settle, attempt.number), COLUMN(Settle, to.live.attempt), COLUMN(Settle, to.live.send));
static const Columns attempt_columns =
    COLUMNS(Settle, COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, attempt.number),
            COLUMN(Settle, attempt.send), COLUMN(Settle, attempt.started_at),
            COLUMN(Settle, attempt.finished_at), COLUMN(Settle, attempt.outcome.verdict),
            COLUMN(Settle, attempt.outcome.reason), COLUMN_SOME(Settle, attempt.outcome.code),
            COLUMN(Settle, attempt.outcome.provider_id), COLUMN(Settle, attempt.outcome.detail),
            COLUMN_SOME(Settle, attempt.node), COLUMN(Settle, attempt.outcome.is_captured));

// Passage is how a delivery moves from one table (live or ended) to one of them. The guarded
// statement leaves the row or changes it, and tells whether it was where it was thought to be; the
// other, if there is one, enters what follows from that. What must be kept of the row is taken
// before, under the same guard.
typedef struct Passage {
    const Statement *keep;
    const Statement *leave;
    const Columns *guard;
    const Statement *enter;
    const Columns *entered;
    const Statement *park; // instead of enter, for what is parked
} Passage;

static const Passage passages[2][2] = {
    // from a live state, to a live state
    [true][true] = { NULL, &settle_live, &live_columns, NULL, NULL },
    [true][false] = { NULL, &settle_end, &end_columns, &ended_insert, &ended_columns, &ended_park },
    [false][false] = { NULL, &ended_change, &change_columns, NULL, NULL },
    [false][true] = { &attempt_keep, &ended_delete, &parked_columns, &insert, &revived_columns },
};

static bool goes(const Settle *settle, int from, int to)
{
    return delivery_is_live(settle->was) == from && delivery_is_live(settle->to.live.state) == to;
}

Settle settle_from(const QueueRow *row, Settlement to)
{
    return (Settle){ .tenant = row->tenant,
                     .lane = row->lane,
                     .rule = row->rule,
                     .site = row->site,
                     .bytes = row->bytes,
                     .is_run = row->is_run,
                     .id = row->id,
                     .first_due_at = row->live.first_due_at,
                     .was = row->live.state,
                     .stored_state = row->is_unsound ? row->stored_state : (int) row->live.state,
                     .fence = row->live.fence,
                     .holder = row->live.holder,
                     .to = to,
                     .attempt.number = row->live.attempt };
}

Settle settle_tried(const QueueRow *row, Settlement to, const Outcome *outcome, Instant now)
{
    assert(row->live.state == DELIVERY_SENDING);
    Settle settle = settle_from(row, to);
    settle.has_attempt = true;
    settle.attempt = (AttemptRow){ .number = row->live.attempt,
                                   .send = row->live.send,
                                   .started_at = row->live.started_at,
                                   // The clock may have been put back since.
                                   .finished_at = later(now, row->live.started_at),
                                   .outcome = *outcome,
                                   .node = row->live.holder };
    return settle;
}

Settle settle_called_off(const QueueRow *row, Settlement to, Instant now)
{
    static const Outcome outcome = { .verdict = VERDICT_UNKNOWN, .reason = REASON_CALLED_OFF };
    if (row->live.state != DELIVERY_SENDING)
        return settle_from(row, to);
    return settle_tried(row, to, &outcome, now);
}

static void settle_trusting(Tx *tx, SettleBatch *batch);
static void send_passage(Tx *tx, SettleBatch *batch, int from, int to);
static void send_attempts(Tx *tx, const SettleBatch *batch);
static void send_targets(Tx *tx, const Settle *settles, size_t count);
static Err settle_carefully(Tx *tx, Settle *settle, Error *error);

// stands_for_its_delivery: number and send of an attempt are those of the row it is written with.
static bool stands_for_its_delivery(const Settle *settle)
{
    return !settle->has_attempt ||
           (settle->was == DELIVERY_SENDING && settle->attempt.number == settle->to.live.attempt &&
            settle->attempt.send == settle->to.live.send);
}

// cause_after is what the delivery fails of from now on: nothing, where it does not.
static int64_t cause_after(Arena *arena, const Settle *settle)
{
    const Outcome *outcome = &settle->attempt.outcome;
    DeliveryState state = settle->to.live.state;
    if (state == DELIVERY_SENDING || (!settle->has_attempt && delivery_is_live(state)))
        return CAUSE_AS_IT_WAS; // what becomes of it is not known, or nothing was tried
    if (state == DELIVERY_RETRYING && settle->to.reason == REASON_NONE)
        return CAUSE_AS_IT_WAS; // it goes on with its next targets
    if (state != DELIVERY_PARKED && state != DELIVERY_RETRYING)
        return 0;
    if (!settle->has_attempt)
        return cause_of(settle->lane, settle->to.reason, 0, STR_NONE);
    int64_t tried_in = settle->from_lane ? settle->from_lane : settle->lane;
    return cause_of(tried_in, outcome->reason, outcome->code, cause_sample(arena, outcome->detail));
}

Err queue_settle(Tx *tx, SettleBatch *batch, Error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        assert(stands_for_its_delivery(&batch->rows[i]));
        batch->rows[i].cause = cause_after(&tx->arena, &batch->rows[i]);
        batch->rows[i].at = tx->now;
        batch->rows[i].is_stale = false;
        if (tx->is_careful)
            TRY(settle_carefully(tx, &batch->rows[i], error));
    }
    if (!tx->is_careful)
        settle_trusting(tx, batch);
    return ERR_OK;
}

// settle_trusting sends everything at once; the counts tell afterwards whether every guard fitted.
static void settle_trusting(Tx *tx, SettleBatch *batch)
{
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++)
            send_passage(tx, batch, from, to);
    send_attempts(tx, batch);
    send_targets(tx, batch->rows, batch->count);
}

// send_entering enters what left; it reorders the rows.
static void send_entering(Tx *tx, const Passage *passage, const void **rows, size_t count)
{
    size_t parked = 0;
    for (size_t i = 0; i < count && passage->park; i++) {
        const Settle *settle = rows[i];
        if (settle->to.live.state != DELIVERY_PARKED)
            continue;
        rows[i] = rows[parked];
        rows[parked++] = settle;
    }
    if (parked > 0)
        db_send_picked(tx->db, &tx->arena, passage->park, &park_columns, rows, parked, NULL);
    if (count > parked && passage->enter)
        db_send_picked(tx->db, &tx->arena, passage->enter, passage->entered, rows + parked,
                       count - parked, NULL);
}

static void send_passage(Tx *tx, SettleBatch *batch, int from, int to)
{
    const Passage *passage = &passages[from][to];
    const void **rows = ARENA_ARRAY(&tx->arena, const void *, batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (goes(&batch->rows[i], from, to))
            rows[count++] = &batch->rows[i];
    batch->asked[from][to] = count;
    if (passage->keep)
        db_send_picked(tx->db, &tx->arena, passage->keep, passage->guard, rows, count, NULL);
    db_send_picked(tx->db, &tx->arena, passage->leave, passage->guard, rows, count,
                   &batch->left[from][to]);
    send_entering(tx, passage, rows, count);
}

// send_attempts records those of deliveries that go on: one that ends a delivery stands there.
static void send_attempts(Tx *tx, const SettleBatch *batch)
{
    const void **rows = ARENA_ARRAY(&tx->arena, const void *, batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->rows[i].has_attempt && goes(&batch->rows[i], true, true))
            rows[count++] = &batch->rows[i];
    db_send_picked(tx->db, &tx->arena, &attempt_insert, &attempt_columns, rows, count, NULL);
}

// send_targets writes what is told of the targets of settles.
static void send_targets(Tx *tx, const Settle *settles, size_t count)
{
    size_t row_count = 0;
    for (size_t i = 0; i < count; i++)
        row_count += settles[i].target_count;
    if (row_count == 0)
        return;
    TargetRow *rows = ARENA_ARRAY(&tx->arena, TargetRow, row_count), *row = rows;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < settles[i].target_count; j++)
            *row++ = (TargetRow){ .tenant = settles[i].tenant,
                                  .delivery = settles[i].id,
                                  .target = settles[i].targets[j],
                                  .round = settles[i].round,
                                  .told_at = settles[i].at };
    target_tell(tx, rows, row_count);
}

// is_undecided: like a claim, to give one back or to leave it with somebody outside decides
// nothing.
static bool is_undecided(const Settle *settle)
{
    return settle->was == DELIVERY_SENDING && !settle->has_attempt &&
           delivery_is_live(settle->to.live.state);
}

// is_handed_over: nothing became of it but that it stands in another lane.
static bool is_handed_over(const Settle *settle)
{
    return settle->from_lane && !settle->has_attempt && delivery_is_live(settle->was) &&
           delivery_is_live(settle->to.live.state);
}

static bool is_release(const Settle *settle)
{
    return is_undecided(settle) && settle->to.live.state != DELIVERY_SENDING;
}

static void send_tell(Tx *tx, const Settle *settle, Rows *ret)
{
    assert(settle->fence || settle->attempt.number);
    db_send_row(tx->db, &tx->arena, &ended_tell, &tell_columns, settle, ret);
}

void queue_tell(Tx *tx, const Settle *settle)
{
    send_tell(tx, settle, NULL);
}

// note_attempt records what is not recorded yet. A stale settle may still tell of the attempt that
// was called off under way (ret_told), or that there was none.
static void note_attempt(Tx *tx, const Settle *settle, Rows *ret_told)
{
    if (settle->is_stale && is_release(settle))
        db_send_row(tx->db, &tx->arena, &ended_untry, &untry_columns, settle, NULL);
    if (!settle->has_attempt)
        return;
    if (settle->is_stale)
        send_tell(tx, settle, ret_told);
    db_send_row(tx->db, &tx->arena, &attempt_note, &attempt_columns, settle, NULL);
}

static Err settle_carefully(Tx *tx, Settle *settle, Error *error)
{
    Rows left, told = { 0 };
    const Passage *passage =
        &passages[delivery_is_live(settle->was)][delivery_is_live(settle->to.live.state)];
    if (passage->keep)
        db_send_rows(tx->db, &tx->arena, passage->keep, passage->guard, settle, 1, NULL);
    db_send_rows(tx->db, &tx->arena, passage->leave, passage->guard, settle, 1, &left);
    TRY(tx_sync(tx, error));
    settle->is_stale = left.changed == 0;
    if (!settle->is_stale) {
        send_entering(tx, passage, (const void *[]){ settle }, 1);
        send_targets(tx, settle, 1);
    }
    note_attempt(tx, settle, &told);
    TRY(tx_sync(tx, error));
    if (told.changed == 0)
        return ERR_OK;
    send_targets(tx, settle, 1); // it was called off under way: who has it has it
    return tx_sync(tx, error);
}

static bool all_fitted(const SettleBatch *batch)
{
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++)
            if (batch->left[from][to].changed != (int64_t) batch->asked[from][to])
                return false;
    return true;
}

// told_by is what an attempt told each of its targets, where they have rows: what these say later
// is not what it told.
static Str told_by(Tx *tx, const Settle *settle)
{
    return settle->has_attempt ? told_pack(&tx->arena, settle->targets, settle->target_count)
                               : STR_NONE;
}

// is_send_over: its attempt was not one of several that a send takes.
static bool is_send_over(const Settle *settle)
{
    bool goes_on = settle->to.live.state == DELIVERY_RETRYING && settle->to.reason == REASON_NONE;
    return settle->has_attempt && !goes_on;
}

static bool is_failure(const Settle *settle)
{
    const Outcome *outcome = &settle->attempt.outcome;
    return is_send_over(settle) && outcome->verdict != VERDICT_DELIVERED &&
           outcome->verdict != VERDICT_ELSEWHERE && outcome->reason != REASON_CALLED_OFF;
}

Err queue_settle_check(Tx *tx, SettleBatch *batch, Error *error)
{
    if (!tx->is_careful && !all_fitted(batch)) {
        tx->was_too_trusting = true;
        return fail(error, ERR_BUSY, "a delivery had moved on");
    }
    for (size_t i = 0; i < batch->count; i++) {
        const Settle *settle = &batch->rows[i];
        const Live *live = &settle->to.live;
        if (settle->is_stale)
            continue;
        tx_move(tx, &(Move){ .tenant = settle->tenant,
                             .lane = settle->lane,
                             .rule = settle->rule,
                             .site = settle->site,
                             .from_lane = settle->from_lane,
                             .delivery = settle->id,
                             .from = settle->was,
                             .to = live->state,
                             .attempt = live->attempt,
                             .reason = settle->to.reason,
                             .due_at = live->step == STEP_SEND ? live->due_at : INSTANT_NONE,
                             .is_delivered = is_send_over(settle) &&
                                             settle->attempt.outcome.verdict == VERDICT_DELIVERED,
                             .took = settle->attempt.finished_at - settle->first_due_at,
                             .is_failed = is_failure(settle),
                             .is_untried = settle->was == DELIVERY_SENDING && !settle->has_attempt,
                             .targets = told_by(tx, settle),
                             .is_quiet = is_undecided(settle) && !settle->from_lane,
                             .is_handed_over = is_handed_over(settle) });
    }
    return ERR_OK;
}

Err queue_settle_now(Tx *tx, SettleBatch *batch, Error *error)
{
    TRY(queue_settle(tx, batch, error));
    TRY(tx_sync(tx, error));
    return queue_settle_check(tx, batch, error);
}

static int by_uuid(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(Uuid));
}

static const Columns renewal_columns =
    COLUMNS(Renewal, COLUMN(Renewal, tenant), COLUMN(Renewal, id), COLUMN(Renewal, state),
            COLUMN(Renewal, fence), COLUMN(Renewal, holder), COLUMN(Renewal, lease_until));

Renewal renewal_of(const Claimed *claimed)
{
    return (Renewal){ .tenant = claimed->promise.tenant,
                      .id = claimed->promise.id,
                      .state = claimed->live.state,
                      .fence = claimed->live.fence,
                      .holder = claimed->live.holder };
}

Err queue_renew(Tx *tx, Renewal *rows, size_t count, Instant lease_until, Error *error)
{
    Rows kept;
    for (size_t i = 0; i < count; i++)
        rows[i].lease_until = lease_until;
    db_send_rows(tx->db, &tx->arena, &renew, &renewal_columns, rows, count, &kept);
    TRY(tx_sync(tx, error));
    Uuid *ours = ARENA_ARRAY(&tx->arena, Uuid, kept.count + 1);
    for (size_t i = 0; i < kept.count; i++)
        ours[i] = value_to_uuid(rows_at(&kept, i));
    qsort(ours, kept.count, sizeof *ours, by_uuid);
    for (size_t i = 0; i < count; i++)
        rows[i].is_lost = !bsearch(&rows[i].id, ours, kept.count, sizeof *ours, by_uuid);
    return ERR_OK;
}

static const Columns opened_columns = COLUMNS(QueueOpened, COLUMN(QueueOpened, tenant),
                                              COLUMN(QueueOpened, id), COLUMN(QueueOpened, at));

static const Columns locked_columns =
    COLUMNS(QueueOpened, COLUMN(QueueOpened, tenant), COLUMN(QueueOpened, id));

void queue_lock(Tx *tx, const QueueOpened *rows, size_t count)
{
    if (db_is_postgres(tx->db))
        db_send_rows(tx->db, &tx->arena, &lock, &locked_columns, rows, count, NULL);
}

void queue_open(Tx *tx, const QueueOpened *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &open_it, &opened_columns, rows, count, NULL);
}
