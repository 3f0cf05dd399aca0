// facts.h - what can be said of the store itself: which database, how far its tables are, how big.
#pragma once

#include "store/db.h"

typedef struct StoreFacts {
    bool is_postgres;
    Str place;         // without credentials (db_place)
    Str version;       // of the database
    int64_t schema;    // number of the last migration
    int64_t bytes;     // on disk
    int64_t wal_bytes; // of SQLite's write-ahead log; -1 on PostgreSQL
} StoreFacts;

Err store_facts(Db *db, Arena *arena, StoreFacts *ret, Error *error) MUST_USE;

extern const Statement *const facts_statements[]; // ends with NULL
