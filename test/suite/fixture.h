// fixture.h - a fresh store for each test, and the few moves that the suites are made of.
//
// The same functions run on SQLite and on PostgreSQL: suite_main() takes the URL from the command
// line or from PEAL_TEST_STORE; without one the suite makes SQLite files of its own in memory. On
// PostgreSQL the database must be empty and the suite's alone: every test drops what is in it.
//
// A store has a manual clock, a seeded chance and a writer without threads, so that a test is the
// same every time. store_close() also proves what must hold whatever a test did: the counters say
// what the rows say, and every delivery stands in exactly one place.
//
// What a test takes for granted is wrapped in MUST(), which ends the program when it fails.
#pragma once

#include "engine/sweep.h"
#include "store/accept.h"
#include "store/delivery.h"
#include "store/queue.h"
#include "store/writer.h"

#include "test.h"

// A round number of microseconds in 2026, where the clock of every test begins.
#define BEGINNING ((Instant) 1767225600 * SPAN_SECOND)
#define LEASE ((Span) 15 * SPAN_SECOND)
#define BYTES (1 << 20) // of payloads, in a claim that is not about them

enum { TENANT = 1, NODE = 7 };

typedef struct OwnQuery OwnQuery;
typedef struct Taken Taken;

typedef struct Store {
    Str url;
    Arena arena; // of the test: whatever is handed out lies here
    Clock clock;
    Random random;
    Writer *writer;
    Db *db; // reads
    OwnQuery *asked;
    int asked_count;
    Taken *taken; // whatever came in, newest first
    Error error;  // of the last call that was allowed to fail
} Store;

bool suite_is_postgres(void);

// suite_database empties the database, or names a new file, and returns its URL; there are no
// tables in it.
Str suite_database(void);

// suite_failures returns how many checks of the fixture itself failed since it was last asked.
int suite_failures(void);

// store_open makes a fresh store with the first tenant, its channel memory:default (lane 1) and a
// key; pen_count as in WriterOptions.
void store_open(Store *store);
void store_open_with(Store *store, WriterOptions options);

// Fuse makes the nth call to the store fail, once: fuse_blow is a WriterOptions.fault. A sync that
// fails is a lost connection: store_writer.c has that.
typedef struct Fuse {
    int left;
    bool is_blown;
} Fuse;
int fuse_blow(void *with, const char *call);

void store_close(Store *store);
void store_check(Store *store);

// At the end of its scope a store is checked and closed.
#define STORE(name)                                                                                \
    DEFER(store_close) Store name = { 0 };                                                         \
    store_open(&name)

#define MUST(store, expr) must((store), (expr), __FILE__, __LINE__)
void must(Store *store, Err err, const char *file, int line);

Instant now(const Store *store);
void pass(Store *store, Span span); // moves the clock on

// json reads a literal in which single quotes stand for double ones.
const Json *json(Store *store, const char *text);
Str json_compact(Store *store, const char *text);

// ask runs a query of the test's own and returns its rows; ask_i64 the first value of the first
// row.
Rows ask(Store *store, const char *sql, const char *params, const Value *values);
int64_t ask_i64(Store *store, const char *sql);

// publish makes or replaces a trigger of a tenant, channel_of a channel, each with its lane;
// channel adds one of type memory.
void publish(Store *store, int64_t tenant, const char *trigger);
void channel_of(Store *store, int64_t tenant, const char *definition);
void channel(Store *store, int64_t tenant, const char *key);
void channel_with(Store *store, int64_t tenant, const char *key, Str config);
int64_t tenant_new(Store *store, const char *id);
int64_t lane_of(Store *store, int64_t tenant, const char *channel_key);

// take hands in events: one object or an array of them. What came of them is in the items;
// take_err is what the writer said.
Accept *take(Store *store, int64_t tenant, const char *events);
Err take_err(const Accept *accept);

// accept_of builds them, take_in hands them in. take_with does something else in the same
// transaction, after they are written.
Accept *accept_of(Store *store, int64_t tenant, const char *events);
void take_in(Store *store, Accept *accept);
typedef Err TakeAlso(Tx *tx, void *with, Error *error);
void take_with(Store *store, Accept *accept, TakeAlso *also, void *with);

// claim takes up to free deliveries from each lane; the lease is LEASE.
Claim claim(Store *store, const ClaimLane *lanes, size_t lane_count);
Claim claim_lane(Store *store, int64_t lane, int free);
Claimed claim_one(Store *store, int64_t lane); // there must be exactly one to take

// settle_of is what the engine would settle a claimed delivery with, now and without jitter.
Settle settle_of(Store *store, const Claimed *claimed, Verdict verdict, DeliveryReason reason);
void settle(Store *store, Settle *rows, size_t count);
Settle settle_one(Store *store, const Claimed *claimed, Verdict verdict);

Sweep sweep(Store *store, bool is_orphaned);
Err act(Store *store, int64_t tenant, Uuid id, DeliveryAction action, const char *note);
DeliveryView view(Store *store, int64_t tenant, Uuid id);

bool is_text(Str text, const char *expected);
bool same_id(Uuid a, Uuid b);
Sha256 hash_of(const char *text);

// A suite of several files is a list of parts; each counts the failures of its own checks.
typedef struct Part {
    const Test *tests;
    int count;
    int (*run)(int index); // returns the failures
} Part;

#define PART(name, table)                                                                          \
    static int name##_run(int index)                                                               \
    {                                                                                              \
        test_failures = 0;                                                                         \
        (table)[index].run();                                                                      \
        return test_failures + suite_failures();                                                   \
    }                                                                                              \
    const Part name = { table, (int) ARRAY_LEN(table), name##_run }

// suite_main runs the tests of all parts, speaks TAP, and returns what main() returns.
int suite_main(int argc, char **argv, const Part *const *parts, size_t count);
