// wire.h - what a connection and an exchange are to the server's own files; private to net/.
//
// The loop thread runs the library, and owns connections. An ExchangeWire is the loop's until it is
// handed over, then its handler's until the reply, then the loop's again. One whose handler goes on
// after the reply has begun (a stream) or may find it answered (a parked one) has two holders: the
// last to let it go frees it.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "net/deadline.h"
#include "net/guard.h"
#include "net/remote.h"
#include "net/server.h"
#include "net/strikes.h"
#include "net/tls.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

// Connection is one client's socket. The loop thread owns it.
typedef struct Connection {
    Deadline deadline;
    struct Connection *prev, *next;
    Remote peer;      // the other end
    Remote client;    // who asks: the peer, or whom a proxy speaks for
    bool is_proxied;  // the peer is a proxy
    bool is_counted;  // against what its client may have
    bool is_stranger; // it should have come through a proxy
    bool had_request;
    bool is_extra;                // in the reserve: one quick request, then it is closed
    bool is_cut;                  // it made room for another, and is about to go
    bool lingers;                 // the client may still be sending when it is closed
    Stream *stream;               // being sent on it; see deadlines_watch()
    char remote[REMOTE_TEXT_MAX]; // the client of the last request, as text
} Connection;

typedef enum Phase {
    PHASE_HEAD,     // the request line was seen
    PHASE_BODY,     // the head is accepted
    PHASE_DROPPING, // refused; the rest is read and dropped, then the refusal goes out
    PHASE_HANDED,   // the handler has it
    PHASE_ANSWERED,
} Phase;

// Whose turn it is while the exchange is handed over. The one who finds the other's mark acts.
typedef enum Turn {
    TURN_HANDLING,  // not yet suspended
    TURN_SUSPENDED, // the reply must wake the loop
    TURN_REPLIED,
} Turn;

// Whose it is to answer a parked exchange.
typedef enum Parking {
    PARKING_NONE,
    PARKING_PARKED,
    PARKING_LEFT,     // the owner answers
    PARKING_GIVEN_UP, // the server has answered, because it closes
} Parking;

typedef struct ExchangeWire ExchangeWire;

struct ExchangeWire {
    Exchange exchange;
    Server *server;
    Connection *connection; // NULL once the request is over
    struct MHD_Connection *mhd;
    int fd;              // its socket, while the exchange is handed over
    ExchangeWire *next;  // in the server's spares
    _Atomic int holders; // the loop; and its owner while it streams or is parked
    Phase phase;
    _Atomic Turn turn;
    _Atomic Parking parking;
    ExchangeWire *parked_prev, *parked_next; // guarded by the server's lock
    Stream *stream;                          // instead of the reply's body
    Instant stream_late;                     // when its client is too slow; INSTANT_NONE
    Str target;                              // a copy of what was sent
    const char *target_at;                   // where it lies, for the check of the line's shape
    Header *headers;
    size_t header_count;
    RequestTarget parsed;
    BodyFraming framing;
    bool is_hook; // see Admission
    size_t body_max, body_room;
    size_t part_bytes;  // see Admission
    size_t body_before; // bytes in the parts before
    bool wants_more;    // the part was taken, and its handler waits for the next
    char *body;         // on the heap: it grows in place, and its room is known to the byte
    Reply reply;
    size_t answer_bytes; // that the arena held when it was answered, as counted in the server's
    void (*answer)(Exchange *exchange); // that the loop has to call for it; NULL
};

struct Server {
    ServerOptions options;
    struct MHD_Daemon *daemon;
    pthread_t thread;      // the loop
    int wake_fd;           // ends its wait
    _Atomic bool is_woken; // and has done so: once is enough for a turn
    _Atomic size_t wakers; // on their way through wire_wake()
    _Atomic bool is_ended;
    Deadlines *deadlines;
    _Atomic(Certificate *) certificate; // NULL: without TLS
    int listen_fd, port;
    bool is_unix; // it listens on a Unix socket
    // A library before 1.0 accepts lines that it should not; see lines_are_clean(). Its strict mode
    // adds only two checks of the guard's, and sends the head of their answer twice.
    bool checks_lines;
    Clock clock;
    Random random;
    Connection *connections; // the loop thread's
    size_t connection_count; // the loop thread's
    ExchangeWire *spares;    // the loop thread's
    Strikes strikes, visits; // the loop thread's: wrong keys, and pages
    size_t spare_count;
    size_t body_bytes; // the loop thread's: room of all bodies
    _Atomic bool is_quiesced, is_closing;
    _Atomic Instant alive_at;    // the loop's last sign of life
    _Atomic size_t owed;         // handed over and not yet answered, and streams not yet ended
    _Atomic size_t sending;      // answers on their way
    _Atomic size_t answer_bytes; // of all answers that are not yet taken
    pthread_mutex_t lock;        // guards what follows, and is for the wait in server_close()
    pthread_cond_t changed;
    Stream *streams;      // not yet ended
    ExchangeWire *parked; // waiting for something that may never come
};

// connection_open, connection_close: when the library has a socket, and before it closes it.
Connection *connection_open(Server *server, int fd, const struct sockaddr *peer);
void connection_close(Server *server, Connection *connection);

// connection_take notes whose request a proxy has sent; false where that client has too many under
// way.
bool connection_take(Server *server, Connection *connection, Str forwarded_for);
void connection_done(Connection *connection);

// server_count_down tells server_close(), if it waits.
void server_count_down(Server *server, _Atomic size_t *counter);

// server_give_up answers what is parked.
void server_give_up(Server *server);

// wire_sleep lets the loop forget the connection until wire_wake(), which may be called from any
// thread, and at once.
void wire_sleep(ExchangeWire *wire);
void wire_wake(Server *server, struct MHD_Connection *mhd);

// wire_new makes an exchange, for the loop, which is its one holder.
ExchangeWire *wire_new(Server *server);

// wire_add_body appends to the body; false where those of others fill what all may have.
// server_has_room: they leave so much.
bool wire_add_body(ExchangeWire *wire, Str piece) MUST_USE;
bool server_has_room(const Server *server, size_t more);

// wire_let_go returns true when nobody holds the exchange any more. The loop then keeps it for the
// next with wire_keep(); whoever else ends it with wire_end(), which does not look at the server.
bool wire_let_go(ExchangeWire *wire) MUST_USE;
void wire_keep(ExchangeWire *wire);
void wire_end(ExchangeWire *wire);

// wire_reply hands the reply to the loop.
void wire_reply(ExchangeWire *wire, const Reply *reply);

enum { STREAM_SLEEPS = 0, STREAM_WHOLE = -1, STREAM_CUT = -2 };

// stream_take moves bytes from the stream to the loop, at most max, and returns how many. With
// STREAM_SLEEPS it has put the connection to sleep.
ssize_t stream_take(Stream *stream, char *to, size_t max);

// stream_lose says that nobody reads it any more. Its writer is told, its connection woken.
void stream_lose(Stream *stream);
void streams_lose(Stream *first); // all of a server's, with its lock
void stream_free(Stream *stream);
