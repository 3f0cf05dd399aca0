// site.h - the names of sites as numbers.
//
// A site is a Peal elsewhere that hands on what it took in (docs/sites.md). Its name gets a number
// when it is first mentioned, by a key or by an event, and keeps it for good: deliveries, the queue
// and the counters go by the number, 0 being none.
#pragma once

#include "store/tx.h"

enum { SITE_NAME_MAX = 100 };

// site_number gives a tenant's site its number, if it has none yet. Only then it takes the lock of
// definitions, so that two nodes do not give out the same.
Err site_number(Tx *tx, int64_t tenant, Str name, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const site_statements[]; // ends with NULL
