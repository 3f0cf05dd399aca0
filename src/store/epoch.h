// epoch.h - how a copy is known: a number kept inside the database and outside of it.
//
// An epoch is an id, made when a database is first used, and a number that only grows. It stands
// inside (meta) and outside: beside the SQLite file, or, for PostgreSQL, in the node's state
// folder, one file per database as the configuration names it. The number is raised at every
// connect, every EPOCH_EVERY and at an orderly stop; both are compared each time:
//
//   inside is the same or newer   it is the database this node knows
//   inside is older               an older state was put back: a restored backup, a copy swapped
//                                 in, a failover that lost its last commits
//   outside does not know it      a copy, a new node, or a lost state folder
//
// A new node joins while one that knows the database lives: that one holds an advisory lock on the
// epoch's id, which no copy carries along and which ends with its connection. In all other cases
// the database is held: events are taken in, nothing is sent, and it says why. Whoever releases it
// vouches for it, which makes a new epoch; the nodes that live then learn of it at their next
// comparison. What was found before stays: a database whose file, machine or cluster is not the one
// it was (meta_identity) is a copy, whatever its epoch says, for a copied folder brings its epoch.
//
// A raise is committed inside first, so that a crash before it is written outside leaves inside the
// newer one. A new epoch is written outside first, beside the old one, so that a crash leaves a
// database that still has an epoch outside knows. Replication carries the epoch along: a failover
// is no copy.
//
// What it cannot tell: a state that is put back before the next raise, and a machine copied whole,
// with its disk and its identity.
#pragma once

#include "store/tx.h"

#define EPOCH_EVERY ((Span) 10 * SPAN_SECOND)

// EpochGuard is how a node guards its store.
typedef struct EpochGuard {
    Str state_folder; // for PostgreSQL
    bool adopts;      // vouches for whatever it finds at its start
} EpochGuard;

// Epoch is what a database knows of itself. While the id stays, a smaller number is of an older
// state; another id is of a state that somebody vouched for, be it older or not.
typedef struct Epoch {
    Str id; // hex digits
    int64_t number;
} Epoch;

// epoch_get reads the one inside.
Err epoch_get(Db *db, Arena *arena, Epoch *ret, Error *error) MUST_USE;

typedef enum EpochFinding {
    EPOCH_FIRST,   // the database has none yet
    EPOCH_SAME,    // inside is what outside knows, or newer
    EPOCH_OLDER,   // inside is older than outside
    EPOCH_UNKNOWN, // outside does not know it, and no living node does
    EPOCH_MOVED,   // it is not the file or the cluster that it was
} EpochFinding;

// epoch_path is the file outside in which the epoch stands.
Str epoch_path(Db *db, Arena *arena, const EpochGuard *guard);

// epoch_reason says, for a hold, what was found; none where nothing speaks against sending.
Str epoch_reason(EpochFinding finding);

// epoch_look compares and changes nothing.
Err epoch_look(Db *db, Arena *arena, const EpochGuard *guard, EpochFinding *ret,
               Error *error) MUST_USE;

// epoch_check compares on a new connection, in a transaction of its own, before anything else is
// done there: it raises the epoch, or puts the hold in.
Err epoch_check(Db *db, const EpochGuard *guard, bool may_adopt, Instant now,
                Error *error) MUST_USE;

// epoch_doubt holds a database that is known for a copy before anybody has started it: a backup.
Err epoch_doubt(Db *db, Str reason, Instant now, Error *error) MUST_USE;

// epoch_raise does the same in a transaction of the writer; epoch_keep writes outside, once it is
// committed, what the raise has made.
typedef struct EpochRaise {
    Str path; // of the file outside; none: the database is held
    Str text;
} EpochRaise;
Err epoch_raise(Tx *tx, const EpochGuard *guard, Arena *arena, EpochRaise *ret,
                Error *error) MUST_USE;
void epoch_keep(const EpochRaise *raised);

// epoch_release ends the hold. Where the database was doubted it makes a new epoch.
Err epoch_release(Tx *tx, const EpochGuard *guard, Error *error) MUST_USE;

extern const Statement *const epoch_statements[]; // ends with NULL
