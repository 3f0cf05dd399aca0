// host.h - a server under test, and a client that speaks to it in raw bytes.
#pragma once

#include "net/server.h"

#include "peer.h"
#include "test.h"

#include <stdatomic.h>

// Host is a server under test. Its handler answers at once, hands over to a worker thread, or holds
// the exchange until the test lets it go, as the path says.
typedef struct Host {
    Server *server;
    int port;
    pthread_t worker;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Exchange *queue[256]; // guarded by lock
    size_t queued;        // guarded by lock
    Exchange *held;       // guarded by lock
    bool is_stopping;     // guarded by lock
    _Atomic int handled, begun;
} Host;

enum { LONG_BYTES = 16 << 20 }; // more than the system keeps for a client

// gather keeps what came in parts, and asks for more; false where the part is the last, or refused.
static inline bool gather(Exchange *exchange)
{
    if (!exchange->with) {
        exchange->with = ARENA_NEW(&exchange->arena, Buf);
        *(Buf *) exchange->with = buf_new(&exchange->arena, PEER_BYTES_MAX);
    }
    Buf *parts = exchange->with;
    buf_add_format(parts, "[%.*s]", STR_ARG(exchange->body));
    bool is_refused = str_contains(exchange->body, S("!"));
    if (exchange->is_part && !is_refused) {
        exchange_more(exchange);
        return true;
    }
    exchange->body = is_refused ? S("refused") : buf_str(parts);
    return false;
}

// describe writes what the handler saw, so that a test can compare it.
static inline void describe(Exchange *exchange)
{
    Arena *arena = &exchange->arena;
    if (str_ends(exchange->path, S("/parts")) && gather(exchange))
        return;
    Buf buf = buf_new(arena, PEER_BYTES_MAX);
    buf_add_format(&buf, "%.*s %.*s body=%zu", STR_ARG(exchange->method), STR_ARG(exchange->path),
                   exchange->body.len);
    Header member;
    for (size_t i = 0; exchange_query_next(exchange, i, &member); i++)
        buf_add_format(&buf, " %.*s=%.*s", STR_ARG(member.name), STR_ARG(member.value));
    Str tag = exchange_header(exchange, S("x-tag"));
    if (tag.at)
        buf_add_format(&buf, " tag=%.*s", STR_ARG(tag));
    if (exchange->body.len <= 100)
        buf_add_format(&buf, " \"%.*s\"", STR_ARG(exchange->body));
    char value[] = "yes"; // on the stack: the reply must copy it
    Reply reply = { .status = 200,
                    .type = S("text/plain"),
                    .body = buf_str(&buf),
                    .headers = { { S("X-Seen"), str_from(value) } },
                    .header_count = 1 };
    if (str_eq(exchange->path, S("/nothing")))
        reply = (Reply){ .status = 204 };
    if (str_eq(exchange->path, S("/long")))
        reply.body = (Str){ arena_alloc(arena, LONG_BYTES), LONG_BYTES };
    if (str_eq(exchange->path, S("/cached"))) {
        reply.headers[0] = (Header){ S("cache-control"), S("max-age=60") };
    }
    if (str_eq(exchange->path, S("/fail"))) {
        Error error = { .arena = arena };
        error_add(&error, S("/a"), "bad-value", "must be \"%s\"", "b");
        error_add(&error, S("/c"), "bad-type", "no");
        Err err = error_close(&error, ERR_INVALID);
        CHECK(err == ERR_INVALID);
        reply = problem_reply(arena, &error, exchange->request_id);
    }
    exchange_reply(exchange, &reply);
}

static inline void *work(void *with)
{
    Host *host = with;
    for (;;) {
        pthread_mutex_lock(&host->lock);
        while (host->queued == 0 && !host->is_stopping)
            pthread_cond_wait(&host->changed, &host->lock);
        Exchange *exchange = host->queued > 0 ? host->queue[--host->queued] : NULL;
        pthread_mutex_unlock(&host->lock);
        if (!exchange)
            return NULL;
        describe(exchange);
    }
}

static inline void handle(void *with, Exchange *exchange)
{
    Host *host = with;
    host->handled++;
    bool is_async = str_starts(exchange->path, S("/async"));
    bool is_held = str_starts(exchange->path, S("/hold"));
    if (!is_async && !is_held) {
        describe(exchange);
        return;
    }
    pthread_mutex_lock(&host->lock);
    if (is_async)
        host->queue[host->queued++] = exchange;
    else
        host->held = exchange;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
}

static inline Err begin(void *with, Exchange *exchange, Admission *ret, Error *error)
{
    Host *host = with;
    host->begun++;
    ret->is_health = str_eq(exchange->path, S("/livez"));
    ret->is_operator = str_eq(exchange_header(exchange, S("authorization")), S("operator"));
    if (str_eq(exchange->path, S("/secret")) && !exchange_header(exchange, S("authorization")).at)
        return fail(error, ERR_NO_KEY, "send a key");
    if (str_eq(exchange->path, S("/small")))
        ret->body_max = 10;
    if (str_ends(exchange->path, S("/parts"))) {
        ret->body_max = 40;
        ret->part_bytes = 4;
    }
    return ERR_OK;
}

static inline void host_start(Host *host, ServerOptions options)
{
    Error error = { 0 };
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->changed, NULL);
    if (!options.listen.at)
        options.listen = S("127.0.0.1:0");
    options.begin = begin;
    options.handle = handle;
    options.with = host;
    Err err = server_open(&options, &host->server, &error);
    CHECK_AT(error.detail, err == ERR_OK);
    assert(err == ERR_OK);
    host->port = server_port(host->server);
    int failed = pthread_create(&host->worker, NULL, work, host);
    assert(!failed);
}

static inline void host_stop(Host *host)
{
    server_close(host->server);
    pthread_mutex_lock(&host->lock);
    host->is_stopping = true;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
    pthread_join(host->worker, NULL);
    pthread_mutex_destroy(&host->lock);
    pthread_cond_destroy(&host->changed);
}

static inline Exchange *wait_for_held(Host *host)
{
    pthread_mutex_lock(&host->lock);
    while (!host->held)
        pthread_cond_wait(&host->changed, &host->lock);
    Exchange *exchange = host->held;
    host->held = NULL;
    pthread_mutex_unlock(&host->lock);
    return exchange;
}

// ask sends raw bytes on a new connection and returns the answer.
static inline Str ask(Arena *arena, int port, Str request)
{
    int fd = peer_dial(port);
    CHECK(fd >= 0);
    peer_send(fd, request);
    Str answer = peer_receive(arena, fd);
    close(fd);
    return answer;
}
