// node.h - the processes that share a store: who they are and which of them live.
//
// A node's beat is in real time, whatever the clock says: it tells about processes, not about
// deliveries.
#pragma once

#include "base/clock.h"
#include "store/tx.h"

#define NODE_BEAT ((Span) 5 * SPAN_SECOND)
#define NODE_LEASE ((Span) 15 * SPAN_SECOND)

// node_join takes the next number.
Err node_join(Tx *tx, Str name, bool is_manual, Instant real_now, int64_t *ret,
              Error *error) MUST_USE;
Err node_beat(Tx *tx, int64_t node, Instant real_now, Error *error) MUST_USE;
void node_leave(Tx *tx, int64_t node, Instant real_now);

// node_others counts the nodes but this one that live. On SQLite there are none: the file is
// locked.
Err node_others(Db *db, int64_t node, Instant real_now, int64_t *ret, Error *error) MUST_USE;

// node_deaths counts the nodes that ended and did not leave, each of them for one who asks. A node
// of our own name is taken for our predecessor.
Err node_deaths(Tx *tx, int64_t node, Instant real_now, int64_t *ret, Error *error) MUST_USE;

// ClockOffset is how far the server's clock is ahead of ours, give or take half the round trip that
// it took to ask. On SQLite both are 0.
typedef struct ClockOffset {
    Span span, round_trip;
} ClockOffset;

Err node_offset(Db *db, Clock *clock, ClockOffset *ret, Error *error) MUST_USE;

extern const Statement *const node_statements[]; // ends with NULL
