#include "store/queue.h"

// Numbers in the SQL below are domain/delivery.h's: states 0 pending, 1 sending, 2 retrying,
// 3 waiting, 4 parked, 7 expired; steps 1 send, 2 lease, 3 expire.
_Static_assert(DELIVERY_PENDING == 0 && DELIVERY_SENDING == 1 && DELIVERY_RETRYING == 2 &&
                   DELIVERY_WAITING == 3 && DELIVERY_PARKED == 4 && DELIVERY_EXPIRED == 7,
               "the SQL names states by number");
_Static_assert(STEP_SEND == 1 && STEP_LEASE == 2 && STEP_EXPIRE == 3,
               "the SQL names steps by number");

static const Statement insert = {
    .name = "queue_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiii",
    .many = true,
    .sql = "INSERT INTO queue (tenant, id, lane, step, state, was, due_at, attempt, failures, send,"
           " reminders_left, triggered_at, first_due_at, last_sent_at)"
           " VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    .postgres = "INSERT INTO queue (tenant, id, lane, step, state, was, due_at, attempt, failures,"
                " send, reminders_left, triggered_at, first_due_at, last_sent_at)"
                " SELECT a, b, c, d, e, e, f, g, h, i, j, k, l, m FROM"
                " unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
                " AS u (a, b, c, d, e, f, g, h, i, j, k, l, m)",
};

// The claim on PostgreSQL is one statement; on SQLite, where nobody else writes, what is picked is
// marked afterwards (claim_mark). Both return the row as it is after the claim.
static const Statement claim_pick = {
    .name = "queue_claim",
    .scope = STATEMENT_SYSTEM,
    .params = "iiiii",
    .many = true,
    .sql = "SELECT q.tenant, q.id, q.lane, q.state, q.attempt + 1, q.failures,"
           " q.send + (q.state <> 2), q.reminders_left, q.triggered_at, q.first_due_at,"
           " q.last_sent_at, d.event, d.public_id, d.trigger_id, d.trigger_version, d.address,"
           " d.locale, d.customer_ref, e.kind, COALESCE(e.occurred_at, e.received_at), e.payload"
           " FROM queue q JOIN delivery d ON d.tenant = q.tenant AND d.id = q.id"
           " JOIN event e ON e.tenant = d.tenant AND e.id = d.event"
           " WHERE q.lane = $1 AND q.step = 1 AND q.due_at <= $3 AND $4 > 0 AND $5 > 0"
           " ORDER BY q.due_at LIMIT $2",
    .postgres =
        "WITH picked AS MATERIALIZED ("
        "  SELECT p.place FROM unnest($1, $2) AS l (lane, free), LATERAL ("
        "    SELECT ctid AS place FROM queue WHERE lane = l.lane AND step = 1"
        "    AND due_at <= ($3)[1] ORDER BY due_at LIMIT l.free FOR UPDATE SKIP LOCKED) p),"
        " c AS (UPDATE queue q SET step = 2, was = q.state, state = 1, attempt = q.attempt + 1,"
        "  send = q.send + CASE WHEN q.state <> 2 THEN 1 ELSE 0 END, due_at = ($5)[1],"
        "  started_at = ($3)[1], node = ($4)[1]"
        "  WHERE q.ctid = ANY (ARRAY(SELECT place FROM picked))"
        "  RETURNING q.tenant, q.id, q.lane, q.was, q.attempt, q.failures, q.send,"
        "  q.reminders_left, q.triggered_at, q.first_due_at, q.last_sent_at)"
        " SELECT c.tenant, c.id, c.lane, c.was, c.attempt, c.failures, c.send, c.reminders_left,"
        "  c.triggered_at, c.first_due_at, c.last_sent_at, d.event, d.public_id, d.trigger_id,"
        "  d.trigger_version, d.address, d.locale, d.customer_ref, e.kind,"
        "  COALESCE(e.occurred_at, e.received_at), e.payload"
        " FROM c JOIN delivery d ON d.tenant = c.tenant AND d.id = c.id"
        " JOIN event e ON e.tenant = d.tenant AND e.id = d.event",
};
static const Statement claim_mark = {
    .name = "queue_claim_mark",
    .scope = STATEMENT_TENANT,
    .params = "iuiii",
    .many = true,
    .sql = "UPDATE queue SET step = 2, was = state, state = 1, attempt = attempt + 1,"
           " send = send + (state <> 2), due_at = $5, started_at = $3, node = $4"
           " WHERE tenant = $1 AND id = $2",
    .postgres = "SELECT 1 FROM unnest($1, $2, $3, $4, $5) LIMIT 0",
};

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
    .params = "iuiiiiiiiiii",
    .many = true,
    .sql = "UPDATE queue SET step = $5, was = state, state = $6, due_at = $7, failures = $8,"
           " send = $9, reminders_left = $10, first_due_at = $11, last_sent_at = $12,"
           " started_at = NULL, node = NULL"
           " WHERE tenant = $1 AND id = $2 AND attempt = $3 AND state = $4",
    .postgres = "UPDATE queue q SET step = s.step, was = q.state, state = s.new_state,"
                " due_at = s.due_at, failures = s.failures, send = s.send,"
                " reminders_left = s.reminders_left, first_due_at = s.first_due_at,"
                " last_sent_at = s.last_sent_at, started_at = NULL, node = NULL"
                " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS s"
                " (tenant, id, attempt, state, step, new_state, due_at, failures, send,"
                " reminders_left, first_due_at, last_sent_at)"
                " WHERE q.tenant = s.tenant AND q.id = s.id AND q.attempt = s.attempt"
                " AND q.state = s.state",
};
// A row that is there already belongs to a delivery that ended meanwhile: the count of what was
// taken from the queue tells, and must get the chance to.
static const Statement ended_insert = {
    .name = "ended_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiiiiiit",
    .many = true,
    .sql = "INSERT INTO ended (tenant, id, lane, state, reason, ended_at, attempt, failures, send,"
           " reminders_left, first_due_at, last_sent_at, expires_at, note)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
           " ON CONFLICT (tenant, id) DO NOTHING",
    .postgres = "INSERT INTO ended (tenant, id, lane, state, reason, ended_at, attempt, failures,"
                " send, reminders_left, first_due_at, last_sent_at, expires_at, note)"
                " SELECT * FROM"
                " unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
                " ON CONFLICT (tenant, id) DO NOTHING",
};
static const Statement attempt_insert = {
    .name = "attempt_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiiiiitti",
    .many = true,
    .sql = "INSERT INTO attempt (tenant, delivery, number, send, started_at, finished_at, verdict,"
           " reason, code, provider_id, detail, node)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
           " ON CONFLICT (tenant, delivery, number) DO NOTHING",
    .postgres = "INSERT INTO attempt (tenant, delivery, number, send, started_at, finished_at,"
                " verdict, reason, code, provider_id, detail, node)"
                " SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
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
    "SELECT q.tenant, q.id, q.lane, q.step, q.state, q.attempt, q.failures, q.send,"               \
    " q.reminders_left, q.triggered_at, q.first_due_at, q.last_sent_at, q.started_at, q.node,"     \
    " d.trigger_id, d.trigger_version"                                                             \
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
static const Statement parked_expire = {
    .name = "ended_expire",
    .scope = STATEMENT_SYSTEM,
    .params = "iii",
    .sql = "UPDATE ended SET state = 7, reason = $3, ended_at = $1, expires_at = NULL"
           " WHERE state = 4 AND (tenant, id) IN (SELECT tenant, id FROM ended"
           "  WHERE expires_at <= $1 AND expires_at IS NOT NULL LIMIT $2)"
           " RETURNING tenant, lane",
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
    &insert,        &claim_pick,     &claim_mark, &settle_end,  &settle_live,
    &ended_insert,  &attempt_insert, &renew,      &sweep_pick,  &sweep_orphans,
    &parked_expire, &next_send,      &next_sweep, &next_expiry, NULL,
};

void queue_insert(Tx *tx, const QueueNew *rows, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 13);
    for (size_t i = 0; i < count; i++) {
        const QueueNew *new = &rows[i];
        Value *row = values + i * 13;
        row[0] = value_i64(new->tenant);
        row[1] = value_uuid(new->id);
        row[2] = value_i64(new->lane);
        row[3] = value_i64(new->live.step);
        row[4] = value_i64(new->live.state);
        row[5] = value_i64(new->live.due_at);
        row[6] = value_i64(new->live.attempt);
        row[7] = value_i64(new->live.failures);
        row[8] = value_i64(new->live.send);
        row[9] = value_i64(new->live.reminders_left);
        row[10] = value_i64(new->live.triggered_at);
        row[11] = value_i64(new->live.first_due_at);
        row[12] = value_time(new->live.last_sent_at);
        tx_count(tx, new->tenant, new->lane, new->live.state, 1);
    }
    db_send_many(tx->db, &tx->arena, &insert, values, count, NULL);
}

