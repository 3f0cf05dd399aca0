#include "net/wire.h"

#include "base/log.h"
#include "base/thread.h"
#include "net/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <unistd.h>

// The loop thread runs the library; every function named on_… runs on it, in the order of the file:
// a connection starts, a request line is seen, the head is in, pieces of the body come, the body is
// in, the answer goes out, the request is over, the connection is closed.

enum {
    POOL_EXTRA_BYTES = 16 * 1024,   // beside the headers: the body's pieces and the answer's head
    DROP_BYTES_MAX = 64 * 1024,     // a refused body up to this is read, to keep the connection
    RAW_BYTES_MAX = 64 * 1024,      // of an answer that is written past the library
    STREAM_BLOCK_BYTES = 16 * 1024, // of a stream that is not sent in chunks
};

#define LAST_ANSWERS_SPAN (1 * SPAN_SECOND) // for answers to go out when the server closes

static Instant now_plus(Span span)
{
    return clock_machine_monotonic() + span;
}

void server_count_down(Server *server, _Atomic size_t *counter)
{
    atomic_fetch_sub(counter, 1);
    if (!atomic_load(&server->is_closing))
        return;
    pthread_mutex_lock(&server->lock);
    pthread_cond_signal(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

// problem_text is an answer to be written past the library, which takes none before the whole
// request is in. Nothing else was sent for this request, so the client reads a well-formed answer.
static Str problem_text(Arena *arena, Err err, const char *detail)
{
    Random random = random_system();
    Clock clock;
    clock_init_system(&clock);
    Error error = { 0 };
    fail(&error, err, "%s", detail);
    Reply reply = problem_reply(arena, &error, uuid_new(clock_now(&clock), &random));
    Buf text = buf_new(arena, RAW_BYTES_MAX);
    buf_add_format(&text,
                   "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: %s\r\n"
                   "Content-Length: %zu\r\nX-Content-Type-Options: nosniff\r\n"
                   "Cache-Control: no-store\r\n",
                   reply.status, MHD_get_reason_phrase_for((unsigned) reply.status), reply.type.at,
                   reply.body.len);
    for (size_t i = 0; i < reply.header_count; i++)
        buf_add_format(&text, "%s: %s\r\n", reply.headers[i].name.at, reply.headers[i].value.at);
    buf_add_format(&text, "\r\n%.*s", STR_ARG(reply.body));
    return buf_str(&text);
}

static void send_plain(int fd, Str text)
{
    ssize_t sent = send(fd, text.at, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void) sent; // A client that takes no answer gets none.
}

// say_late runs on the deadlines' thread. Over TLS nobody is told, for the session is the loop's.
static void say_late(int fd)
{
    DEFER(arena_done) Arena arena = { 0 };
    log_debug("server.late", "fd=%d", fd);
    send_plain(fd, problem_text(&arena, ERR_TIMEOUT, "the request did not arrive in time"));
}

static void open_connection(Server *server, struct MHD_Connection *mhd, void **context)
{
    const struct sockaddr *peer =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    tls_serve(&server->certificate); // this is the loop's thread, whose handshakes follow
    *context = connection_open(
        server, MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, peer);
}

static void on_connection(void *with, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        open_connection(with, mhd, context);
    else if (*context)
        connection_close(with, *context);
}

void wire_sleep(ExchangeWire *wire)
{
    MHD_suspend_connection(wire->mhd);
}

static void wake_loop(Server *server)
{
    uint64_t one = 1;
    if (!atomic_exchange(&server->is_woken, true))
        while (write(server->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
        }
}

// wire_wake counts itself: once the connection is awake, the server may be closed behind its back.
void wire_wake(Server *server, struct MHD_Connection *mhd)
{
    atomic_fetch_add(&server->wakers, 1);
    MHD_resume_connection(mhd);
    wake_loop(server);
    atomic_fetch_sub(&server->wakers, 1);
}

// leave ends the loop's part of an exchange.
static void leave(ExchangeWire *wire)
{
    Server *server = wire->server;
    assert(server->body_bytes >= wire->body_room);
    server->body_bytes -= wire->body_room;
    if (wire->stream) {
        deadlines_watch(server->deadlines, &wire->connection->deadline, NULL);
        wire->connection->stream = NULL;
        stream_lose(wire->stream);
    }
    if (wire_let_go(wire))
        wire_keep(wire);
}

// on_request_line makes the exchange. It is the only place that shows the target as it was sent.
static void *on_request_line(void *with, const char *target, struct MHD_Connection *mhd)
{
    Server *server = with;
    ExchangeWire *wire = wire_new(server);
    wire->mhd = mhd;
    wire->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    wire->connection =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    wire->target_at = target;
    wire->target = str_dup(&wire->exchange.arena, str_from(target));
    // Of the query, which we read ourselves, the library would take room for each member, and where
    // there is none left the request waiting: its own copy ends behind the question mark.
    char *query = strchr((char *) (uintptr_t) target, '?');
    if (query)
        query[1] = '\0';
    // The first request's time began with the connection.
    Connection *connection = wire->connection;
    if (connection->had_request)
        deadline_set(&connection->deadline, now_plus(server->options.request_deadline), true);
    else
        atomic_store(&connection->deadline.is_begun, true);
    connection->had_request = true;
    return wire;
}

// expect_taken gives the client of a stream its time for so many bytes more. It gains time with
// what it takes, but no more than a full stream would need.
static void expect_taken(ExchangeWire *wire, size_t len)
{
    const ServerOptions *options = &wire->server->options;
    Span rate = (Span) options->answer_bytes_per_second;
    Instant least = now_plus(options->request_deadline);
    if (wire->stream_late == INSTANT_NONE)
        wire->stream_late = least;
    wire->stream_late = earlier(wire->stream_late + (Span) len * SPAN_SECOND / rate,
                                least + STREAM_ROOM_BYTES * SPAN_SECOND / rate);
    deadline_set(&wire->connection->deadline, wire->stream_late, false);
}

// on_stream is asked for more of a stream when all that it gave before was sent.
static ssize_t on_stream(void *with, uint64_t position, char *to, size_t max)
{
    ExchangeWire *wire = with;
    (void) position;
    ssize_t taken = stream_take(wire->stream, to, max);
    if (taken == STREAM_CUT)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (taken == STREAM_WHOLE) {
        expect_taken(wire, 0);
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (taken > 0) {
        expect_taken(wire, (size_t) taken);
        return taken;
    }
    // Nothing is asked of the client while there is nothing for it. Where it was cut just now, the
    // watch finds it.
    bool is_in_time = deadline_stop(&wire->connection->deadline);
    (void) is_in_time;
    wire->stream_late = INSTANT_NONE;
    return STREAM_SLEEPS;
}

static void on_hung_up(Deadline *deadline)
{
    // The deadline is the first member of its connection.
    stream_lose(((Connection *) deadline)->stream);
}

// response_of makes the body: the reply's, which is sent from where it lies, or a stream's.
static struct MHD_Response *response_of(ExchangeWire *wire)
{
    const Reply *reply = &wire->reply;
    Connection *connection = wire->connection;
    if (!wire->stream) // The library promises not to write to a persistent body.
        return MHD_create_response_from_buffer(reply->body.len, (void *) (uintptr_t) reply->body.at,
                                               MHD_RESPMEM_PERSISTENT);
    connection->stream = wire->stream;
    deadlines_watch(wire->server->deadlines, &connection->deadline, on_hung_up);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, on_stream, wire,
                                             NULL);
}

// add_headers hands the library the reply's, which wire_reply() has ended with a NUL each.
static void add_headers(const ExchangeWire *wire, struct MHD_Response *response)
{
    static const Header usual[] = {
        { S("X-Content-Type-Options"), S("nosniff") },
        { S("Cache-Control"), S("no-store") },
    };
    const Reply *reply = &wire->reply;
    if (reply->type.len > 0)
        MHD_add_response_header(response, "Content-Type", reply->type.at);
    for (size_t i = 0; i < reply->header_count; i++)
        if (MHD_add_response_header(response, reply->headers[i].name.at,
                                    reply->headers[i].value.at) != MHD_YES)
            log_error("server.header", "name=%s", log_quote(reply->headers[i].name));
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (!MHD_get_response_header(response, usual[i].name.at))
            MHD_add_response_header(response, usual[i].name.at, usual[i].value.at);
    if (wire->connection->is_extra ||
        atomic_load_explicit(&wire->server->is_quiesced, memory_order_relaxed))
        MHD_add_response_header(response, "Connection", "close");
}

// queue_reply hands the reply to the library.
static enum MHD_Result queue_reply(ExchangeWire *wire)
{
    const Reply *reply = &wire->reply;
    wire->phase = PHASE_ANSWERED;
    if (reply->status == 401 && !wire->is_hook && !remote_is_loopback(wire->connection->client))
        strikes_add(&wire->server->strikes, wire->connection->client, clock_machine_monotonic());
    // A client that reads slowly keeps its answer in memory: it has until then.
    const ServerOptions *options = &wire->server->options;
    Span patience = (Span) (reply->body.len / options->answer_bytes_per_second) * SPAN_SECOND;
    deadline_set(&wire->connection->deadline, now_plus(options->request_deadline + patience),
                 false);
    atomic_fetch_add(&wire->server->sending, 1);
    struct MHD_Response *response = response_of(wire);
    if (!response)
        return MHD_NO;
    add_headers(wire, response);
    enum MHD_Result result = MHD_queue_response(wire->mhd, (unsigned) reply->status, response);
    MHD_destroy_response(response);
    return result;
}

static void tell_refused(ExchangeWire *wire, Reply *reply)
{
    const ServerOptions *options = &wire->server->options;
    if (options->refused)
        options->refused(options->with, &wire->exchange, reply);
}

// told_as is what a refusal is told as.
static Err told_as(const ExchangeWire *wire, Err err)
{
    return wire->is_hook && err_http(err) >= 500 ? ERR_UNSTORED : err;
}

// refuse answers with error: at once, which closes the connection, when the rest cannot be trusted
// or is long; after reading the rest otherwise.
static enum MHD_Result refuse(ExchangeWire *wire, const Error *error, bool at_once)
{
    const BodyFraming *framing = &wire->framing;
    log_debug("server.refused", "remote=%s code=%s detail=%s", wire->connection->remote,
              err_code(error->err), log_quote(str_from(error->detail)));
    Error told = *error;
    told.err = told_as(wire, error->err);
    wire->reply = problem_reply(&wire->exchange.arena, &told, wire->exchange.request_id);
    tell_refused(wire, &wire->reply);
    if (at_once || framing->is_chunked || framing->length > DROP_BYTES_MAX ||
        (framing->is_awaited && framing->length > 0)) {
        if (!deadline_stop(&wire->connection->deadline))
            return MHD_NO;
        wire->connection->lingers = true;
        return queue_reply(wire);
    }
    wire->phase = PHASE_DROPPING;
    return MHD_YES;
}

static enum MHD_Result refuse_with(ExchangeWire *wire, Err err, const char *detail, bool at_once)
{
    Error error = { 0 };
    fail(&error, err, "%s", detail);
    return refuse(wire, &error, at_once);
}

static enum MHD_Result collect_header(void *with, enum MHD_ValueKind kind, const char *name,
                                      size_t name_len, const char *value, size_t value_len)
{
    ExchangeWire *wire = with;
    (void) kind;
    if (wire->header_count < GUARD_HEADERS_MAX)
        wire->headers[wire->header_count++] =
            (Header){ { name, name_len }, { value ? value : "", value ? value_len : 0 } };
    return MHD_YES;
}

// lines_are_clean is true when each line of the head ended in CR LF, none was folded and none had a
// NUL byte. Library versions before 1.0 accept all three, and cut a value at its NUL; but they read
// the lines where they lie, so that any byte they skipped shows as a gap between two parts.
static bool lines_are_clean(const ExchangeWire *wire, const char *method, const char *version,
                            size_t head_len)
{
    const char *at = method + strlen(method) + 1;
    if (wire->target_at != at || version != at + wire->target.len + 1)
        return false;
    at = version + strlen(version) + 2;
    for (size_t i = 0; i < wire->header_count; i++) {
        if (wire->headers[i].name.at != at)
            return false;
        at = wire->headers[i].value.at + wire->headers[i].value.len + 2;
    }
    return at + 2 == method + head_len;
}

#define BODIES_FULL "the bodies of other requests fill the memory set aside for them; try again"

// is_overrun counts a visit; true where its client has made too many.
static bool is_overrun(Server *server, const Connection *connection)
{
    Instant now = clock_machine_monotonic();
    if (remote_is_loopback(connection->client))
        return false;
    if (strikes_out(&server->visits, connection->client, now))
        return true;
    strikes_add(&server->visits, connection->client, now);
    return false;
}

// check_admission refuses those who are let in elsewhere, but not here and now.
static Err check_admission(const ExchangeWire *wire, const Admission *admission, Error *error)
{
    Server *server = wire->server;
    const Connection *connection = wire->connection;
    if (connection->is_stranger && !admission->is_health)
        return fail(error, ERR_DIRECT, "come through the proxy that stands before this server");
    if (admission->is_keyless &&
        strikes_out(&server->strikes, connection->client, clock_machine_monotonic()))
        return fail(error, ERR_TOO_MANY, "too many requests without a valid key came from %s",
                    connection->remote);
    if (admission->is_visit && is_overrun(server, connection))
        return fail(error, ERR_TOO_MANY, "too many requests for pages came from %s",
                    connection->remote);
    if (connection->is_extra && !admission->is_health && !admission->is_operator)
        return fail(error, ERR_BUSY, "all connections are in use");
    return ERR_OK;
}

static Err admit(ExchangeWire *wire, Error *error)
{
    Server *server = wire->server;
    Admission admission = { .body_max = server->options.body_bytes_max };
    Err err = ERR_OK;
    if (server->options.begin)
        err = server->options.begin(server->options.with, &wire->exchange, &admission, error);
    wire->body_max = admission.body_max;
    wire->part_bytes = admission.part_bytes;
    wire->is_hook = admission.is_hook;
    admission.is_keyless |= err == ERR_NO_KEY;
    Error other = { .arena = error->arena };
    Err here = check_admission(wire, &admission, &other);
    if (here == ERR_OK)
        return err;
    *error = other;
    return here;
}

static enum MHD_Result accept_head(ExchangeWire *wire)
{
    Server *server = wire->server;
    Error error = { .arena = &wire->exchange.arena };
    Err err = admit(wire, &error);
    if (atomic_load(&server->is_closing))
        return refuse_with(wire, ERR_STOPPING, "try again when it is back", true);
    if (err != ERR_OK) {
        error.err = err;
        return refuse(wire, &error, false);
    }
    if (!wire->framing.is_chunked && wire->framing.length > (int64_t) wire->body_max) {
        fail(&error, ERR_TOO_LARGE, "the body may have %zu bytes", wire->body_max);
        return refuse(wire, &error, true);
    }
    // What is announced is not set aside: a client that sends nothing must not shut others out.
    size_t length = wire->framing.is_chunked ? 0 : (size_t) wire->framing.length;
    if (wire->part_bytes > 0 && length > wire->part_bytes)
        length = wire->part_bytes;
    if (!server_has_room(server, length))
        return refuse_with(wire, ERR_BUSY, BODIES_FULL, true);
    wire->phase = PHASE_BODY;
    return MHD_YES;
}

// take_client finds out who asks, which behind a proxy is another with every request.
static bool take_client(ExchangeWire *wire)
{
    Connection *connection = wire->connection;
    bool is_taken = true;
    if (connection->is_proxied)
        is_taken = connection_take(wire->server, connection,
                                   exchange_header(&wire->exchange, S("x-forwarded-for")));
    wire->exchange.remote = str_from(connection->remote);
    wire->exchange.is_local = wire->server->is_unix;
    Str scheme = exchange_header(&wire->exchange, S("x-forwarded-proto"));
    wire->exchange.is_secure = atomic_load(&wire->server->certificate) ||
                               (connection->is_proxied && str_eq_nocase(scheme, S("https")));
    return is_taken;
}

static enum MHD_Result read_head(ExchangeWire *wire, const char *method, const char *version)
{
    Server *server = wire->server;
    Exchange *exchange = &wire->exchange;
    Arena *arena = &exchange->arena;
    exchange->request_id = uuid_new(clock_now(&server->clock), &server->random);
    exchange->method = str_from(method);

    size_t head_len =
        MHD_get_connection_info(wire->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
    int count = MHD_get_connection_values_n(wire->mhd, MHD_HEADER_KIND, NULL, NULL);
    if (head_len > server->options.header_bytes_max || count > GUARD_HEADERS_MAX)
        return refuse_with(wire, ERR_HEADERS_TOO_LARGE, "the headers are too many or too long",
                           true);
    wire->headers = ARENA_ARRAY(arena, Header, (size_t) count);
    MHD_get_connection_values_n(wire->mhd, MHD_HEADER_KIND, collect_header, wire);
    if (server->checks_lines && !lines_are_clean(wire, method, version, head_len))
        return refuse_with(wire, ERR_MALFORMED,
                           "a line is folded, has a NUL byte or does not end in CR LF", true);

    const char *problem = guard_head(&(RequestHead){ .method = exchange->method,
                                                     .target = wire->target,
                                                     .version = str_from(version),
                                                     .headers = wire->headers,
                                                     .header_count = wire->header_count },
                                     &wire->framing);
    if (!problem)
        problem = guard_target(arena, wire->target, &wire->parsed);
    if (problem)
        return refuse_with(wire, ERR_MALFORMED, problem, true);
    for (size_t i = 0; i < wire->header_count; i++)
        wire->headers[i].value = str_trim(wire->headers[i].value);
    exchange->path = wire->parsed.path;
    if (!take_client(wire))
        return refuse_with(wire, ERR_TOO_MANY, "too many requests of this client are under way",
                           true);
    return accept_head(wire);
}

// break_off answers in the middle of a body, past the library, and ends the connection.
static enum MHD_Result break_off(ExchangeWire *wire, Err err, const char *detail)
{
    wire->connection->lingers = true;
    if (!deadline_stop(&wire->connection->deadline))
        return MHD_NO;
    err = told_as(wire, err);
    tell_refused(wire, &(Reply){ .status = err_http(err) });
    Str text = problem_text(&wire->exchange.arena, err, detail);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(wire->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info && info->tls_session)
        tls_send(info->tls_session, text);
    else
        send_plain(wire->connection->deadline.fd, text);
    return MHD_NO;
}

static enum MHD_Result hand_over(ExchangeWire *wire);

// take_piece appends to the body, and hands it over where that is a part: all but the last are of
// one length, however they came.
static enum MHD_Result take_piece(ExchangeWire *wire, const char *at, size_t *len)
{
    const Str *body = &wire->exchange.body;
    size_t taken = *len;
    if (wire->part_bytes > 0 && taken > wire->part_bytes - body->len)
        taken = wire->part_bytes - body->len;
    if (wire->body_before + body->len + taken > wire->body_max)
        return break_off(wire, ERR_TOO_LARGE, "the body is too large");
    if (!wire_add_body(wire, (Str){ at, taken }))
        return break_off(wire, ERR_BUSY, BODIES_FULL);
    *len -= taken;
    wire->exchange.is_part = wire->part_bytes > 0 && body->len == wire->part_bytes;
    return wire->exchange.is_part ? hand_over(wire) : MHD_YES;
}

// have_answer has the reply written where that was left to this thread.
static void have_answer(ExchangeWire *wire)
{
    void (*answer)(Exchange * exchange) = wire->answer;
    if (!answer)
        return;
    wire->answer = NULL;
    atomic_store(&wire->turn, TURN_HANDLING);
    answer(&wire->exchange);
    assert(atomic_load(&wire->turn) == TURN_REPLIED);
}

// go_on reads on behind a part. The client has its time for the next as for a request.
static enum MHD_Result go_on(ExchangeWire *wire)
{
    wire->wants_more = wire->exchange.is_part = false;
    wire->body_before += wire->exchange.body.len;
    wire->exchange.body.len = 0;
    wire->phase = PHASE_BODY;
    deadline_set(&wire->connection->deadline, now_plus(wire->server->options.request_deadline),
                 true);
    return MHD_YES;
}

// drop_rest reads to the end of a body that was refused in the middle: the library takes no answer
// before.
static enum MHD_Result drop_rest(ExchangeWire *wire)
{
    enum MHD_Result result = go_on(wire);
    wire->phase = PHASE_DROPPING;
    return result;
}

// pick_up takes the handler's reply. The answer counts as on its way before it stops being owed, so
// that server_close() always sees the one or the other.
static enum MHD_Result pick_up(ExchangeWire *wire)
{
    Server *server = wire->server;
    have_answer(wire);
    if (wire->wants_more)
        return go_on(wire);
    enum MHD_Result result = wire->exchange.is_part ? drop_rest(wire) : queue_reply(wire);
    server_count_down(server, &server->owed);
    return result;
}

// hand_over calls the handler. Where it did not answer at once, the connection sleeps until the
// reply wakes it.
static enum MHD_Result hand_over(ExchangeWire *wire)
{
    Server *server = wire->server;
    if (!deadline_stop(&wire->connection->deadline))
        return MHD_NO;
    // First counted, then asked, so that server_close() cannot miss it.
    atomic_fetch_add(&server->owed, 1);
    if (atomic_load(&server->is_closing)) {
        server_count_down(server, &server->owed);
        return wire->exchange.is_part
                   ? break_off(wire, ERR_STOPPING, "try again when it is back")
                   : refuse_with(wire, ERR_STOPPING, "try again when it is back", true);
    }
    if (!wire->exchange.body.at)
        wire->exchange.body = S("");
    wire->phase = PHASE_HANDED;
    atomic_store(&wire->turn, TURN_HANDLING);
    server->options.handle(server->options.with, &wire->exchange);
    if (atomic_load(&wire->turn) == TURN_REPLIED)
        return pick_up(wire);
    MHD_suspend_connection(wire->mhd);
    Turn turn = TURN_HANDLING;
    if (!atomic_compare_exchange_strong(&wire->turn, &turn, TURN_SUSPENDED))
        wire_wake(server, wire->mhd);
    return MHD_YES;
}

// take_body takes what has come of the body, be it nothing: then it was all. What it leaves, the
// library gives again only when the connection was asleep, or more has come.
static enum MHD_Result take_body(ExchangeWire *wire, const char *data, size_t *data_len)
{
    enum MHD_Result result = MHD_YES;
    const char *end = data + *data_len;
    if (*data_len == 0 && wire->phase == PHASE_BODY)
        return hand_over(wire);
    if (*data_len == 0)
        return deadline_stop(&wire->connection->deadline) ? queue_reply(wire) : MHD_NO;
    while (result == MHD_YES && *data_len > 0 && wire->phase == PHASE_BODY)
        result = take_piece(wire, end - *data_len, data_len);
    if (wire->phase == PHASE_DROPPING)
        *data_len = 0;
    return result;
}

// wake_up goes on with a connection that slept, or was about to.
static enum MHD_Result wake_up(ExchangeWire *wire, const char *data, size_t *data_len)
{
    if (atomic_load(&wire->turn) != TURN_REPLIED)
        return MHD_YES;
    enum MHD_Result result = pick_up(wire);
    return wire->phase == PHASE_ANSWERED ? result : take_body(wire, data, data_len);
}

static enum MHD_Result on_request(void *with, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **context)
{
    ExchangeWire *wire = *context;
    (void) with, (void) mhd, (void) url;
    switch (wire->phase) {
    case PHASE_HEAD:
        return read_head(wire, method, version);
    case PHASE_BODY:
    case PHASE_DROPPING:
        return take_body(wire, data, data_len);
    case PHASE_HANDED:
        return wake_up(wire, data, data_len);
    case PHASE_ANSWERED:
        break;
    }
    return MHD_NO;
}

static void on_completed(void *with, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode code)
{
    Server *server = with;
    ExchangeWire *wire = *context;
    (void) mhd, (void) code;
    if (!wire)
        return;
    // A client that left while its connection slept is noticed before the reply is picked up.
    if (wire->phase == PHASE_HANDED) {
        assert(atomic_load(&wire->turn) == TURN_REPLIED);
        have_answer(wire); // for what its writer holds
        if (!wire->wants_more)
            server_count_down(server, &server->owed);
    }
    connection_done(wire->connection);
    // Bytes of the next request stay unseen until its line is whole: the idle time-out bounds the
    // silence before them, so both together bound the whole.
    deadline_set(&wire->connection->deadline,
                 now_plus(server->options.idle_timeout + server->options.request_deadline), false);
    if (wire->phase == PHASE_ANSWERED)
        server_count_down(server, &server->sending);
    leave(wire);
    *context = NULL;
}

static void on_message(void *with, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void on_message(void *with, const char *format, va_list args)
{
    char text[300];
    (void) with;
    vsnprintf(text, sizeof text, format, args);
    log_debug("server.library", "says=%s", log_quote(str_from(text)));
}

static ServerOptions with_defaults(const ServerOptions *given)
{
    ServerOptions options = *given;
    options.listen = STR_NONE; // the caller's text need not live on
    if (options.connections_max == 0)
        options.connections_max = SERVER_CONNECTIONS_MAX;
    if (options.connections_per_address_max == 0)
        options.connections_per_address_max = SERVER_CONNECTIONS_PER_ADDRESS_MAX;
    if (options.body_bytes_max == 0)
        options.body_bytes_max = SERVER_BODY_BYTES_MAX;
    if (options.bodies_bytes_max == 0)
        options.bodies_bytes_max = SERVER_BODIES_BYTES_MAX;
    if (options.answer_bytes_per_second == 0)
        options.answer_bytes_per_second = SERVER_ANSWER_BYTES_PER_SECOND;
    if (options.header_bytes_max == 0)
        options.header_bytes_max = SERVER_HEADER_BYTES_MAX;
    if (options.owed_wait == 0)
        options.owed_wait = SERVER_OWED_WAIT;
    if (options.request_deadline == 0)
        options.request_deadline = SERVER_REQUEST_DEADLINE;
    if (options.reserve_deadline == 0)
        options.reserve_deadline = SERVER_RESERVE_DEADLINE;
    if (options.idle_timeout == 0)
        options.idle_timeout = SERVER_IDLE_TIMEOUT;
    return options;
}

// start_library returns NULL when the library gives no reason; there is little but memory to lack.
static struct MHD_Daemon *start_library(Server *server)
{
    const ServerOptions *options = &server->options;
    Span idle_seconds = (options->idle_timeout + SPAN_SECOND - 1) / SPAN_SECOND;
    bool is_tls = options->certificate != NULL;
    struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *) (uintptr_t) TLS_PRIORITIES },
        { MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *) tls_retriever() },
        { MHD_OPTION_END, 0, NULL },
    };
    // clang-format off
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG |
            (is_tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, server,
        MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL,
        MHD_OPTION_LISTEN_SOCKET, server->listen_fd,
        MHD_OPTION_STRICT_FOR_CLIENT, server->checks_lines ? 0 : 1,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned) options->connections_max + SERVER_RESERVE,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->header_bytes_max + POOL_EXTRA_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
        MHD_OPTION_URI_LOG_CALLBACK, on_request_line, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_ARRAY, is_tls ? tls : tls + 2,
        MHD_OPTION_END);
    // clang-format on
}

