// node.h - the processes that share a store: who they are and which of them live.
//
// A node's beat is in real time, whatever the clock says: it tells about processes, not about
// deliveries.
#pragma once

#include "base/clock.h"
#include "store/tx.h"
#include "store/walk.h"

#define NODE_BEAT ((Span) 5 * SPAN_SECOND)
#define NODE_LEASE ((Span) 15 * SPAN_SECOND)

// node_join takes the next number; version is that of the program.
Err node_join(Tx *tx, Str name, Str version, bool is_manual, Instant real_now, int64_t *ret,
              Error *error) MUST_USE;

// NodeBeat is what a node tells of itself with each beat.
typedef struct NodeBeat {
    int64_t node;
    Instant real_now;
    Span clock_offset; // how far the server's clock is ahead of the node's own
    int64_t leases;    // deliveries that it has claimed and not settled
} NodeBeat;
Err node_beat(Tx *tx, const NodeBeat *told, Error *error) MUST_USE;
void node_leave(Tx *tx, int64_t node, Instant real_now);

// node_others counts the nodes but this one that live. On SQLite there are none: the file is
// locked.
Err node_others(Db *db, int64_t node, Instant real_now, int64_t *ret, Error *error) MUST_USE;

// node_deaths counts the nodes that ended and did not leave, each of them for one who asks. A node
// of our own name is taken for our predecessor.
Err node_deaths(Tx *tx, int64_t node, Instant real_now, int64_t *ret, Error *error) MUST_USE;

typedef enum NodeState { NODE_ALIVE, NODE_LEFT, NODE_DEAD } NodeState;
const char *node_state_text(NodeState state);

// NodeRow is a node as it told of itself last. One that is gone holds nothing once its leases have
// lapsed.
typedef struct NodeRow {
    int64_t node;
    Str name, version;
    NodeState state;
    bool is_manual;
    Instant started_at, beat_at;
    Span clock_offset;
    int64_t leases;
} NodeRow;

// node_page lists nodes, newest first, as they look to the node that asks, which lives.
Err node_page(Db *db, Arena *arena, int64_t node, Instant real_now, const Walk *walk, NodeRow **ret,
              Seen *ret_seen, Error *error) MUST_USE;

// ClockOffset is how far the server's clock is ahead of ours, give or take half the round trip that
// it took to ask. On SQLite both are 0.
typedef struct ClockOffset {
    Span span, round_trip;
} ClockOffset;

Err node_offset(Db *db, Clock *clock, ClockOffset *ret, Error *error) MUST_USE;

extern const Statement *const node_statements[]; // ends with NULL
