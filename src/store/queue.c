#include "store/queue.h"

// Numbers in the SQL below are domain/delivery.h's: states 1 sending, 2 retrying, 4 parked; steps
// 1 send, 2 lease, 3 expire.
_Static_assert(DELIVERY_SENDING == 1 && DELIVERY_RETRYING == 2 && DELIVERY_PARKED == 4,
               "the SQL names states by number");
_Static_assert(STEP_SEND == 1 && STEP_LEASE == 2 && STEP_EXPIRE == 3,
               "the SQL names steps by number");

static const Statement insert = {
    .name = "queue_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiii",
    .many = true,
    .sql = "INSERT INTO queue (" QUEUE_COLUMNS(
        "") ")"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    .postgres = "INSERT INTO queue (" QUEUE_COLUMNS(
        "") ") SELECT * FROM"
            " unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
};

// The claim on PostgreSQL is one statement; on SQLite, where nobody else writes, what is picked is
// marked afterwards (claim_mark). Both return the row as it was before; delivery_claim() says what
// it is now.
#define CLAIM_COLUMNS(prefix)                                                                      \
    "SELECT " QUEUE_COLUMNS(prefix) ", d.event, d.public_id, d.trigger_id, d.trigger_version,"     \
                                    " d.address, d.locale, d.customer_ref, e.kind, "               \
                                    "COALESCE(e.occurred_at, e.received_at),"                      \
                                    " e.payload"

static const Statement claim_pick = {
    .name = "queue_claim",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiii",
    .many = true,
    .sql = CLAIM_COLUMNS(
        "q.") " FROM queue q JOIN delivery d ON d.tenant = q.tenant AND d.id = q.id"
              " JOIN event e ON e.tenant = d.tenant AND e.id = d.event"
              " WHERE q.lane = $1 AND q.step = 1 AND q.due_at <= $3 AND $4 > 0 AND $5 > 0"
              " ORDER BY q.due_at LIMIT $2",
    .postgres =
        "WITH picked AS MATERIALIZED ("
        "  SELECT p.* FROM unnest($1, $2) AS l (number, free), LATERAL ("
        "    SELECT ctid AS place, " QUEUE_COLUMNS(
            "") " FROM queue"
                "    WHERE lane = l.number AND step = 1 AND due_at <= ($3)[1]"
                "    ORDER BY due_at LIMIT l.free FOR UPDATE SKIP LOCKED) p),"
                " c AS (UPDATE queue q SET step = 2, state = 1, attempt = q.attempt + 1,"
                "  send = q.send + CASE WHEN q.state <> 2 THEN 1 ELSE 0 END, due_at = ($5)[1],"
                "  started_at = ($3)[1], node = ($4)[1]"
                "  WHERE q.ctid = ANY (ARRAY(SELECT place FROM picked)) RETURNING q.tenant, "
                "q.id) " CLAIM_COLUMNS(
                    "p.") " FROM c JOIN picked p ON p.tenant = c.tenant AND p.id = c.id"
                          " JOIN delivery d ON d.tenant = c.tenant AND d.id = c.id"
                          " JOIN event e ON e.tenant = d.tenant AND e.id = d.event",
};
static const Statement claim_mark = {
    .name = "queue_claim_mark",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiii",
    .many = true,
    .sql = "UPDATE queue SET step = 2, state = 1, attempt = $3, send = $4, due_at = $5,"
           " started_at = $6, node = $7 WHERE tenant = $1 AND id = $2",
    .postgres = "SELECT 1 FROM unnest($1, $2, $3, $4, $5, $6, $7) LIMIT 0",
};

