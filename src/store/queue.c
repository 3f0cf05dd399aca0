#include "store/queue.h"

#include "base/log.h"
#include "domain/cause.h"

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

// The claim on PostgreSQL is one statement; on SQLite, where nobody else writes, what is picked is
// marked at once (claim_mark). Both return the row as it was before; delivery_claim() says what it
// is now. On PostgreSQL a row that is picked may have moved on before it was locked: it is then not
// updated, and only what was updated is returned.
// clang-format off
#define CLAIM_FOUND \
    ", d.event, d.public_id, d.version, d.address, d.locale, d.customer_ref," \
    " d.entity, e.kind," \
    " COALESCE(e.occurred_at, e.received_at), e.trace, e.payload, e.recipient"
#define CLAIM_FINDS(row) \
    " LEFT JOIN delivery d ON d.tenant = " row ".tenant AND d.id = " row ".id" \
    " LEFT JOIN event e ON e.tenant = d.tenant AND e.id = d.event"
#define CLAIM_SET(row) \
    "state = 1, fence = " row ".fence + 1, attempt = " row ".attempt + 1," \
    " send = " row ".send + CASE WHEN " row ".state <> 2 THEN 1 ELSE 0 END,"
#define PULL_SET(until) "step = 2, due_at = " until ", "

// A lane's share is cut where its payloads come to more bytes than it has; its first row is taken
// whatever its size. The sum runs along the rows as they come, oldest first: nothing is sorted.
#define CLAIM_TOTAL "SUM(p.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total"
#define CLAIM_FITS(most) "(w.total <= " most " OR w.total = w.bytes)"

// Of an ordered lane nothing is taken while some of it is being sent. Those are at its front, but for
// what came in since with an earlier time.
#define CLAIM_IN_TURN(lane, front) \
    "(" front " = 0 OR NOT EXISTS (SELECT 1 FROM (SELECT f.state FROM queue f WHERE f.lane = " lane \
    "  AND f.step = 1 ORDER BY f.due_at, f.id LIMIT " front ") AS s WHERE s.state = 1))"

// The server keeps to nested loops, so the update finds its rows by their place: joined by key, a
// thousand picked rows would be looked through once for each of them.
#define OLDEST "due_at, id"
#define NEWEST "due_at DESC, id DESC"
#define CLAIM_PICKED(order) \
    "SELECT " QUEUE_COLUMNS("w.") CLAIM_FOUND " FROM (SELECT p.*, " CLAIM_TOTAL \
    "  FROM (SELECT * FROM queue WHERE lane = $1 AND step = 1 AND state <> 1" \
    "   AND due_at <= $4 AND $5 > 0 AND $6 >= 0 AND " CLAIM_IN_TURN("$1", "$7") \
    "   ORDER BY " order " LIMIT $2) AS p) AS w" \
    CLAIM_FINDS("w") " WHERE " CLAIM_FITS("$3")
#define CLAIM_TAKEN(order, more) \
    "WITH picked AS MATERIALIZED (SELECT w.* FROM unnest($1, $2, $3, $7) AS l (number, free, most, front)," \
    "  LATERAL (SELECT p.*, " CLAIM_TOTAL " FROM (" \
    "   SELECT ctid AS place, " QUEUE_NAMES " FROM queue" \
    "   WHERE lane = l.number AND step = 1 AND state <> 1 AND due_at <= ($4)[1]" \
    "   ORDER BY " order " LIMIT l.free FOR UPDATE SKIP LOCKED) p) AS w" \
    "  WHERE " CLAIM_IN_TURN("l.number", "l.front") " AND " CLAIM_FITS("l.most") ")," \
    " c AS (UPDATE queue q SET " CLAIM_SET("q") more \
    "  started_at = ($4)[1], lease_until = ($5)[1], holder = ($6)[1]" \
    "  FROM picked p WHERE q.ctid = p.place RETURNING p.*)" \
    " SELECT " QUEUE_COLUMNS("c.") CLAIM_FOUND " FROM c" CLAIM_FINDS("c")