// wait waits until something is ready, somebody is awake, or a connection's time is up.
static void wait(Server *server, int library_fd)
{
    struct pollfd fds[] = { { .fd = library_fd, .events = POLLIN },
                            { .fd = server->wake_fd, .events = POLLIN } };
    MHD_UNSIGNED_LONG_LONG timeout;
    bool has_timeout = MHD_get_timeout(server->daemon, &timeout) == MHD_YES;
    poll(fds, ARRAY_LEN(fds), !has_timeout ? -1 : timeout < INT_MAX ? (int) timeout : INT_MAX);
    uint64_t count;
    // First read, then unmarked: who wakes it in between is served by this turn.
    if (fds[1].revents && read(server->wake_fd, &count, sizeof count) > 0)
        atomic_store(&server->is_woken, false);
}

// loop_main lets the library do all that is ready, turn by turn. A loop of our own rather than the
// library's knows where a turn ends: what its requests need of others is asked for once.
static void *loop_main(void *with)
{
    Server *server = with;
    int library_fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    thread_become(THREAD_SERVER);
    while (!atomic_load(&server->is_ended)) {
        wait(server, library_fd);
        atomic_store(&server->alive_at, clock_machine_monotonic());
        MHD_run(server->daemon);
        if (server->options.turn)
            server->options.turn(server->options.with);
    }
    return NULL;
}