// The four moves of a settle, see passages[] below.
static const Statement settle_end = {
    .name = "queue_settle_end",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = "DELETE FROM queue WHERE tenant = $1 AND id = $2 AND attempt = $3 AND state = $4",
    .postgres = "DELETE FROM queue q USING unnest($1, $2, $3, $4) AS s (tenant, id, attempt, state)"
                " WHERE q.tenant = s.tenant AND q.id = s.id AND q.attempt = s.attempt"
                " AND q.state = s.state",
};
static const Statement settle_live = {
    .name = "queue_settle_live",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiii",
    .many = true,
    .sql = "UPDATE queue SET state = $5, step = $6, due_at = $7, failures = $8, send = $9,"
           " reminders_left = $10, first_due_at = $11, last_sent_at = $12, opened_at = $13,"
           " started_at = NULL, node = NULL"
           " WHERE tenant = $1 AND id = $2 AND attempt = $3 AND state = $4",
    .postgres = "UPDATE queue q SET state = s.new_state, step = s.step, due_at = s.due_at,"
                " failures = s.failures, send = s.send, reminders_left = s.reminders_left,"
                " first_due_at = s.first_due_at, last_sent_at = s.last_sent_at,"
                " opened_at = s.opened_at, started_at = NULL, node = NULL"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS s"
                " (tenant, id, attempt, state, new_state, step, due_at, failures, send,"
                " reminders_left, first_due_at, last_sent_at, opened_at)"
                " WHERE q.tenant = s.tenant AND q.id = s.id AND q.attempt = s.attempt"
                " AND q.state = s.state",
};
// A row that is there already belongs to a delivery that ended meanwhile: the count of what was
// taken from the queue tells, and must get the chance to.
static const Statement ended_insert = {
    .name = "ended_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiiit",
    .many = true,
    .sql = "INSERT INTO ended (tenant, id, lane, state, reason, ended_at, attempt, failures, send,"
           " reminders_left, first_due_at, last_sent_at, opened_at, expires_at, note)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
           " ON CONFLICT (tenant, id) DO NOTHING",
    .postgres = "INSERT INTO ended (tenant, id, lane, state, reason, ended_at, attempt, failures,"
                " send, reminders_left, first_due_at, last_sent_at, opened_at, expires_at, note)"
                " SELECT * FROM"
                " unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
                " ON CONFLICT (tenant, id) DO NOTHING",
};
static const Statement ended_change = {
    .name = "ended_change",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiit",
    .many = true,
    .sql = "UPDATE ended SET state = $5, reason = $6, ended_at = $7, expires_at = NULL, note = $8"
           " WHERE tenant = $1 AND id = $2 AND attempt = $3 AND state = $4",
    .postgres = "UPDATE ended n SET state = s.new_state, reason = s.reason, ended_at = s.ended_at,"
                " expires_at = NULL, note = s.note"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) AS s"
                " (tenant, id, attempt, state, new_state, reason, ended_at, note)"
                " WHERE n.tenant = s.tenant AND n.id = s.id AND n.attempt = s.attempt"
                " AND n.state = s.state",
};
static const Statement ended_delete = {
    .name = "ended_delete",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = "DELETE FROM ended WHERE tenant = $1 AND id = $2 AND attempt = $3 AND state = $4",
    .postgres = "DELETE FROM ended n USING unnest($1, $2, $3, $4) AS s (tenant, id, attempt, state)"
                " WHERE n.tenant = s.tenant AND n.id = s.id AND n.attempt = s.attempt"
                " AND n.state = s.state",
};
static const Statement attempt_insert = {
    .name = "attempt_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiittii",
    .many = true,
    .sql = "INSERT INTO attempt (tenant, delivery, number, send, started_at, finished_at, verdict,"
           " reason, code, provider_id, detail, node, is_captured)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
           " ON CONFLICT (tenant, delivery, number) DO NOTHING",
    .postgres = "INSERT INTO attempt (tenant, delivery, number, send, started_at, finished_at,"
                " verdict, reason, code, provider_id, detail, node, is_captured)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
                " ON CONFLICT (tenant, delivery, number) DO NOTHING",
};
static const Statement renew = {
    .name = "queue_renew",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .many = true,
    .sql = "UPDATE queue SET due_at = $4 WHERE tenant = $1 AND id = $2 AND attempt = $3"
           " AND state = 1 RETURNING id",
    .postgres = "UPDATE queue q SET due_at = s.due_at"
                " FROM unnest($1, $2, $3, $4) AS s (tenant, id, attempt, due_at)"
                " WHERE q.tenant = s.tenant AND q.id = s.id AND q.attempt = s.attempt"
                " AND q.state = 1 RETURNING q.id",
};

