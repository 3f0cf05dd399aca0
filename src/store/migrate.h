// migrate.h - brings the tables up to date: sql/NNN_*.sql in order, each once, each in one
// transaction.
//
// The files are one text for both databases; the few types that differ are {TOKENS}. What only
// PostgreSQL can do lies in files that end with .postgres.sql, of which SQLite only notes the
// number. A database that is newer than this program is refused: never write to tables one does not
// know.
//
// On PostgreSQL the tables live in schema `peal`, which the first run makes; every connection looks
// there alone (store/postgres). Tables of the same names in other schemas are somebody else's.
#pragma once

#include "store/db.h"

typedef struct Migration {
    int number;
    const char *name;
    const char *sql;
} Migration;

extern const Migration migrations[]; // printed from sql/ by tools/embed.py
extern const size_t migration_count;

// migrate_run applies what is missing and says how many it applied.
Err migrate_run(Db *db, int *ret_applied, Error *error) MUST_USE;

// migrate_pending tells how many are missing.
Err migrate_pending(Db *db, int *ret, Error *error) MUST_USE;
