#include "net/curl/session.h"

#include "net/url.h"

#include <sys/socket.h>

#define IDLE_SPAN (10 * SPAN_SECOND)

enum { IDLE_MAX = 256 };       // kept, per pool
enum { BYTES_AT_ONCE = 4096 }; // read by one call

#define SET(easy, option, value) curl_must(curl_easy_setopt((easy), option, (value)) == CURLE_OK)

struct Session {
    Sessions *home;
    Session *prev, *next;
    Job *job;
    Arena own;  // of what the session is for
    Mail login; // and its URL: whose session it is; the envelope is not of these
    Str url;
    SmtpOpening opening;
    int fd;
    bool is_idle, keeps_connection;

    // Of the message, in the job's arena:
    SmtpEnvelope envelope;
    Str wire, unsent;
    Smtp smtp;
    Instant until;
    Timer timer;
    bool is_reused; // the connection had another message before this one
    bool is_lost;
};

static void open_session(Session *session);
static void begin_message(Session *session);
static void look_later(Session *session);
static void close_session(Session *session);
static void ready(void *with, int fd, unsigned events);
static void due(void *with);

const char *session_problem(const Transfer *transfer)
{
    const SmtpEnvelope *envelope = &transfer->mail->envelope;
    const char *problem = url_mail_problem(transfer->url);
    if (!problem)
        problem = smtp_address_problem(envelope->sender);
    for (size_t i = 0; i < envelope->count && !problem; i++)
        problem = smtp_address_problem(envelope->recipients[i]);
    if (!problem && envelope->count == 0)
        problem = "the message has no recipients";
    return problem;
}

static Loop *loop_of(const Session *session)
{
    return session->home->connections->loop;
}

// on_line overhears the opening, and ends it where it has no end.
static size_t on_line(char *at, size_t size, size_t count, void *with)
{
    Session *session = with;
    Str line = { at, size * count };
    return smtp_overhear(&session->opening, &session->job->arena, line) ? line.len : 0;
}