#define SWEEP_COLUMNS                                                                              \
    "SELECT " QUEUE_COLUMNS(                                                                       \
        "q.") ", q.started_at, q.node, d.trigger_id, d.trigger_version"                            \
              " FROM queue q JOIN delivery d ON d.tenant = q.tenant AND d.id = q.id"
#define SWEEP_DUE " WHERE q.step > 1 AND q.due_at <= $1 ORDER BY q.due_at LIMIT $2"
#define SWEEP_ORPHANS " WHERE q.step > 1 AND q.step = 2 AND $1 > 0 LIMIT $2"

static const Statement sweep_pick = {
    .name = "queue_sweep",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = SWEEP_COLUMNS SWEEP_DUE,
    .postgres = SWEEP_COLUMNS SWEEP_DUE " FOR UPDATE OF q SKIP LOCKED",
};
static const Statement sweep_orphans = {
    .name = "queue_sweep_orphans",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = SWEEP_COLUMNS SWEEP_ORPHANS,
};

#define PARKED_DUE                                                                                 \
    "SELECT " ENDED_COLUMNS " FROM ended n JOIN delivery d ON d.tenant = n.tenant AND d.id = n.id" \
    " WHERE n.expires_at <= $1 AND n.expires_at IS NOT NULL AND n.state = 4 LIMIT $2"

static const Statement parked_due = {
    .name = "ended_parked_due",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = PARKED_DUE,
    .postgres = PARKED_DUE " FOR UPDATE OF n SKIP LOCKED",
};

static const Statement next_send = {
    .name = "queue_next_send",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .many = true,
    .sql = "SELECT $2, MIN(due_at) FROM queue WHERE lane = $1 AND step = 1",
    .postgres = "SELECT l.n, (SELECT MIN(due_at) FROM queue WHERE lane = l.lane AND step = 1)"
                " FROM unnest($1, $2) AS l (lane, n)",
};
static const Statement next_sweep = {
    .name = "queue_next_sweep",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT MIN(due_at) FROM queue WHERE step > 1",
};
static const Statement next_expiry = {
    .name = "ended_next_expiry",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT MIN(expires_at) FROM ended WHERE expires_at IS NOT NULL",
};

const Statement *const queue_statements[] = {
    &insert,       &claim_pick,   &claim_mark,     &settle_end,  &settle_live, &ended_insert,
    &ended_change, &ended_delete, &attempt_insert, &renew,       &sweep_pick,  &sweep_orphans,
    &parked_due,   &next_send,    &next_sweep,     &next_expiry, NULL,
};

const Columns queue_columns =
    COLUMNS(QueueRow, COLUMN(QueueRow, tenant), COLUMN(QueueRow, id), COLUMN(QueueRow, lane),
            LIVE_FIELDS(LIVE_COLUMN_, QueueRow, live));

void queue_insert(Tx *tx, const QueueRow *rows, size_t count)
{
    db_send_rows(tx->db, &tx->arena, &insert, &queue_columns, rows, count, NULL);
    for (size_t i = 0; i < count; i++)
        tx_move(tx, &(Move){ .tenant = rows[i].tenant,
                             .lane = rows[i].lane,
                             .delivery = rows[i].id,
                             .from = MOVE_NOWHERE,
                             .to = rows[i].live.state,
                             .attempt = rows[i].live.attempt,
                             .due_at = rows[i].live.due_at });
}

// ClaimAsk is one lane's share of a claim.
typedef struct ClaimAsk {
    ClaimLane lane;
    Instant now;
    int64_t node;
    Instant lease_until;
} ClaimAsk;

