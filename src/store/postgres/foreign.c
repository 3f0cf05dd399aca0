#include "store/foreign.h"

#include <libpq-fe.h>
#include <stdlib.h>

// Parameters are sent as text and take the type of the column that they are compared with, whatever
// that is. Several ids are one array.

enum { SQL_MAX = 16 << 10 };

typedef struct PostgresForeign {
    Foreign foreign;
    PGconn *conn;
} PostgresForeign;

static Err fault(const PostgresForeign *self, const char *what, Error *error)
{
    const char *message = PQerrorMessage(self->conn);
    return fail(error, ERR_UNAVAILABLE, "%s: %.*s", what, (int) strcspn(message, "\n"), message);
}

static Err open(Arena *arena, const SourceTable *table, Foreign **ret, Error *error)
{
    const char *keys[] = { "dbname",  "application_name", "connect_timeout", "client_encoding",
                           "options", "tcp_user_timeout", "password",        NULL };
    const char *values[] = {
        str_z(arena, table->store),
        "peal table source",
        "5",
        "UTF8",
        "-c statement_timeout=" MACRO_TEXT(FOREIGN_SECONDS) "s -c lock_timeout=" MACRO_TEXT(
            FOREIGN_SECONDS) "s"
                             " -c idle_in_transaction_session_timeout=60s",
        "10000",
        table->password.at ? str_z(arena, table->password) : NULL,
        NULL
    };
    PostgresForeign *self = memory_new(sizeof *self);
    self->conn = PQconnectdbParams(keys, values, 1);
    if (PQstatus(self->conn) != CONNECTION_OK) {
        Err err = fault(self, "cannot connect", error);
        PQfinish(self->conn);
        free(self);
        return err;
    }
    *ret = &self->foreign;
    return ERR_OK;
}

static void close(Foreign *foreign)
{
    PostgresForeign *self = (PostgresForeign *) foreign;
    PQfinish(self->conn);
    free(self);
}

// run does one statement; ret is NULL where nothing is to be read.
static Err run(const PostgresForeign *self, const char *sql, const char *const *values, int count,
               PGresult **ret, Error *error)
{
    PGresult *result = PQexecParams(self->conn, sql, count, NULL, values, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        PQclear(result);
        return fault(self, "the table", error);
    }
    if (ret)
        *ret = result;
    else
        PQclear(result);
    return ERR_OK;
}

static Str text_at(Arena *arena, const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return STR_NONE;
    return str_dup(
        arena, (Str){ PQgetvalue(result, row, column), (size_t) PQgetlength(result, row, column) });
}

static Err list(Foreign *foreign, Arena *arena, size_t limit, ForeignRow **ret, size_t *ret_count,
                Error *error)
{
    const PostgresForeign *self = (PostgresForeign *) foreign;
    const SourceTable *table = &foreign->table;
    Buf sql = buf_new(arena, SQL_MAX);
    PGresult *result;
    buf_add(&sql, S("SELECT CAST("));
    foreign_name(&sql, table->columns[SOURCE_ID]);
    buf_add(&sql, S(" AS TEXT) AS shown_id, octet_length(CAST("));
    foreign_name(&sql, table->columns[SOURCE_PAYLOAD]);
    buf_add(&sql, S(" AS TEXT)) FROM "));
    foreign_table(&sql, table);
    buf_add(&sql, S(" WHERE "));
    foreign_name(&sql, table->columns[SOURCE_STATUS]);
    buf_add(&sql, S(" = 'Pending' AND "));
    foreign_name(&sql, table->columns[SOURCE_ID]);
    buf_add(&sql, S(" IS NOT NULL"));
    foreign_order(&sql, table);
    buf_add_format(&sql, " LIMIT %zu FOR UPDATE SKIP LOCKED", limit);
    TRY(run(self, "BEGIN", NULL, 0, NULL, error));
    TRY(run(self, str_z(arena, buf_str(&sql)), NULL, 0, &result, error));
    *ret_count = (size_t) PQntuples(result);
    *ret = ARENA_ARRAY(arena, ForeignRow, *ret_count + 1);
    for (size_t i = 0; i < *ret_count; i++) {
        int64_t size = 0;
        (void) str_to_i64(str_from(PQgetvalue(result, (int) i, 1)), 0, INT64_MAX, &size);
        (*ret)[i] = (ForeignRow){ .id = text_at(arena, result, (int) i, 0), .size = size };
    }
    PQclear(result);
    return ERR_OK;
}

// array_of writes ids as the text of an array.
static const char *array_of(Arena *arena, const ForeignRow *const *rows, size_t count)
{
    size_t room = 3;
    for (size_t i = 0; i < count; i++)
        room += 2 * rows[i]->id.len + 3;
    Buf text = buf_new(arena, room);
    buf_add_char(&text, '{');
    for (size_t i = 0; i < count; i++) {
        buf_add(&text, i > 0 ? S(",\"") : S("\""));
        for (size_t c = 0; c < rows[i]->id.len; c++) {
            if (rows[i]->id.at[c] == '"' || rows[i]->id.at[c] == '\\')
                buf_add_char(&text, '\\');
            buf_add_char(&text, rows[i]->id.at[c]);
        }
        buf_add_char(&text, '"');
    }
    buf_add_char(&text, '}');
    return str_z(arena, buf_str(&text));
}

