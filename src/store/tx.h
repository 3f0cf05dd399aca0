// tx.h - one transaction of the writer: what an operation's apply() works with.
//
// apply() may run more than once (the batch is replayed after a rollback), so it writes its results
// only into its operation, anew each time. It sends, syncs with tx_sync(), and never commits.
#pragma once

#include "store/counter.h"
#include "store/journal.h"
#include "store/registry.h"
#include "store/versions.h"

typedef struct Surveys Surveys; // store/surveys.h

// TakenIn is how many events of a tenant came in one behind the other.
typedef struct TakenIn {
    int64_t tenant, events;
} TakenIn;

typedef struct Tx {
    Db *db;
    Arena arena;       // of this try
    Instant now;       // one for the whole batch
    int64_t writer, n; // who commits this, and which of its transactions it is (journal.h)
    Registry *registry;
    Versions *versions;
    Surveys *surveys;
    Random *random;
    bool is_careful;          // statements sent on trust did not fit: check each before the next
    bool was_too_trusting;    // set by apply(), or a row was there: replay with is_careful
    bool is_outdated;         // the registry's generation has moved: roll back, reload, replay
    bool changes_definitions; // set by apply(): the generation is raised at commit
    bool is_guarded;          // the generation was checked
    bool has_lock;            // of definitions: who changes ten thousand asks for it once
    bool wakes;               // set by apply(): something fell due that no move tells of
    Rows generation;
    Uuid actor; // set by apply() for what follows: the key of who does it; zero: Peal itself
    Counters counters;
    FactPack facts;
    Move *moves; // but the quiet ones
    size_t move_count, move_room;
    int64_t event_count; // events it took in …
    TakenIn *taken;      // … and whose they are
    size_t taken_count, taken_room;
    int64_t dedup_hits;       // deliveries not made because another holds their key
    int64_t handoff_failures; // runs that it could not make
} Tx;

void tx_begin(Tx *tx);

// tx_sync is db_sync() and, the first time, the check of the generation.
Err tx_sync(Tx *tx, Error *error) MUST_USE;

// tx_guard checks the generation again, for who decides on what others have committed since the
// transaction began: what was published before that must have its say.
Err tx_guard(Tx *tx, Error *error) MUST_USE;

Err tx_query(Tx *tx, const Statement *statement, const Value *values, Rows *ret,
             Error *error) MUST_USE;

// tx_move notes that a delivery moved: counters and journal are written before the commit, and
// whoever follows the moves is told after it. tx_fact notes what else was done.
void tx_move(Tx *tx, const Move *move);
void tx_fact(Tx *tx, FactKind kind, int64_t tenant, Str subject);

// tx_event notes that an event came in, whose kind lasts as long as the transaction.
void tx_event(Tx *tx, int64_t tenant, Uuid id, Str kind);

// tx_finish writes counters, generation and journal and commits.
Err tx_finish(Tx *tx, Error *error) MUST_USE;