static const Columns ask_columns =
    COLUMNS(ClaimAsk, COLUMN(ClaimAsk, lane.lane), COLUMN(ClaimAsk, lane.free),
            COLUMN(ClaimAsk, now), COLUMN(ClaimAsk, node), COLUMN(ClaimAsk, lease_until));

static Err take_claims(Tx *tx, Claim *claim, Error *error);

Err queue_claim(Tx *tx, Claim *claim, Error *error)
{
    // A round may have been sent before the hold, and be tried on a database that is a copy.
    size_t count = tx->registry->is_held ? 0 : claim->lane_count;
    ClaimAsk *asks = ARENA_ARRAY(&tx->arena, ClaimAsk, claim->lane_count);
    for (size_t i = 0; i < count; i++)
        asks[i] = (ClaimAsk){ claim->lanes[i], tx->now, claim->node, claim->lease_until };
    db_send_rows(tx->db, claim->arena, &claim_pick, &ask_columns, asks, count, &claim->rows);
    // What SQLite picks it marks afterwards: at once, so that whatever is sent next sees it claimed.
    return db_is_postgres(tx->db) ? ERR_OK : take_claims(tx, claim, error);
}

static const Columns claimed_columns = COLUMNS(
    Claimed, COLUMN(Claimed, tenant), COLUMN(Claimed, id), COLUMN(Claimed, lane),
    LIVE_FIELDS(LIVE_COLUMN_, Claimed, live) COLUMN(Claimed, event), COLUMN(Claimed, public_id),
    COLUMN(Claimed, trigger_id), COLUMN(Claimed, trigger_version), COLUMN(Claimed, address),
    COLUMN(Claimed, locale), COLUMN(Claimed, customer_ref), COLUMN(Claimed, event_kind),
    COLUMN(Claimed, occurred_at), COLUMN(Claimed, payload));
static const Columns mark_columns =
    COLUMNS(Claimed, COLUMN(Claimed, tenant), COLUMN(Claimed, id), COLUMN(Claimed, live.attempt),
            COLUMN(Claimed, live.send), COLUMN(Claimed, live.due_at),
            COLUMN(Claimed, live.started_at), COLUMN(Claimed, node));

static int by_first_due(const void *a, const void *b)
{
    const Claimed *x = a, *y = b;
    if (x->live.first_due_at != y->live.first_due_at)
        return x->live.first_due_at < y->live.first_due_at ? -1 : 1;
    return uuid_cmp(x->id, y->id);
}

static Err take_claimed(Tx *tx, const Claim *claim, const Value *row, Claimed *ret, Error *error)
{
    columns_read(&claimed_columns, row, ret);
    ret->was = ret->live.state;
    ret->live = delivery_claim(&ret->live, tx->now, claim->lease_until);
    ret->node = claim->node;
    tx_move(tx, &(Move){ .tenant = ret->tenant,
                         .lane = ret->lane,
                         .delivery = ret->id,
                         .from = ret->was,
                         .to = ret->live.state,
                         .attempt = ret->live.attempt,
                         .due_at = INSTANT_NONE,
                         .is_quiet = true });
    return versions_load(tx->versions, tx->db, ret->tenant, ret->trigger_id, ret->trigger_version,
                         &ret->trigger, error);
}

void queue_claim_drop(Claim *claim)
{
    for (size_t i = 0; i < claim->count; i++)
        versions_drop(claim->claimed[i].trigger);
    claim->count = 0;
}

Err queue_claim_take(Tx *tx, Claim *claim, Error *error)
{
    return db_is_postgres(tx->db) ? take_claims(tx, claim, error) : ERR_OK;
}

static Err take_claims(Tx *tx, Claim *claim, Error *error)
{
    queue_claim_drop(claim); // of an earlier try
    claim->count = claim->rows.count;
    claim->claimed = ARENA_ARRAY(claim->arena, Claimed, claim->count + 1);
    for (size_t i = 0; i < claim->count; i++)
        TRY(take_claimed(tx, claim, rows_at(&claim->rows, i), &claim->claimed[i], error));
    // RETURNING keeps no order.
    qsort(claim->claimed, claim->count, sizeof *claim->claimed, by_first_due);
    if (!db_is_postgres(tx->db))
        db_send_rows(tx->db, &tx->arena, &claim_mark, &mark_columns, claim->claimed, claim->count,
                     NULL);
    return ERR_OK;
}