static void take_row(Arena *arena, const PGresult *result, int at, ForeignRow *const *rows,
                     size_t count)
{
    Str id = { PQgetvalue(result, at, SOURCE_ID), (size_t) PQgetlength(result, at, SOURCE_ID) };
    for (size_t i = 0; i < count; i++)
        for (int c = 0; str_eq(rows[i]->id, id) && c < SOURCE_COLUMNS; c++)
            rows[i]->at[c] = text_at(arena, result, at, c);
}

static Err read(Foreign *foreign, Arena *arena, ForeignRow *const *rows, size_t count, Error *error)
{
    const PostgresForeign *self = (PostgresForeign *) foreign;
    const SourceTable *table = &foreign->table;
    Buf sql = buf_new(arena, SQL_MAX);
    PGresult *result;
    buf_add(&sql, S("SELECT "));
    foreign_texts(&sql, table);
    buf_add(&sql, S(" FROM "));
    foreign_table(&sql, table);
    buf_add(&sql, S(" WHERE "));
    foreign_name(&sql, table->columns[SOURCE_ID]);
    buf_add(&sql, S(" = ANY($1)"));
    const char *values[] = { array_of(arena, (const ForeignRow *const *) rows, count) };
    TRY(run(self, str_z(arena, buf_str(&sql)), values, 1, &result, error));
    for (int i = 0; i < PQntuples(result); i++)
        take_row(arena, result, i, rows, count);
    PQclear(result);
    return ERR_OK;
}

// mark_some tells rows of which the same is to be told; why, where there is a column for it.
static Err mark_some(Foreign *foreign, Arena *arena, const ForeignRow *const *rows, size_t count,
                     bool tells_why, Error *error)
{
    const PostgresForeign *self = (PostgresForeign *) foreign;
    const SourceTable *table = &foreign->table;
    tells_why = tells_why && table->columns[SOURCE_LAST_ERROR].at;
    Buf sql = buf_new(arena, SQL_MAX);
    buf_add(&sql, S("UPDATE "));
    foreign_table(&sql, table);
    buf_add(&sql, S(" SET "));
    foreign_name(&sql, table->columns[SOURCE_STATUS]);
    buf_add(&sql, rows[0]->is_failed ? S(" = 'Failed'") : S(" = 'Published'"));
    if (table->columns[SOURCE_LAST_ERROR].at) {
        buf_add(&sql, S(", "));
        foreign_name(&sql, table->columns[SOURCE_LAST_ERROR]);
        buf_add(&sql, tells_why ? S(" = $2") : S(" = NULL"));
    }
    buf_add(&sql, S(" WHERE "));
    foreign_name(&sql, table->columns[SOURCE_ID]);
    buf_add(&sql, S(" = ANY($1)"));
    const char *values[] = { array_of(arena, rows, count), str_z(arena, rows[0]->error) };
    PGresult *result;
    TRY(run(self, str_z(arena, buf_str(&sql)), values, tells_why ? 2 : 1, &result, error));
    foreign->marked += strtoul(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    return ERR_OK;
}

// mark_failed leaves out why where the column does not take it: one row must not hold up the
// others.
static Err mark_failed(Foreign *foreign, Arena *arena, const ForeignRow *const *row, Error *error)
{
    const PostgresForeign *self = (PostgresForeign *) foreign;
    Error untold = { 0 };
    TRY(run(self, "SAVEPOINT untold", NULL, 0, NULL, error));
    if (mark_some(foreign, arena, row, 1, true, &untold) == ERR_OK)
        return run(self, "RELEASE untold", NULL, 0, NULL, error);
    TRY(run(self, "ROLLBACK TO untold", NULL, 0, NULL, error));
    return mark_some(foreign, arena, row, 1, false, error);
}

static Err mark(Foreign *foreign, Arena *arena, const ForeignRow *const *rows, size_t count,
                Error *error)
{
    const ForeignRow **published = ARENA_ARRAY(arena, const ForeignRow *, count);
    size_t published_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->is_failed)
            TRY(mark_failed(foreign, arena, &rows[i], error));
        else
            published[published_count++] = rows[i];
    }
    return published_count > 0 ? mark_some(foreign, arena, published, published_count, false, error)
                               : ERR_OK;
}

static Err end(Foreign *foreign, Error *error)
{
    return run((PostgresForeign *) foreign, "COMMIT", NULL, 0, NULL, error);
}

const ForeignDriver foreign_postgres = {
    .open = open,
    .close = close,
    .list = list,
    .read = read,
    .mark = mark,
    .end = end,
};
