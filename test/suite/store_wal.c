#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

// SQLite's WAL under steady reads, and reads that take too long.

enum { READERS = 4, WRITES_MAX = 30000, EMPTIED = 3, WAL_BYTES = 256 * 1024 };

static const Statement put = {
    .name = "suite_wal_put",
    .scope = STATEMENT_SYSTEM,
    .params = "tt",
    .sql = "INSERT INTO meta (key, value) VALUES ($1, $2)"
           " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
};
static const Statement slow = {
    .name = "suite_wal_slow",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)"
           " SELECT COUNT(*), (SELECT COUNT(*) FROM meta) FROM n",
};

typedef struct Readers {
    Str url;
    _Atomic bool is_over;
    _Atomic int64_t reads, failures;
} Readers;

static void *read_steadily(void *with)
{
    Readers *readers = with;
    Db *db = NULL;
    Error error = { 0 };
    DEFER(arena_done) Arena arena = { 0 };
    if (db_open(&(DbOptions){ .url = readers->url, .is_reader = true }, &db, &error) != ERR_OK)
        readers->failures++;
    while (db && !readers->is_over) {
        Rows rows;
        Value args[] = { value_i64(50000) };
        db_begin(db);
        if (db_query(db, &arena, &slow, args, &rows, &error) != ERR_OK)
            readers->failures++;
        db_rollback(db);
        readers->reads++;
        arena_reset(&arena);
    }
    db_close(db);
    return NULL;
}

static int64_t wal_bytes(Arena *arena, Str url)
{
    struct stat found;
    Str path = str_format(arena, "%.*s-wal", STR_ARG(str_skip(url, strlen("sqlite:"))));
    return stat(path.at, &found) == 0 ? found.st_size : 0;
}

// write_much writes until the WAL has been emptied several times; how far it grows meanwhile is a
// matter of how long the reads under way take.
static int write_much(Store *store, Db *db)
{
    int emptied = 0;
    int64_t before = 0;
    for (int i = 0; i < WRITES_MAX && emptied < EMPTIED; i++) {
        // Another text each time: SQLite writes no page for a row that stays as it is.
        Str text = str_format(&store->arena, "%04000d", i);
        Str key = str_format(&store->arena, "wal%d", i % 10);
        Value args[] = { value_text(key), value_text(text) };
        db_begin(db);
        db_send(db, &store->arena, &put, args, NULL);
        MUST(store, db_commit(db, &store->error));
        int64_t bytes = wal_bytes(&store->arena, store->url);
        emptied += bytes < before;
        before = bytes;
        arena_reset(&store->arena);
    }
    return emptied;
}

static void the_wal_stays_small_under_steady_reads(void)
{
    if (suite_is_postgres())
        return;
    Store store = { .url = suite_database() }; // without a writer: this test writes by itself
    Db *db = NULL;
    DbOptions options = { .url = store.url, .wal_bytes_max = WAL_BYTES };
    MUST(&store, db_open(&options, &db, &store.error));
    MUST(&store,
         db_script(db, S("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)"), &store.error));
    Readers readers = { .url = store.url };
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        assert(pthread_create(&threads[i], NULL, read_steadily, &readers) == 0);
    while (readers.reads <= READERS && readers.failures == 0)
        sched_yield(); // until they are at it
    int emptied = write_much(&store, db);
    readers.is_over = true;
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(emptied == EMPTIED); // without a pause some read is always under way, and it only grows
    CHECK(readers.failures == 0);
    db_close(db);
    arena_done(&store.arena);
}

static void a_read_that_takes_too_long_is_stopped(void)
{
    STORE(store);
    if (suite_is_postgres())
        return;
    Db *db = NULL;
    Rows rows;
    DbOptions options = { .url = store.url, .is_reader = true, .read_max = SPAN_MILLISECOND };
    MUST(&store, db_open(&options, &db, &store.error));
    Value endless[] = { value_i64(INT64_MAX) }, short_[] = { value_i64(10) };
    CHECK(db_query(db, &store.arena, &slow, endless, &rows, &store.error) == ERR_BUSY);
    CHECK(db_query(db, &store.arena, &slow, short_, &rows, &store.error) == ERR_OK); // goes on
    db_close(db);
}

static const Test tests[] = {
    TEST(the_wal_stays_small_under_steady_reads),
    TEST(a_read_that_takes_too_long_is_stopped),
};
PART(wal_part, tests);