#define SETTLE_GUARD                                                                               \
    COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, fence), COLUMN(Settle, was)

static const Columns guard_columns = COLUMNS(Settle, SETTLE_GUARD);
static const Columns live_columns = COLUMNS(
    Settle, SETTLE_GUARD, COLUMN(Settle, to.live.state), COLUMN(Settle, to.live.step),
    COLUMN(Settle, to.live.due_at), COLUMN(Settle, to.live.failures), COLUMN(Settle, to.live.send),
    COLUMN(Settle, to.live.reminders_left), COLUMN(Settle, to.live.first_due_at),
    COLUMN_TIME(Settle, to.live.last_sent_at), COLUMN_TIME(Settle, to.live.opened_at));
static const Columns change_columns =
    COLUMNS(Settle, SETTLE_GUARD, COLUMN(Settle, to.live.state), COLUMN(Settle, to.reason),
            COLUMN(Settle, at), COLUMN(Settle, note));
static const Columns revived_columns =
    COLUMNS(Settle, COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, lane),
            LIVE_FIELDS(LIVE_COLUMN_, Settle, to.live));
static const Columns ended_columns = COLUMNS(
    Settle, COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, lane),
    COLUMN(Settle, to.live.state), COLUMN(Settle, to.reason), COLUMN(Settle, at),
    COLUMN(Settle, to.live.attempt), COLUMN(Settle, to.live.failures), COLUMN(Settle, to.live.send),
    COLUMN(Settle, to.live.reminders_left), COLUMN(Settle, to.live.first_due_at),
    COLUMN_TIME(Settle, to.live.last_sent_at), COLUMN_TIME(Settle, to.live.opened_at),
    COLUMN_TIME(Settle, to.expires_at), COLUMN(Settle, note));
static const Columns attempt_columns =
    COLUMNS(Settle, COLUMN(Settle, tenant), COLUMN(Settle, id), COLUMN(Settle, attempt.number),
            COLUMN(Settle, attempt.send), COLUMN(Settle, attempt.started_at),
            COLUMN(Settle, attempt.finished_at), COLUMN(Settle, attempt.outcome.verdict),
            COLUMN(Settle, attempt.outcome.reason), COLUMN_SOME(Settle, attempt.outcome.code),
            COLUMN(Settle, attempt.outcome.provider_id), COLUMN(Settle, attempt.outcome.detail),
            COLUMN_SOME(Settle, attempt.node), COLUMN(Settle, attempt.outcome.is_captured));

// Passage is how a delivery moves from one table (live or ended) to one of them. The guarded
// statement leaves the row or changes it, and tells whether it was where it was thought to be; the
// other, if there is one, enters what follows from that.
typedef struct Passage {
    const Statement *leave;
    const Columns *guard;
    const Statement *enter;
    const Columns *entered;
} Passage;

static const Passage passages[2][2] = {
    // from a live state, to a live state
    [true][true] = { &settle_live, &live_columns, NULL, NULL },
    [true][false] = { &settle_end, &guard_columns, &ended_insert, &ended_columns },
    [false][false] = { &ended_change, &change_columns, NULL, NULL },
    [false][true] = { &ended_delete, &guard_columns, &insert, &revived_columns },
};

static bool goes(const Settle *settle, int from, int to)
{
    return delivery_is_live(settle->was) == from && delivery_is_live(settle->to.live.state) == to;
}

Settle settle_from(const QueueRow *row, Settlement to)
{
    return (Settle){ .tenant = row->tenant,
                     .lane = row->lane,
                     .id = row->id,
                     .was = row->live.state,
                     .fence = row->live.attempt,
                     .to = to };
}

