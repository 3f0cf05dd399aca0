#include "api/served.h"

#include "base/log.h"
#include "engine/engine.h"

// A request passes through this file from top to bottom: begun when its head is in, handled when
// its body is, done by its route's work, answered.

enum {
    BODY_BYTES_MAX = 1 << 20,
    REFUSED_BYTES_MAX = 64 * 1024, // read and dropped before a refusal that has a header
    ANSWER_BYTES_MAX = 64 << 20,
    // What the server's thread does by itself; more of it is for the thinkers.
    QUICK_BYTES_MAX = 64 * 1024,
    QUICK_PAIRS_MAX = 2000,
    LATE_MAX = 3, // after that the writer's thread decides: somebody publishes without end
};

static Err check_head(Served *served, Error *error);
static void look_again(Served *served);
static void proceed(Served *served);
static Err read_body(Served *served, Error *error);
static void dispatch(Served *served);
static void refuse(Call *call, const Error *error);

// store_of returns the writer once the store is there. The application sets it last.
static Writer *store_of(Api *api)
{
    return atomic_load(&api->writer);
}

// needs_store is false for the few routes that answer while the store is away.
static bool needs_store(const Route *route)
{
    return route->roles != ANYONE || route->run.work != WORK_START;
}

// is_doubtful is true for a key that another node may have made a moment ago.
static bool is_doubtful(const Served *served, Err err)
{
    return err == ERR_NO_KEY && served->has_key && writer_is_shared(store_of(served->call.api));
}

Err api_begin(void *with, Exchange *exchange, size_t *ret_body_max, Error *error)
{
    Api *api = with;
    Served *served = ARENA_NEW(&exchange->arena, Served);
    Call *call = &served->call;
    call->api = api;
    call->exchange = exchange;
    call->arena = &exchange->arena;
    exchange->with = served;
    TRY(route_find(served, error));
    size_t max = BODY_BYTES_MAX;
    if (served->allow.at)
        max = REFUSED_BYTES_MAX;
    else if (call->route->run.body & BODY_LARGE)
        max = API_BODY_BYTES_MAX;
    if (max < *ret_body_max)
        *ret_body_max = max;
    if (served->allow.at)
        return ERR_OK; // refused when it is handled: only then can a header go with it
    if (!needs_store(call->route))
        return ERR_OK;
    TRY(check_head(served, error));

    // The snapshot is not kept: a client may leave before its body is in, and nobody would be told.
    Writer *writer = store_of(api);
    Registry *registry = writer ? writer_registry(writer) : NULL;
    if (!registry)
        return fail(error, ERR_UNAVAILABLE, "the database cannot be reached yet");
    Err err = rights_admit(served, registry, clock_now(api->clock), error);
    call->key = NULL;
    registry_drop(registry);
    if (!is_doubtful(served, err))
        return err;
    // The body of somebody who is perhaps nobody is kept short.
    if (BODY_BYTES_MAX < *ret_body_max)
        *ret_body_max = BODY_BYTES_MAX;
    return ERR_OK;
}

void api_handle(void *with, Exchange *exchange)
{
    Api *api = with;
    Served *served = exchange->with;
    Call *call = &served->call;
    Error error = { .arena = call->arena };
    Err err = ERR_OK;
    if (served->allow.at) {
        fail(&error, ERR_METHOD, "the path takes %.*s", STR_ARG(served->allow));
        refuse(call, &error);
        call_header(call, S("Allow"), served->allow);
        call_reply(call);
        return;
    }
    if (needs_store(call->route)) {
        call->registry = writer_registry(store_of(api));
        err = rights_admit(served, call->registry, clock_now(api->clock), &error);
    }
    if (err == ERR_OK)
        proceed(served);
    else if (is_doubtful(served, err))
        look_again(served);
    else
        call_fail(call, err, &error);
}

