// queue.h - the one queue: claim in batches, settle in batches, each guarded by its fence.
//
// What becomes of a delivery is decided in domain/delivery.c; here rows are picked and written, and
// nowhere else is a state written.
//
// A claim takes per lane what that lane has free, so that a dead host's backlog never hides a live
// one's. It gives the row a lease and leaves it in its place: those that are being sent are the
// front of their lane, where overdue_leases() looks for leases that ran out. Whoever is outside
// pulls instead, for a lease of his own: such a row leaves its lane until the lease ends, so that
// thousands of them stand in nobody's way. An ordered lane is claimed by one node at a time, and
// not while anything of it is being sent, wherever. The fence grows with every claim and is never
// taken back.
//
// A settle is every other move: what an outcome, a lapsed lease, an expiry, a person or an event
// makes of a delivery, wherever it stands. It names the state, the fence and the holder it expects;
// one that does not match records its attempt and changes nothing else.
//
// The attempt that ends a delivery stands in its row of `ended`, all others in `attempt`: what is
// delivered at once, as most is, writes one row and not two. A revival moves it to the others.
//
// Claim and settle only send, so that the settle of one round and the claim of the next share one
// round trip; after tx_sync() the *_check and *_take functions read the results. Only where a
// settle did not match, or a row to insert was there already, is the batch replayed with care, row
// by row.
#pragma once

#include "domain/defer.h"
#include "store/columns.h"
#include "store/target.h"
#include "store/tx.h"

// The changing part of a delivery as columns, in the one order in which it is selected and read.
#define LIVE_FIELDS(X, a, b)                                                                       \
    X(a, b, COLUMN, state)                                                                         \
    X(a, b, COLUMN, step)                                                                          \
    X(a, b, COLUMN_TIME, due_at)                                                                   \
    X(a, b, COLUMN, fence)                                                                         \
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
    prefix "tenant, " prefix "id, " prefix "lane, " prefix "rule, " prefix "site, " prefix         \
           "bytes" LIVE_FIELDS(LIVE_NAME_, prefix, )

// STANDING_COLUMNS selects it with its lease, standing_columns reads that. ENDED_COLUMNS selects
// the same from `ended n` and `delivery d`: what ended has neither step nor lease.
#define STANDING_COLUMNS(prefix)                                                                   \
    QUEUE_COLUMNS(prefix) ", " prefix "started_at, " prefix "lease_until, " prefix "holder"
#define ENDED_COLUMNS                                                                              \
    "n.tenant, n.id, n.lane, n.rule, n.site, n.bytes, n.state, 0, NULL, n.fence, n.attempt,"       \
    " n.failures, n.send, n.reminders_left, d.triggered_at, n.first_due_at, n.last_sent_at,"       \
    " n.opened_at, NULL, NULL, NULL"

// ORIGIN_COLUMNS selects the Origin of a delivery from `event e`, ORIGIN_FIELDS reads it.
#define ORIGIN_COLUMNS "e.source, e.received_at, COALESCE(e.occurred_at, e.received_at)"
#define ORIGIN_FIELDS(owner, path)                                                                 \
    COLUMN(owner, path.source), COLUMN(owner, path.received_at), COLUMN(owner, path.occurred_at)

// QueueRow is a delivery where it stands: in the queue, or parked in `ended` with its figures.
typedef struct QueueRow {
    int64_t tenant;
    Uuid id;
    int64_t lane;
    int64_t rule, site; // who made it, and for whom: what the counters are kept by
    int bytes;          // of the event's payload: claims are bounded by them
    bool is_run;        // of a job or an automation, or may be: its end is followed (follow.h)
    Live live;
    bool is_unsound;  // somebody damaged the row: live is mended (live_mended) …
    int stored_state; // … and this is the state that is stored, which no settle would guess
} QueueRow;

extern const Columns queue_columns, standing_columns;

// queue_read reads STANDING_COLUMNS of a row of the queue; what it gives is sound in any case.
// ended_read reads ENDED_COLUMNS, and gives likewise.
enum { STANDING_COLUMN_COUNT = 21 };
void queue_read(const Value *at, QueueRow *ret);
void ended_read(const Value *at, QueueRow *ret);
void queue_mend(QueueRow *row); // makes a row of the queue sound that was read otherwise

// origin_read reads ORIGIN_COLUMNS.
void origin_read(const Value *at, Origin *ret);

void queue_insert(Tx *tx, const QueueRow *rows, size_t count);

typedef struct ClaimLane {
    int64_t lane;
    int free;         // take at most this many …
    int64_t bytes;    // … and of payloads no more than these, but one row whatever its size
    bool has_targets; // its deliveries may have several: they are read too
    int front; // ordered: nothing is taken while one of so many at its front is being sent; 0: not
    bool is_timeless;     // all that stands in it is due; else what was due by now
    bool reaches_members; // of a list; else that gets one message
} ClaimLane;

