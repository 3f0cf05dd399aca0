#include "store/operation.h"

#include "base/log.h"
#include "store/act.h"
#include "store/handover.h"
#include "store/inbox.h"

#define OPERATION_COLUMNS                                                                          \
    "SELECT tenant, id, action, filter, reason, actor, is_dry, matched, done, skipped, failed,"    \
    " state, is_paused, slices, position, sample, created_at, finished_at, chain_seq, "            \
    "chain_link, outside_seq,"                                                                     \
    " outside_link, problem, bad FROM operation"
#define OPERATION_NEXT                                                                             \
    OPERATION_COLUMNS " WHERE is_paused = 0 AND state IN ('counting', 'running')"                  \
                      " ORDER BY slices, created_at, id LIMIT 1"

static const Statement add = {
    .name = "operation_add",
    .scope = STATEMENT_TENANT,
    .params = "iutttuitiuiibib",
    .sql = "INSERT INTO operation (tenant, id, action, filter, reason, actor, is_dry, state,"
           " matched, position, created_at, chain_seq, chain_link, outside_seq, outside_link,"
           " done, skipped, failed, slices, is_paused)"
           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"
           " 0, 0, 0, 0, 0)",
};
static const Statement one = {
    .name = "operation_row",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = OPERATION_COLUMNS " WHERE tenant = $1 AND id = $2",
};
#define OPERATION_ONE OPERATION_COLUMNS " WHERE tenant = $1 AND id = $2"
static const Statement locked = {
    .name = "operation_lock",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = OPERATION_ONE,
    .postgres = OPERATION_ONE " FOR UPDATE",
};
static const Statement page = {
    .name = "operation_page",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = OPERATION_COLUMNS " WHERE tenant = $1 AND id < $2 AND ($3 < 0 OR is_dry = $3)"
                             " ORDER BY id DESC LIMIT $4",
};
static const Statement turn_it = {
    .name = "operation_turn",
    .scope = STATEMENT_TENANT,
    .params = "iutii",
    .sql = "UPDATE operation SET state = $3, is_paused = $4, finished_at = $5"
           " WHERE tenant = $1 AND id = $2",
};
static const Statement next = {
    .name = "operation_next",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = OPERATION_NEXT,
    .postgres = OPERATION_NEXT " FOR UPDATE SKIP LOCKED",
};
static const Statement advance = {
    .name = "operation_advance",
    .scope = STATEMENT_TENANT,
    .params = "iuiiiitiuiibiib",
    .sql = "UPDATE operation SET matched = $3, done = $4, skipped = $5, failed = $6, state = $7,"
           " slices = $8, position = $9, finished_at = $10, chain_seq = $11, chain_link = $12,"
           " problem = $13, bad = $14, sample = $15 WHERE tenant = $1 AND id = $2",
};
static const Statement under_way = {
    .name = "operation_verify_under_way",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT id FROM operation WHERE tenant = $1 AND action = 'verify' AND state = 'running'"
           " LIMIT 1",
};

const Statement *const operation_statements[] = { &add,  &one,     &locked,    &page, &turn_it,
                                                  &next, &advance, &under_way, NULL };

static const char *const kind_texts[] = {
    [OPERATION_REPLAY] = "replay",
    [OPERATION_VERIFY] = "verify",
    [OPERATION_HANDOVER] = "hand-over",
};

bool operation_action(Str text, Operation *ret)
{
    static const DeliveryAction actions[] = { DELIVERY_ACTION_RETRY, DELIVERY_ACTION_DISCARD,
                                              DELIVERY_ACTION_CANCEL };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(text, str_from(delivery_action_text(actions[i])))) {
            ret->kind = OPERATION_ACT;
            ret->action = actions[i];
            return true;
        }
    }
    for (OperationKind kind = OPERATION_ACT + 1; kind < ARRAY_LEN(kind_texts); kind++) {
        if (str_eq(text, str_from(kind_texts[kind]))) {
            ret->kind = kind;
            return true;
        }
    }
    return false;
}

