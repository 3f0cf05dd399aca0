#include "store/queue.h"

#include "domain/run.h"

// Claiming: the half of queue.h that gives deliveries to whoever sends them.
//
// Numbers in the SQL below are domain/delivery.h's: states 1 sending, 2 retrying; steps 1 send, 2
// lease.
_Static_assert(DELIVERY_SENDING == 1 && DELIVERY_RETRYING == 2, "the SQL names states by number");
_Static_assert(STEP_SEND == 1 && STEP_LEASE == 2, "the SQL names steps by number");

#define QUEUE_NAMES QUEUE_COLUMNS("")
// The claim on PostgreSQL is one statement; on SQLite, where nobody else writes, what is picked is
// marked at once (claim_mark). Both return the row as it was before; delivery_claim() says what it
// is now. On PostgreSQL a row that is picked may have moved on before it was locked: it is then not
// updated, and only what was updated is returned.
// clang-format off
#define CLAIM_FOUND \
    ", d.event, d.public_id, d.version, d.address, d.locale, d.customer_ref," \
    " d.entity, e.kind," \
    " e.trace, e.payload, e.recipient, " ORIGIN_COLUMNS
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
    "   AND due_at <= $8 AND $4 >= 0 AND $5 > 0 AND $6 >= 0 AND " CLAIM_IN_TURN("$1", "$7") \
    "   ORDER BY " order " LIMIT $2) AS p) AS w" \
    CLAIM_FINDS("w") " WHERE " CLAIM_FITS("$3")
#define CLAIM_TAKEN(order, more) \
    "WITH picked AS MATERIALIZED (SELECT w.* FROM unnest($1, $2, $3, $7, $8) AS l (number, free, most, front, until)," \
    "  LATERAL (SELECT p.*, " CLAIM_TOTAL " FROM (" \
    "   SELECT ctid AS place, " QUEUE_NAMES " FROM queue" \
    "   WHERE lane = l.number AND step = 1 AND state <> 1 AND due_at <= l.until" \
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
    .params = "iiiiiiii",
    .many = true,
    .sql = CLAIM_PICKED(OLDEST),
    .postgres = CLAIM_TAKEN(OLDEST, ""),
};
static const Statement claim_newest = {
    .name = "queue_claim_newest",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiiiii",
    .many = true,
    .sql = CLAIM_PICKED(NEWEST),
    .postgres = CLAIM_TAKEN(NEWEST, ""),
};
static const Statement pull_pick = {
    .name = "queue_pull",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiiiiii",
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

const Statement *const queue_claim_statements[] = {
    &claim_pick, &claim_newest, &claim_lock, &claim_mark, &pull_pick, &pull_mark, NULL,
};

// ClaimAsk is one lane's share of a claim; Mark, one row of it.
typedef struct ClaimAsk {
    ClaimLane lane;
    Instant now, lease_until;
    int64_t holder;
    Instant until; // takes what is due then
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
            COLUMN(ClaimAsk, holder), COLUMN(ClaimAsk, lane.front), COLUMN(ClaimAsk, until));
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

static ClaimAsk ask_of(const Tx *tx, const Claim *claim, const ClaimLane *lane)
{
    return (ClaimAsk){ .lane = *lane,
                       .now = tx->now,
                       .lease_until = claim->lease_until,
                       .holder = claim->node,
                       .until = lane->is_timeless ? INSTANT_NONE : tx->now };
}

void queue_claim(Tx *tx, Claim *claim)
{
    // A round may have been sent before the hold, and be tried on a database that is a copy.
    size_t count = tx->registry->is_held ? 0 : claim->lane_count;
    ClaimAsk *asks = ARENA_ARRAY(&tx->arena, ClaimAsk, claim->lane_count);
    for (size_t i = 0; i < count; i++)
        asks[i] = ask_of(tx, claim, &claim->lanes[i]);
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
    COLUMN(Claimed, event_kind), COLUMN(Claimed, trace), COLUMN(Claimed, payload),
    COLUMN(Claimed, recipient), ORIGIN_FIELDS(Claimed, origin));

QueueRow claimed_row(const Claimed *claimed)
{
    return (QueueRow){ .tenant = claimed->promise.tenant,
                       .id = claimed->promise.id,
                       .lane = claimed->promise.lane,
                       .rule = claimed->promise.rule,
                       .site = claimed->promise.site,
                       .bytes = claimed->bytes,
                       .is_run = !claimed->trigger || trigger_is_run(claimed->trigger),
                       .live = claimed->live };
}

static int by_time(Instant a, Instant b, const Claimed *x, const Claimed *y)
{
    return a != b ? (a < b ? -1 : 1) : uuid_cmp(x->promise.id, y->promise.id);
}

static int by_first_due(const void *a, const void *b)
{
    const Claimed *x = a, *y = b;
    return by_time(x->live.first_due_at, y->live.first_due_at, x, y);
}

static int by_place(const void *a, const void *b)
{
    const Claimed *x = a, *y = b;
    return by_time(x->live.due_at, y->live.due_at, x, y);
}

static Err take_claimed(Tx *tx, const Claim *claim, const Value *row, Claimed *ret, Error *error)
{
    const Promise *promise = &ret->promise;
    columns_read(&claimed_columns, row, ret);
    QueueRow stood = claimed_row(ret);
    queue_mend(&stood);
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
    return lane && (is_list ? lane->reaches_members : lane->has_targets);
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
        if (claim->lanes[i].has_targets || claim->lanes[i].reaches_members)
            return true;
    return false;
}

static bool has_timeless(const Claim *claim)
{
    for (size_t i = 0; i < claim->lane_count; i++)
        if (claim->lanes[i].is_timeless)
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
    qsort(claim->claimed, claim->count, sizeof *claim->claimed,
          has_timeless(claim) ? by_place : by_first_due);
    return may_have_targets(claim) ? take_targets(tx, claim, error) : ERR_OK;
}

Err queue_pull(Tx *tx, Claim *claim, Error *error)
{
    assert(claim->node == 0);
    queue_claim(tx, claim);
    TRY(tx_sync(tx, error));
    return queue_claim_take(tx, claim, error);
}
