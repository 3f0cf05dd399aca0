// durability.h - what the promise "acknowledged means synced" hangs on beside Peal itself: on
// PostgreSQL the server's settings, on SQLite whether the file is whole.
#pragma once

#include "store/db.h"

typedef struct DurabilityFact {
    Str name, is; // "fsync", "on"
    bool is_fine;
} DurabilityFact;

// durability_look asks the database. On SQLite it reads the whole file.
Err durability_look(Db *db, Arena *arena, DurabilityFact **ret, size_t *ret_count,
                    Error *error) MUST_USE;

extern const Statement *const durability_statements[]; // ends with NULL
