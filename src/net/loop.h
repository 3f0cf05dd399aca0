// loop.h - waiting for many things at once on one thread: descriptors, moments, and being woken.
//
// Whoever has something under way (transfer.h, process.h) watches its descriptors and sets its
// timers here; they are called from within loop_wait(), never from anywhere else. The thread that
// waits owns the loop and everything on it: nothing is locked, and any thread may do one thing
// only, loop_wake().
//
// Timers go by the clock that the loop was given, time-outs of loop_wait() by the machine's. With
// a simulated clock a timer therefore falls due when the test lets time pass, and descriptors are
// waited for as always.
//
// A call may watch, unwatch, set and cancel whatever it likes, its own too. A descriptor that was
// unwatched is not told of any more, even where it was ready in the same turn and its number is
// another's by now. A timer that is set from within a timer's call is for a later turn, so that one
// that sets itself to "now" starves nobody.
#pragma once

#include "base/base.h"
#include "base/clock.h"

typedef struct Loop Loop;

// LOOP_ERROR is only told, and always; a descriptor whose other end was closed is told LOOP_IN.
enum { LOOP_IN = 1, LOOP_OUT = 2, LOOP_ERROR = 4 };

typedef void LoopReady(void *with, int fd, unsigned events);
typedef void LoopDue(void *with);

// A Timer lies inside whatever it is for, and must be cancelled before that goes. Zeroed, it is not
// set.
typedef struct Timer {
    Instant at; // by loop_now()
    LoopDue *due;
    void *with;
    size_t place;       // among the loop's timers, from 1; 0: not set
    struct Timer *next; // that is due in the same turn
} Timer;

static inline bool timer_is_set(const Timer *timer)
{
    return timer->place != 0;
}

Loop *loop_new(const Clock *clock); // the clock outlives the loop
void loop_free(Loop *loop);         // nothing is watched or set any more

// loop_now is the monotonic time of the loop's clock.
Instant loop_now(const Loop *loop);

// loop_watch calls ready whenever one of the events (LOOP_IN, LOOP_OUT) holds, until it is
// unwatched. Watching anew changes the events and the call. Where the system refuses, that is
// logged and nobody is called: whoever watches has a time-out as well.
void loop_watch(Loop *loop, int fd, unsigned events, LoopReady *ready, void *with);

// loop_unwatch comes before the descriptor is closed; it may be one that nobody watches.
void loop_unwatch(Loop *loop, int fd);

// loop_rest is loop_unwatch() for what will soon be watched again: it asks the system for nothing
// now, and watching it for the same events asks for nothing either. loop_unwatch() must still
// follow before the descriptor is closed.
void loop_rest(Loop *loop, int fd);

// loop_at sets a timer, or moves it; it is told once.
void loop_at(Loop *loop, Timer *timer, Instant at, LoopDue *due, void *with);
void loop_cancel(Loop *loop, Timer *timer); // one that is not set stays so

// loop_wait calls whoever is ready or due, again and again, until the time-out is over, loop_wake()
// was called, or a call said loop_return(). Each who is ready is called once at least.
void loop_wait(Loop *loop, Span timeout);
void loop_return(Loop *loop); // from within a call: the one who waits has something to look at
void loop_wake(Loop *loop);   // from any thread; one that comes early ends the next wait
