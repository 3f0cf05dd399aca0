#include "api/served.h"

enum { REQUEST_BYTES_MAX = 1 << 20 }; // of a head with its lengths; the server takes far less

// An Idempotency-Key stands for one request, to the letter. WRITE calls take it in the transaction
// that does their work and keep the answer there. A START call works outside of one: it looks for
// an answer first, nobody else with its key is let in while it is under way, and the transaction of
// its write() takes the key and keeps the answer. What a handler refuses outside of a transaction
// is kept in one of its own (call_turn_down()). A file that comes in parts takes it with the last:
// one that was sent before is read to its end, and then taken back.

bool once_has_key(const Served *served)
{
    return served->call.idempotency_key.at && !served->call.exchange->is_part;
}

bool once_is_kept(int status)
{
    static const int open[] = { 400, 401, 403, 429 };
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        if (status == open[i])
            return false;
    return status < 500;
}

// count_headers tells a header that came twice from one with a comma: exchange_header() joins them.
static int count_headers(Exchange *exchange, Str name)
{
    Header *headers;
    size_t count = exchange_headers(exchange, &headers);
    int found = 0;
    for (size_t i = 0; i < count; i++)
        found += str_eq_nocase(headers[i].name, name);
    return found;
}

Err once_read(Served *served, Error *error)
{
    Exchange *exchange = served->call.exchange;
    Str key = exchange_header(exchange, S("Idempotency-Key"));
    if (!key.at || !served->call.route->keeps_answer)
        return ERR_OK;
    if (count_headers(exchange, S("Idempotency-Key")) > 1)
        return fail(error, ERR_MALFORMED, "there is more than one Idempotency-Key");
    if (key.len == 0 || key.len > IDEMPOTENCY_KEY_MAX || !str_is_utf8(key) ||
        !str_is_printable(key))
        return fail(error, ERR_MALFORMED, "an Idempotency-Key has 1 to %d printable characters",
                    IDEMPOTENCY_KEY_MAX);
    served->call.idempotency_key = key;
    return ERR_OK;
}

// is_part says whether a header is part of what is asked: CloudEvents have their attributes there.
static bool is_part(Str name)
{
    return str_eq_nocase(name, S("content-type")) ||
           (name.len > 3 && str_eq_nocase((Str){ name.at, 3 }, S("ce-")));
}

static Str lower(Arena *arena, Str name)
{
    char *text = arena_copy(arena, name.at, name.len);
    for (size_t i = 0; i < name.len; i++)
        text[i] = str_lower_char(text[i]);
    return (Str){ text, name.len };
}

static int by_name(const void *a, const void *b)
{
    const Header *x = a, *y = b;
    int order = str_cmp(x->name, y->name);
    return order ? order : str_cmp(x->value, y->value);
}

// add_line adds a part of the request with its length, so that no two requests read the same.
static void add_line(Buf *text, Str name, Str value)
{
    char lengths[48];
    snprintf(lengths, sizeof lengths, "%zu %zu ", name.len, value.len);
    buf_add(text, str_from(lengths));
    buf_add(text, name);
    buf_add(text, value);
}

// add_limits: what was answered to one key is not for another that is limited otherwise.
static void add_limits(Buf *text, const Call *call)
{
    if (call->key && call->key->handlers.at)
        add_line(text, S("handlers"), call->key->handlers);
}

// add_headers adds them by name: proxies reorder them, and write their names as they like.
static void add_headers(Buf *text, Call *call)
{
    Header *headers;
    size_t count = exchange_headers(call->exchange, &headers), used = 0;
    Header *parts = ARENA_ARRAY(call->arena, Header, count + 1);
    for (size_t i = 0; i < count; i++)
        if (is_part(headers[i].name))
            parts[used++] = (Header){ lower(call->arena, headers[i].name), headers[i].value };
    qsort(parts, used, sizeof *parts, by_name);
    for (size_t i = 0; i < used; i++)
        add_line(text, parts[i].name, parts[i].value);
}

// hash_body: all parts but the last are of one length, so that the same file has the same hash.
static void hash_body(Served *served)
{
    Sha256 hash = sha256(served->call.exchange->body);
    Sha256 both[] = { served->body, hash };
    served->body = served->is_begun ? sha256((Str){ (const char *) both, sizeof both }) : hash;
    served->is_begun = true;
}

