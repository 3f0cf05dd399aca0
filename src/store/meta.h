// meta.h - facts about the database itself: its epoch and identity, the hold, the manual clock.
//
// The identity says which database it was when somebody last vouched for it: on SQLite which file
// on which machine, on PostgreSQL which cluster and database. epoch.h compares it with what is
// found.
#pragma once

#include "store/tx.h"

#define META_IDENTITY S("identity")
#define META_EPOCH S("epoch")
#define META_DOUBT S("doubt") // the hold is for a copy: its reason
#define META_HOLD S("hold")
#define META_CLOCK S("clock")
#define META_MASTER_KEY S("master-key") // store/seal.h
#define META_AUDIT_KEY S("audit-key")   // store/audit_key.h

Err meta_get(Db *db, Arena *arena, Str key, Str *ret, Error *error) MUST_USE; // none when absent
void meta_put(Tx *tx, Str key, Str value);
void meta_remove(Tx *tx, Str key);

// meta_identity says what the database is, seen from outside.
Err meta_identity(Db *db, Arena *arena, Str *ret, Error *error) MUST_USE;

extern const Statement *const meta_statements[]; // ends with NULL
