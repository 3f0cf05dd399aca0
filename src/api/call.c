#include "api/served.h"

#include "api/pages.h"
#include "base/thread.h"

// A request passes through this file from top to bottom: begun when its head is in, handled when
// its body is, thought about, and handed to its route's work: a read, a write (write.c), a start.

enum { DROPPED_BYTES_MAX = 64 * 1024 }; // of a body that nobody will look at

static Err begin(Api *api, Served *served, Exchange *exchange, Admission *ret, Error *error);
static Err check_head(Served *served, Error *error);
static void proceed(Served *served);
static void move_to(Served *served, Desk desk);
static Err read_call(Served *served, Error *error);
static void dispatch(Served *served);
static void look_again(Served *served);

// Webhooks that nobody signed must not fill the readers: a hundred looks a second for all of them.
#define DOUBT_EVERY (SPAN_SECOND / 100)
#define DOUBT_AHEAD SPAN_SECOND

Err api_begin(void *with, Exchange *exchange, Admission *ret, Error *error)
{
    Served *served = ARENA_NEW(&exchange->arena, Served);
    exchange->with = served;
    return begin(with, served, exchange, ret, error);
}

// needs_store is false for the few routes that answer while the store is away.
static bool needs_store(const Route *route)
{
    return route->roles != ANYONE || route->run.work != WORK_START;
}

// is_doubtful is true for a key, or for a source or its secret, that another node may have made a
// moment ago.
static bool is_doubtful(const Served *served, Err err)
{
    bool is_hook = served->call.route->is_hook;
    bool may_be_new = is_hook ? err == ERR_NOT_FOUND || err == ERR_UNVERIFIED
                              : err == ERR_NO_KEY && served->has_key;
    return may_be_new && !served->is_doubted && writer_is_shared(api_writer(served->call.api));
}

// may_look_again: keys have their strikes, webhooks share what looks there are.
static bool may_look_again(const Served *served)
{
    Api *api = served->call.api;
    Instant now = clock_machine_monotonic(), until = atomic_load(&api->doubts_until), next;
    if (!served->call.route->is_hook)
        return true;
    do {
        next = later(until, now) + DOUBT_EVERY;
        if (next > now + DOUBT_AHEAD)
            return false;
    } while (!atomic_compare_exchange_weak(&api->doubts_until, &until, next));
    return true;
}

// body_max is how many bytes the request's body may have.
static size_t body_max(const Served *served)
{
    const Route *route = served->call.route;
    if (served->allow.at || route->media == MEDIA_NONE)
        return DROPPED_BYTES_MAX;
    return route->body_max == BODY_LARGE ? served->call.api->body_max : route->body_max;
}

// take_in_parts has a file handed over part by part, however long the server's own limit is.
static void take_in_parts(const Route *route, Admission *ret)
{
    ret->part_bytes = BODY_PART;
    ret->body_max = route->body_max;
}

static void lower(size_t *limit, size_t to)
{
    if (to < *limit)
        *limit = to;
}

