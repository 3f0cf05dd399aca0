// audit_key.h - the key that the audit's targets are hashed with (domain/audit.h).
//
// It is made once for a database and kept in it, sealed with the master key: whoever has a copy of
// the database alone cannot tell addresses from their hashes by trying them. A node whose master
// key cannot open it goes without: its rows have no hash of their target.
#pragma once

#include "store/tx.h"

// audit_key_get reads it; none where there is none yet, or where it cannot be opened.
Err audit_key_get(Db *db, Arena *arena, const KeyRing *ring, Str *ret, Error *error) MUST_USE;

// audit_key_make does the same, and makes one where there is none.
Err audit_key_make(Tx *tx, Str *ret, Error *error) MUST_USE;