#define CLAIM_MARKED(more) \
    "UPDATE queue SET " CLAIM_SET("queue") more " started_at = $3, lease_until = $4, holder = $5" \
    " WHERE tenant = $1 AND id = $2"

static const Statement claim_pick = {
    .name = "queue_claim",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiiii",
    .many = true,
    .sql = CLAIM_PICKED(OLDEST),
    .postgres = CLAIM_TAKEN(OLDEST, ""),
};
static const Statement claim_newest = {
    .name = "queue_claim_newest",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiiii",
    .many = true,
    .sql = CLAIM_PICKED(NEWEST),
    .postgres = CLAIM_TAKEN(NEWEST, ""),
};
static const Statement pull_pick = {
    .name = "queue_pull",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiiii",
    .many = true,
    .sql = CLAIM_PICKED(OLDEST),
    .postgres = CLAIM_TAKEN(OLDEST, PULL_SET("($5)[1]")),
};
static const Statement claim_lock = {
    .name = "queue_claim_lock",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .many = true,
    .sql = "SELECT lane FROM lane WHERE lane = $1",
    .postgres = "SELECT l.lane FROM lane l WHERE l.lane = ANY ($1) ORDER BY l.lane"
                " FOR NO KEY UPDATE",
};
static const Statement claim_mark = {
    .name = "queue_claim_mark",
    .scope = STATEMENT_TENANT,
    .params = "iuiii",
    .many = true,
    .sql = CLAIM_MARKED(""),
    .postgres = "SELECT 1 FROM unnest($1, $2, $3, $4, $5) LIMIT 0",
};
static const Statement pull_mark = {
    .name = "queue_pull_mark",
    .scope = STATEMENT_TENANT,
    .params = "iuiii",
    .many = true,
    .sql = CLAIM_MARKED(PULL_SET("$4")),
    .postgres = "SELECT 1 FROM unnest($1, $2, $3, $4, $5) LIMIT 0",
};
// clang-format on

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
static const Statement settle_live = {
    .name = "queue_settle_live",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiiiiiiii",
    .many = true,
    .sql = "UPDATE queue SET state = $6, step = $7, due_at = $8, attempt = $9, failures = $10,"
           " send = $11, reminders_left = $12, first_due_at = $13, last_sent_at = $14,"
           " opened_at = $15, started_at = $16, lease_until = $17,"
           " holder = CASE WHEN $6 = 1 THEN $18 END, cause = " CAUSE(
               "queue", "$19") " WHERE " GUARD GUARD_LEASE,
    .postgres =
        "UPDATE queue q SET state = s.new_state, step = s.step, due_at = s.due_at,"
        " attempt = s.attempt, failures = s.failures, send = s.send,"
        " reminders_left = s.reminders_left, first_due_at = s.first_due_at,"
        " last_sent_at = s.last_sent_at, opened_at = s.opened_at,"
        " started_at = s.started_at, lease_until = s.lease_until,"
        " holder = CASE WHEN s.new_state = 1 THEN s.new_holder END,"
        " cause = " CAUSE(
            "q",
            "s.cause") " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
                       "$15,"
                       " $16, $17, $18, $19) AS s (" GUARD_NAMES
                       ", new_state, step, due_at, attempt, failures,"
                       " send, reminders_left, first_due_at, last_sent_at, opened_at, started_at,"
                       " lease_until, new_holder, cause)"
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
// attempt_note is the careful insert: what was told first of an attempt stays, wherever it stands.
static const Statement attempt_note = {
    .name = "attempt_note",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiittii",
    .sql = "INSERT INTO attempt (" ATTEMPT_NAMES ")"
           " SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13"
           " WHERE NOT EXISTS (SELECT 1 FROM attempt"
           "  WHERE tenant = $1 AND delivery = $2 AND number = $3)"
           " AND NOT EXISTS (SELECT 1 FROM ended"
           "  WHERE tenant = $1 AND id = $2 AND attempt = $3 AND verdict IS NOT NULL)",
};
#define CALLED_OFF_UNDER_WAY                                                                       \
    " WHERE tenant = $1 AND id = $2 AND ($3 = 0 OR fence = $3)"                                    \
    " AND ($4 = 0 OR attempt = $4) AND verdict = 3 AND tried_reason = 17"

// ended_tell is for an attempt that was called off while it was under way: nobody knew then what
// became of it, and whoever made it tells.
static const Statement ended_tell = {
    .name = "ended_tell",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiitti",
    .sql = "UPDATE ended SET finished_at = $5, verdict = $6, tried_reason = $7, code = $8,"
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

const Statement *const queue_statements[] = {
    &insert,     &claim_pick,   &claim_newest, &claim_lock,     &claim_mark,
    &pull_pick,  &pull_mark,    &settle_end,   &settle_live,    &ended_insert,
    &ended_park, &ended_change, &ended_delete, &attempt_insert, &attempt_note,
    &ended_tell, &ended_untry,  &attempt_keep, &renew,          NULL,
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

// mend makes a row sound that was read.
static void mend(QueueRow *row)
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
    columns_read(&standing_columns, at, ret);
    mend(ret);
}

void ended_read(const Value *at, QueueRow *ret)
{
    char id[UUID_TEXT_LEN + 1];
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
                             .due_at = rows[i].live.due_at });
}