void queue_claim(Tx *tx, Claim *claim)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, claim->lane_count * 5);
    for (size_t i = 0; i < claim->lane_count; i++) {
        Value *row = values + i * 5;
        row[0] = value_i64(claim->lanes[i].lane);
        row[1] = value_i64(claim->lanes[i].free);
        row[2] = value_i64(tx->now);
        row[3] = value_i64(claim->node);
        row[4] = value_i64(claim->lease_until);
    }
    db_send_many(tx->db, claim->arena, &claim_pick, values, claim->lane_count, &claim->rows);
}

static void read_claimed(const Value *row, const Claim *claim, Instant now, Claimed *ret)
{
    ret->tenant = value_to_i64(&row[0]);
    ret->id = value_to_uuid(&row[1]);
    ret->lane = value_to_i64(&row[2]);
    ret->was = (DeliveryState) value_to_i64(&row[3]);
    ret->live = (Live){
        .state = DELIVERY_SENDING,
        .step = STEP_LEASE,
        .due_at = claim->lease_until,
        .attempt = (int) value_to_i64(&row[4]),
        .failures = (int) value_to_i64(&row[5]),
        .send = (int) value_to_i64(&row[6]),
        .reminders_left = (int) value_to_i64(&row[7]),
        .triggered_at = value_to_i64(&row[8]),
        .first_due_at = value_to_i64(&row[9]),
        .last_sent_at = value_to_time(&row[10]),
        .started_at = now,
    };
    ret->event = value_to_uuid(&row[11]);
    ret->public_id = value_to_str(&row[12]);
    ret->trigger_id = value_to_str(&row[13]);
    ret->trigger_version = value_to_i64(&row[14]);
    ret->address = value_to_str(&row[15]);
    ret->locale = value_to_str(&row[16]);
    ret->customer_ref = value_to_str(&row[17]);
    ret->event_kind = value_to_str(&row[18]);
    ret->occurred_at = value_to_i64(&row[19]);
    ret->payload = value_to_str(&row[20]);
}