const char *operation_text(const Operation *operation)
{
    assert(operation->kind < ARRAY_LEN(kind_texts));
    return operation->kind == OPERATION_ACT ? delivery_action_text(operation->action)
                                            : kind_texts[operation->kind];
}

static const char *const state_texts[] = {
    [OPERATION_COUNTING] = "counting",
    [OPERATION_RUNNING] = "running",
    [OPERATION_DONE] = "done",
    [OPERATION_CANCELLED] = "cancelled",
};

const char *operation_state_text(const Operation *operation)
{
    assert(operation->state < ARRAY_LEN(state_texts));
    return operation->is_paused ? "paused" : state_texts[operation->state];
}

static bool read_state(Str text, OperationState *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(state_texts); i++) {
        if (str_eq(text, str_from(state_texts[i]))) {
            *ret = (OperationState) i;
            return true;
        }
    }
    return false;
}

Err operation_filter(Arena *arena, DeliveryAction action, const Json *source, Instant made_at,
                     DeliveryFilter *ret, Error *error)
{
    DeliveryFilter filter;
    TRY(delivery_filter_read(arena, source, S("/filter"), &filter, error));
    if (filter.is_stuck && action != DELIVERY_ACTION_CANCEL) {
        error_add(error, S("/filter/stuck"), "bad-value",
                  "is of what is still to be sent, and %s is for what is parked",
                  delivery_action_text(action));
        return error_close(error, ERR_INVALID);
    }
    if (filter.is_stuck)
        filter.stuck_before = made_at - DELIVERY_STUCK_AFTER;
    if (filter.has_state && !delivery_may(filter.state, action)) {
        error_add(error, S("/filter/state"), "bad-value",
                  "%s is for deliveries that are %s, not %s", delivery_action_text(action),
                  action == DELIVERY_ACTION_CANCEL ? "pending, sending, retrying or waiting"
                                                   : "parked",
                  delivery_state_text(filter.state));
        return error_close(error, ERR_INVALID);
    }
    if (action == DELIVERY_ACTION_CANCEL) {
        filter.is_live = true;
    } else {
        filter.has_state = true;
        filter.state = DELIVERY_PARKED;
    }
    *ret = filter;
    return ERR_OK;
}

// Wanted is what an operation acts on: rows of the outbox where it is a replay, else deliveries.
typedef union Wanted {
    DeliveryFilter deliveries;
    InboxFilter rows;
} Wanted;

static Err filter_of(Arena *arena, const Operation *operation, const Json *source, Wanted *ret,
                     Error *error)
{
    Instant at = operation->created_at;
    if (operation->kind == OPERATION_REPLAY)
        return inbox_filter_read(source, S("/filter"), &ret->rows, error);
    if (operation->kind != OPERATION_HANDOVER)
        return operation_filter(arena, operation->action, source, at, &ret->deliveries, error);
    TRY(operation_filter(arena, DELIVERY_ACTION_CANCEL, source, at, &ret->deliveries,
                         error)); // live ones
    ret->deliveries.is_run = !ret->deliveries.job.at;
    return ERR_OK;
}

Err operation_check(Arena *arena, const Operation *operation, const Json *source, Error *error)
{
    Wanted unused;
    return filter_of(arena, operation, source, &unused, error);
}

// OperationRow is an operation as it lies in its row: what is a word there, beside what it means.
typedef struct OperationRow {
    Operation operation;
    Str action, state;
    bool is_verify;
} OperationRow;

static const Columns added_columns =
    COLUMNS(OperationRow, COLUMN(OperationRow, operation.tenant),
            COLUMN(OperationRow, operation.id), COLUMN(OperationRow, action),
            COLUMN(OperationRow, operation.filter), COLUMN(OperationRow, operation.reason),
            COLUMN(OperationRow, operation.actor), COLUMN(OperationRow, operation.is_dry),
            COLUMN(OperationRow, state), COLUMN(OperationRow, operation.matched),
            COLUMN(OperationRow, operation.position), COLUMN(OperationRow, operation.created_at),
            COLUMN_IF(OperationRow, is_verify, operation.verdict.head.seq),
            COLUMN_IF(OperationRow, is_verify, operation.verdict.head.link),
            COLUMN_IF(OperationRow, is_verify, operation.outside.seq),
            COLUMN_IF(OperationRow, is_verify, operation.outside.link));