static void send_attempts(Tx *tx, const SettleBatch *batch)
{
    const void **rows = ARENA_ARRAY(&tx->arena, const void *, batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->rows[i].has_attempt)
            rows[count++] = &batch->rows[i];
    db_send_picked(tx->db, &tx->arena, &attempt_insert, &attempt_columns, rows, count, NULL);
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
    db_send_picked(tx->db, &tx->arena, passage->leave, passage->guard, rows, count,
                   &batch->left[from][to]);
    if (passage->enter)
        db_send_picked(tx->db, &tx->arena, passage->enter, passage->entered, rows, count, NULL);
}

// settle_trusting sends everything at once; the counts tell afterwards whether every guard fitted.
static void settle_trusting(Tx *tx, SettleBatch *batch)
{
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++)
            send_passage(tx, batch, from, to);
}

static Err settle_carefully(Tx *tx, Settle *settle, Error *error)
{
    Rows left;
    const Passage *passage =
        &passages[delivery_is_live(settle->was)][delivery_is_live(settle->to.live.state)];
    db_send_rows(tx->db, &tx->arena, passage->leave, passage->guard, settle, 1, &left);
    TRY(tx_sync(tx, error));
    settle->is_stale = left.changed == 0;
    if (!settle->is_stale && passage->enter)
        db_send_rows(tx->db, &tx->arena, passage->enter, passage->entered, settle, 1, NULL);
    return tx_sync(tx, error);
}

Err queue_settle(Tx *tx, SettleBatch *batch, Error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        batch->rows[i].at = tx->now;
        batch->rows[i].is_stale = false;
        if (tx->is_careful)
            TRY(settle_carefully(tx, &batch->rows[i], error));
    }
    if (!tx->is_careful)
        settle_trusting(tx, batch);
    send_attempts(tx, batch);
    return ERR_OK;
}

static bool all_fitted(const SettleBatch *batch)
{
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++)
            if (batch->left[from][to].changed != (int64_t) batch->asked[from][to])
                return false;
    return true;
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
                             .delivery = settle->id,
                             .from = settle->was,
                             .to = live->state,
                             .attempt = live->attempt,
                             .reason = settle->to.reason,
                             .due_at = live->step == STEP_SEND ? live->due_at : INSTANT_NONE });
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
    COLUMNS(Renewal, COLUMN(Renewal, tenant), COLUMN(Renewal, id), COLUMN(Renewal, fence),
            COLUMN(Renewal, lease_until));

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

// Swept is what a sweep found.
typedef struct Swept {
    QueueRow row;
    int64_t node;
    Str trigger_id;
    int64_t trigger_version;
} Swept;

static const Columns swept_columns =
    COLUMNS(Swept, COLUMN(Swept, row.tenant), COLUMN(Swept, row.id), COLUMN(Swept, row.lane),
            LIVE_FIELDS(LIVE_COLUMN_, Swept, row.live) COLUMN_TIME(Swept, row.live.started_at),
            COLUMN(Swept, node), COLUMN(Swept, trigger_id), COLUMN(Swept, trigger_version));

static void drop_version(const Trigger **trigger)
{
    versions_drop(*trigger);
}

// lapsed is what becomes of a delivery whose attempt ended nobody knows how.
static Settlement lapsed(const Tx *tx, const Swept *swept, const Trigger *trigger,
                         const Outcome *outcome)
{
    if (!trigger)
        return delivery_park(&swept->row.live, REASON_UNREADABLE);
    RetryPolicy policy = registry_retry(registry_lane(tx->registry, swept->row.lane), trigger);
    return delivery_settle(&swept->row.live, &trigger->rule.plan, &policy, outcome, tx->now, 0);
}