static bool has_body(const Exchange *exchange)
{
    Str length = exchange_header(exchange, S("Content-Length"));
    return exchange_header(exchange, S("Transfer-Encoding")).at ||
           (length.len > 0 && !str_eq(length, S("0")));
}

static bool is_json(Str type)
{
    Str name = str_trim(str_cut(&type, ';'));
    if (name.len < 5 ||
        !str_eq_nocase((Str){ name.at, name.len < 12 ? name.len : 12 }, S("application/")))
        return false;
    return str_eq_nocase(name, S("application/json")) ||
           str_eq_nocase(str_skip(name, name.len - 5), S("+json"));
}

// check_head reads what the headers say: the key, the type of the body, the idempotency key.
static Err check_head(Served *served, Error *error)
{
    Call *call = &served->call;
    const Exchange *exchange = call->exchange;
    rights_read(served);
    Str type = exchange_header(exchange, S("Content-Type"));
    bool is_any = (call->route->run.body & BODY_ANY) != 0;
    if (type.at && has_body(exchange) && !is_any && !is_json(type))
        return fail(error, ERR_MEDIA_TYPE, "send application/json");
    return once_read(served, error);
}

static Err read_body(Served *served, Error *error)
{
    Call *call = &served->call;
    const Exchange *exchange = call->exchange;
    bool is_post = str_eq(exchange->method, S("POST"));
    once_hash(served);
    // An event may be a CloudEvent, whose content need not be JSON: its handler reads it.
    if (exchange->body.len == 0 || (call->route->run.body & BODY_ANY) ||
        (!is_post && !str_eq(exchange->method, S("PUT"))))
        return ERR_OK;
    return json_parse(call->arena, exchange->body, &call->body, error);
}

static Call *call_of_read(Read *read)
{
    return (Call *) ((char *) read - offsetof(Call, read));
}

static Call *call_of_op(Op *op)
{
    return (Call *) ((char *) op - offsetof(Call, op));
}

// begin_anew forgets what an earlier try left behind.
static void begin_anew(Served *served)
{
    served->error = (Error){ .arena = served->call.arena };
    served->is_secret = served->is_refused = served->is_written = served->is_late = false;
    served->call.reply = (Reply){ 0 };
    served->call.out = (Buf){ 0 };
}

// conclude turns what is the caller's fault into an answer and hands up what is ours.
static Err conclude(Served *served, Err err, Error *error)
{
    if (err == ERR_OK)
        return ERR_OK;
    if (err_http(err) >= 500)
        return fail(error, err, "%s", served->error.detail);
    served->error.err = err;
    refuse(&served->call, &served->error);
    return ERR_OK;
}

static Call *call_of_task(Task *task)
{
    return (Call *) ((char *) task - offsetof(Call, task));
}

// set_aside goes on with a call on a thinker's thread; false when too many wait for one.
static bool set_aside(Served *served, void (*run)(Task *task, void *seat))
{
    Call *call = &served->call;
    served->is_aside = true;
    call->task = (Task){ .run = run };
    return pool_submit(call->api->thinkers, &call->task);
}

static void go_on(Task *task, void *seat)
{
    (void) seat;
    proceed((Served *) call_of_task(task));
}

static void proceed_aside(Served *served)
{
    Error error = { 0 };
    if (!set_aside(served, go_on))
        call_fail(&served->call, fail(&error, ERR_BUSY, "too many large requests are waiting"),
                  &error);
}

static Err read_call(Served *served, Error *error)
{
    Call *call = &served->call;
    served->is_read = true;
    TRY(read_body(served, error));
    return call->route->run.think ? call->route->run.think(call, error) : ERR_OK;
}

