#include "store/db.h"
#include "store/sqlite/copy.h"
#include "store/sqlite/file.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>

// The store on SQLite: WAL with synchronous=FULL, so that a commit is on disk when it returns.
//
// One connection in the whole system writes and checkpoints a file: SQLite before 3.51.3 has a
// WAL-reset bug that a second writer or checkpointer can hit. A lock on the file (file.h) keeps a
// second process out; reader connections neither write nor checkpoint. Where reads overlap so that
// the WAL never begins anew, they pause while the writer empties it.

enum { PREPARED_SLOTS = 512, BUSY_TIMEOUT_MS = 5000, STEPS_BETWEEN_LOOKS = 20000 };

typedef struct Prepared {
    const Statement *statement;
    sqlite3_stmt *stmt;
    int index[32]; // of parameter $n+1: SQLite numbers names by first appearance
} Prepared;

typedef struct SqliteDb {
    Db db;
    sqlite3 *sqlite;
    StoreFile *file; // NULL on a VFS of the tests, which has no files
    FileMark database, wal;
    bool is_writer;
    bool is_entered; // a reader inside a read
    int64_t wal_bytes_max;
    Span read_max;
    Instant read_until; // monotonic
    bool in_transaction;
    Err failed; // sticky until the sync
    Error failure;
    Prepared prepared[PREPARED_SLOTS]; // open addressing by the statement's address
} SqliteDb;

// note remembers the first failure since the last sync and what it means for the program.
static void note(SqliteDb *self, int rc, const char *what)
{
    int primary = rc & 0xff;
    Err err = ERR_INTERNAL;
    // The errno that SQLite keeps may be of an older error, and says nothing about a failed fsync.
    bool is_io = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
    bool is_sync = rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC;
    bool is_full = primary == SQLITE_FULL ||
                   (is_io && !is_sync && sqlite3_system_errno(self->sqlite) == ENOSPC);
    bool is_clash = rc == SQLITE_CONSTRAINT_PRIMARYKEY || rc == SQLITE_CONSTRAINT_UNIQUE;
    if (is_full)
        err = ERR_DISK_FULL;
    else if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_INTERRUPT ||
             is_clash)
        err = ERR_BUSY;
    else if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
        err = ERR_CORRUPT;

    // After a failed fsync the kernel may have dropped the dirty pages: the commit can be neither
    // trusted nor retried. Only a restart into recovery tells what is on disk.
    if (primary == SQLITE_IOERR && !is_full)
        self->db.is_fatal = true;
    self->db.has_clashed |= is_clash;
    if (self->failed == ERR_OK)
        self->failed = fail(&self->failure, err, "%s: %s", what, sqlite3_errmsg(self->sqlite));
}

static bool fault(SqliteDb *self, const char *call)
{
    if (!self->db.fault)
        return false;
    int rc = self->db.fault(self->db.fault_with, call);
    if (rc == 0)
        return false;
    if (rc == DB_FAULT_LOST) {
        self->db.is_broken = true;
        self->failed = fail(&self->failure, ERR_UNAVAILABLE, "%s: the connection is lost", call);
        return true;
    }
    note(self, rc, call);
    return true;
}

// is_too_slow is asked by SQLite every so many steps of a reader's statement.
static int is_too_slow(void *with)
{
    const SqliteDb *self = with;
    return clock_machine_monotonic() > self->read_until;
}

// enter begins a read, and leave ends it: one statement, or all of a transaction.
static void enter(SqliteDb *self)
{
    if (self->is_writer || !self->file || self->is_entered || self->failed != ERR_OK)
        return;
    self->failed = store_file_enter(self->file, &self->failure);
    self->is_entered = self->failed == ERR_OK;
}

static void leave(SqliteDb *self)
{
    if (self->is_entered)
        store_file_leave(self->file);
    self->is_entered = false;
}