static int by_first_due(const void *a, const void *b)
{
    const Claimed *x = a, *y = b;
    if (x->live.first_due_at != y->live.first_due_at)
        return x->live.first_due_at < y->live.first_due_at ? -1 : 1;
    return uuid_cmp(x->id, y->id);
}

static void mark_claimed(Tx *tx, const Claim *claim)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, claim->count * 5);
    for (size_t i = 0; i < claim->count; i++) {
        Value *row = values + i * 5;
        row[0] = value_i64(claim->claimed[i].tenant);
        row[1] = value_uuid(&claim->claimed[i].id);
        row[2] = value_i64(tx->now);
        row[3] = value_i64(claim->node);
        row[4] = value_i64(claim->lease_until);
    }
    db_send_many(tx->db, &tx->arena, &claim_mark, values, claim->count, NULL);
}

void queue_claim_drop(Claim *claim)
{
    for (size_t i = 0; i < claim->count; i++)
        versions_drop(claim->claimed[i].trigger);
    claim->count = 0;
}

Err queue_claim_take(Tx *tx, Claim *claim, Error *error)
{
    queue_claim_drop(claim); // of an earlier try
    claim->count = claim->rows.count;
    claim->claimed = ARENA_ARRAY(claim->arena, Claimed, claim->count + 1);
    for (size_t i = 0; i < claim->count; i++) {
        Claimed *claimed = &claim->claimed[i];
        read_claimed(rows_at(&claim->rows, i), claim, tx->now, claimed);
        tx_count(tx, claimed->tenant, claimed->lane, claimed->was, -1);
        tx_count(tx, claimed->tenant, claimed->lane, DELIVERY_SENDING, 1);
        TRY(versions_load(tx->versions, tx->db, claimed->tenant, claimed->trigger_id,
                          claimed->trigger_version, &claimed->trigger, error));
    }
    // RETURNING keeps no order.
    qsort(claim->claimed, claim->count, sizeof *claim->claimed, by_first_due);
    if (!db_is_postgres(tx->db))
        mark_claimed(tx, claim);
    return ERR_OK;
}