// proceed reads the body and decides what can be, ahead of the route's work. It begins anew with
// the thinkers as soon as it meets more than the server's thread should do.
static void proceed(Served *served)
{
    Call *call = &served->call;
    const RouteSet *set = call->route->run.set;
    Error error = { .arena = call->arena };
    Err err = ERR_OK;
    if (!served->is_aside && call->exchange->body.len > QUICK_BYTES_MAX) {
        proceed_aside(served);
        return;
    }
    if (!served->is_read)
        err = read_call(served, &error);
    if (err == ERR_OK && set && !served->is_aside && set->weigh(call) > QUICK_PAIRS_MAX) {
        proceed_aside(served);
        return;
    }
    if (err == ERR_OK && set) {
        served->decided_on = call->registry->generation;
        err = set->decide(call, &error);
    }
    if (err == ERR_OK)
        dispatch(served);
    else
        call_fail(call, err, &error);
}

// run_doubt runs after the reader has renewed the snapshot.
static Err run_doubt(Read *read, Db *db, Error *error)
{
    Call *call = call_of_read(read);
    Served *served = (Served *) call;
    (void) db, (void) error;
    begin_anew(served);
    registry_drop(call->registry);
    call->registry = writer_registry(store_of(call->api));
    served->doubt =
        rights_admit(served, call->registry, clock_now(call->api->clock), &served->error);
    return ERR_OK;
}

static void doubt_done(Read *read, Err err, const Error *error)
{
    Call *call = call_of_read(read);
    Served *served = (Served *) call;
    if (err != ERR_OK)
        call_fail(call, err, error);
    else if (served->doubt != ERR_OK)
        call_fail(call, served->doubt, &served->error);
    else
        proceed(served);
}

// look_again asks the store about a key that the snapshot does not have.
static void look_again(Served *served)
{
    Call *call = &served->call;
    call->read = (Read){ .run = run_doubt, .done = doubt_done };
    reader_submit(call->api->reader, &call->read);
}

static Err run_read(Read *read, Db *db, Error *error)
{
    Call *call = call_of_read(read);
    Served *served = (Served *) call;
    begin_anew(served);
    Registry *newest = writer_registry(store_of(call->api));
    Err err = rights_readmit(served, newest, clock_now(call->api->clock), &served->error);
    registry_drop(newest);
    if (err == ERR_OK)
        err = call->route->run.read(call, db, &served->error);
    return conclude(served, err, error);
}

Str call_answer_body(const Call *call)
{
    return call->out.len > 0 ? buf_str(&call->out) : call->reply.body;
}

// is_late says that the writer's thread would have much to decide anew.
static bool is_late(const Served *served, const Tx *tx)
{
    const Call *call = &served->call;
    return call->route->run.set && served->decided_on != tx->registry->generation &&
           call->weight > QUICK_PAIRS_MAX && served->late_count < LATE_MAX;
}

// enter lets the call into the transaction: its key is looked at again, its Idempotency-Key taken.
static Err enter(Served *served, Tx *tx, Entry *ret, Error *error)
{
    begin_anew(served);
    *ret = ENTRY_GO;
    Err err = rights_readmit(served, tx->registry, tx->now, &served->error);
    if (err == ERR_OK && is_late(served, tx)) {
        served->is_late = true;
        *ret = ENTRY_LATE;
        return ERR_OK;
    }
    if (err == ERR_OK)
        err = once_take(served, tx, ret, &served->error);
    if (err != ERR_OK)
        *ret = ENTRY_ANSWERED;
    return conclude(served, err, error);
}

// leave ends the work of a call that came in. What is refused is not kept: a corrected request may
// come with the same key.
static Err leave(Served *served, Tx *tx, Err err, Error *error)
{
    if (served->is_refused || (err != ERR_OK && err_http(err) < 500))
        once_cancel(served, tx);
    else if (err == ERR_OK)
        err = once_keep(served, tx, &served->error);
    return conclude(served, err, error);
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        Call *call = call_of_op(ops[i]);
        Served *served = (Served *) call;
        Entry entry;
        TRY(enter(served, tx, &entry, error));
        assert(entry == ENTRY_GO || entry == ENTRY_ANSWERED); // one at a time, never a set
        if (entry == ENTRY_GO)
            TRY(leave(served, tx, call->route->run.write(call, tx, &served->error), error));
    }
    return ERR_OK;
}