static void describe(Session *session)
{
    static const long uses_ssl[] = { [MAIL_TLS_REQUIRED] = CURLUSESSL_ALL,
                                     [MAIL_TLS_OPTIONAL] = CURLUSESSL_TRY,
                                     [MAIL_TLS_NONE] = CURLUSESSL_NONE };
    CURL *easy = session->job->easy;
    const Mail *login = &session->login;
    SET(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    SET(easy, CURLOPT_CONNECT_ONLY, 1L);
    SET(easy, CURLOPT_URL, session->url.at);
    SET(easy, CURLOPT_USE_SSL, uses_ssl[login->tls]);
    if (login->user.len > 0) {
        SET(easy, CURLOPT_USERNAME, login->user.at);
        SET(easy, CURLOPT_PASSWORD, login->password.at ? login->password.at : "");
    }
    SET(easy, CURLOPT_HEADERFUNCTION, on_line);
    SET(easy, CURLOPT_HEADERDATA, session);
}

static Session *session_new(Sessions *home, const Transfer *transfer)
{
    Session *session = memory_new(sizeof *session);
    Arena *own = &session->own;
    session->home = home;
    session->job = job_new(home->connections);
    session->job->session = session;
    session->url = str_dup(own, transfer->url);
    session->login.tls = transfer->mail->tls;
    if (transfer->mail->user.len > 0) {
        session->login.user = str_dup(own, transfer->mail->user);
        session->login.password = str_dup(own, transfer->mail->password);
    }
    describe(session);
    session->next = home->first;
    if (session->next)
        session->next->prev = session;
    home->first = session;
    return session;
}

static bool is_for(const Session *session, const Transfer *transfer)
{
    const Mail *login = &session->login, *wanted = transfer->mail;
    return login->tls == wanted->tls && str_eq(session->url, transfer->url) &&
           str_eq(login->user, wanted->user) && str_eq(login->password, wanted->password);
}

static Session *take_idle(Sessions *home, const Transfer *transfer)
{
    for (Session *session = home->first; session; session = session->next) {
        if (!session->is_idle || !is_for(session, transfer))
            continue;
        session->is_idle = false;
        home->idle--;
        return session;
    }
    return NULL;
}

// keep_message copies what is to be sent.
static void keep_message(Session *session, const Transfer *transfer)
{
    Arena *arena = &session->job->arena;
    const SmtpEnvelope *envelope = &transfer->mail->envelope;
    Str *recipients = ARENA_ARRAY(arena, Str, envelope->count);
    for (size_t i = 0; i < envelope->count; i++)
        recipients[i] = str_dup(arena, envelope->recipients[i]);
    session->envelope = (SmtpEnvelope){ .sender = str_dup(arena, envelope->sender),
                                        .recipients = recipients,
                                        .count = envelope->count };
    session->wire = smtp_wire(arena, transfer->body);
    assert(session->wire.at); // whoever made the message knows what lines are
}

void sessions_send(Sessions *sessions, const Transfer *transfer, bool keeps_connection,
                   TransferDone *done, void *with)
{
    Session *session = take_idle(sessions, transfer);
    bool is_reused = session;
    if (!session)
        session = session_new(sessions, transfer);
    Job *job = session->job;
    job_clear(job);
    job->done = done;
    job->with = with;
    sessions->busy++;
    session->is_reused = is_reused;
    session->is_lost = false;
    session->keeps_connection = keeps_connection;
    session->until = job->started_at + transfer_timeout(transfer);
    keep_message(session, transfer);
    loop_at(loop_of(session), &session->timer, session->until, due, session);
    if (is_reused)
        begin_message(session);
    else
        open_session(session);
}

// open_session has libcurl open the connection; a second time where the one there was is no more.
static void open_session(Session *session)
{
    Job *job = session->job;
    Span left = later(session->until - loop_now(loop_of(session)), SPAN_MILLISECOND);
    session->fd = -1;
    smtp_overhear_begin(&session->opening, &job->arena);
    job_limit(job, left, left);
    curl_must(curl_multi_add_handle(session->home->multi, job->easy) == CURLM_OK);
}

static void unlink_session(Session *session)
{
    if (session->prev)
        session->prev->next = session->next;
    else
        session->home->first = session->next;
    if (session->next)
        session->next->prev = session->prev;
}

// leave takes the connection from libcurl, which would say QUIT and wait for the answer.
static void leave(Session *session)
{
    size_t sent;
    if (session->fd >= 0) {
        if (!session->is_lost && session->unsent.len == 0)
            (void) curl_easy_send(session->job->easy, "QUIT\r\n", 6, &sent);
        shutdown(session->fd, SHUT_RDWR);
        session->fd = -1;
    }
    curl_multi_remove_handle(session->home->multi, session->job->easy);
}

static void close_session(Session *session)
{
    leave(session);
    loop_cancel(loop_of(session), &session->timer);
    unlink_session(session);
    if (session->is_idle)
        session->home->idle--;
    job_free(session->job);
    arena_wipe(&session->own);
    free(session);
}

static void rest(Session *session)
{
    session->is_idle = true;
    session->home->idle++;
    loop_watch(loop_of(session), session->fd, LOOP_IN, ready, session);
    loop_at(loop_of(session), &session->timer, loop_now(loop_of(session)) + IDLE_SPAN, due,
            session);
}

// finish tells what came of the message. Whoever is told may send the next one over this very
// connection, so the memory of this one is taken away before.
static void finish(Session *session, TransferResult result)
{
    Sessions *home = session->home;
    Job *job = session->job;
    TransferDone *done = job->done;
    void *with = job->with;
    Arena arena = job->arena;
    bool is_kept = session->keeps_connection && home->idle < IDLE_MAX && session->fd >= 0 &&
                   session->unsent.len == 0 && smtp_may_go_on(&session->smtp);
    result.took = loop_now(loop_of(session)) - job->started_at;
    job->arena = (Arena){ 0 };
    home->busy--;
    if (is_kept)
        rest(session);
    else
        close_session(session);
    done(with, &result);
    arena_done(&arena);
    home->over(home->pool);
}

// answer is what the server said to each recipient; problem and text say why it said nothing.
static void answer(Session *session, TransferProblem problem, const char *text)
{
    size_t count = session->envelope.count;
    SmtpReply *replies = ARENA_ARRAY(&session->job->arena, SmtpReply, count);
    TransferResult result = { .problem = TRANSFER_ANSWERED, .replies = replies };
    for (size_t i = 0; i < count; i++) {
        replies[i] = smtp_reply(&session->smtp, i);
        if (!replies[i].code)
            result.problem = problem;
    }
    result.status = session->smtp.last.code;
    if (result.problem != TRANSFER_ANSWERED)
        result.problem_text = str_from(text);
    finish(session, result);
}

static void refuse_opening(Session *session, CURLcode code)
{
    const SmtpReply *last = &session->opening.last;
    TransferResult result = job_result(session->job, code);
    bool is_said = last->code >= 400;
    if (code == CURLE_LOGIN_DENIED)
        result.problem =
            is_said && last->code < 500 ? TRANSFER_NO_CONNECTION : TRANSFER_LOGIN_REFUSED;
    result.status = is_said ? last->code : 0;
    // libcurl's own text lies in the job, which may be gone before it is told.
    result.problem_text = is_said ? last->text : str_dup(&session->job->arena, result.problem_text);
    if (code == CURLE_WRITE_ERROR) // on_line's
        result.problem_text = S("the server's reply has no end");
    finish(session, result);
}

void session_opened(Session *session, CURLcode code)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (code != CURLE_OK) {
        refuse_opening(session, code);
        return;
    }
    curl_easy_getinfo(session->job->easy, CURLINFO_ACTIVESOCKET, &fd);
    session->fd = fd;
    session->is_reused = false;
    begin_message(session);
}

