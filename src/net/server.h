// server.h - the HTTP end that others connect to; server.c is the only file that knows
// libmicrohttpd.
//
// One event-loop thread reads requests. When the headers are in, `begin` may refuse (no key, too
// large) before a byte of the body is taken. When the body is in, `handle` is called on that
// thread; it must not block. Whoever finishes the work calls exchange_reply() once, from any
// thread; until then the exchange, its arena and everything in it belong to the handler. Long
// answers may be written while they are read (net/stream.h), and long bodies may be handed over
// part by part while they come in (Admission.part_bytes): no more is read from the client until
// exchange_more() asks for the next.
//
// Limits are the server's own: connections in all and per client (behind a proxy, its requests
// under way; an IPv6 /64 is one client), failures for want of a key and visits to open pages per
// client (429 beyond), header and body size, the bodies of all requests together (503 beyond, with
// Retry-After), a total deadline for a request to arrive and for its answer to be taken (not only
// an idle time-out), and a guard against smuggling (two lengths, length and chunks together, odd
// names, no or two hosts).
// What breaks a limit is answered with problem+json and logged at debug.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "net/address.h"
#include "net/header.h"
#include "net/reply.h"
#include "net/stream.h"
#include "net/tls.h"

typedef struct Server Server;
typedef struct Exchange Exchange;

struct Exchange {
    Arena arena;      // freed after the answer went out
    Str method, path; // path is percent-decoded and without the query
    Str body;         // or the part of it that is there
    bool is_part;     // more of it follows
    Uuid request_id;
    Str remote;                // the client's address as text
    bool is_local;             // it came by a Unix socket
    bool is_secure;            // the client speaks TLS, to us or to a proxy that says so
    void *with;                // the handler's own
    struct ExchangeWire *wire; // private to server.c
};

Str exchange_header(const Exchange *exchange, Str name);   // none when absent; joined when repeated
size_t exchange_headers(Exchange *exchange, Header **ret); // all, in the arena
Str exchange_query(const Exchange *exchange, Str name);    // percent-decoded; none when absent
bool exchange_query_next(const Exchange *exchange, size_t index, Header *ret); // walk them all
Str exchange_query_text(const Exchange *exchange); // as it came, without its mark; none

// exchange_reply copies the reply, except its body, which must lie in the exchange's arena or be
// static.
void exchange_reply(Exchange *exchange, const Reply *reply);

// exchange_more asks for the next part of the body, instead of an answer: handle() is called again
// when it is there, with the same exchange. Whoever holds nothing meanwhile need not be told where
// the client leaves before the last. A reply to a part is sent when the rest was read and dropped.
void exchange_more(Exchange *exchange);

// exchange_is_crowded: answers that others are slow to take fill the memory set aside for them.
// Whoever is about to make a large one had better refuse. From any thread.
bool exchange_is_crowded(const Exchange *exchange);

// exchange_wake has answer() called on the server's own thread, where it calls exchange_reply():
// for who must not spend time on writing it. The exchange is no longer the caller's.
void exchange_wake(Exchange *exchange, void (*answer)(Exchange *exchange));

// exchange_stream begins an answer that is written piece by piece (net/stream.h), instead of
// exchange_reply(); head has no body. The exchange stays its caller's until the stream is ended.
Stream *exchange_stream(Exchange *exchange, const Reply *head, StreamWatch watch);

// exchange_park registers an exchange that waits for something which may never come, so that
// server_close() answers it (503 stopping) instead of waiting in vain. Until exchange_unpark() its
// owner does not touch it. Where that returns true it is the owner's again, to be answered. False:
// the server has answered; what the exchange holds is still there, to be given back, until
// exchange_drop(), also when the server is gone.
void exchange_park(Exchange *exchange);
bool exchange_unpark(Exchange *exchange) MUST_USE;
void exchange_drop(Exchange *exchange);

// exchange_is_alive is false where its client has hung up while the exchange is its handler's: the
// loop does not look then.
bool exchange_is_alive(const Exchange *exchange);

