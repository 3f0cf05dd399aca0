// rate.h - how much of a channel's rate is spent in the window that runs, by all nodes together.
//
// A node takes a share of what is left before it claims, and claims no more than it took: so what
// goes out in a window is never more than the rate, however many nodes there are. What a node took
// and did not use is lost with the window. Only lanes whose channel has a rate have a row.
#pragma once

#include "store/tx.h"

typedef struct RateShare {
    int64_t lane;
    Instant window_at; // where the window begins, by the node's clock
    int64_t max;       // of the rate
    int64_t wanted;    // no more than max
    Instant future;    // a row of a window later than this was written by a clock that was wrong
    int64_t granted;   // result
} RateShare;

// rate_window is where the window of a moment begins. What begins later than RATE_CLOCK_WRONG from
// now is nobody's.
#define RATE_CLOCK_WRONG SPAN_MINUTE
static inline Instant rate_window(Span per, Instant now)
{
    return now - now % per;
}

// rate_take sends, for shares by lane; rate_granted reads what each was granted, after the sync.
void rate_take(Tx *tx, Arena *arena, const RateShare *shares, size_t count, Rows *ret);
void rate_granted(const Rows *rows, RateShare *shares, size_t count);

// rate_return gives back what was granted in this transaction and is not used.
void rate_return(Tx *tx, const RateShare *share, int64_t unused);

extern const Statement *const rate_statements[]; // ends with NULL