void once_hash(Served *served)
{
    Call *call = &served->call;
    const Exchange *exchange = call->exchange;
    if (!call->idempotency_key.at)
        return;
    Buf text = buf_new(call->arena, REQUEST_BYTES_MAX);
    Header query;
    hash_body(served);
    add_line(&text, exchange->method, exchange->path);
    for (size_t i = 0; exchange_query_next(exchange, i, &query); i++)
        add_line(&text, query.name, query.value);
    add_headers(&text, call);
    add_limits(&text, call);
    buf_add_bytes(&text, served->body.b, sizeof served->body.b);
    assert(!text.overflowed);
    served->request = sha256(buf_str(&text));
}

static Str seal_binding(const Call *call)
{
    return str_format(call->arena, "idempotency/%lld/%.*s", (long long) call->tenant,
                      STR_ARG(call->idempotency_key));
}

// repeat gives the answer that was kept. Of its headers, the ETag follows from the version; a
// refusal that is kept has none.
static Err repeat(Call *call, const Idempotency *state, Error *error)
{
    Str body = str_dup(call->arena, state->body);
    const Json *json = NULL;
    if (body.len > 0 && body.at[0] != '{')
        TRY(crypto_open(call->arena, call->api->ring, seal_binding(call), body, &body, error));
    call->reply = (Reply){ .status = state->status, .body = body };
    if (body.len == 0)
        return ERR_OK;
    if (state->status >= 400) {
        call->reply.type = S("application/problem+json");
        return ERR_OK;
    }
    call->reply.type = S("application/json");
    TRY(json_parse(call->arena, body, &json, error));
    Str version = json_number_text(json_get(json, S("version")));
    if (version.at)
        call_header(call, S("ETag"), str_format(call->arena, "\"%.*s\"", STR_ARG(version)));
    return ERR_OK;
}

Err once_take(Served *served, Tx *tx, Entry *ret, Error *error)
{
    Call *call = &served->call;
    Idempotency state;
    if (!once_has_key(served))
        return ERR_OK;
    TRY(idempotency_begin(tx, call->tenant, call->idempotency_key, &served->request, &state,
                          error));
    if (state.is_under_way)
        *ret = ENTRY_WAITS;
    if (!state.is_repeat)
        return ERR_OK;
    *ret = ENTRY_ANSWERED;
    return repeat(call, &state, error);
}

Err once_keep(Served *served, Tx *tx, Error *error)
{
    Call *call = &served->call;
    Str body = reply_body(call);
    if (!call->idempotency_key.at)
        return ERR_OK;
    if (served->is_secret && (!call->api->ring || call->api->ring->count == 0))
        return fail(error, ERR_INTERNAL, "there is no master key to seal the answer with");
    if (served->is_secret)
        body = crypto_seal(call->arena, call->api->ring, tx->random, seal_binding(call), body);
    idempotency_finish(tx, call->tenant, call->idempotency_key, call->reply.status, body);
    return ERR_OK;
}

void once_cancel(Served *served, Tx *tx)
{
    const Call *call = &served->call;
    if (call->idempotency_key.at)
        idempotency_cancel(tx, call->tenant, call->idempotency_key);
}

bool once_claim(Served *served)
{
    Call *call = &served->call;
    Api *api = call->api;
    if (!call->idempotency_key.at)
        return true;
    bool is_free = true;
    pthread_mutex_lock(&api->started_lock);
    for (const Served *other = api->started; other && is_free; other = other->next)
        is_free = other->call.tenant != call->tenant ||
                  !str_eq(other->call.idempotency_key, call->idempotency_key);
    if (is_free) {
        served->is_started = true;
        served->next = api->started;
        api->started = served;
    }
    pthread_mutex_unlock(&api->started_lock);
    return is_free;
}

Err once_look(Served *served, Db *db, Error *error)
{
    Call *call = &served->call;
    Idempotency state;
    TRY(idempotency_look(db, call->arena, call->tenant, call->idempotency_key, &served->request,
                         clock_now(call->api->clock), &state, error));
    return state.is_repeat ? repeat(call, &state, error) : ERR_OK;
}

void once_release(Served *served)
{
    Api *api = served->call.api;
    if (!served->is_started)
        return;
    pthread_mutex_lock(&api->started_lock);
    Served **at = &api->started;
    while (*at != served)
        at = &(*at)->next;
    *at = served->next;
    pthread_mutex_unlock(&api->started_lock);
    served->is_started = false;
}