// write_set does the calls that may go now and leaves those that have to wait in calls.
static Err write_set(Tx *tx, Call **calls, size_t *count, Error *error)
{
    Call **going = ARENA_ARRAY(&tx->arena, Call *, *count);
    size_t going_count = 0, waiting = 0;
    for (size_t i = 0; i < *count; i++) {
        Entry entry;
        TRY(enter((Served *) calls[i], tx, &entry, error));
        if (entry == ENTRY_GO)
            going[going_count++] = calls[i];
        else if (entry == ENTRY_WAITS)
            calls[waiting++] = calls[i];
    }
    assert(waiting == 0 || going_count > 0); // whoever waits, waits for one that goes
    *count = waiting;
    if (going_count == 0)
        return ERR_OK;
    const RouteSet *set = going[0]->route->run.set;
    TRY(set->write(tx, going, going_count, error));
    for (size_t i = 0; i < going_count; i++) {
        Served *served = (Served *) going[i];
        served->is_written = !served->is_refused;
        // A kept answer is part of the transaction; any other is written after it.
        if (served->is_written && going[i]->idempotency_key.at)
            set->answer(going[i]);
        TRY(leave(served, tx, ERR_OK, error));
    }
    return ERR_OK;
}

// apply_set writes calls of one set's routes together. Calls with the same Idempotency-Key cannot
// be in one set: the later ones follow in the next and find the answer of the first.
static Err apply_set(Tx *tx, Op **ops, size_t count, Error *error)
{
    Call **calls = ARENA_ARRAY(&tx->arena, Call *, count);
    for (size_t from = 0, to; from < count; from = to) {
        const RouteSet *set = call_of_op(ops[from])->route->run.set;
        for (to = from; to < count && call_of_op(ops[to])->route->run.set == set; to++)
            calls[to - from] = call_of_op(ops[to]);
        for (size_t left = to - from; left > 0;)
            TRY(write_set(tx, calls, &left, error));
    }
    return ERR_OK;
}

static void finish(Call *call, Err err, const Error *error)
{
    if (err == ERR_OK)
        call_reply(call);
    else
        call_fail(call, err, error);
}

static void read_done(Read *read, Err err, const Error *error)
{
    finish(call_of_read(read), err, error);
}

static void write_done(Op *op, Err err, const Error *error)
{
    Call *call = call_of_op(op);
    // A delivery may be due again, a channel new, the hold off: the engine looks for itself.
    if (err == ERR_OK && call->route->run.work == WORK_WRITE)
        engine_poke(call->api->engine);
    if (err == ERR_OK && call->route->run.after && call->reply.status < 300)
        call->route->run.after(call);
    else
        finish(call, err, error);
}

static void answer_aside(Task *task, void *seat)
{
    Call *call = call_of_task(task);
    (void) seat;
    call->route->run.set->answer(call);
    call_reply(call);
}

static void set_done(Op *op, Err err, const Error *error)
{
    Call *call = call_of_op(op);
    Served *served = (Served *) call;
    const RouteSet *set = call->route->run.set;
    if (err == ERR_OK && served->is_late) {
        served->late_count++;
        proceed_aside(served);
        return;
    }
    if (err != ERR_OK || !served->is_written) {
        finish(call, err, error);
        return;
    }
    set->committed(call);
    // Another batch waits for the writer: a long answer is not written on its thread.
    bool is_long = !call->idempotency_key.at && call->weight > QUICK_PAIRS_MAX;
    if (is_long && set_aside(served, answer_aside))
        return;
    if (!call->idempotency_key.at)
        set->answer(call);
    call_reply(call);
}