static const Columns row_columns = COLUMNS(
    OperationRow, COLUMN(OperationRow, operation.tenant), COLUMN(OperationRow, operation.id),
    COLUMN(OperationRow, action), COLUMN(OperationRow, operation.filter),
    COLUMN(OperationRow, operation.reason), COLUMN(OperationRow, operation.actor),
    COLUMN(OperationRow, operation.is_dry), COLUMN(OperationRow, operation.matched),
    COLUMN(OperationRow, operation.done), COLUMN(OperationRow, operation.skipped),
    COLUMN(OperationRow, operation.failed), COLUMN(OperationRow, state),
    COLUMN(OperationRow, operation.is_paused), COLUMN(OperationRow, operation.slices),
    COLUMN(OperationRow, operation.position), COLUMN_BYTES(OperationRow, operation.sample),
    COLUMN(OperationRow, operation.created_at), COLUMN_TIME(OperationRow, operation.finished_at),
    COLUMN(OperationRow, operation.verdict.head.seq),
    COLUMN(OperationRow, operation.verdict.head.link), COLUMN(OperationRow, operation.outside.seq),
    COLUMN(OperationRow, operation.outside.link), COLUMN(OperationRow, operation.verdict.problem),
    COLUMN(OperationRow, operation.verdict.bad));
static const Columns advanced_columns = COLUMNS(
    OperationRow, COLUMN(OperationRow, operation.tenant), COLUMN(OperationRow, operation.id),
    COLUMN(OperationRow, operation.matched), COLUMN(OperationRow, operation.done),
    COLUMN(OperationRow, operation.skipped), COLUMN(OperationRow, operation.failed),
    COLUMN(OperationRow, state), COLUMN(OperationRow, operation.slices),
    COLUMN(OperationRow, operation.position), COLUMN_TIME(OperationRow, operation.finished_at),
    COLUMN_IF(OperationRow, is_verify, operation.verdict.head.seq),
    COLUMN_IF(OperationRow, is_verify, operation.verdict.head.link),
    COLUMN_IF(OperationRow, is_verify, operation.verdict.problem),
    COLUMN_IF(OperationRow, is_verify, operation.verdict.bad),
    COLUMN_BYTES(OperationRow, operation.sample));

static OperationRow row_of(const Operation *operation)
{
    return (OperationRow){ .operation = *operation,
                           .action = str_from(operation_text(operation)),
                           .is_verify = operation->kind == OPERATION_VERIFY,
                           .state = str_from(state_texts[operation->state]) };
}

void operation_add(Tx *tx, const Operation *operation)
{
    OperationRow *row = ARENA_NEW(&tx->arena, OperationRow); // its ids are read at the sync
    *row = row_of(operation);
    row->operation.actor = tx->actor;
    db_send_row(tx->db, &tx->arena, &add, &added_columns, row, NULL);
    tx_fact(tx, FACT_OPERATION, operation->tenant, uuid_dup(&tx->arena, operation->id));
}

static Err read_operation(const Value *at, Operation *ret, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    OperationRow row = { 0 };
    columns_read(&row_columns, at, &row);
    Operation *operation = &row.operation;
    if (!operation_action(row.action, operation) || !read_state(row.state, &operation->state))
        return fail(error, ERR_CORRUPT, "operation %.*s has an unknown action or state",
                    STR_ARG(uuid_text(operation->id, text)));
    operation->verdict.rows = operation->done;
    *ret = *operation;
    return ERR_OK;
}

static Err operation_missing(Uuid id, Error *error)
{
    char text[UUID_TEXT_LEN + 1];
    return fail(error, ERR_NOT_FOUND, "there is no operation %.*s", STR_ARG(uuid_text(id, text)));
}

Err operation_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Operation *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    if (rows.count == 0)
        return operation_missing(id, error);
    return read_operation(rows_at(&rows, 0), ret, error);
}