// ClaimAsk is one lane's share of a claim; Mark, one row of it.
typedef struct ClaimAsk {
    ClaimLane lane;
    Instant now, lease_until;
    int64_t holder;
} ClaimAsk;

typedef struct Mark {
    int64_t tenant;
    Uuid id;
    Instant now, lease_until;
    int64_t holder;
} Mark;

static const Columns ask_columns =
    COLUMNS(ClaimAsk, COLUMN(ClaimAsk, lane.lane), COLUMN(ClaimAsk, lane.free),
            COLUMN(ClaimAsk, lane.bytes), COLUMN(ClaimAsk, now), COLUMN(ClaimAsk, lease_until),
            COLUMN(ClaimAsk, holder), COLUMN(ClaimAsk, lane.front));
static const Columns lock_columns = COLUMNS(ClaimLane, COLUMN(ClaimLane, lane));
static const Columns mark_columns =
    COLUMNS(Mark, COLUMN(Mark, tenant), COLUMN(Mark, id), COLUMN(Mark, now),
            COLUMN(Mark, lease_until), COLUMN(Mark, holder));

static void mark_picked(Tx *tx, const Claim *claim)
{
    Mark *marks = ARENA_ARRAY(&tx->arena, Mark, claim->rows.count);
    for (size_t i = 0; i < claim->rows.count; i++) {
        QueueRow row;
        columns_read(&queue_columns, rows_at(&claim->rows, i), &row);
        marks[i] = (Mark){ row.tenant, row.id, tx->now, claim->lease_until, claim->node };
    }
    const Statement *mark = claim->node ? &claim_mark : &pull_mark;
    db_send_rows(tx->db, &tx->arena, mark, &mark_columns, marks, claim->rows.count, NULL);
}

// lock_ordered keeps other nodes from claiming from the same ordered lanes until this transaction
// ends: two claims at once would each see that nothing is being sent.
static void lock_ordered(Tx *tx, const Claim *claim, size_t count)
{
    size_t ordered = 0;
    const void **lanes = ARENA_ARRAY(&tx->arena, const void *, count + 1);
    for (size_t i = 0; i < count && db_is_postgres(tx->db); i++)
        if (claim->lanes[i].front > 0)
            lanes[ordered++] = &claim->lanes[i];
    if (ordered > 0)
        db_send_picked(tx->db, &tx->arena, &claim_lock, &lock_columns, lanes, ordered, NULL);
}

