// inspect.h - what must hold in a store at any moment, and a number for all that is in it.
#pragma once

#include "store/db.h"

// inspect_broken names the first rule that is broken; NULL when all hold. A failure to read is an
// Err. The connection may be in a transaction.
Err inspect_broken(Db *db, Arena *arena, const char **ret, Error *error) MUST_USE;

enum { INSPECT_TABLES = 55 };

// inspect_tables hashes every table by itself; inspect_differs names the first that is not the
// same, NULL where all are.
Err inspect_tables(Db *db, uint64_t ret[INSPECT_TABLES], Error *error) MUST_USE;
const char *inspect_differs(const uint64_t one[INSPECT_TABLES],
                            const uint64_t other[INSPECT_TABLES]);

// inspect_digest hashes every row of every table; equal contents give equal digests.
Err inspect_digest(Db *db, uint64_t *ret, Error *error) MUST_USE;
