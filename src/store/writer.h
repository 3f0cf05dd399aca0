// writer.h - group commit: operations in, one transaction for many of them, results after it.
//
// What an operation is, op.h says; which of them goes next, waiting.h. When a batch fails for a
// reason that is not the store's, it is rolled back and replayed one by one, and only the guilty
// one fails.
//
// SQLite has one pen, PostgreSQL has three: while one waits for its commit another works, and the
// last is for what takes long, so that nothing waits for that. A COMMIT whose reply is lost is
// resolved on a new connection by the row it left in the journal. When the store is away,
// operations wait until their patience ends and then fail with ERR_UNAVAILABLE. A failed fsync ends
// the program.
//
// Where somebody else holds a lock on a table, or a statement runs out of its time, the batch is
// parted: what is of another kind goes to the other pen, the rest is tried again in halves, and
// whoever's patience has ended by then fails with ERR_BUSY.
//
// A simulation runs the writer by hand (is_stepped): writer_submit() only queues, writer_step()
// does a batch of each pen, and what the writer would ask of the system it asks of WriterSeams.
#pragma once

#include "base/clock.h"
#include "store/epoch.h"
#include "store/op.h"

typedef struct Writer Writer;
typedef struct Curves Curves; // store/curve.h

// WriterSeams stand in for the system; NULL members leave it as it is.
typedef struct WriterSeams {
    void *with;
    void (*pause)(void *with, Span span); // instead of sleeping, while the store is away
    void (*stop)(void *with);             // instead of ending the program
} WriterSeams;

typedef struct WriterOptions {
    Str url;
    Str name;        // of the node; may be none
    int pen_count;   // of several the last is for what takes long. 0: writer_submit() does the work
    bool is_stepped; // they have no threads: writer_step() does it
    WriterSeams seams;
    Clock *clock;
    Random *random;
    const KeyRing *ring;
    const EpochGuard *guard; // compared at every connect; NULL: not at all (tests, simulation)
    bool is_weak;            // see DbOptions
    int (*fault)(void *with, const char *call);
    void *fault_with;
} WriterOptions;

// writer_open connects and loads the first registry. The tables must be there (migrate.h). Pen i
// of node n is writer n * 16 + i in counters and journal; before it has a node, one of its own.
Err writer_open(const WriterOptions *options, Writer **ret, Error *error) MUST_USE;
void writer_close(Writer *writer); // finishes what is queued

// writer_follow names who is told of every commit, on the pen's thread and before any done(): of
// the moves; and, with none, that something else was done, such as a definition saved. NULL: nobody
// any more. One that may still be told must not go away.
typedef void WriterFollower(void *with, const Move *moves, size_t count);
void writer_follow(Writer *writer, WriterFollower *follower, void *with);

// writer_follow_events names who is told, likewise, of a commit that did nothing but take events
// in: they made no move.
void writer_follow_events(Writer *writer, void (*took)(void *with), void *with);

// writer_submit hands the operation over; ERR_BUSY through done() when too many wait.
void writer_submit(Writer *writer, Op *op);

// writer_step does one batch of what was submitted for each pen; false: there was none.
bool writer_step(Writer *writer);

// writer_run does one thing in a transaction and waits for it: start-up, tests. Not from the
// writer's own threads.
Err writer_run(Writer *writer, Err (*work)(Tx *tx, void *with, Error *error), void *with,
               Error *error) MUST_USE;

// writer_set_node numbers the counters' rows once the node is known.
void writer_set_node(Writer *writer, int64_t node);

size_t writer_waiting(const Writer *writer);
bool writer_is_up(const Writer *writer);
bool writer_is_shared(const Writer *writer); // other nodes may write to the store too

// writer_registry returns the newest snapshot, held for the caller.
Registry *writer_registry(Writer *writer);
// writer_refresh loads and publishes a newer snapshot when db's generation has moved.
Err writer_refresh(Writer *writer, Db *db, Error *error) MUST_USE;
Versions *writer_versions(Writer *writer);
Surveys *writer_surveys(Writer *writer);

// writer_curves is what its commits did, as far as it is not written (curve.h).
Curves *writer_curves(Writer *writer);
