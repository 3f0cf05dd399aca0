#include "api/handlers.h"

#include "api/shapes.h"
#include "api/shown.h"
#include "store/operation.h"

// read_request reads what is asked for. The filter must be given, though it may be empty: nobody
// means all deliveries by leaving it out.
static Err read_request(const Call *call, Operation *ret, Error *error)
{
    OperationBody body = { 0 };
    TRY(fields_read(call->arena, call->body, S(""), &operation_body_shape, &body, error));
    *ret = (Operation){ .reason = body.reason,
                        .filter = json_text(call->arena, body.filter),
                        .is_dry = body.is_dry };
    bool is_action = operation_action(str_from(operation_words[body.action]), ret);
    assert(is_action);
    return operation_check(call->arena, ret, body.filter, error);
}

Err operation_begun(Call *call, Error *error)
{
    const Operation *operation = call->with;
    (void) error;
    JsonOut *json = call_json(call, 202);
    json_open(json, '{');
    json_put_id(json, S("id"), operation->id);
    json_put_null(json, S("matched"));
    json_put_bool(json, S("dryRun"), operation->is_dry);
    json_close(json, '}');
    call_header(call, S("Location"),
                str_format(call->arena, "/v1/operations/%.*s",
                           STR_ARG(uuid_dup(call->arena, operation->id))));
    return ERR_OK;
}

// operation_create answers before anything is counted: that is done in slices, like the rest.
Err operation_create(Call *call, Tx *tx, Error *error)
{
    Operation operation;
    TRY(call_body(call, error));
    TRY(read_request(call, &operation, error));
    operation.tenant = call->tenant;
    operation.id = uuid_new(tx->now, tx->random);
    operation.created_at = tx->now;
    operation_add(tx, &operation);
    call->with = arena_copy(call->arena, &operation, sizeof operation);
    call_later(call, operation_begun);
    return ERR_OK;
}

static void put_sample(JsonOut *json, Str sample)
{
    json_key(json, S("sample"));
    json_open(json, '[');
    for (; sample.len >= sizeof(Uuid); sample = str_skip(sample, sizeof(Uuid))) {
        Uuid id;
        char text[UUID_TEXT_LEN + 1];
        memcpy(id.b, sample.at, sizeof id.b);
        json_add_str(json, uuid_text(id, text));
    }
    json_close(json, ']');
}

static void put_operation(const Call *call, JsonOut *json, const Operation *operation)
{
    json_put_id(json, S("id"), operation->id);
    json_put_str(json, S("action"), str_from(operation_text(operation)));
    json_put_raw(json, S("filter"), operation->filter);
    json_put_str(json, S("reason"), operation->reason);
    json_put_bool(json, S("dryRun"), operation->is_dry);
    if (operation->state == OPERATION_COUNTING)
        json_put_null(json, S("matched"));
    else
        json_put_i64(json, S("matched"), operation->matched);
    json_put_i64(json, S("done"), operation->done);
    json_put_i64(json, S("skipped"), operation->skipped);
    json_put_i64(json, S("failed"), operation->failed);
    json_put_str(json, S("state"), str_from(operation_state_text(operation)));
    json_put_time(json, S("createdAt"), operation->created_at);
    json_put_time(json, S("finishedAt"), operation->finished_at);
    if (operation->is_dry)
        put_sample(json, operation->sample);
    if (operation->kind == OPERATION_VERIFY && operation->state == OPERATION_DONE)
        put_verdict(call, json, &operation->verdict);
}

// find_operation finds one's own, and with the system right what verifies the installation's audit.
static Err find_operation(const Call *call, Db *db, Uuid id, Operation *ret, Error *error)
{
    Err err = operation_row(db, call->arena, call->tenant, id, ret, error);
    if (err != ERR_NOT_FOUND || !call->key->is_system)
        return err;
    *error = (Error){ 0 };
    return operation_row(db, call->arena, 0, id, ret, error);
}

Err operation_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    Operation operation;
    TRY(call_id(call, 0, &id, error));
    TRY(find_operation(call, db, id, &operation, error));
    if (call->key->role == ROLE_AUDIT_EXPORT && operation.kind != OPERATION_VERIFY)
        return fail(error, ERR_NOT_FOUND, "there is no verification with this id");
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_operation(call, json, &operation);
    json_close(json, '}');
    return ERR_OK;
}

enum { LIST_DRY };

// clang-format off
const Param operation_params[] = {
    [LIST_DRY] = { "dryRun", PARAM_BOOL, .help = "Only those that count and change nothing; false: only the others" },
    { 0 },
};
// clang-format on

Err operation_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Operation *rows;
    bool is_dry;
    bool asks = param_bool(call, LIST_DRY, &is_dry);
    TRY(call_walk(call, &walk, error));
    TRY(operation_page(db, call->arena, call->tenant, asks ? &is_dry : NULL, &walk, &rows, &seen,
                       error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++) {
        json_open(json, '{');
        put_operation(call, json, &rows[i]);
        json_close(json, '}');
    }
    page_close(call, &seen);
    return ERR_OK;
}

static Err tell_turned(Call *call, Error *error)
{
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    put_operation(call, json, call->with);
    json_close(json, '}');
    return ERR_OK;
}

static Err turn(Call *call, Tx *tx, OperationTurn to, Error *error)
{
    Uuid id;
    Operation *operation = ARENA_NEW(call->arena, Operation);
    TRY(call_id(call, 0, &id, error));
    TRY(operation_turn(tx, call->tenant, id, to, operation, error));
    // Its texts lie in the transaction's memory, which ends before the answer is written.
    operation->filter = str_dup(call->arena, operation->filter);
    if (operation->reason.at)
        operation->reason = str_dup(call->arena, operation->reason);
    if (operation->sample.at)
        operation->sample = str_dup(call->arena, operation->sample);
    call->with = operation;
    call_later(call, tell_turned);
    return ERR_OK;
}

Err operation_pause(Call *call, Tx *tx, Error *error)
{
    return turn(call, tx, OPERATION_PAUSE, error);
}

Err operation_resume(Call *call, Tx *tx, Error *error)
{
    return turn(call, tx, OPERATION_RESUME, error);
}

Err operation_cancel(Call *call, Tx *tx, Error *error)
{
    return turn(call, tx, OPERATION_CANCEL, error);
}
