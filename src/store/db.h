// db.h - one connection to one database, whichever it is: the driver interface.
//
// Work is sent, then synced. db_send() never fails by itself: a failure sticks to the connection,
// later sends do nothing, and db_sync() tells it. On PostgreSQL sends are pipelined, so that
// everything between two syncs costs one round trip; on SQLite a send is carried out at once. Rows
// that a statement returns are in *ret after the sync, in the arena that was given.
//
// A statement is a row: one text serves both databases where it can, and the hottest may be
// written twice, side by side. Parameters are $1, $2 …; times, ids and blobs are bound. Sent with
// several rows of parameters, a statement runs once per row on SQLite; on PostgreSQL the text must
// take each parameter as an array, so it is written with unnest(). No statement asks the database
// for the time. Every statement but the SYSTEM ones has the tenant as $1; test/suite walks the
// registry (statements.h) to prove it.
//
// A connection belongs to one thread at a time.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

typedef enum ValueType { VALUE_NULL, VALUE_I64, VALUE_TEXT, VALUE_BYTES } ValueType;

typedef struct Value {
    ValueType type;
    union {
        int64_t i64;
        Str str; // text or bytes
    };
} Value;

static inline Value value_i64(int64_t n)
{
    return (Value){ .type = VALUE_I64, .i64 = n };
}

static inline Value value_text(Str s) // none is NULL
{
    return (Value){ .type = s.at ? VALUE_TEXT : VALUE_NULL, .str = s };
}

static inline Value value_bytes(Str s) // none is NULL
{
    return (Value){ .type = s.at ? VALUE_BYTES : VALUE_NULL, .str = s };
}

// value_uuid refers to the id it is given, which must live until the sync.
static inline Value value_uuid(const Uuid *id)
{
    return (Value){ .type = VALUE_BYTES, .str = { (const char *) id->b, sizeof id->b } };
}

static inline Value value_time(Instant at) // INSTANT_NONE is NULL
{
    return (Value){ .type = at == INSTANT_NONE ? VALUE_NULL : VALUE_I64, .i64 = at };
}

static inline Value value_null(void)
{
    return (Value){ .type = VALUE_NULL };
}

typedef struct Rows {
    size_t count, columns;
    const Value *values; // row by row
    int64_t changed;     // rows inserted, updated or deleted
    bool is_cut;         // there are more: db_page()
} Rows;

static inline const Value *rows_at(const Rows *rows, size_t row)
{
    return rows->values + row * rows->columns;
}

int64_t value_to_i64(const Value *value);  // 0 for NULL
Str value_to_str(const Value *value);      // none for NULL
Uuid value_to_uuid(const Value *value);    // the zero id for NULL
Instant value_to_time(const Value *value); // INSTANT_NONE for NULL

typedef enum StatementScope {
    STATEMENT_TENANT, // $1 is the tenant
    STATEMENT_SYSTEM, // claim, settle, sweep, purge, registry and the like
} StatementScope;

typedef struct Statement {
    const char *name;
    StatementScope scope;
    const char *params; // one letter each: i whole number or time, t text, b bytes, u id
    const char *sql;
    const char *postgres; // NULL: the same text
    bool many;            // takes several rows of parameters
    int returned;         // SQLite: the parameter, from 1, that stands for RETURNING; 0: none
} Statement;

typedef struct Db Db;

// What a reader's statement may take, how long a turn of waiting for a lock is on PostgreSQL, and
// beyond what SQLite's readers pause until the WAL is emptied.
#define DB_READ_SECONDS 15
#define DB_LOCK_SECONDS 2
enum { DB_WAL_BYTES_MAX = 64 << 20 };

