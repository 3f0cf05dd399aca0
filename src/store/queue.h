// queue.h - the one queue: claim in batches, settle in batches, each guarded by state and fence.
//
// What becomes of a delivery is decided in domain/delivery.c; here rows are picked and written, and
// nowhere else is a state written.
//
// A claim takes per lane what that lane has free, so that a dead host's backlog never hides a live
// one's. A settle is every other move: what an outcome, a lapsed lease, an expiry, a person or an
// event makes of a delivery, wherever it stands. It names the state and the attempt number it
// expects; one that does not match records its attempt and changes nothing else.
//
// Claim and settle only send, so that the settle of one round and the claim of the next share one
// round trip; after tx_sync() the *_check and *_take functions read the results. Only where a
// settle did not match is the batch replayed with care, row by row.
#pragma once

#include "store/columns.h"
#include "store/tx.h"

// The changing part of a delivery as columns, in the one order in which it is selected and read.
#define LIVE_FIELDS(X, a, b)                                                                       \
    X(a, b, COLUMN, state)                                                                         \
    X(a, b, COLUMN, step)                                                                          \
    X(a, b, COLUMN_TIME, due_at)                                                                   \
    X(a, b, COLUMN, attempt)                                                                       \
    X(a, b, COLUMN, failures)                                                                      \
    X(a, b, COLUMN, send)                                                                          \
    X(a, b, COLUMN, reminders_left)                                                                \
    X(a, b, COLUMN, triggered_at)                                                                  \
    X(a, b, COLUMN, first_due_at)                                                                  \
    X(a, b, COLUMN_TIME, last_sent_at)                                                             \
    X(a, b, COLUMN_TIME, opened_at)
#define LIVE_NAME_(prefix, unused, kind, name) ", " prefix #name
#define LIVE_COLUMN_(owner, path, kind, name) kind(owner, path.name),

// QUEUE_COLUMNS selects a QueueRow ("q." for prefix, or ""), queue_columns reads it.
#define QUEUE_COLUMNS(prefix)                                                                      \
    prefix "tenant, " prefix "id, " prefix "lane" LIVE_FIELDS(LIVE_NAME_, prefix, )

// ENDED_COLUMNS selects the same from `ended n` and `delivery d`: what ended has no step.
#define ENDED_COLUMNS                                                                              \
    "n.tenant, n.id, n.lane, n.state, 0, NULL, n.attempt, n.failures, n.send, n.reminders_left,"   \
    " d.triggered_at, n.first_due_at, n.last_sent_at, n.opened_at"

// QueueRow is a delivery where it stands: in the queue, or parked in `ended` with its figures.
typedef struct QueueRow {
    int64_t tenant;
    Uuid id;
    int64_t lane;
    Live live;
} QueueRow;

extern const Columns queue_columns;

void queue_insert(Tx *tx, const QueueRow *rows, size_t count);

typedef struct ClaimLane {
    int64_t lane;
    int free; // take at most this many
} ClaimLane;

// Claimed is a delivery that is ours until the lease ends, with all it takes to send it. Strings
// lie in the arena that was given to queue_claim().
typedef struct Claimed {
    int64_t tenant, lane;
    Uuid id, event;
    DeliveryState was; // before the claim
    Live live;
    int64_t node; // that claimed it
    Str public_id, trigger_id;
    int64_t trigger_version;
    Str address, locale, customer_ref;
    Str event_kind, payload;
    Instant occurred_at;
    const Trigger *trigger; // the version it was made under; NULL: it cannot be read any more
} Claimed;

typedef struct Claim {
    const ClaimLane *lanes;
    size_t lane_count;
    int64_t node;
    Instant lease_until;
    Arena *arena;
    Rows rows;        // private
    Claimed *claimed; // result
    size_t count;     // result
} Claim;

// queue_claim sends; queue_claim_take reads what came, after the sync.
Err queue_claim(Tx *tx, Claim *claim, Error *error) MUST_USE;
Err queue_claim_take(Tx *tx, Claim *claim, Error *error) MUST_USE;

// queue_claim_drop lets go of the versions that a claim holds, once nothing of it is needed.
void queue_claim_drop(Claim *claim);

// AttemptRow is one complete row of the attempt log.
typedef struct AttemptRow {
    int number, send;
    Instant started_at, finished_at;
    Outcome outcome;
    int64_t node; // 0: none
} AttemptRow;

// Settle is one move of one delivery.
typedef struct Settle {
    int64_t tenant, lane;
    Uuid id;
    DeliveryState was; // the guard: the state it must be in …
    int fence;         // … and the attempt number
    Settlement to;
    bool has_attempt;
    AttemptRow attempt;
    Str note;      // a person's words; none
    Instant at;    // result: when it was written
    bool is_stale; // result: it had moved on; only the attempt was recorded
} Settle;

// settle_from is the move of a delivery from where it was seen.
Settle settle_from(const QueueRow *row, Settlement to);

typedef struct SettleBatch {
    Settle *rows;
    size_t count;
    size_t asked[2][2]; // private: how many moves from and to which table …
    Rows left[2][2];    // … and how many guards fitted
} SettleBatch;

// queue_settle sends the batch on trust that every guard fits; queue_settle_check finds out, after
// the sync, and asks for a careful replay where one did not. In a careful transaction each row is
// checked before anything follows from it.
Err queue_settle(Tx *tx, SettleBatch *batch, Error *error) MUST_USE;
Err queue_settle_check(Tx *tx, SettleBatch *batch, Error *error) MUST_USE;

// queue_settle_now settles, syncs and checks.
Err queue_settle_now(Tx *tx, SettleBatch *batch, Error *error) MUST_USE;

// Renewal keeps a lease alive. Those that are no longer ours are told by is_lost.
typedef struct Renewal {
    int64_t tenant;
    Uuid id;
    int fence;
    Instant lease_until; // result
    bool is_lost;        // result
} Renewal;
Err queue_renew(Tx *tx, Renewal *rows, size_t count, Instant lease_until, Error *error) MUST_USE;

// queue_sweep settles what fell due without a send: leases that lapsed (outcome unknown) and
// answers that never came. is_orphaned takes every lease as lapsed, for a store that only one
// process can have open. Returns how many of each it met, at most limit in all.
typedef struct Sweep {
    int limit;
    bool is_orphaned;
    int lapsed, retried, parked, expired;
} Sweep;
Err queue_sweep(Tx *tx, Sweep *sweep, Error *error) MUST_USE;

// QueueNext is when something falls due: per lane for sends, and in all for the sweep.
typedef struct QueueNext {
    const int64_t *lanes;
    size_t lane_count;
    Arena *arena;
    Instant *lane_due;           // result, one per lane: INSTANT_NONE for none
    Instant sweep_due;           // result
    Rows rows, sweeps, expiries; // private
} QueueNext;
void queue_next(Db *db, QueueNext *next);
void queue_next_take(QueueNext *next);

extern const Statement *const queue_statements[]; // ends with NULL
