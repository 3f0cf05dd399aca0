#include "store/operation.h"

#include "base/log.h"

#define OPERATION_COLUMNS                                                                          \
    "SELECT tenant, id, action, filter, reason, matched, done, skipped, failed, state, position,"  \
    " created_at, finished_at, actor FROM operation"
#define OPERATION_NEXT                                                                             \
    OPERATION_COLUMNS                                                                              \
    " WHERE state = 'running' ORDER BY done + skipped + failed, created_at, id LIMIT 1"

static const Statement add = {
    .name = "operation_add",
    .scope = STATEMENT_TENANT,
    .params = "iutttiiu",
    .sql = "INSERT INTO operation (tenant, id, action, filter, reason, matched, done, skipped,"
           " failed, state, created_at, actor)"
           " VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 'running', $7, $8)",
};
static const Statement one = {
    .name = "operation_row",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = OPERATION_COLUMNS " WHERE tenant = $1 AND id = $2",
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
    .params = "iuiiitui",
    .sql = "UPDATE operation SET done = $3, skipped = $4, failed = $5, state = $6, position = $7,"
           " finished_at = $8 WHERE tenant = $1 AND id = $2",
};

const Statement *const operation_statements[] = { &add, &one, &next, &advance, NULL };

bool operation_action(Str text, DeliveryAction *ret)
{
    static const DeliveryAction actions[] = { DELIVERY_ACTION_RETRY, DELIVERY_ACTION_DISCARD,
                                              DELIVERY_ACTION_CANCEL };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(text, str_from(delivery_action_text(actions[i])))) {
            *ret = actions[i];
            return true;
        }
    }
    return false;
}

const char *operation_state(const Operation *operation)
{
    return operation->is_done ? "done" : "running";
}

Err operation_filter(DeliveryAction action, const Json *source, DeliveryFilter *ret, Error *error)
{
    DeliveryFilter filter;
    TRY(delivery_filter_read(source, S("/filter"), &filter, error));
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

void operation_add(Tx *tx, const Operation *operation)
{
    Value args[] = {
        value_i64(operation->tenant),
        value_uuid(&operation->id),
        value_text(str_from(delivery_action_text(operation->action))),
        value_text(operation->filter),
        value_text(operation->reason),
        value_i64(operation->matched),
        value_time(operation->created_at),
        value_uuid(&tx->actor),
    };
    db_send(tx->db, &tx->arena, &add, args, NULL);
    tx_fact(tx, FACT_OPERATION, operation->tenant, uuid_dup(&tx->arena, operation->id));
}

static Err read_operation(const Value *row, Operation *ret, Error *error)
{
    *ret = (Operation){
        .tenant = value_to_i64(&row[0]),
        .id = value_to_uuid(&row[1]),
        .filter = value_to_str(&row[3]),
        .reason = value_to_str(&row[4]),
        .matched = value_to_i64(&row[5]),
        .done = value_to_i64(&row[6]),
        .skipped = value_to_i64(&row[7]),
        .failed = value_to_i64(&row[8]),
        .is_done = str_eq(value_to_str(&row[9]), S("done")),
        .position = value_to_uuid(&row[10]),
        .created_at = value_to_i64(&row[11]),
        .finished_at = value_to_time(&row[12]),
        .actor = value_to_uuid(&row[13]),
    };
    char text[UUID_TEXT_LEN + 1];
    if (!operation_action(value_to_str(&row[2]), &ret->action))
        return fail(error, ERR_CORRUPT, "operation %.*s has an unknown action",
                    STR_ARG(uuid_text(ret->id, text)));
    return ERR_OK;
}

Err operation_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Operation *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&id) };
    TRY(db_query(db, arena, &one, args, &rows, error));
    if (rows.count == 0) {
        char text[UUID_TEXT_LEN + 1];
        return fail(error, ERR_NOT_FOUND, "there is no operation %.*s",
                    STR_ARG(uuid_text(id, text)));
    }
    return read_operation(rows_at(&rows, 0), ret, error);
}

static Err act_on(Tx *tx, Operation *operation, Uuid id, Error *error)
{
    Err err = delivery_act(tx, operation->tenant, id, operation->action, operation->reason, error);
    // Only what says something about this one delivery is counted. A store that fails ends the
    // slice, a damaged one too: part of the action may have been written, and must be rolled back.
    if (err == ERR_CONFLICT || err == ERR_NOT_FOUND)
        operation->skipped++;
    else if (err != ERR_OK)
        return err;
    else
        operation->done++;
    operation->position = id;
    return ERR_OK;
}

static Err read_filter(Tx *tx, const Operation *operation, DeliveryFilter *ret, Error *error)
{
    const Json *source;
    TRY(json_parse(&tx->arena, operation->filter, &source, error));
    return operation_filter(operation->action, source, ret, error);
}

static Err run_slice(Tx *tx, Operation *operation, int limit, Error *error)
{
    DeliveryFilter filter;
    Error unread = { .arena = &tx->arena };
    // The filter was valid when it was stored. One that is not any more ends its operation, for
    // otherwise it would stand in the way of all others.
    if (read_filter(tx, operation, &filter, &unread) != ERR_OK) {
        log_error("operation.unreadable", "detail=%s", log_quote(str_from(unread.detail)));
        operation->failed++;
        operation->is_done = true;
        return ERR_OK;
    }
    // What came after the operation is not part of it, or it would chase new deliveries for ever.
    filter.to = earlier(filter.to, operation->created_at + 1);

    Uuid *ids;
    size_t count;
    TRY(delivery_walk(tx->db, &tx->arena, operation->tenant, &filter, operation->position, limit,
                      &ids, &count, error));
    for (size_t i = 0; i < count; i++)
        TRY(act_on(tx, operation, ids[i], error));
    operation->is_done = count < (size_t) limit;
    return ERR_OK;
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
    TRY(run_slice(tx, &operation, limit, error));
    tx->actor = actor;
    Value args[] = {
        value_i64(operation.tenant),
        value_uuid(&operation.id),
        value_i64(operation.done),
        value_i64(operation.skipped),
        value_i64(operation.failed),
        value_text(str_from(operation_state(&operation))),
        uuid_is_none(operation.position) ? value_null() : value_uuid(&operation.position),
        operation.is_done ? value_i64(tx->now) : value_null(),
    };
    return tx_query(tx, &advance, args, &rows, error);
}