void queue_claim(Tx *tx, Claim *claim)
{
    // A round may have been sent before the hold, and be tried on a database that is a copy.
    size_t count = tx->registry->is_held ? 0 : claim->lane_count;
    ClaimAsk *asks = ARENA_ARRAY(&tx->arena, ClaimAsk, claim->lane_count);
    for (size_t i = 0; i < count; i++)
        asks[i] = (ClaimAsk){ claim->lanes[i], tx->now, claim->lease_until, claim->node };
    const Statement *pick = !claim->node       ? &pull_pick
                            : claim->is_newest ? &claim_newest
                                               : &claim_pick;
    lock_ordered(tx, claim, count);
    db_send_rows(tx->db, claim->arena, pick, &ask_columns, asks, count, &claim->rows);
    // What SQLite picked is in the rows already, and whatever is sent next must see it claimed.
    if (!db_is_postgres(tx->db))
        mark_picked(tx, claim);
}

// What the queue has of the promise is taken from there: the promise itself may be missing.
static const Columns claimed_columns = COLUMNS(
    Claimed, COLUMN(Claimed, promise.tenant), COLUMN(Claimed, promise.id),
    COLUMN(Claimed, promise.lane), COLUMN(Claimed, promise.rule), COLUMN(Claimed, promise.site),
    COLUMN(Claimed, bytes), LIVE_FIELDS(LIVE_COLUMN_, Claimed, live) COLUMN(Claimed, promise.event),
    COLUMN(Claimed, promise.public_id), COLUMN(Claimed, promise.version),
    COLUMN(Claimed, promise.address), COLUMN(Claimed, promise.locale),
    COLUMN(Claimed, promise.customer_ref), COLUMN(Claimed, promise.entity),
    COLUMN(Claimed, event_kind), COLUMN(Claimed, occurred_at), COLUMN(Claimed, trace),
    COLUMN(Claimed, payload), COLUMN(Claimed, recipient));

QueueRow claimed_row(const Claimed *claimed)
{
    return (QueueRow){ .tenant = claimed->promise.tenant,
                       .id = claimed->promise.id,
                       .lane = claimed->promise.lane,
                       .rule = claimed->promise.rule,
                       .site = claimed->promise.site,
                       .bytes = claimed->bytes,
                       .live = claimed->live };
}

static int by_first_due(const void *a, const void *b)
{
    const Claimed *x = a, *y = b;
    if (x->live.first_due_at != y->live.first_due_at)
        return x->live.first_due_at < y->live.first_due_at ? -1 : 1;
    return uuid_cmp(x->promise.id, y->promise.id);
}

static Err take_claimed(Tx *tx, const Claim *claim, const Value *row, Claimed *ret, Error *error)
{
    const Promise *promise = &ret->promise;
    columns_read(&claimed_columns, row, ret);
    QueueRow stood = claimed_row(ret);
    mend(&stood);
    ret->live = stood.live;
    ret->promise.triggered_at = ret->live.triggered_at;
    ret->was = ret->live.state;
    ret->live = claim->node ? delivery_claim(&ret->live, tx->now, claim->lease_until, claim->node)
                            : delivery_pull(&ret->live, tx->now, claim->lease_until);
    tx_move(tx, &(Move){ .tenant = promise->tenant,
                         .lane = promise->lane,
                         .rule = promise->rule,
                         .site = promise->site,
                         .delivery = promise->id,
                         .from = ret->was,
                         .to = ret->live.state,
                         .attempt = ret->live.attempt,
                         .due_at = INSTANT_NONE,
                         .is_quiet = true });
    ret->trigger = NULL;
    if (stood.is_unsound || !ret->event_kind.at)
        return ERR_OK; // the row is damaged, or its event or promise missing: it cannot be read
    return versions_load(tx->versions, tx->db, promise->tenant, promise->rule, promise->version,
                         &ret->trigger, error);
}

void queue_claim_drop(Claim *claim)
{
    for (size_t i = 0; i < claim->count; i++)
        versions_drop(claim->claimed[i].trigger);
    claim->count = 0;
}

static const ClaimLane *lane_of(const Claim *claim, int64_t lane)
{
    for (size_t i = 0; i < claim->lane_count; i++)
        if (claim->lanes[i].lane == lane)
            return &claim->lanes[i];
    return NULL;
}

