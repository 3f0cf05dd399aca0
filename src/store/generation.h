// generation.h - the number that grows with every change of a definition, key, tenant or hold.
//
// A snapshot carries the number it was read at; whoever decides on one compares. Whoever changes
// something takes the lock first, so that nodes do so one after the other; what must happen once
// among all nodes (to be the first to join) takes it too.
#pragma once

#include "store/db.h"

extern const Statement generation_get;
extern const Statement generation_lock; // until the transaction ends; SQLite has one writer anyway
extern const Statement generation_raise;

Err generation_read(Db *db, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const generation_statements[]; // ends with NULL
