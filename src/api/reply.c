#include "api/served.h"

#include "api/pages.h"
#include "base/log.h"
#include "base/thread.h"

enum { ANSWER_BYTES_MAX = 64 << 20 };

void reply_anew(Served *served)
{
    served->error = (Error){ .arena = served->call.arena };
    served->is_secret = served->is_late = served->is_undone = false;
    served->refused = ERR_OK;
    served->call.reply = (Reply){ 0 };
    served->call.out = (Buf){ 0 };
    served->call.tell = NULL;
}

void call_later(Call *call, Err (*tell)(Call *call, Error *error))
{
    call->tell = tell;
}

// may_write is false on a thread that has a transaction to end, but for what is part of it.
static bool may_write(const Call *call)
{
    return thread_kind() != THREAD_PEN || call->idempotency_key.at;
}

JsonOut *call_json(Call *call, int status)
{
    assert(may_write(call));
    call->reply = (Reply){ .status = status, .type = S("application/json") };
    call->out = buf_new(call->arena, ANSWER_BYTES_MAX);
    call->json = json_out(&call->out);
    return &call->json;
}

void call_header(Call *call, Str name, Str value)
{
    assert(call->reply.header_count < REPLY_HEADERS_MAX);
    call->reply.headers[call->reply.header_count++] = (Header){ name, value };
}

void call_undo(Call *call)
{
    assert(call->route->run.is_whole);
    ((Served *) call)->is_undone = true;
}

void call_secret(Call *call)
{
    ((Served *) call)->is_secret = true;
}

Str reply_body(const Call *call)
{
    return call->out.len > 0 ? buf_str(&call->out) : call->reply.body;
}

void reply_refuse(Call *call, const Error *error)
{
    assert(may_write(call));
    call->out = (Buf){ 0 };
    call->reply = problem_reply(call->arena, error, call->exchange->request_id);
    survey_page_problem(call, &call->reply);
}

void call_refuse(Call *call, Err err, const Error *error)
{
    Served *served = (Served *) call;
    served->error = *error;
    served->refused = err;
}

Err reply_conclude(Served *served, Err err, Error *error)
{
    if (err == ERR_OK)
        return ERR_OK;
    if (err_http(err) >= 500)
        return fail(error, err, "%s", served->error.detail);
    served->refused = err;
    return ERR_OK;
}

Err reply_write(Served *served, Error *error)
{
    Call *call = &served->call;
    if (call->reply.status != 0)
        return ERR_OK;
    if (served->refused != ERR_OK) {
        served->error.err = served->refused;
        reply_refuse(call, &served->error);
        return ERR_OK;
    }
    assert(call->tell); // whoever did not write its answer left it to be told
    return call->tell(call, error);
}

void reply_let_go(Call *call)
{
    Registry *registry = call->registry;
    call->registry = NULL;
    call->key = NULL;
    if (call->let_go)
        call->let_go(call);
    registry_drop(registry);
    once_release((Served *) call);
}

void call_park(Call *call)
{
    exchange_park(call->exchange);
}

bool call_unpark(Call *call)
{
    if (exchange_unpark(call->exchange))
        return true;
    metrics_request(call->route, err_http(ERR_STOPPING));
    reply_let_go(call);
    exchange_drop(call->exchange);
    return false;
}

// answer lets go of what the call holds, then of the call: after the reply its memory is another's.
static void answer(Call *call)
{
    reply_let_go(call);
    metrics_request(call->route, call->reply.status);
    hook_answered(call, call->reply.status);
    metrics_answered((Served *) call);
    exchange_reply(call->exchange, &call->reply);
}

void call_reply(Call *call)
{
    assert(call->reply.status != 0);
    if (call->out.overflowed) {
        Error error = { 0 };
        call_fail(call, fail(&error, ERR_INTERNAL, "the answer is too large"), &error);
        return;
    }
    call->reply.body = reply_body(call);
    answer(call);
}

// sentence is what a caller is told where the detail may be the database's own, with names of
// statements, files and hosts: that is for the log. NULL: the detail is for the caller.
static const char *sentence(Err err)
{
    static const char *const sentences[] = {
        [ERR_UNAVAILABLE] = "the database cannot be reached; try again",
        [ERR_BUSY] = "too much is waiting, or a table is locked; try again",
        [ERR_DISK_FULL] = "the database has no room left to write",
    };
    if (err_http(err) == 500)
        return "the log says more, under the request's id";
    return err < ARRAY_LEN(sentences) ? sentences[err] : NULL;
}

void reply_log(const Call *call, Err err, const Error *error)
{
    const Exchange *exchange = call->exchange;
    char id[UUID_TEXT_LEN + 1];
    // Some providers sign nothing: the path is their secret.
    Str path = call->route && call->route->is_hook ? str_from(call->route->path) : exchange->path;
    if (err_http(err) >= 500)
        log_error("call.failed", "method=%.*s path=%s code=%s request=%.*s detail=%s",
                  STR_ARG(exchange->method), log_quote(path), err_code(err),
                  STR_ARG(uuid_text(exchange->request_id, id)), log_quote(str_from(error->detail)));
}

void call_fail(Call *call, Err err, const Error *error)
{
    Error told = *error;
    told.err = err;
    reply_log(call, err, error);
    const char *known = sentence(err);
    if (known)
        fail(&told, err, "%s", known);
    if (call->route && call->route->is_hook && err_http(err) >= 500)
        told.err = ERR_UNSTORED;
    reply_refuse(call, &told);
    answer(call);
}

// ask_more lets go of a call whose part was taken, until the next is there.
static void ask_more(Call *call)
{
    reply_let_go(call);
    exchange_more(call->exchange);
}

void reply_finish(Call *call, Err err, const Error *error)
{
    const Served *served = (const Served *) call;
    if (err == ERR_OK && served->refused == ERR_OK && call->exchange->is_part) {
        ask_more(call);
        return;
    }
    Error own = { .arena = call->arena };
    if (err == ERR_OK) {
        err = reply_write((Served *) call, &own);
        error = &own;
    }
    if (err == ERR_OK)
        call_reply(call);
    else
        call_fail(call, err, error);
}

void call_tell(Call *call, Err (*tell)(Call *call, Error *error))
{
    Error error = { .arena = call->arena };
    reply_finish(call, tell(call, &error), &error);
}

Err call_parse(Call *call, const Json **ret, Error *error)
{
    assert(thread_kind() != THREAD_SERVER);
    return json_parse(call->arena, call->exchange->body, ret, error);
}

Err call_body(Call *call, Error *error)
{
    if (!call->body)
        return fail(error, ERR_MALFORMED, "a JSON body is needed");
    if (json_type(call->body) == JSON_OBJECT)
        return ERR_OK;
    error_add(error, S(""), "bad-type", "must be an object, not %s",
              json_type_name(json_type(call->body)));
    return error_close(error, ERR_INVALID);
}

Err call_merge(const Call *call, Str current, const Json *patch, const Json **ret, Error *error)
{
    const Json *target;
    Buf merged = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&merged);
    TRY(json_parse(call->arena, current, &target, error));
    json_merge(&out, target, patch);
    return json_parse(call->arena, buf_str(&merged), ret, error);
}

Err call_id(const Call *call, int param, Uuid *ret, Error *error)
{
    if (uuid_parse(call->params[param], ret))
        return ERR_OK;
    return fail(error, ERR_NOT_FOUND, "nothing has this id");
}

Str call_tenant_id(const Call *call)
{
    const RegistryTenant *tenant =
        call->registry ? registry_tenant(call->registry, call->tenant) : NULL;
    return tenant ? tenant->id : STR_NONE;
}