// ask_targets says which targets of a delivery are to be read; false: it has but the one.
static bool ask_targets(const Claim *claim, const Claimed *claimed, TargetsOpen *ret)
{
    const Promise *promise = &claimed->promise;
    const ClaimLane *lane = lane_of(claim, promise->lane);
    bool is_list = claimed->trigger && claimed->trigger->rule.kind == RULE_NOTIFY;
    *ret = (TargetsOpen){ .tenant = promise->tenant,
                          .delivery = promise->id,
                          .list = is_list ? promise->rule : 0,
                          .send = claimed->live.send,
                          .failures = claimed->live.failures };
    return lane && (is_list ? lane->resolves : lane->has_targets);
}

// take_targets reads those of the deliveries that may have several.
static Err take_targets(Tx *tx, const Claim *claim, Error *error)
{
    size_t count = 0;
    TargetsOpen *of = ARENA_ARRAY(&tx->arena, TargetsOpen, claim->count);
    Claimed **owners = ARENA_ARRAY(&tx->arena, Claimed *, claim->count);
    for (size_t i = 0; i < claim->count; i++) {
        owners[count] = &claim->claimed[i];
        count += ask_targets(claim, owners[count], &of[count]);
    }
    if (count == 0)
        return ERR_OK;
    TRY(targets_claim(tx, claim->arena, of, count, error));
    for (size_t i = 0; i < count; i++) {
        owners[i]->targets = of[i].targets;
        owners[i]->target_count = of[i].count;
        owners[i]->has_more = of[i].has_more;
        owners[i]->others = of[i].others;
        owners[i]->has_rows = of[i].list || of[i].count > 0 || of[i].others.count > 0;
    }
    return ERR_OK;
}

static bool may_have_targets(const Claim *claim)
{
    for (size_t i = 0; i < claim->lane_count; i++)
        if (claim->lanes[i].has_targets || claim->lanes[i].resolves)
            return true;
    return false;
}

Err queue_claim_take(Tx *tx, Claim *claim, Error *error)
{
    queue_claim_drop(claim); // of an earlier try
    claim->count = claim->rows.count;
    claim->claimed = ARENA_ARRAY(claim->arena, Claimed, claim->count + 1);
    for (size_t i = 0; i < claim->count; i++)
        TRY(take_claimed(tx, claim, rows_at(&claim->rows, i), &claim->claimed[i], error));
    // RETURNING keeps no order.
    qsort(claim->claimed, claim->count, sizeof *claim->claimed, by_first_due);
    return may_have_targets(claim) ? take_targets(tx, claim, error) : ERR_OK;
}

Err queue_pull(Tx *tx, Claim *claim, Error *error)
{
    assert(claim->node == 0);
    queue_claim(tx, claim);
    TRY(tx_sync(tx, error));
    return queue_claim_take(tx, claim, error);
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
    COLUMN_SOME(Settle, to.live.holder), COLUMN(Settle, cause));
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
                     .id = row->id,
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
    return cause_of(settle->lane, outcome->reason, outcome->code,
                    cause_sample(arena, outcome->detail));
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

static bool is_release(const Settle *settle)
{
    return is_undecided(settle) && settle->to.live.state != DELIVERY_SENDING;
}

void queue_tell(Tx *tx, const Settle *settle)
{
    assert(settle->fence || settle->attempt.number);
    db_send_row(tx->db, &tx->arena, &ended_tell, &tell_columns, settle, NULL);
}

// note_attempt records what is not recorded yet. A stale settle may still tell of the attempt that
// was called off under way, or that there was none.
static void note_attempt(Tx *tx, const Settle *settle)
{
    if (settle->is_stale && is_release(settle))
        db_send_row(tx->db, &tx->arena, &ended_untry, &untry_columns, settle, NULL);
    if (!settle->has_attempt)
        return;
    if (settle->is_stale)
        queue_tell(tx, settle);
    db_send_row(tx->db, &tx->arena, &attempt_note, &attempt_columns, settle, NULL);
}

static Err settle_carefully(Tx *tx, Settle *settle, Error *error)
{
    Rows left;
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
    note_attempt(tx, settle);
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
                             .is_quiet = is_undecided(settle) });
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