typedef struct DbOptions {
    Str url;        // sqlite:PATH[?vfs=NAME] or postgres://…
    bool is_reader; // reads only: it cannot write, and a statement has a deadline
    Str name;       // of the node, for whoever looks at the server's connections; may be none
    bool is_weak;   // SQLite: a commit is not synced; for stores that nobody keeps (app/private.h),
                    // and for the power-loss test, which must fail with it
    Span read_max;  // SQLite: instead of DB_READ_SECONDS (tests)
    int64_t wal_bytes_max; // instead of DB_WAL_BYTES_MAX (tests)
} DbOptions;

typedef struct DbDriver {
    const char *name;
    Err (*open)(Arena *scratch, const DbOptions *options, Db **ret, Error *error);
    void (*close)(Db *db);
    void (*begin)(Db *db);
    void (*send)(Db *db, Arena *arena, const Statement *statement, const Value *values,
                 size_t row_count, Rows *ret);
    Err (*sync)(Db *db, Error *error);
    Err (*commit)(Db *db, Error *error);
    void (*rollback)(Db *db);
    Err (*script)(Db *db, Str sql, Error *error);
    Str (*place)(Db *db, Arena *arena);
    Err (*copy)(Arena *scratch, Str url, const char *path, Error *error);
} DbDriver;

extern const DbDriver sqlite_driver;
extern const DbDriver postgres_driver;

// A fault of this number is a connection that is lost; on SQLite others are SQLite's own codes.
enum { DB_FAULT_LOST = -1 };

// Db is the part that both drivers share; each embeds it first.
struct Db {
    const DbDriver *driver;
    bool is_broken;      // the connection is lost or unusable: close it and open another
    bool is_fatal;       // the disk broke its promise (a failed fsync): stop the program
    bool commit_unknown; // the connection was lost while committing
    bool has_timed_out;  // the last transaction waited too long for a lock, or took too long
    bool has_clashed;    // the last transaction inserted a row that is there already
    size_t ceiling;      // of the bytes of the rows that the next statement returns; 0: none
    Instant until;       // of db_until(); 0: none was said
    bool is_late;        // something was sent later
    int (*fault)(void *with, const char *call); // tests: non-zero makes the call fail
    void *fault_with;
};

bool db_is_postgres(const Db *db);

// db_place says where the database is, as it was configured and without credentials: the file's
// whole path, or hosts, port and database.
Str db_place(Db *db, Arena *arena);

const DbDriver *db_driver_for(Str url); // NULL when the URL names none

Err db_open(const DbOptions *options, Db **ret, Error *error) MUST_USE;
void db_close(Db *db);

// A transaction: db_begin, sends and syncs, then db_commit or db_rollback. Outside of one, each
// statement stands alone.
void db_begin(Db *db);
void db_send(Db *db, Arena *arena, const Statement *statement, const Value *values, Rows *ret);
void db_send_many(Db *db, Arena *arena, const Statement *statement, const Value *values,
                  size_t row_count, Rows *ret); // nothing is sent for no rows
Err db_sync(Db *db, Error *error) MUST_USE;
Err db_commit(Db *db, Error *error) MUST_USE;
void db_rollback(Db *db);

// db_page bounds what the next statement returns: rows are taken while they hold no more than
// DB_PAGE_BYTES_MAX bytes, the first in any case, and is_cut tells that there were more. What lies
// beyond is never in memory. On PostgreSQL it still comes over the wire.
enum { DB_PAGE_BYTES_MAX = 8 << 20 };
void db_page(Db *db);

// db_until gives all that follows a deadline on the machine's monotonic clock: what is sent later
// is not, and the sync is ERR_BUSY. A statement that is under way then is stopped on SQLite; on
// PostgreSQL it has a time-out of its own. INSTANT_NONE ends it.
void db_until(Db *db, Instant until);

// db_query sends and syncs.
Err db_query(Db *db, Arena *arena, const Statement *statement, const Value *values, Rows *ret,
             Error *error) MUST_USE;

// db_script runs several statements without parameters: migrations.
Err db_script(Db *db, Str sql, Error *error) MUST_USE;
