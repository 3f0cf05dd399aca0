// foreign.h - a table in somebody else's database (domain/source.h): rows are listed, read, and
// told what became of them.
//
// Nothing there is trusted: whatever type a column has comes as text, sizes come before payloads,
// names are quoted, and every statement has a deadline. What is not as it should be is an error of
// this table alone.
//
// On PostgreSQL a turn is one transaction, in which the listed rows are locked and those that
// others have locked are skipped. A SQLite file has one writer at a time, so there a turn reads
// without a lock and only the marking is a transaction, a short one.
//
// A Foreign belongs to one thread.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "domain/source.h"

typedef struct Foreign Foreign;

#define FOREIGN_SECONDS 10 // that a statement may take, and a lock be waited for

typedef struct ForeignRow {
    Str id;                 // as text
    int64_t size;           // of its payload, in bytes
    Str at[SOURCE_COLUMNS]; // once it is read: none for NULL
    bool is_failed;         // to be marked: Failed and not Published …
    Str error;              // … and why
} ForeignRow;

typedef struct ForeignDriver {
    Err (*open)(Arena *arena, const SourceTable *table, Foreign **ret, Error *error);
    void (*close)(Foreign *foreign);
    Err (*list)(Foreign *foreign, Arena *arena, size_t limit, ForeignRow **ret, size_t *ret_count,
                Error *error);
    Err (*read)(Foreign *foreign, Arena *arena, ForeignRow *const *rows, size_t count,
                Error *error);
    Err (*mark)(Foreign *foreign, Arena *arena, const ForeignRow *const *rows, size_t count,
                Error *error);
    Err (*end)(Foreign *foreign, Error *error);
} ForeignDriver;

extern const ForeignDriver foreign_sqlite;
extern const ForeignDriver foreign_postgres;

struct Foreign {
    const ForeignDriver *driver;
    SourceTable table; // lives as long
    size_t marked;     // rows that the last foreign_mark changed
};

// foreign_open connects; table and all that it names outlive the Foreign.
Err foreign_open(Arena *arena, const SourceTable *table, Foreign **ret, Error *error) MUST_USE;
void foreign_close(
    Foreign *foreign); // a turn that has not ended has changed nothing; NULL: nothing

// foreign_list begins a turn: up to limit rows that are pending, in order. foreign_read reads the
// columns of some of them; one that is gone meanwhile has no id there. foreign_mark says what
// became of some; how many of them it changed the Foreign knows. foreign_end ends the turn.
Err foreign_list(Foreign *foreign, Arena *arena, size_t limit, ForeignRow **ret, size_t *ret_count,
                 Error *error) MUST_USE;
Err foreign_read(Foreign *foreign, Arena *arena, ForeignRow *const *rows, size_t count,
                 Error *error) MUST_USE;
Err foreign_mark(Foreign *foreign, Arena *arena, const ForeignRow *const *rows, size_t count,
                 Error *error) MUST_USE;
Err foreign_end(Foreign *foreign, Error *error) MUST_USE;

// For the drivers: foreign_name writes a quoted name, foreign_table that of the table, schema and
// all, foreign_order by what rows are taken, foreign_texts the columns that the table has, as
// texts.
void foreign_name(Buf *sql, Str name);
void foreign_table(Buf *sql, const SourceTable *table);
void foreign_order(Buf *sql, const SourceTable *table);
void foreign_texts(Buf *sql, const SourceTable *table);
