// pace.h - how many deliveries arrived in each minute: a row for each writer, minute, tenant, rule
// and site.
//
// Written with the counters (counter.h), for the same reason each writer has rows of its own. Rows
// are kept for PACE_KEPT: what was delivered in the last whole minute is all that is asked for.
#pragma once

#include "store/counter.h"

#define PACE_KEPT ((Span) SPAN_HOUR)

// pace_send adds what a transaction delivered, as its counters tell.
void pace_send(const Counters *counters, Db *db, Arena *arena, int64_t writer, Instant now);

// pace_purge deletes up to limit rows whose time is over, and counts them.
Err pace_purge(Db *db, Arena *arena, Instant now, int64_t limit, int64_t *ret,
               Error *error) MUST_USE;

extern const Statement *const pace_statements[]; // ends with NULL
