// meta.h - facts about the database itself: its identity, the hold, the manual clock.
//
// A copied database does not send. What it was when it was last released (on SQLite: which file on
// which machine; on PostgreSQL: which cluster and database) is kept inside; at every start it is
// compared with what is found outside. Where they differ, Peal holds.
#pragma once

#include "store/tx.h"

#define META_IDENTITY S("identity")
#define META_HOLD S("hold")
#define META_CLOCK S("clock")
#define META_MASTER_KEY S("master-key") // store/seal.h

Err meta_get(Db *db, Arena *arena, Str key, Str *ret, Error *error) MUST_USE; // none when absent
void meta_put(Tx *tx, Str key, Str value);
void meta_remove(Tx *tx, Str key);

// meta_identity says what the database is, seen from outside.
Err meta_identity(Db *db, Str url, Arena *arena, Str *ret, Error *error) MUST_USE;

extern const Statement *const meta_statements[]; // ends with NULL