static void fill_ended(Value *row, const Settle *settle, Instant now)
{
    const Live *live = &settle->to.live;
    row[0] = value_i64(settle->tenant);
    row[1] = value_uuid(&settle->id);
    row[2] = value_i64(settle->lane);
    row[3] = value_i64(live->state);
    row[4] = value_i64(settle->to.reason);
    row[5] = value_i64(now);
    row[6] = value_i64(live->attempt);
    row[7] = value_i64(live->failures);
    row[8] = value_i64(live->send);
    row[9] = value_i64(live->reminders_left);
    row[10] = value_i64(live->first_due_at);
    row[11] = value_time(live->last_sent_at);
    row[12] = value_time(settle->to.expires_at);
    row[13] = value_text(settle->note);
}

static void fill_live(Value *row, const Settle *settle)
{
    const Live *live = &settle->to.live;
    row[0] = value_i64(settle->tenant);
    row[1] = value_uuid(&settle->id);
    row[2] = value_i64(settle->fence);
    row[3] = value_i64(settle->was);
    row[4] = value_i64(live->step);
    row[5] = value_i64(live->state);
    row[6] = value_i64(live->due_at);
    row[7] = value_i64(live->failures);
    row[8] = value_i64(live->send);
    row[9] = value_i64(live->reminders_left);
    row[10] = value_i64(live->first_due_at);
    row[11] = value_time(live->last_sent_at);
}

static void fill_attempt(Value *row, const Settle *settle)
{
    const AttemptRow *attempt = &settle->attempt;
    row[0] = value_i64(settle->tenant);
    row[1] = value_uuid(&settle->id);
    row[2] = value_i64(attempt->number);
    row[3] = value_i64(attempt->send);
    row[4] = value_i64(attempt->started_at);
    row[5] = value_i64(attempt->finished_at);
    row[6] = value_i64(attempt->outcome.verdict);
    row[7] = value_i64(attempt->outcome.reason);
    row[8] = attempt->outcome.code ? value_i64(attempt->outcome.code) : value_null();
    row[9] = value_text(attempt->outcome.provider_id);
    row[10] = value_text(attempt->outcome.detail);
    row[11] = attempt->node ? value_i64(attempt->node) : value_null();
}

static void fill_guard(Value *row, const Settle *settle)
{
    row[0] = value_i64(settle->tenant);
    row[1] = value_uuid(&settle->id);
    row[2] = value_i64(settle->fence);
    row[3] = value_i64(settle->was);
}

static void send_attempts(Tx *tx, const SettleBatch *batch)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, batch->count * 12);
    size_t used = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->rows[i].has_attempt)
            fill_attempt(values + used++ * 12, &batch->rows[i]);
    db_send_many(tx->db, &tx->arena, &attempt_insert, values, used, NULL);
}

// settle_trusting sends everything at once; the counts tell afterwards whether every guard fitted.
static void settle_trusting(Tx *tx, SettleBatch *batch)
{
    Value *guards = ARENA_ARRAY(&tx->arena, Value, batch->count * 4);
    Value *ended = ARENA_ARRAY(&tx->arena, Value, batch->count * 14);
    Value *live = ARENA_ARRAY(&tx->arena, Value, batch->count * 12);
    for (size_t i = 0; i < batch->count; i++) {
        Settle *settle = &batch->rows[i];
        settle->is_stale = false;
        if (delivery_is_live(settle->to.live.state)) {
            fill_live(live + batch->lives++ * 12, settle);
        } else {
            fill_guard(guards + batch->ends * 4, settle);
            fill_ended(ended + batch->ends++ * 14, settle, tx->now);
        }
    }
    db_send_many(tx->db, &tx->arena, &settle_end, guards, batch->ends, &batch->deleted);
    db_send_many(tx->db, &tx->arena, &settle_live, live, batch->lives, &batch->updated);
    db_send_many(tx->db, &tx->arena, &ended_insert, ended, batch->ends, NULL);
    send_attempts(tx, batch);
}