static Err settle_lapsed(Tx *tx, const Swept *swept, Settle *ret, Error *error)
{
    const Live *live = &swept->row.live;
    DEFER(drop_version) const Trigger *trigger = NULL;
    TRY(versions_load(tx->versions, tx->db, swept->row.tenant, swept->trigger_id,
                      swept->trigger_version, &trigger, error));
    Outcome outcome = { .verdict = VERDICT_UNKNOWN, .reason = REASON_LEASE_LAPSED };
    *ret = settle_from(&swept->row, lapsed(tx, swept, trigger, &outcome));
    ret->has_attempt = true;
    ret->attempt = (AttemptRow){ .number = live->attempt,
                                 .send = live->send,
                                 .started_at = live->started_at,
                                 .finished_at = tx->now,
                                 .outcome = outcome,
                                 .node = swept->node };
    return ERR_OK;
}

static Err settle_swept(Tx *tx, const Value *row, Settle *ret, Error *error)
{
    Swept swept;
    columns_read(&swept_columns, row, &swept);
    if (swept.row.live.step != STEP_EXPIRE)
        return settle_lapsed(tx, &swept, ret, error);
    *ret = settle_from(&swept.row, delivery_expire(&swept.row.live));
    return ERR_OK;
}

static Err expire_parked(Tx *tx, Sweep *sweep, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tx->now), value_i64(sweep->limit) };
    TRY(tx_query(tx, &parked_due, args, &rows, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count),
                          .count = rows.count };
    for (size_t i = 0; i < rows.count; i++) {
        QueueRow row;
        columns_read(&queue_columns, rows_at(&rows, i), &row);
        batch.rows[i] = settle_from(&row, delivery_expire(&row.live));
    }
    sweep->expired += (int) rows.count;
    return queue_settle_now(tx, &batch, error);
}

Err queue_sweep(Tx *tx, Sweep *sweep, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tx->now), value_i64(sweep->limit) };
    sweep->lapsed = sweep->retried = sweep->parked = sweep->expired = 0;
    TRY(tx_query(tx, sweep->is_orphaned ? &sweep_orphans : &sweep_pick, args, &rows, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count) };
    for (; batch.count < rows.count; batch.count++) {
        Settle *settle = &batch.rows[batch.count];
        TRY(settle_swept(tx, rows_at(&rows, batch.count), settle, error));
        sweep->lapsed += settle->has_attempt;
        sweep->retried += settle->to.live.state == DELIVERY_RETRYING;
        sweep->parked += settle->to.live.state == DELIVERY_PARKED;
        sweep->expired += settle->to.live.state == DELIVERY_EXPIRED;
    }
    TRY(queue_settle_now(tx, &batch, error));
    return expire_parked(tx, sweep, error);
}

// NextLane is one lane that is asked about, and the answer.
typedef struct NextLane {
    int64_t lane, n;
    Instant due_at;
} NextLane;

static const Columns next_asked = COLUMNS(NextLane, COLUMN(NextLane, lane), COLUMN(NextLane, n));
static const Columns next_told =
    COLUMNS(NextLane, COLUMN(NextLane, n), COLUMN_TIME(NextLane, due_at));

void queue_next(Db *db, QueueNext *next)
{
    NextLane *lanes = ARENA_ARRAY(next->arena, NextLane, next->lane_count);
    for (size_t i = 0; i < next->lane_count; i++)
        lanes[i] = (NextLane){ .lane = next->lanes[i], .n = (int64_t) i };
    db_send_rows(db, next->arena, &next_send, &next_asked, lanes, next->lane_count, &next->rows);
    db_send(db, next->arena, &next_sweep, NULL, &next->sweeps);
    db_send(db, next->arena, &next_expiry, NULL, &next->expiries);
}

void queue_next_take(QueueNext *next)
{
    next->lane_due = ARENA_ARRAY(next->arena, Instant, next->lane_count + 1);
    for (size_t i = 0; i < next->lane_count; i++)
        next->lane_due[i] = INSTANT_NONE;
    for (size_t i = 0; i < next->rows.count; i++) {
        NextLane lane;
        columns_read(&next_told, rows_at(&next->rows, i), &lane);
        next->lane_due[lane.n] = lane.due_at;
    }
    next->sweep_due =
        earlier(value_to_time(&next->sweeps.values[0]), value_to_time(&next->expiries.values[0]));
}
