// unpacking.h - a hook that is long to read, from when the drain meets it until all its events are
// written. Private to engine/.
//
// What is small is read in the transaction that writes it (drain.c). A body of 25 MiB takes a
// second to read, and ten thousand events with all that triggers make of them many seconds to
// write: nobody may wait for that. So a node has a place for one such hook:
//
//   drain: marks it, counts the try ─▶ a thread reads it ─▶ drain: a part of its events, a part …
//
// The mark is a lease on the row (store/inbox.h): other nodes leave it alone, and what its source
// brought behind it waits, while all other sources go on. Every second run of the drain writes a
// part; where the process ends between two, who comes next begins anew, and by the ids of the
// events finds what is there. Whatever was part of a failure is read here too, however short.
//
// A parser may come to no end. It is given a time, and what it reads by then tells it that there is
// nothing more (base/patience.h): the try has failed, the row waits for its next and is overtaken,
// and after three it has failed. One that does not even notice that holds its thread for ever; no
// thread can be ended safely from outside. So after a grace the process ends itself, as it would by
// a parser that crashes: whoever runs Peal starts it again, and the tries, counted before, see to
// it that this happens three times at most.
#pragma once

#include "base/pool.h"
#include "engine/unpack.h"

#include <stdatomic.h>

// What is enough for one transaction of the drain; the last row, or event of a part, goes beyond.
enum {
    DRAIN_PAIRS_MAX = 5000,    // of events and triggers that take them
    DRAIN_BYTES_MAX = 8 << 20, // of payloads
    DRAIN_PART_EVENTS = 1000,  // of a hook that is written in parts
};

#define UNPACK_TIME ((Span) 10 * SPAN_SECOND)        // of a hook, for itself
#define UNPACK_TIME_HERE ((Span) SPAN_SECOND / 10)   // in a transaction; it is long after that
#define UNPACK_TIME_GRACE ((Span) 10 * SPAN_SECOND)  // behind the time, for who does not notice
#define UNPACK_LOOKS_WITHIN ((Span) 5 * SPAN_SECOND) // else whoever watches stood still himself

typedef struct Engine Engine;

typedef enum UnpackingStage {
    UNPACKING_FREE,
    UNPACKING_ASKED,   // a run of the drain put a hook here: it is read once that is committed
    UNPACKING_READING, // by a thread
    UNPACKING_READ,
} UnpackingStage;

// UnpackingPlace is how far its events are written, and what the row would say by them.
typedef struct UnpackingPlace {
    size_t next; // event
    int status;  // InboxStatus; pending: there was none yet
    int reason;  // InboxReason
    Str error;
    Instant held_until; // as the row says since the first part; 0: there was none
} UnpackingPlace;

// Unpacking is that place. It is the drain's while that runs, and the thread's while that reads;
// else the engine's.
typedef struct Unpacking {
    Task task;
    Engine *engine;
    _Atomic UnpackingStage stage;
    Arena arena;       // of all that follows
    InboxRow row;      // as it was marked
    bool is_again;     // its events may be stored
    Unpacked unpacked; // is_long: it came to no end
    Instant began_at;  // monotonic: the thread
    Instant looked_at; // monotonic: who watches it
    UnpackingPlace place;
    bool has_run;               // the last run of the drain that was committed was for it
    bool runs;                  // the last one is, or was …
    UnpackingPlace after;       // … and came here …
    bool is_over;               // … where nothing is left to do
    _Atomic Instant here_since; // monotonic: a pen reads a hook in its transaction; 0: none does
} Unpacking;

// unpacking_begin is for a run of the drain: what another put here that was not committed goes.
void unpacking_begin(Unpacking *unpacking);

// unpacking_ask puts a hook there, marked, for after the commit.
void unpacking_ask(Unpacking *unpacking, const InboxRow *row);

// unpacking_came says where a run of the drain came to: the next event, and what the row would say.
void unpacking_came(Unpacking *unpacking, size_t next, const InboxRow *row);

// unpacking_go_on has a run that was committed count; unpacking_empty lets go of the hook.
void unpacking_go_on(Engine *engine);
void unpacking_empty(Unpacking *unpacking);

// unpacking_watch sees to what has been read, and ends the process where a parser hangs.
void unpacking_watch(Engine *engine);

static inline UnpackingStage unpacking_stage(const Unpacking *unpacking)
{
    return atomic_load(&unpacking->stage);
}