void call_write(Call *call)
{
    static const OpKind one = { .name = "call", .apply = apply };
    static const OpKind first = { .name = "first call", .apply = apply };
    static const OpKind many = { .name = "set", .apply = apply_set };
    const RouteRun *run = &call->route->run;
    call->op = (Op){ .kind = run->set        ? &many
                             : run->is_first ? &first
                                             : &one,
                     .done = run->set ? set_done : write_done,
                     .is_urgent = run->is_first,
                     .weight = call->weight,
                     .bytes = call->exchange->body.len };
    writer_submit(store_of(call->api), &call->op);
}

static Err run_look(Read *read, Db *db, Error *error)
{
    Served *served = (Served *) call_of_read(read);
    begin_anew(served);
    return conclude(served, once_look(served, db, &served->error), error);
}

static void look_done(Read *read, Err err, const Error *error)
{
    Call *call = call_of_read(read);
    if (err == ERR_OK && call->reply.status == 0)
        call->route->run.start(call);
    else
        finish(call, err, error);
}

// start begins a START call; with an Idempotency-Key, unless it was done before or is under way.
static void start(Served *served)
{
    Call *call = &served->call;
    Error error = { 0 };
    if (!call->idempotency_key.at) {
        call->route->run.start(call);
    } else if (once_claim(served)) {
        call->read = (Read){ .run = run_look, .done = look_done };
        reader_submit(call->api->reader, &call->read);
    } else {
        call_fail(call,
                  fail(&error, ERR_CONFLICT, "a request with this Idempotency-Key is under way"),
                  &error);
    }
}

static void dispatch(Served *served)
{
    Call *call = &served->call;
    switch (call->route->run.work) {
    case WORK_READ:
        call->read = (Read){ .run = run_read, .done = read_done };
        reader_submit(call->api->reader, &call->read);
        return;
    case WORK_WRITE:
        call_write(call);
        return;
    case WORK_START:
        start(served);
        return;
    }
}

JsonOut *call_json(Call *call, int status)
{
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

void call_secret(Call *call)
{
    ((Served *) call)->is_secret = true;
}

// refuse makes the error the answer.
static void refuse(Call *call, const Error *error)
{
    int status = err_http(error->err);
    call->out = (Buf){ 0 };
    call->reply = (Reply){ .status = status,
                           .type = S("application/problem+json"),
                           .body = problem_json(call->arena, error, call->exchange->request_id) };
    if (status == 401)
        call_header(call, S("WWW-Authenticate"), S("Bearer"));
    if (status == 429 || status == 503)
        call_header(call, S("Retry-After"), S("2"));
    if (status == 507)
        call_header(call, S("Retry-After"), S("60"));
}

void call_refuse(Call *call, Err err, const Error *error)
{
    Error told = *error;
    told.err = err;
    ((Served *) call)->is_refused = true;
    refuse(call, &told);
}

// answer lets go of the snapshot, then of the call: after the reply its memory is another's.
static void answer(Call *call)
{
    Registry *registry = call->registry;
    call->registry = NULL;
    call->key = NULL;
    registry_drop(registry);
    once_release((Served *) call);
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
    call->reply.body = call_answer_body(call);
    answer(call);
}

void call_fail(Call *call, Err err, const Error *error)
{
    const Exchange *exchange = call->exchange;
    char id[UUID_TEXT_LEN + 1];
    Error told = *error;
    told.err = err;
    if (err_http(err) >= 500)
        log_error("call.failed", "method=%.*s path=%s code=%s request=%.*s detail=%s",
                  STR_ARG(exchange->method), log_quote(exchange->path), err_code(err),
                  STR_ARG(uuid_text(exchange->request_id, id)), log_quote(str_from(error->detail)));
    // What broke inside is for the log; a caller can do nothing with it.
    if (err_http(err) == 500)
        fail(&told, err, "the log says more, under the request's id");
    refuse(call, &told);
    answer(call);
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