static Err begin(Api *api, Served *served, Exchange *exchange, Admission *ret, Error *error)
{
    Call *call = &served->call;
    call->api = api;
    call->exchange = exchange;
    call->arena = &exchange->arena;
    TRY(route_find(served, error));
    if (!served->allow.at && call->route->media == MEDIA_FILE)
        take_in_parts(call->route, ret);
    lower(&ret->body_max, body_max(served));
    if (served->allow.at)
        return ERR_OK; // refused when it is handled: only then can a header go with it
    ret->is_hook = call->route->is_hook;
    ret->is_visit = call->route->is_visit;
    ret->is_health = !needs_store(call->route) && !ret->is_visit && !call->route->is_view;
    if (!needs_store(call->route))
        return ERR_OK;
    TRY(check_head(served, error));

    // The snapshot is not kept: a client may leave before its body is in, and nobody would be told.
    Writer *writer = api_writer(api);
    Registry *registry = writer ? writer_registry(writer) : NULL;
    if (!registry)
        return fail(error, ERR_UNAVAILABLE, "the database cannot be reached yet");
    Err err = rights_admit(served, registry, clock_now(api->clock), error);
    ret->is_operator =
        call->key && (call->key->role == ROLE_ADMIN || call->key->role == ROLE_OPERATOR);
    ret->is_keyless = err == ERR_NO_KEY;
    call->key = NULL;
    registry_drop(registry);
    if (!is_doubtful(served, err))
        return err;
    // The body of somebody who is perhaps nobody is kept short; a webhook's is taken as it comes,
    // as often as there are looks to spare, for the source may be one that another node has just
    // made.
    if (!call->route->is_hook || !may_look_again(served))
        lower(&ret->body_max, BODY_USUAL);
    return ERR_OK;
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

bool call_is_form(const Call *call)
{
    Str type = exchange_header(call->exchange, S("Content-Type"));
    return str_eq_nocase(str_trim(str_cut(&type, ';')), S("application/x-www-form-urlencoded"));
}

// check_media refuses a body of a type that the route does not take.
static Err check_media(const Call *call, Str type, Error *error)
{
    const Route *route = call->route;
    Str rest = type, name = str_trim(str_cut(&rest, ';'));
    if (route->media == MEDIA_JSON && !is_json(type))
        return fail(error, ERR_MEDIA_TYPE, "send application/json");
    if (route->media == MEDIA_FORM && !is_json(type) && !call_is_form(call))
        return fail(error, ERR_MEDIA_TYPE,
                    "send application/json or application/x-www-form-urlencoded");
    if (route->media == MEDIA_PATCH && !str_eq_nocase(name, S("application/merge-patch+json")) &&
        !str_eq_nocase(name, S("application/json")))
        return fail(error, ERR_MEDIA_TYPE, "send application/merge-patch+json or application/json");
    if (route->media == MEDIA_FILE && !str_eq_nocase(name, S("text/csv")) && !is_json(type))
        return fail(error, ERR_MEDIA_TYPE, "send text/csv or application/json");
    return ERR_OK;
}

// check_head reads what the headers say: the key, the type of the body, the idempotency key.
static Err check_head(Served *served, Error *error)
{
    Call *call = &served->call;
    const Exchange *exchange = call->exchange;
    if (call->route->is_hook)
        return ERR_OK;
    rights_read(served);
    Str type = exchange_header(exchange, S("Content-Type"));
    Str coding = exchange_header(exchange, S("Content-Encoding"));
    if (coding.len > 0 && !str_eq_nocase(coding, S("identity")))
        return fail(error, ERR_MEDIA_TYPE, "send the body as it is, without a content encoding");
    if (type.at && has_body(exchange))
        TRY(check_media(call, type, error));
    return once_read(served, error);
}

void api_refused(void *with, Exchange *exchange, Reply *reply)
{
    const Served *served = exchange->with; // NULL where its head could not be read
    (void) with;
    metrics_request(served ? served->call.route : NULL, reply->status);
    if (!served)
        return;
    hook_answered(&served->call, reply->status);
    survey_page_problem(&served->call, reply);
}

void api_handle(void *with, Exchange *exchange)
{
    Api *api = with;
    Served *served = exchange->with;
    Call *call = &served->call;
    Error error = { .arena = call->arena };
    Err err = ERR_OK;
    served->whole_at = clock_monotonic(api->clock);
    served->desk = DESK_SERVER; // each part of a file comes the whole way
    served->is_read = false;
    if (served->allow.at) {
        fail(&error, ERR_METHOD, "the path takes %.*s", STR_ARG(served->allow));
        reply_refuse(call, &error);
        call_header(call, S("Allow"), served->allow);
        call_reply(call);
        return;
    }
    if (needs_store(call->route)) {
        call->registry = writer_registry(api_writer(api));
        err = rights_admit(served, call->registry, clock_now(api->clock), &error);
    }
    if (err == ERR_OK)
        proceed(served);
    else if (is_doubtful(served, err) && may_look_again(served))
        look_again(served);
    else
        call_fail(call, err, &error);
}

// desk_of is where the request is to be read.
static Desk desk_of(const Call *call)
{
    if (call->exchange->body.len > QUICK_BYTES_MAX)
        return DESK_SLOW;
    bool has_body = call->exchange->body.len > 0 && call->route->media != MEDIA_NONE;
    return has_body || call->route->run.think ? DESK_QUICK : DESK_SERVER;
}

// proceed reads the body and decides what can be, ahead of the route's work. It goes on at another
// desk as soon as it meets more than should be done at this one.
static void proceed(Served *served)
{
    Call *call = &served->call;
    const RouteSet *set = call->route->run.set;
    Error error = { .arena = call->arena };
    Err err = ERR_OK;
    if (served->desk < desk_of(call)) {
        move_to(served, desk_of(call));
        return;
    }
    if (!served->is_read)
        err = read_call(served, &error);
    if (err == ERR_OK && set && served->desk < DESK_SLOW && set->weigh(call) > QUICK_PAIRS_MAX) {
        move_to(served, DESK_SLOW);
        return;
    }
    if (err == ERR_OK && set) {
        served->decided_on = call->registry->stamp;
        err = set->decide(call, &error);
    }
    if (err == ERR_OK && call->reply.status != 0)
        call_reply(call);
    else if (err == ERR_OK)
        dispatch(served);
    else if (is_doubtful(served, err) && may_look_again(served))
        look_again(served);
    else
        call_turn_down(call, err, &error);
}

static void move_to(Served *served, Desk desk)
{
    Error error = { 0 };
    if (!call_rethink(served, desk))
        call_fail(&served->call, call_crowded(&error), &error);
}

static void go_on(Task *task, void *seat)
{
    (void) seat;
    proceed((Served *) call_of_task(task));
}

bool call_rethink(Served *served, Desk desk)
{
    return call_aside(served, desk, go_on);
}

bool call_aside(Served *served, Desk desk, void (*run)(Task *task, void *seat))
{
    Call *call = &served->call;
    Api *api = call->api;
    served->desk = desk;
    call->task = (Task){ .run = run };
    if (desk == DESK_SLOW)
        return pool_submit(api->slow_thinkers, &call->task);
    if (thread_kind() != THREAD_SERVER)
        return pool_submit(api->thinkers, &call->task);
    call->task.next = api->turn;
    api->turn = &call->task;
    return true;
}

// api_turn hands over what the server's thread has gathered for the thinkers: one wake-up for all.
void api_turn(void *with)
{
    Api *api = with;
    Task *tasks = NULL;
    for (Task *task = api->turn, *next; task; task = next) { // in the order in which they came
        next = task->next;
        task->next = tasks;
        tasks = task;
    }
    api->turn = NULL;
    if (!tasks)
        return;
    for (Task *left = pool_submit_all(api->thinkers, tasks), *next; left; left = next) {
        Error error = { 0 };
        next = left->next;
        call_fail(call_of_task(left), call_crowded(&error), &error);
    }
}

static Err read_body(Call *call, Error *error)
{
    Media media = call->route->media;
    if (call->exchange->body.len == 0 || media == MEDIA_ANY || media == MEDIA_NONE)
        return ERR_OK;
    if (media == MEDIA_FILE && !is_json(exchange_header(call->exchange, S("Content-Type"))))
        return ERR_OK;
    if (media == MEDIA_FORM && call_is_form(call))
        return ERR_OK;
    return call_parse(call, &call->body, error);
}

static Err read_call(Served *served, Error *error)
{
    Call *call = &served->call;
    served->is_read = true;
    once_hash(served);
    bool reads_query = !call->given && !call->route->is_hook && !call->route->takes_query;
    if (reads_query) // once for a file; a hook's query is its provider's
        TRY(params_read(call, error));
    TRY(read_body(call, error));
    return call->route->run.think ? call->route->run.think(call, error) : ERR_OK;
}

static Call *call_of_read(Read *read)
{
    return (Call *) ((char *) read - offsetof(Call, read));
}

static Err run_read(Read *read, Db *db, Error *error)
{
    Call *call = call_of_read(read);
    Served *served = (Served *) call;
    reply_anew(served);
    Registry *newest = writer_registry(api_writer(call->api));
    Err err = rights_readmit(served, newest, clock_now(call->api->clock), &served->error);
    registry_drop(newest);
    if (err == ERR_OK && exchange_is_crowded(call->exchange))
        err = fail(&served->error, ERR_BUSY,
                   "answers that their clients do not take fill the memory set aside for them");
    if (err == ERR_OK)
        err = across_enter(served, db, &served->error);
    if (err == ERR_OK)
        err = call->route->run.read(call, db, &served->error);
    return reply_conclude(served, err, error);
}

static bool has_no_answer(const Served *served)
{
    return served->call.reply.status == 0 && served->refused == ERR_OK;
}

// goes_on: what a read found is written then.
static bool goes_on(const Route *route)
{
    return route->run.write || route->run.set;
}

static void read_done(Read *read, Err err, const Error *error)
{
    Served *served = (Served *) call_of_read(read);
    if (served->is_across)
        across_note(served, err, error);
    else if (err == ERR_OK && goes_on(served->call.route) && has_no_answer(served))
        call_write(&served->call);
    else
        reply_finish(&served->call, err, error);
}

static Err run_look(Read *read, Db *db, Error *error)
{
    Served *served = (Served *) call_of_read(read);
    reply_anew(served);
    return reply_conclude(served, once_look(served, db, &served->error), error);
}

static void look_done(Read *read, Err err, const Error *error)
{
    Call *call = call_of_read(read);
    if (err == ERR_OK && has_no_answer((const Served *) call))
        call->route->run.start(call);
    else
        reply_finish(call, err, error);
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
        call->read = (Read){ .pace = call->route->is_paged ? READ_SLOW : READ_QUICK,
                             .run = run_read,
                             .done = read_done };
        reader_submit(call->api->reader, &call->read);
        return;
    case WORK_WRITE:
        call_write(call);
        return;
    case WORK_START:
        start(served);
        return;
    case WORK_POUR:
        pour_start(served);
        return;
    }
}

// run_doubt runs after the reader has renewed the snapshot.
static Err run_doubt(Read *read, Db *db, Error *error)
{
    Call *call = call_of_read(read);
    Served *served = (Served *) call;
    (void) db, (void) error;
    reply_anew(served);
    registry_drop(call->registry);
    call->registry = writer_registry(api_writer(call->api));
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

// look_again asks the store about what the snapshot does not have.
static void look_again(Served *served)
{
    Call *call = &served->call;
    served->is_doubted = true;
    served->desk = DESK_SERVER; // from where it goes on
    call->read = (Read){ .run = run_doubt, .done = doubt_done };
    reader_submit(call->api->reader, &call->read);
}