static Err settle_carefully(Tx *tx, SettleBatch *batch, Error *error)
{
    Value values[14];
    for (size_t i = 0; i < batch->count; i++) {
        Settle *settle = &batch->rows[i];
        bool stays = delivery_is_live(settle->to.live.state);
        Rows rows;
        if (stays)
            fill_live(values, settle);
        else
            fill_guard(values, settle);
        db_send_many(tx->db, &tx->arena, stays ? &settle_live : &settle_end, values, 1, &rows);
        TRY(tx_sync(tx, error));
        settle->is_stale = rows.changed == 0;
        if (settle->is_stale || stays)
            continue;
        fill_ended(values, settle, tx->now);
        db_send_many(tx->db, &tx->arena, &ended_insert, values, 1, NULL);
        TRY(tx_sync(tx, error));
    }
    send_attempts(tx, batch);
    return ERR_OK;
}

Err queue_settle(Tx *tx, SettleBatch *batch, Error *error)
{
    batch->ends = batch->lives = 0;
    batch->deleted = batch->updated = (Rows){ 0 };
    if (tx->is_careful)
        return settle_carefully(tx, batch, error);
    settle_trusting(tx, batch);
    return ERR_OK;
}

Err queue_settle_check(Tx *tx, SettleBatch *batch, Error *error)
{
    bool fits = tx->is_careful || (batch->deleted.changed == (int64_t) batch->ends &&
                                   batch->updated.changed == (int64_t) batch->lives);
    if (!fits) {
        tx->was_too_trusting = true;
        return fail(error, ERR_BUSY, "a delivery had moved on");
    }
    for (size_t i = 0; i < batch->count; i++) {
        const Settle *settle = &batch->rows[i];
        if (settle->is_stale)
            continue;
        tx_count(tx, settle->tenant, settle->lane, settle->was, -1);
        tx_count(tx, settle->tenant, settle->lane, settle->to.live.state, 1);
    }
    return ERR_OK;
}

static int by_uuid(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(Uuid));
}

Err queue_renew(Tx *tx, Renewal *rows, size_t count, Instant lease_until, Error *error)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 4);
    for (size_t i = 0; i < count; i++) {
        Value *row = values + i * 4;
        row[0] = value_i64(rows[i].tenant);
        row[1] = value_uuid(&rows[i].id);
        row[2] = value_i64(rows[i].fence);
        row[3] = value_i64(lease_until);
    }
    Rows kept;
    db_send_many(tx->db, &tx->arena, &renew, values, count, &kept);
    TRY(tx_sync(tx, error));
    Uuid *ours = ARENA_ARRAY(&tx->arena, Uuid, kept.count + 1);
    for (size_t i = 0; i < kept.count; i++)
        ours[i] = value_to_uuid(rows_at(&kept, i));
    qsort(ours, kept.count, sizeof *ours, by_uuid);
    for (size_t i = 0; i < count; i++)
        rows[i].is_lost = !bsearch(&rows[i].id, ours, kept.count, sizeof *ours, by_uuid);
    return ERR_OK;
}

static void drop_version(const Trigger **trigger)
{
    versions_drop(*trigger);
}