static void run(SqliteDb *self, const char *sql)
{
    if (fault(self, sql))
        return;
    int rc = sqlite3_exec(self->sqlite, sql, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        note(self, sqlite3_extended_errcode(self->sqlite), sql);
}

static Prepared *prepare(SqliteDb *self, const Statement *statement)
{
    size_t at = ((uintptr_t) statement / sizeof(void *)) * 0x9e3779b97f4a7c15u % PREPARED_SLOTS;
    for (size_t i = 0; i < PREPARED_SLOTS; i++, at = (at + 1) % PREPARED_SLOTS) {
        Prepared *slot = &self->prepared[at];
        if (slot->statement == statement)
            return slot;
        if (slot->statement)
            continue;
        int rc = sqlite3_prepare_v3(self->sqlite, statement->sql, -1, SQLITE_PREPARE_PERSISTENT,
                                    &slot->stmt, NULL);
        if (rc != SQLITE_OK) {
            note(self, rc, statement->name);
            return NULL;
        }
        for (size_t p = 0; statement->params[p]; p++) {
            char name[8];
            snprintf(name, sizeof name, "$%zu", p + 1);
            slot->index[p] = sqlite3_bind_parameter_index(slot->stmt, name);
        }
        slot->statement = statement;
        return slot;
    }
    assert(!"more statements than slots");
    return NULL;
}

static int bind(sqlite3_stmt *stmt, int index, const Value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        return sqlite3_bind_null(stmt, index);
    case VALUE_I64:
        return sqlite3_bind_int64(stmt, index, value->i64);
    case VALUE_TEXT:
        return sqlite3_bind_text(stmt, index, value->str.at, (int) value->str.len, SQLITE_STATIC);
    case VALUE_BYTES:
        return sqlite3_bind_blob(stmt, index, value->str.at, (int) value->str.len, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

// column_len is asked for texts and blobs only: asking it of a number turns the number into text.
static size_t column_len(sqlite3_stmt *stmt, int i)
{
    return (size_t) sqlite3_column_bytes(stmt, i);
}

static Value column(sqlite3_stmt *stmt, int i, Arena *arena)
{
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
        return value_i64(sqlite3_column_int64(stmt, i));
    case SQLITE_TEXT: {
        const char *text = (const char *) sqlite3_column_text(stmt, i);
        return value_text(str_dup(arena, (Str){ text, column_len(stmt, i) }));
    }
    case SQLITE_BLOB: {
        // An empty blob has no address in SQLite, but it is not NULL.
        const char *bytes = sqlite3_column_blob(stmt, i);
        return value_bytes(str_dup(arena, (Str){ bytes ? bytes : "", column_len(stmt, i) }));
    }
    default:
        return value_null();
    }
}

// RowsBuilder grows a result whose length is not known before.
typedef struct RowsBuilder {
    Value *values;
    size_t used, room;
    size_t bytes; // of texts and blobs
} RowsBuilder;

static size_t row_bytes(sqlite3_stmt *stmt)
{
    size_t bytes = 0;
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        int type = sqlite3_column_type(stmt, i);
        if (type == SQLITE_TEXT || type == SQLITE_BLOB)
            bytes += (size_t) sqlite3_column_bytes(stmt, i);
    }
    return bytes;
}

// has_room is false for a row that would go over the ceiling; the first is always taken.
static bool has_room(const Db *db, sqlite3_stmt *stmt, RowsBuilder *builder)
{
    if (db->ceiling == 0)
        return true;
    builder->bytes += row_bytes(stmt);
    return builder->used == 0 || builder->bytes <= db->ceiling;
}

// add_row makes room for one more row.
static Value *add_row(Arena *arena, RowsBuilder *builder, Rows *rows, size_t columns)
{
    if (builder->used + columns > builder->room) {
        size_t room = builder->room ? builder->room * 2 : columns * 8;
        Value *values = ARENA_ARRAY(arena, Value, room);
        if (builder->used)
            memcpy(values, builder->values, builder->used * sizeof(Value));
        builder->values = values;
        builder->room = room;
    }
    Value *row = builder->values + builder->used;
    builder->used += columns;
    rows->columns = columns;
    rows->count++;
    return row;
}

static void take_row(sqlite3_stmt *stmt, Arena *arena, RowsBuilder *builder, Rows *rows)
{
    size_t columns = (size_t) sqlite3_column_count(stmt);
    Value *row = add_row(arena, builder, rows, columns);
    for (size_t i = 0; i < columns; i++)
        row[i] = column(stmt, (int) i, arena);
}

// count_changes tells what a row of parameters has changed. Where the statement says so it gives
// one of them back, as RETURNING would: SQLite's own makes a table for every row, and drops it
// again, which was about half of what a dedup key cost.
static void count_changes(SqliteDb *self, const Statement *statement, const Value *given,
                          Arena *arena, RowsBuilder *builder, Rows *rows)
{
    int changes = sqlite3_changes(self->sqlite);
    rows->changed += changes;
    if (statement->returned == 0 || changes == 0)
        return;
    Value value = given[statement->returned - 1];
    if (value.type == VALUE_TEXT || value.type == VALUE_BYTES)
        value.str = str_dup(arena, value.str);
    *add_row(arena, builder, rows, 1) = value;
}

static void carry_out(Db *db, Arena *arena, const Statement *statement, const Value *values,
                      size_t row_count, Rows *ret)
{
    SqliteDb *self = (SqliteDb *) db;
    Rows rows = { 0 };
    RowsBuilder builder = { 0 };
    if (ret)
        *ret = rows;
    if (self->failed != ERR_OK || fault(self, statement->name))
        return;
    Prepared *prepared = prepare(self, statement);
    if (!prepared)
        return;

    size_t params = strlen(statement->params);
    for (size_t row = 0; row < row_count && self->failed == ERR_OK && !rows.is_cut; row++) {
        int rc = SQLITE_OK;
        for (size_t p = 0; p < params && rc == SQLITE_OK; p++)
            if (prepared->index[p] > 0)
                rc = bind(prepared->stmt, prepared->index[p], &values[row * params + p]);
        while (rc == SQLITE_OK || rc == SQLITE_ROW) {
            rc = sqlite3_step(prepared->stmt);
            if (rc != SQLITE_ROW || !ret)
                continue;
            if (has_room(db, prepared->stmt, &builder)) {
                take_row(prepared->stmt, arena, &builder, &rows);
            } else {
                rows.is_cut = true;
                rc = SQLITE_DONE; // the reset below ends it
            }
        }
        if (rc != SQLITE_DONE)
            note(self, sqlite3_extended_errcode(self->sqlite), statement->name);
        else if (!sqlite3_stmt_readonly(prepared->stmt))
            count_changes(self, statement, &values[row * params], arena, &builder, &rows);
        sqlite3_reset(prepared->stmt);
    }
    rows.values = builder.values;
    if (ret)
        *ret = rows;
}

static void send(Db *db, Arena *arena, const Statement *statement, const Value *values,
                 size_t row_count, Rows *ret)
{
    SqliteDb *self = (SqliteDb *) db;
    enter(self);
    self->read_until = clock_machine_monotonic() + self->read_max;
    if (db->until)
        self->read_until = earlier(self->read_until, db->until);
    carry_out(db, arena, statement, values, row_count, ret);
    if (!self->in_transaction)
        leave(self);
}

static Err sync_db(Db *db, Error *error)
{
    SqliteDb *self = (SqliteDb *) db;
    Err err = self->failed;
    if (err != ERR_OK)
        fail(error, err, "%s", self->failure.detail);
    self->failed = ERR_OK;
    return err;
}

static void begin(Db *db)
{
    SqliteDb *self = (SqliteDb *) db;
    db->has_clashed = false;
    enter(self);
    if (self->failed == ERR_OK)
        run(self, self->is_writer ? "BEGIN IMMEDIATE" : "BEGIN");
    self->in_transaction = self->failed == ERR_OK;
    if (!self->in_transaction)
        leave(self);
}

static void rollback(Db *db)
{
    SqliteDb *self = (SqliteDb *) db;
    self->failed = ERR_OK;
    if (self->in_transaction && !sqlite3_get_autocommit(self->sqlite))
        sqlite3_exec(self->sqlite, "ROLLBACK", NULL, NULL, NULL);
    self->in_transaction = false;
    leave(self);
}

// empty_wal makes the WAL begin anew, at a moment when nobody reads. Where a read goes on for long,
// the next commit tries again; new reads wait until it is done.
static void empty_wal(SqliteDb *self)
{
    if (!self->is_writer || !self->file || self->wal.bytes <= self->wal_bytes_max ||
        !store_file_pause(self->file))
        return;
    int rc = sqlite3_wal_checkpoint_v2(self->sqlite, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (rc != SQLITE_OK)
        log_warn("wal.kept", "bytes=%lld detail=%s", (long long) self->wal.bytes,
                 log_quote(str_from(sqlite3_errmsg(self->sqlite))));
    store_file_resume(self->file);
}

// check_files is asked after the commit and before anyone is told of it: what went into a file
// that has no name any more is lost with the process.
static void check_files(SqliteDb *self)
{
    const char *path = sqlite3_db_filename(self->sqlite, "main");
    if (self->failed != ERR_OK || !self->file ||
        (file_mark_holds(&self->database, path) &&
         file_mark_holds(&self->wal, sqlite3_filename_wal(path))))
        return;
    self->db.is_fatal = true;
    self->failed = fail(&self->failure, ERR_UNAVAILABLE,
                        "%s or its WAL was deleted or replaced while in use", path);
}

static Err commit(Db *db, Error *error)
{
    SqliteDb *self = (SqliteDb *) db;
    if (self->failed == ERR_OK)
        run(self, "COMMIT");
    check_files(self);
    Err err = sync_db(db, error);
    if (err != ERR_OK)
        rollback(db);
    self->in_transaction = false;
    leave(self);
    if (err == ERR_OK)
        empty_wal(self);
    return err;
}

static Err script(Db *db, Str sql, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    run((SqliteDb *) db, str_z(&arena, sql));
    return sync_db(db, error);
}

static Str place(Db *db, Arena *arena)
{
    return str_dup(arena, str_from(sqlite3_db_filename(((SqliteDb *) db)->sqlite, "main")));
}

static void close_db(Db *db)
{
    SqliteDb *self = (SqliteDb *) db;
    for (size_t i = 0; i < PREPARED_SLOTS; i++)
        sqlite3_finalize(self->prepared[i].stmt);
    sqlite3_close(self->sqlite);
    store_file_close(self->file, self->is_writer);
    free(self);
}

// by_bytes is the collation "C" of PostgreSQL, by its name there, so that one text serves both.
static int by_bytes(void *with, int a_len, const void *a, int b_len, const void *b)
{
    (void) with;
    return str_cmp((Str){ a, (size_t) a_len }, (Str){ b, (size_t) b_len });
}

static void configure(SqliteDb *self, bool is_weak)
{
    sqlite3_extended_result_codes(self->sqlite, 1);
    sqlite3_busy_timeout(self->sqlite, BUSY_TIMEOUT_MS);
    sqlite3_create_collation(self->sqlite, "C", SQLITE_UTF8, NULL, by_bytes);
    sqlite3_db_config(self->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(self->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(self->sqlite, SQLITE_LIMIT_ATTACHED, 0);
    if (self->is_writer) {
        run(self, "PRAGMA journal_mode=WAL");
        run(self, is_weak ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL");
        run(self, "PRAGMA wal_autocheckpoint=1000");
        run(self, "PRAGMA secure_delete=ON"); // what is erased is gone from the file
        char limit[64];
        snprintf(limit, sizeof limit, "PRAGMA journal_size_limit=%lld",
                 (long long) self->wal_bytes_max);
        run(self, limit);
    } else {
        sqlite3_db_config(self->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        run(self, "PRAGMA wal_autocheckpoint=0");
        run(self, "PRAGMA query_only=1");
        sqlite3_progress_handler(self->sqlite, STEPS_BETWEEN_LOOKS, is_too_slow, self);
    }
    run(self, "PRAGMA mmap_size=0");
    run(self, self->is_writer ? "PRAGMA cache_size=-16384" : "PRAGMA cache_size=-2048");
    run(self, "PRAGMA temp_store=MEMORY");
}

// set_up_library leaves out the counting of memory, which takes a lock for every allocation.
static void set_up_library(void)
{
    (void) sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static Err open_db(Arena *scratch, const DbOptions *options, Db **ret, Error *error)
{
    Str path = str_skip(options->url, strlen("sqlite:"));
    Str vfs = path;
    path = str_cut(&vfs, '?');
    vfs = str_starts(vfs, S("vfs=")) ? str_skip(vfs, 4) : STR_NONE;
    if (path.len == 0)
        return fail(error, ERR_SETUP, "sqlite: needs a path, such as sqlite:peal.db");

    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_library);
    StoreFile *file = NULL;
    if (!vfs.len)
        TRY(store_file_open(scratch, path, !options->is_reader, &file, error));
    SqliteDb *self = memory_new(sizeof *self);
    self->db.driver = &sqlite_driver;
    self->file = file;
    self->is_writer = !options->is_reader;
    self->wal_bytes_max = options->wal_bytes_max ? options->wal_bytes_max : DB_WAL_BYTES_MAX;
    self->read_max = options->read_max ? options->read_max : DB_READ_SECONDS * SPAN_SECOND;
    self->read_until = clock_machine_monotonic() + self->read_max;
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (options->is_reader ? 0 : SQLITE_OPEN_CREATE);
    int rc = sqlite3_open_v2(str_z(scratch, path), &self->sqlite, flags,
                             vfs.len ? str_z(scratch, vfs) : NULL);
    if (rc == SQLITE_OK && file)
        (void) file_mark_holds(&self->database, sqlite3_db_filename(self->sqlite, "main"));
    if (rc == SQLITE_OK)
        configure(self, options->is_weak);
    else
        note(self, rc, "open");
    Err err = sync_db(&self->db, error);
    if (err != ERR_OK) {
        fail(error, ERR_UNAVAILABLE, "cannot open %.*s: %s", STR_ARG(path),
             sqlite3_errmsg(self->sqlite));
        close_db(&self->db);
        return ERR_UNAVAILABLE;
    }
    *ret = &self->db;
    return ERR_OK;
}

const DbDriver sqlite_driver = {
    .name = "sqlite",
    .open = open_db,
    .close = close_db,
    .begin = begin,
    .send = send,
    .sync = sync_db,
    .commit = commit,
    .rollback = rollback,
    .script = script,
    .place = place,
    .copy = sqlite_copy,
};
