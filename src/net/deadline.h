// deadline.h - connections do not wait for ever: neither for a request nor to be closed.
//
// An idle time-out alone lets a client send one byte a minute. A Deadline is the moment by which
// the request under way on a connection must have arrived; one thread looks over all of them and
// shuts down the sockets that are late. Setting and stopping a Deadline takes no lock, so it may be
// done for each request.
//
// The same thread lingers: a connection that is closed while its client still sends would be reset,
// and the client might never see the answer. Such a socket is read and thrown away for a while.
#pragma once

#include "base/base.h"

#include <stdatomic.h>

typedef struct Deadlines Deadlines;

typedef struct Deadline Deadline;

struct Deadline {
    int fd;
    _Atomic Instant at;                  // on the monotonic clock; INSTANT_NONE: nothing is awaited
    _Atomic bool is_begun;               // a request line was seen, so an answer makes sense
    struct Deadline *prev, *next;        // guarded by the lock of its Deadlines
    void (*hung_up)(Deadline *deadline); // the same; NULL: nobody asks
};

// deadlines_new starts the thread. It looks every tick while there are connections. late is called
// before a socket whose request has begun is shut down, to tell the client; it must not block.
// NULL: the client is not told. NULL when the system gives no thread.
Deadlines *deadlines_new(Span tick, void (*late)(int fd));
void deadlines_free(Deadlines *deadlines);

// deadlines_remove must come before the socket is closed.
void deadlines_add(Deadlines *deadlines, Deadline *deadline);
void deadlines_remove(Deadlines *deadlines, Deadline *deadline);

// deadlines_watch calls hung_up once, within a tick, when the other end has closed its side, for
// who sends without reading; it must not block. NULL ends the watch: afterwards it is not called.
void deadlines_watch(Deadlines *deadlines, Deadline *deadline, void (*hung_up)(Deadline *deadline));

// deadline_stop says that the request is in; false when the socket was shut down before.
void deadline_set(Deadline *deadline, Instant at, bool is_begun);
bool deadline_stop(Deadline *deadline) MUST_USE;

// deadlines_linger takes a descriptor of a socket whose answer is sent, and closes it in the end.
void deadlines_linger(Deadlines *deadlines, int fd);
