// sample.h - how many deliveries stood in each state, minute by minute: the counters' history.
//
// Each tenant has one row a minute at most, and only where a number has changed since the row
// before: between two rows the first holds. One node at a time takes them, from the counters of all
// (counter.h). Rows are kept for SAMPLE_KEPT.
#pragma once

#include "store/tx.h"

#define SAMPLE_KEPT ((Span) 400 * SPAN_DAY)

// sample_take takes this minute's samples, where that was not done yet.
Err sample_take(Tx *tx, Error *error) MUST_USE;

// sample_purge deletes up to limit rows whose time is over, the oldest first, and counts them.
Err sample_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const sample_statements[]; // ends with NULL