static void end_loop(Server *server)
{
    atomic_store(&server->is_ended, true);
    wake_loop(server);
    pthread_join(server->thread, NULL);
    while (atomic_load(&server->wakers) > 0)
        sched_yield();
    MHD_stop_daemon(server->daemon);
}

static void server_free(Server *server)
{
    deadlines_free(server->deadlines);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    if (server->wake_fd >= 0)
        close(server->wake_fd);
    while (server->spares) {
        ExchangeWire *wire = server->spares;
        server->spares = wire->next;
        arena_done(&wire->exchange.arena);
        free(wire);
    }
    certificate_free(atomic_load(&server->certificate));
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

Err server_open(const ServerOptions *options, Server **ret, Error *error)
{
    assert(options->handle);
    int fd = options->listen_fd;
    if (options->certificate && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return fail(error, ERR_SETUP, "this machine's libmicrohttpd was built without TLS");
    if (fd <= 0)
        TRY(listen_open(options->listen, &fd, error));
    Server *server = memory_new(sizeof *server);
    server->options = with_defaults(options);
    server->listen_fd = fd;
    atomic_store(&server->certificate, options->certificate);
    server->port = listen_port(fd);
    server->is_unix = listen_is_unix(fd);
    atomic_store(&server->alive_at, clock_machine_monotonic());
    server->checks_lines = str_starts(str_from(MHD_get_version()), S("0."));
    server->random = random_system();
    server->strikes = (Strikes){ random_u64(&server->random), STRIKES_MAX, STRIKES_EVERY };
    server->visits = (Strikes){ random_u64(&server->random), VISITS_MAX, VISITS_EVERY };
    clock_init_system(&server->clock);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&server->lock, NULL);

    Span tick = server->options.request_deadline / 4;
    tick = earlier(later(tick, 10 * SPAN_MILLISECOND), SPAN_SECOND);
    server->deadlines = deadlines_new(tick, options->certificate ? NULL : say_late);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->deadlines && server->wake_fd >= 0)
        server->daemon = start_library(server);
    if (!server->daemon) {
        server_free(server);
        return fail(error, ERR_INTERNAL, "the HTTP server could not be started");
    }
    if (pthread_create(&server->thread, NULL, loop_main, server) != 0)
        abort();
    *ret = server;
    return ERR_OK;
}