Err operation_page(Db *db, Arena *arena, int64_t tenant, const bool *is_dry, const Walk *walk,
                   Operation **ret, Seen *ret_seen, Error *error)
{
    Rows rows;
    Uuid before = uuid_ceiling(INSTANT_NONE);
    TRY(walk_after(walk, true, &before, error));
    Value args[] = { value_i64(tenant), value_uuid(&before), value_i64(is_dry ? *is_dry : -1),
                     value_i64(walk->limit + 1) };
    db_page(db);
    TRY(db_query(db, arena, &page, args, &rows, error));
    Operation *found = ARENA_ARRAY(arena, Operation, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        TRY(read_operation(rows_at(&rows, i), &found[i], error));
    *ret = found;
    *ret_seen = walk_counted(walk, rows.count, rows.is_cut, false);
    if (ret_seen->has_more)
        ret_seen->next = walk_place(arena, found[ret_seen->count - 1].id);
    return ERR_OK;
}

// reason_told is as much of a reason as a row of the audit has room for, as JSON writes it.
static Str reason_told(Str reason)
{
    enum { REASON_TOLD = 120 };
    size_t len = 0;
    for (size_t room = REASON_TOLD; len < reason.len && room > 1; len++)
        room -= reason.at[len] == '"' || reason.at[len] == '\\' ? 2 : 1;
    return str_head(reason, len);
}

// tell_end tells the audit what an operation did: what was asked for, why, and the counts. A filter
// that is too long for a row of the audit is told by its hash; the operation itself has it.
static void tell_end(Tx *tx, const Operation *operation)
{
    if (operation->is_dry ||
        (operation->kind != OPERATION_ACT && operation->kind != OPERATION_REPLAY))
        return;
    Sha256 hash = sha256(operation->filter);
    bool is_whole = operation->filter.len <= FACT_SUBJECT_MAX / 3;
    Buf text = buf_new(&tx->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_id(&out, S("operation"), operation->id);
    json_put_str(&out, S("action"), str_from(operation_text(operation)));
    json_put_str(&out, S("state"), str_from(operation_state_text(operation)));
    json_put_i64(&out, S("matched"), operation->matched);
    json_put_i64(&out, S("done"), operation->done);
    json_put_i64(&out, S("skipped"), operation->skipped);
    json_put_i64(&out, S("failed"), operation->failed);
    if (is_whole)
        json_put_raw(&out, S("filter"), operation->filter);
    else
        json_put_str(&out, S("filterHash"), hex_text(&tx->arena, hash.b, sizeof hash.b));
    json_put_str(&out, S("reason"), reason_told(operation->reason));
    json_close(&out, '}');
    tx_fact(tx, FACT_OPERATION_ENDED, operation->tenant, buf_str(&text));
}

// turn_state is where a turn leads; false where there is nothing to do.
static bool turn_state(OperationTurn turn, Instant now, Operation *operation)
{
    bool was_paused = operation->is_paused;
    operation->is_paused = turn == OPERATION_PAUSE;
    if (turn != OPERATION_CANCEL)
        return was_paused != operation->is_paused;
    operation->state = OPERATION_CANCELLED;
    operation->finished_at = now;
    return true;
}

Err operation_turn(Tx *tx, int64_t tenant, Uuid id, OperationTurn turn, Operation *ret,
                   Error *error)
{
    static const char *const words[] = { "/paused", "/resumed", "/cancelled" };
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(tx_query(tx, &locked, args, &rows, error));
    if (rows.count == 0)
        return operation_missing(id, error);
    TRY(read_operation(rows_at(&rows, 0), ret, error));
    if (ret->kind != OPERATION_ACT && ret->kind != OPERATION_REPLAY)
        return fail(error, ERR_CONFLICT, "an operation that is to %s is carried out to its end",
                    operation_text(ret));
    if (turn == OPERATION_CANCEL && ret->state == OPERATION_CANCELLED)
        return ERR_OK;
    if (ret->state == OPERATION_DONE || ret->state == OPERATION_CANCELLED)
        return fail(error, ERR_CONFLICT, "the operation is %s", operation_state_text(ret));
    if (!turn_state(turn, tx->now, ret))
        return ERR_OK;
    Uuid *named = arena_copy(&tx->arena, &id, sizeof id); // it is read at the sync
    Value turned[] = { value_i64(tenant), value_uuid(named),
                       value_text(str_from(state_texts[ret->state])), value_i64(ret->is_paused),
                       value_time(ret->finished_at) };
    db_send(tx->db, &tx->arena, &turn_it, turned, NULL);
    tx_fact(tx, FACT_OPERATION, tenant,
            STR_JOIN(&tx->arena, uuid_dup(&tx->arena, id), str_from(words[turn])));
    if (turn == OPERATION_CANCEL)
        tell_end(tx, ret);
    return tx_sync(tx, error);
}

Err operation_verify(Tx *tx, int64_t tenant, const AuditHead *outside, Uuid *ret, Error *error)
{
    Rows rows;
    AuditChain chain;
    Value args[] = { value_i64(tenant) };
    TRY(tx_query(tx, &under_way, args, &rows, error));
    if (rows.count > 0) {
        *ret = value_to_uuid(rows_at(&rows, 0));
        return ERR_OK;
    }
    TRY(audit_chain(tx->db, &tx->arena, tenant, &chain, error));
    Operation operation = { .tenant = tenant,
                            .id = uuid_new(tx->now, tx->random),
                            .kind = OPERATION_VERIFY,
                            .filter = S("{}"),
                            .state = OPERATION_RUNNING,
                            .matched = chain.head.seq - chain.anchor.seq,
                            .verdict.head = chain.anchor,
                            .outside = *outside,
                            .created_at = tx->now };
    operation_add(tx, &operation);
    *ret = operation.id;
    return ERR_OK;
}

// finish ends an operation; of one that acted, each delivery that it matched is accounted for. What
// was counted and had moved out of the filter before its turn came was skipped; what came into it
// since then raised matched in run_slice().
static void finish(Tx *tx, Operation *operation)
{
    int64_t left = operation->matched - operation->done - operation->skipped - operation->failed;
    assert(left >= 0);
    if (!operation->is_dry)
        operation->skipped += left;
    operation->state = OPERATION_DONE;
    operation->finished_at = tx->now;
    tell_end(tx, operation);
}

static Err read_filter(Tx *tx, const Operation *operation, Wanted *ret, Error *error)
{
    const Json *source;
    TRY(json_parse(&tx->arena, operation->filter, &source, error));
    return filter_of(&tx->arena, operation, source, ret, error);
}

// find walks on from the operation's place. What came after the operation has a larger id and is
// not part of it, or it would chase new deliveries for ever.
static Err find(Tx *tx, Operation *operation, const Wanted *filter, int64_t limit, IdsSeen *ret,
                Error *error)
{
    Walk walk = { .after = walk_place(&tx->arena, operation->position), .limit = limit };
    if (operation->kind == OPERATION_REPLAY)
        TRY(inbox_walk(tx->db, &tx->arena, operation->tenant, &filter->rows, operation->id, &walk,
                       ret, error));
    else
        TRY(delivery_walk(tx->db, &tx->arena, operation->tenant, &filter->deliveries, operation->id,
                          &walk, ret, error));
    operation->position = ret->next;
    return ERR_OK;
}

// keep_sample keeps the first few of what one that is dry matches, for whoever is to confirm it.
static void keep_sample(Tx *tx, Operation *operation, const IdsSeen *found)
{
    Buf sample = buf_new(&tx->arena, OPERATION_SAMPLE * sizeof(Uuid));
    buf_add(&sample, operation->sample);
    for (size_t i = 0; i < found->count && sample.len < OPERATION_SAMPLE * sizeof(Uuid); i++)
        buf_add_bytes(&sample, found->ids[i].b, sizeof found->ids[i].b);
    if (sample.len > 0)
        operation->sample = buf_str(&sample);
}

static Err count_slice(Tx *tx, Operation *operation, const Wanted *filter, Error *error)
{
    IdsSeen found;
    TRY(find(tx, operation, filter, WALK_MAX, &found, error));
    operation->matched += (int64_t) found.count;
    if (operation->is_dry)
        keep_sample(tx, operation, &found);
    if (found.has_more)
        return ERR_OK;
    operation->state = OPERATION_RUNNING;
    operation->position = (Uuid){ 0 };
    if (operation->is_dry || operation->matched == 0)
        finish(tx, operation);
    return ERR_OK;
}

// act acts on what a slice found, and counts what it did.
static Err act(Tx *tx, Operation *operation, const IdsSeen *found, Error *error)
{
    int64_t done = 0;
    size_t moved = 0;
    Acted *acted = ARENA_ARRAY(&tx->arena, Acted, found->count + 1);
    if (operation->kind == OPERATION_REPLAY)
        TRY(inbox_replay(tx, operation->tenant, found->ids, found->count, &done, error));
    else if (operation->kind == OPERATION_HANDOVER)
        TRY(handover_these(tx, operation->tenant, found->ids, found->count, &moved, error));
    else
        TRY(act_all(tx, operation->tenant, found->ids, found->count, operation->action,
                    operation->reason, acted, error));
    for (size_t i = 0; i < found->count && operation->kind == OPERATION_ACT; i++)
        done += acted[i].err == ERR_OK;
    done += (int64_t) moved;
    operation->done += done;
    operation->skipped += (int64_t) found->count - done;
    return ERR_OK;
}

// cover: what came into the filter after it was counted is part of what it matched.
static void cover(Operation *operation)
{
    int64_t met = operation->done + operation->skipped + operation->failed;
    if (operation->matched < met)
        operation->matched = met;
}

static Err run_slice(Tx *tx, Operation *operation, const Wanted *filter, int limit, Error *error)
{
    IdsSeen found;
    TRY(find(tx, operation, filter, limit, &found, error));
    TRY(act(tx, operation, &found, error));
    cover(operation);
    if (!found.has_more)
        finish(tx, operation);
    return ERR_OK;
}

// verify_slice looks at the next rows of the chain. What was sealed since it began is part of it.
static Err verify_slice(Tx *tx, Operation *operation, int limit, Error *error)
{
    bool has_more;
    TRY(audit_verify(tx->db, operation->tenant, &operation->outside,
                     (int64_t) limit * OPERATION_VERIFIES, &operation->verdict, &has_more, error));
    operation->done = operation->verdict.rows;
    cover(operation);
    if (!has_more)
        finish(tx, operation);
    return ERR_OK;
}

static Err carry_on(Tx *tx, Operation *operation, int limit, Error *error)
{
    Wanted filter;
    operation->slices++;
    if (operation->kind == OPERATION_VERIFY)
        return verify_slice(tx, operation, limit, error);
    Error unread = { .arena = &tx->arena };
    // The filter was valid when it was stored. One that is not any more ends its operation, for
    // otherwise it would stand in the way of all others.
    if (read_filter(tx, operation, &filter, &unread) != ERR_OK) {
        log_error("operation.unreadable", "detail=%s", log_quote(str_from(unread.detail)));
        operation->failed++;
        cover(operation);
        finish(tx, operation);
        return ERR_OK;
    }
    if (operation->state == OPERATION_COUNTING)
        return count_slice(tx, operation, &filter, error);
    return run_slice(tx, operation, &filter, limit, error);
}

Err operation_step(Tx *tx, int limit, bool *ret_more, Error *error)
{
    assert(limit > 0);
    Rows rows;
    Operation operation;
    TRY(tx_query(tx, &next, NULL, &rows, error));
    *ret_more = rows.count > 0;
    if (rows.count == 0)
        return ERR_OK;
    TRY(read_operation(rows_at(&rows, 0), &operation, error));
    Uuid actor = tx->actor;
    tx->actor = operation.actor;
    TRY(carry_on(tx, &operation, limit, error));
    tx->actor = actor;
    OperationRow *row = ARENA_NEW(&tx->arena, OperationRow); // its ids are read at the sync
    *row = row_of(&operation);
    db_send_row(tx->db, &tx->arena, &advance, &advanced_columns, row, NULL);
    return tx_sync(tx, error);
}