// settle_swept turns one row of the sweep into what becomes of it.
static Err settle_swept(Tx *tx, const Value *row, Settle *ret, Error *error)
{
    Live live = {
        .step = (Step) value_to_i64(&row[3]),
        .state = (DeliveryState) value_to_i64(&row[4]),
        .attempt = (int) value_to_i64(&row[5]),
        .failures = (int) value_to_i64(&row[6]),
        .send = (int) value_to_i64(&row[7]),
        .reminders_left = (int) value_to_i64(&row[8]),
        .triggered_at = value_to_i64(&row[9]),
        .first_due_at = value_to_i64(&row[10]),
        .last_sent_at = value_to_time(&row[11]),
        .started_at = value_to_time(&row[12]),
    };
    *ret = (Settle){ .tenant = value_to_i64(&row[0]),
                     .id = value_to_uuid(&row[1]),
                     .lane = value_to_i64(&row[2]),
                     .was = live.state,
                     .fence = live.attempt };
    if (live.step == STEP_EXPIRE) {
        ret->to = (Settlement){ .live = live, .reason = REASON_QUIET, .expires_at = INSTANT_NONE };
        ret->to.live.state = DELIVERY_EXPIRED;
        return ERR_OK;
    }
    DEFER(drop_version) const Trigger *trigger = NULL;
    TRY(versions_load(tx->versions, tx->db, ret->tenant, value_to_str(&row[14]),
                      value_to_i64(&row[15]), &trigger, error));
    Outcome outcome = { .verdict = VERDICT_UNKNOWN, .reason = REASON_LEASE_LAPSED };
    if (trigger) {
        RetryPolicy policy = registry_retry(registry_lane(tx->registry, ret->lane), trigger);
        ret->to = delivery_settle(&live, &trigger->plan, &policy, &outcome, tx->now, 0);
    } else {
        ret->to = delivery_park(&live, REASON_UNREADABLE);
    }
    ret->has_attempt = true;
    ret->attempt = (AttemptRow){ .number = live.attempt,
                                 .send = live.send,
                                 .started_at = live.started_at,
                                 .finished_at = tx->now,
                                 .outcome = outcome,
                                 .node = value_to_i64(&row[13]) };
    return ERR_OK;
}

static Err expire_parked(Tx *tx, Sweep *sweep, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tx->now), value_i64(sweep->limit), value_i64(REASON_QUIET) };
    TRY(tx_query(tx, &parked_expire, args, &rows, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        tx_count(tx, value_to_i64(&row[0]), value_to_i64(&row[1]), DELIVERY_PARKED, -1);
        tx_count(tx, value_to_i64(&row[0]), value_to_i64(&row[1]), DELIVERY_EXPIRED, 1);
    }
    sweep->expired += (int) rows.count;
    return ERR_OK;
}

Err queue_sweep(Tx *tx, Sweep *sweep, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tx->now), value_i64(sweep->limit) };
    sweep->lapsed = sweep->retried = sweep->parked = sweep->expired = 0;
    TRY(tx_query(tx, sweep->is_orphaned ? &sweep_orphans : &sweep_pick, args, &rows, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count + 1) };
    for (; batch.count < rows.count; batch.count++) {
        Settle *settle = &batch.rows[batch.count];
        TRY(settle_swept(tx, rows_at(&rows, batch.count), settle, error));
        sweep->lapsed += settle->has_attempt;
        sweep->retried += settle->to.live.state == DELIVERY_RETRYING;
        sweep->parked += settle->to.live.state == DELIVERY_PARKED;
        sweep->expired += settle->to.live.state == DELIVERY_EXPIRED;
    }
    TRY(queue_settle(tx, &batch, error));
    TRY(tx_sync(tx, error));
    TRY(queue_settle_check(tx, &batch, error));
    return expire_parked(tx, sweep, error);
}

void queue_next(Db *db, QueueNext *next)
{
    Value *values = ARENA_ARRAY(next->arena, Value, next->lane_count * 2 + 1);
    for (size_t i = 0; i < next->lane_count; i++) {
        values[i * 2] = value_i64(next->lanes[i]);
        values[i * 2 + 1] = value_i64((int64_t) i);
    }
    db_send_many(db, next->arena, &next_send, values, next->lane_count, &next->rows);
    db_send(db, next->arena, &next_sweep, NULL, &next->sweeps);
    db_send(db, next->arena, &next_expiry, NULL, &next->expiries);
}

void queue_next_take(QueueNext *next)
{
    next->lane_due = ARENA_ARRAY(next->arena, Instant, next->lane_count + 1);
    for (size_t i = 0; i < next->lane_count; i++)
        next->lane_due[i] = INSTANT_NONE;
    for (size_t i = 0; i < next->rows.count; i++) {
        const Value *row = rows_at(&next->rows, i);
        next->lane_due[value_to_i64(&row[0])] = value_to_time(&row[1]);
    }
    next->sweep_due =
        earlier(value_to_time(&next->sweeps.values[0]), value_to_time(&next->expiries.values[0]));
}