int server_port(const Server *server)
{
    return server->port;
}

void server_poke(Server *server)
{
    wake_loop(server);
}

Span server_silence(const Server *server)
{
    return clock_machine_monotonic() - atomic_load(&server->alive_at);
}

void server_present(Server *server, Certificate *certificate)
{
    Certificate *before = atomic_load(&server->certificate);
    assert(before && certificate);
    certificate_follow(certificate, before);
    atomic_store(&server->certificate, certificate);
}

void server_quiesce(Server *server)
{
    if (atomic_exchange(&server->is_quiesced, true))
        return;
    MHD_quiesce_daemon(server->daemon);
    // The descriptor stays open until the loop has ended; shut down, it refuses from now on.
    shutdown(server->listen_fd, SHUT_RDWR);
}

// wait_none waits until there are none of what counter counts, for at most span. With the lock.
static bool wait_none(Server *server, const _Atomic size_t *counter, Span span)
{
    Instant until = now_plus(span);
    struct timespec at = { .tv_sec = until / SPAN_SECOND,
                           .tv_nsec = (long) (until % SPAN_SECOND * 1000) };
    while (atomic_load(counter) > 0)
        if (pthread_cond_timedwait(&server->changed, &server->lock, &at) == ETIMEDOUT)
            return atomic_load(counter) == 0;
    return true;
}

// dismiss ends what would not end by itself: streams, and what is parked.
static void dismiss(Server *server)
{
    pthread_mutex_lock(&server->lock);
    atomic_store(&server->is_closing, true); // what begins later sees it, under the same lock
    streams_lose(server->streams);
    pthread_mutex_unlock(&server->lock);
    server_give_up(server);
}

bool server_close(Server *server)
{
    if (!server)
        return true;
    server_quiesce(server);
    dismiss(server);
    pthread_mutex_lock(&server->lock);
    bool is_even = wait_none(server, &server->owed, server->options.owed_wait);
    if (is_even)
        wait_none(server, &server->sending, LAST_ANSWERS_SPAN);
    pthread_mutex_unlock(&server->lock);
    if (!is_even)
        return false;
    end_loop(server);
    server_free(server);
    return true;
}