// Admission is what the server should know of a request before it takes more of it.
typedef struct Admission {
    size_t body_max; // starts as body_bytes_max; may be lowered, and raised for what comes in parts
    size_t part_bytes; // the body is handed over by so much at a time; 0: when it is whole
    bool is_health;    // asks how the server is: gets in beyond connections_max, and past the proxy
    bool is_operator;  // has the key of one who runs it: gets in beyond connections_max
    bool is_keyless;   // no known key, so far
    bool is_hook;  // a webhook: its 401 is no strike, for no key was tried, and what there is no
                   // room for is told 500, for its sender may take a 503 for the last word
    bool is_visit; // to a page that is open to anyone: counted by client
} Admission;

// What holds where the options say nothing.
enum {
    SERVER_CONNECTIONS_MAX = 1024,
    SERVER_CONNECTIONS_PER_ADDRESS_MAX = 512,
    SERVER_BODY_BYTES_MAX = 8 << 20,
    SERVER_BODIES_BYTES_MAX = 256 << 20,
    SERVER_ANSWERS_BYTES_MAX = 256 << 20, // that clients have not taken yet
    SERVER_HEADER_BYTES_MAX = 16 << 10,
    SERVER_ANSWER_BYTES_PER_SECOND = 256 << 10,
};
#define SERVER_REQUEST_DEADLINE (30 * SPAN_SECOND)
#define SERVER_RESERVE_DEADLINE (2 * SPAN_SECOND)
#define SERVER_IDLE_TIMEOUT (60 * SPAN_SECOND)
#define SERVER_OWED_WAIT (8 * SPAN_SECOND)

enum { SERVER_RESERVE = 32 }; // connections beyond connections_max, for health and operators

typedef struct ServerOptions {
    Str listen;               // as listen_open() takes it
    int listen_fd;            // instead: a socket that listens already; taken over. 0: none
    Certificate *certificate; // to speak TLS; taken over. NULL: in plain text
    AddressPolicy proxies;    // whose X-Forwarded-For is believed (net/remote.h)
    size_t connections_max;   // SERVER_RESERVE comes on top
    size_t connections_per_address_max; // loopback is not limited
    size_t body_bytes_max;              // of one request
    size_t bodies_bytes_max;            // of all requests being read or handled
    size_t header_bytes_max;
    Span request_deadline;          // for a whole request to arrive
    Span reserve_deadline;          // the same for a connection in the reserve
    size_t answer_bytes_per_second; // at least, or the client is cut
    Span idle_timeout;              // of a kept-alive connection
    Span owed_wait;                 // for owners to answer when it closes

    // begin runs when the headers are in. Anything but ERR_OK refuses the request; fill error. May
    // be NULL.
    Err (*begin)(void *with, Exchange *exchange, Admission *ret, Error *error);
    // refused is told of what the server answers by itself, to begin's refusals or its own; it may
    // say the same in another way, but for what is broken off in the middle of a body. May be NULL.
    void (*refused)(void *with, Exchange *exchange, Reply *reply);
    void (*handle)(void *with, Exchange *exchange);
    // turn runs when all that was ready has been handled, before the server waits again: what its
    // requests have in common can be done once. May be NULL.
    void (*turn)(void *with);
    void *with;
} ServerOptions;

// server_open binds and starts. Port 0 picks one: server_port() tells it.
Err server_open(const ServerOptions *options, Server **ret, Error *error) MUST_USE;
int server_port(const Server *server);

// server_poke asks the loop for a sign of life, which it gives at each turn: by itself only when
// somebody connects or asks. server_silence is how long ago it gave one. From any thread.
void server_poke(Server *server);
Span server_silence(const Server *server);

// server_present takes over a renewed certificate, for the connections that follow. Those that are
// open go on. From any thread; only for a server that was opened with one.
void server_present(Server *server, Certificate *certificate);

// server_quiesce stops accepting. server_close answers what is parked, cuts streams off, waits for
// the exchanges under way to be answered, by their owners, and stops. Where one is still unanswered
// after owed_wait it returns false and the server stands as it was, refusing: end the process, or
// answer and call again.
void server_quiesce(Server *server);
bool server_close(Server *server);