// Claimed is a delivery that is ours until the lease ends, with all it takes to send it. Strings
// lie in the arena that was given to queue_claim().
typedef struct Claimed {
    Promise promise; // where its row is missing, as much as the queue knows of it
    int bytes;
    DeliveryState was; // before the claim
    Live live;
    Str event_kind, trace, payload, recipient;
    Origin origin;          // of the event
    const Trigger *trigger; // the version it was made under; NULL: that or the row is unreadable
    bool has_rows;          // its targets have rows; else there is the one of the promise
    Target *targets;        // those that are to be sent to now
    size_t target_count;
    bool has_more;      // targets to be sent to as soon as these are
    TargetsElse others; // unless it has more: those that are not to be sent to
    bool is_opted_out;  // the recipient does not want it (preference.h)
} Claimed;

typedef struct Claim {
    const ClaimLane *lanes;
    size_t lane_count;
    int64_t node;   // 0: somebody outside, for a lease that may be long
    bool is_newest; // of each lane the newest that are due, not the oldest; not for ordered ones
    Instant lease_until;
    Arena *arena;
    Rows rows;        // private
    Claimed *claimed; // result
    size_t count;     // result
} Claim;

// queue_claim sends; queue_claim_take reads what came, after the sync.
void queue_claim(Tx *tx, Claim *claim);
Err queue_claim_take(Tx *tx, Claim *claim, Error *error) MUST_USE;

// queue_pull claims for somebody outside: what he gets leaves its lane until he reports, or the
// lease ends. Its channel should be one that is pulled, so that no node claims from the lane too.
Err queue_pull(Tx *tx, Claim *claim, Error *error) MUST_USE;

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
    int64_t tenant, lane, rule, site;
    int64_t from_lane; // that it leaves for this one; 0: it stays
    int bytes;
    bool is_run; // of a job or an automation, or may be
    Uuid id;
    Instant first_due_at; // of the send that it is at
    DeliveryState was;    // the state it is in …
    int stored_state;     // … which is the guard: as this it must be stored …
    int fence;            // … since which claim …
    int64_t holder;       // … and whose; 0 where nobody has a lease
    Settlement to;
    bool has_attempt;
    AttemptRow attempt;
    const Target *targets; // with rows, of which something is told; may be none
    size_t target_count;
    int round;     // failures of the send when they were claimed
    Str note;      // a person's words; none
    int64_t cause; // private: what it fails of from now on (domain/cause.h)
    Instant at;    // result: when it was written
    bool is_stale; // result: it had moved on; only the attempt was recorded
} Settle;

// settle_from is the move of a delivery from where it was seen; settle_tried, with the attempt that
// was under way there and ends now. A claim is given back (delivery_release) by settle_from: where
// the delivery was called off meanwhile, the record of that attempt goes, for it was never made.
Settle settle_from(const QueueRow *row, Settlement to);
Settle settle_tried(const QueueRow *row, Settlement to, const Outcome *outcome, Instant now);

// settle_called_off is the move that a person or an event makes of a delivery. Where an attempt is
// under way it is on record as unknown and called off, until whoever makes it tells what became of
// it: no send goes without a record, whatever dies.
Settle settle_called_off(const QueueRow *row, Settlement to, Instant now);

// claimed_row is the row of what was claimed.
QueueRow claimed_row(const Claimed *claimed);

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

// queue_tell writes what became of an attempt that was called off while it was under way, if that
// is so: by its fence and its number, of which one may be 0 where it is not known. The delivery
// stays where it is.
void queue_tell(Tx *tx, const Settle *settle);

// Renewal keeps a lease alive. Those that are no longer ours are told by is_lost.
typedef struct Renewal {
    int64_t tenant;
    Uuid id;
    DeliveryState state;
    int fence;
    int64_t holder;
    Instant lease_until; // result
    bool is_lost;        // result
} Renewal;
Renewal renewal_of(const Claimed *claimed);
Err queue_renew(Tx *tx, Renewal *rows, size_t count, Instant lease_until, Error *error) MUST_USE;

// QueueOpened is that the addressee looked. queue_open notes the first time, of those that are in
// the queue; nothing else of a delivery changes by it. queue_lock takes rows in the order of their
// ids, before a transaction changes them group by group: two nodes would wait for each other.
typedef struct QueueOpened {
    int64_t tenant;
    Uuid id;
    Instant at;
} QueueOpened;
void queue_lock(Tx *tx, const QueueOpened *rows, size_t count);
void queue_open(Tx *tx, const QueueOpened *rows, size_t count);

// QueueNext is when something falls due: per lane for sends, and in all for expiries. When leases
// run out is not asked: whoever looks for them looks now and then.
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

extern const Statement *const queue_statements[];       // ends with NULL
extern const Statement *const queue_claim_statements[]; // of queue_claim.c
extern const Statement *const queue_next_statements[];  // of queue_next.c
