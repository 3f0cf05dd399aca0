#include "store/foreign.h"

#include "base/clock.h"

#include <sqlite3.h>

// The file is the application's: this connection never makes it, never checkpoints it, and runs
// nothing that its schema brings along. An id is bound as text and takes the affinity of its
// column.

enum { SQL_MAX = 16 << 10, STEPS_BETWEEN_LOOKS = 20000 };

typedef struct SqliteForeign {
    Foreign foreign;
    sqlite3 *sqlite;
    Instant until; // monotonic: of the statement that runs
} SqliteForeign;

static Err fault(const SqliteForeign *self, const char *what, Error *error)
{
    return fail(error, ERR_UNAVAILABLE, "%s: %s", what, sqlite3_errmsg(self->sqlite));
}

static int is_too_slow(void *with)
{
    const SqliteForeign *self = with;
    return clock_machine_monotonic() > self->until;
}

static Err run(SqliteForeign *self, const char *sql, Error *error)
{
    self->until = clock_machine_monotonic() + FOREIGN_SECONDS * SPAN_SECOND;
    if (sqlite3_exec(self->sqlite, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fault(self, "the table", error);
    return ERR_OK;
}

static Err open(Arena *arena, const SourceTable *table, Foreign **ret, Error *error)
{
    SqliteForeign *self = memory_new(sizeof *self);
    const char *path = str_z(arena, str_skip(table->store, strlen("sqlite:")));
    Err err = ERR_OK;
    if (sqlite3_open_v2(path, &self->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) !=
        SQLITE_OK)
        err = fault(self, "cannot open the file", error);
    if (err == ERR_OK) {
        sqlite3_busy_timeout(self->sqlite, FOREIGN_SECONDS * 1000);
        sqlite3_progress_handler(self->sqlite, STEPS_BETWEEN_LOOKS, is_too_slow, self);
        sqlite3_db_config(self->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_db_config(self->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        // A name that is none must not be taken for a text.
        sqlite3_db_config(self->sqlite, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
        err = run(self, "PRAGMA trusted_schema=OFF; PRAGMA wal_autocheckpoint=0", error);
    }
    if (err != ERR_OK) {
        sqlite3_close(self->sqlite);
        free(self);
        return err;
    }
    *ret = &self->foreign;
    return ERR_OK;
}

static void close(Foreign *foreign)
{
    SqliteForeign *self = (SqliteForeign *) foreign;
    sqlite3_close(self->sqlite);
    free(self);
}

static Err prepare(SqliteForeign *self, const Buf *sql, sqlite3_stmt **ret, Error *error)
{
    assert(!sql->overflowed);
    self->until = clock_machine_monotonic() + FOREIGN_SECONDS * SPAN_SECOND;
    Str text = buf_str(sql);
    if (sqlite3_prepare_v2(self->sqlite, text.at, (int) text.len, ret, NULL) != SQLITE_OK)
        return fault(self, "the table", error);
    return ERR_OK;
}

static void finalize(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
}

static Str text_at(Arena *arena, sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return STR_NONE;
    const void *at = sqlite3_column_blob(stmt, column);
    size_t len = (size_t) sqlite3_column_bytes(stmt, column);
    return str_dup(arena, (Str){ at ? at : "", len });
}

// check_place sees that the path still leads to the file that is open: another may have been put
// there.
static Err check_place(const SqliteForeign *self, Error *error)
{
    int has_moved = 0;
    sqlite3_file_control(self->sqlite, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    return has_moved ? fail(error, ERR_UNAVAILABLE, "the file was moved, or replaced") : ERR_OK;
}

static Err list(Foreign *foreign, Arena *arena, size_t limit, ForeignRow **ret, size_t *ret_count,
                Error *error)
{
    SqliteForeign *self = (SqliteForeign *) foreign;
    const SourceTable *table = &foreign->table;
    TRY(check_place(self, error));
    Buf sql = buf_new(arena, SQL_MAX);
    buf_add(&sql, S("SELECT CAST("));
    foreign_name(&sql, table->columns[SOURCE_ID]);
    buf_add(&sql, S(" AS TEXT) AS shown_id, LENGTH(CAST("));
    foreign_name(&sql, table->columns[SOURCE_PAYLOAD]);
    buf_add(&sql, S(" AS BLOB)) FROM "));
    foreign_table(&sql, table);
    buf_add(&sql, S(" WHERE "));
    foreign_name(&sql, table->columns[SOURCE_STATUS]);
    buf_add(&sql, S(" = 'Pending' AND "));
    foreign_name(&sql, table->columns[SOURCE_ID]);
    buf_add(&sql, S(" IS NOT NULL"));
    foreign_order(&sql, table);
    buf_add_format(&sql, " LIMIT %zu", limit);
    DEFER(finalize) sqlite3_stmt *stmt = NULL;
    TRY(prepare(self, &sql, &stmt, error));
    ForeignRow *rows = ARENA_ARRAY(arena, ForeignRow, limit + 1);
    size_t count = 0;
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && count < limit)
        rows[count++] =
            (ForeignRow){ .id = text_at(arena, stmt, 0), .size = sqlite3_column_int64(stmt, 1) };
    if (rc != SQLITE_DONE)
        return fault(self, "the table", error);
    *ret = rows;
    *ret_count = count;
    return ERR_OK;
}

static Err read(Foreign *foreign, Arena *arena, ForeignRow *const *rows, size_t count, Error *error)
{
    SqliteForeign *self = (SqliteForeign *) foreign;
    Buf sql = buf_new(arena, SQL_MAX);
    buf_add(&sql, S("SELECT "));
    foreign_texts(&sql, &foreign->table);
    buf_add(&sql, S(" FROM "));
    foreign_table(&sql, &foreign->table);
    buf_add(&sql, S(" WHERE "));
    foreign_name(&sql, foreign->table.columns[SOURCE_ID]);
    buf_add(&sql, S(" = ?1"));
    DEFER(finalize) sqlite3_stmt *stmt = NULL;
    TRY(prepare(self, &sql, &stmt, error));
    for (size_t i = 0; i < count; i++) {
        sqlite3_reset(stmt);
        sqlite3_bind_text(stmt, 1, rows[i]->id.at, (int) rows[i]->id.len, SQLITE_STATIC);
        int rc = sqlite3_step(stmt);
        for (int c = 0; rc == SQLITE_ROW && c < SOURCE_COLUMNS; c++)
            rows[i]->at[c] = text_at(arena, stmt, c);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return fault(self, "the table", error);
    }
    return ERR_OK;
}

// update marks rows inside a transaction.
static Err update(SqliteForeign *self, Arena *arena, const ForeignRow *const *rows, size_t count,
                  Error *error)
{
    const SourceTable *table = &self->foreign.table;
    Buf sql = buf_new(arena, SQL_MAX);
    buf_add(&sql, S("UPDATE "));
    foreign_table(&sql, table);
    buf_add(&sql, S(" SET "));
    foreign_name(&sql, table->columns[SOURCE_STATUS]);
    buf_add(&sql, S(" = ?2"));
    if (table->columns[SOURCE_LAST_ERROR].at) {
        buf_add(&sql, S(", "));
        foreign_name(&sql, table->columns[SOURCE_LAST_ERROR]);
        buf_add(&sql, S(" = ?3"));
    }
    buf_add(&sql, S(" WHERE "));
    foreign_name(&sql, table->columns[SOURCE_ID]);
    buf_add(&sql, S(" = ?1"));
    DEFER(finalize) sqlite3_stmt *stmt = NULL;
    TRY(prepare(self, &sql, &stmt, error));
    int before = sqlite3_total_changes(self->sqlite); // with a view, its triggers make the change
    for (size_t i = 0; i < count; i++) {
        const ForeignRow *row = rows[i];
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt); // the error of one is not the next one's
        sqlite3_bind_text(stmt, 1, row->id.at, (int) row->id.len, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, row->is_failed ? "Failed" : "Published", -1, SQLITE_STATIC);
        if (table->columns[SOURCE_LAST_ERROR].at && row->is_failed)
            sqlite3_bind_text(stmt, 3, row->error.at, (int) row->error.len, SQLITE_STATIC);
        if (sqlite3_step(stmt) != SQLITE_DONE)
            return fault(self, "the table", error);
    }
    self->foreign.marked = (size_t) (sqlite3_total_changes(self->sqlite) - before);
    return ERR_OK;
}

static Err mark(Foreign *foreign, Arena *arena, const ForeignRow *const *rows, size_t count,
                Error *error)
{
    SqliteForeign *self = (SqliteForeign *) foreign;
    Error ignored = { 0 };
    TRY(run(self, "BEGIN IMMEDIATE", error));
    Err err = update(self, arena, rows, count, error);
    if (err == ERR_OK)
        err = run(self, "COMMIT", error);
    if (err != ERR_OK && run(self, "ROLLBACK", &ignored) != ERR_OK)
        return err; // it is closed next
    return err;
}

static Err end(Foreign *foreign, Error *error)
{
    (void) foreign;
    (void) error;
    return ERR_OK;
}

const ForeignDriver foreign_sqlite = {
    .open = open,
    .close = close,
    .list = list,
    .read = read,
    .mark = mark,
    .end = end,
};