// reopen gets another connection for a message that the server has not heard of.
static void reopen(Session *session)
{
    leave(session);
    session->is_lost = session->is_reused = false;
    session->unsent = STR_NONE;
    open_session(session);
}

// conclude ends a message that is over or lost.
static void conclude(Session *session)
{
    if (session->is_reused && !smtp_was_begun(&session->smtp)) {
        reopen(session);
        return;
    }
    answer(session, TRANSFER_NO_ANSWER,
           session->smtp.is_broken ? "the server does not speak SMTP"
                                   : "the connection broke before the server had answered");
}

// push sends what there is to send; false where the connection is gone.
static bool push(Session *session)
{
    CURLcode code = CURLE_OK;
    while (code == CURLE_OK) {
        size_t sent = 0;
        if (session->unsent.len == 0)
            session->unsent = smtp_next(&session->smtp);
        if (session->unsent.len == 0)
            break;
        code = curl_easy_send(session->job->easy, session->unsent.at, session->unsent.len, &sent);
        session->unsent = str_skip(session->unsent, sent);
    }
    loop_watch(loop_of(session), session->fd, session->unsent.len ? LOOP_IN | LOOP_OUT : LOOP_IN,
               ready, session);
    return code == CURLE_OK || code == CURLE_AGAIN;
}

// pull hears what there is to hear; false where the connection is gone.
static bool pull(Session *session)
{
    char bytes[BYTES_AT_ONCE];
    while (!smtp_is_over(&session->smtp)) {
        size_t len = 0;
        CURLcode code = curl_easy_recv(session->job->easy, bytes, sizeof bytes, &len);
        if (code == CURLE_AGAIN)
            return true;
        if (code != CURLE_OK || len == 0)
            return false;
        smtp_hear(&session->smtp, (Str){ bytes, len });
    }
    return true;
}

// ready: what was said while we could no longer send is heard all the same.
static void ready(void *with, int fd, unsigned events)
{
    Session *session = with;
    (void) fd, (void) events;
    if (session->is_idle) { // it closes, or says what nobody asked
        close_session(session);
        return;
    }
    session->is_lost = !pull(session);
    if (!session->is_lost && !smtp_is_over(&session->smtp) && !push(session)) {
        (void) pull(session);
        session->is_lost = true;
    }
    if (session->is_lost || smtp_is_over(&session->smtp))
        conclude(session);
}

// begin_message may be called by whoever starts a transfer: what comes of it is told later.
static void begin_message(Session *session)
{
    bool resets = session->is_reused && session->smtp.needs_reset;
    smtp_begin(&session->smtp, &session->job->arena, &session->envelope, session->wire,
               session->opening.offer, resets);
    session->unsent = STR_NONE;
    session->is_lost = !smtp_is_over(&session->smtp) && !push(session);
    if (session->is_lost || smtp_is_over(&session->smtp))
        look_later(session);
}

static void look_later(Session *session)
{
    Loop *loop = loop_of(session);
    loop_at(loop, &session->timer, loop_now(loop), due, session);
}

static void due(void *with)
{
    Session *session = with;
    if (session->is_idle)
        close_session(session);
    else if (session->is_lost || smtp_is_over(&session->smtp))
        conclude(session);
    else if (session->fd >= 0)
        answer(session, TRANSFER_NO_ANSWER, "the server did not answer in time");
    // While libcurl opens it, the time is libcurl's to keep.
}

void sessions_free(Sessions *sessions)
{
    for (Session *session = sessions->first, *next; session; session = next) {
        next = session->next;
        close_session(session);
    }
}
