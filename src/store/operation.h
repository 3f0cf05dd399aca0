// operation.h - one action on all deliveries, or on all rows of the outbox, that a filter names; or
// a walk along the whole audit chain.
//
// An operation is a row with a place in the order of ids; the engine carries it out in slices, so
// that a million deliveries neither hold the writer nor get lost when a node dies: the next slice
// begins where the last commit ended. First it counts what it matches, then it acts; one that is
// dry ends there. What is made after it is not part of it, and what no longer stands as it must
// when its turn comes is skipped, also where it had left the filter by then. At the end of one that
// is not dry, matched = done + skipped + failed.
//
// One that verifies acts on nothing: what it matched is known at its start, what it has done are
// the rows that it looked at, and its verdict is what it found. Whoever asks while one is under way
// is given that one.
#pragma once

#include "store/audit.h"
#include "store/delivery.h"

enum {
    OPERATION_REASON_MAX = 500,
    OPERATION_SLICE = 500,
    OPERATION_VERIFIES = 10, // rows of the chain in the time of one action
    OPERATION_SAMPLE = 5,    // ids that are kept of what one that is dry matched
};

// OperationKind is what an operation is about.
typedef enum OperationKind {
    OPERATION_ACT,      // deliveries
    OPERATION_REPLAY,   // rows of the outbox (store/inbox.h)
    OPERATION_VERIFY,   // the audit chain
    OPERATION_HANDOVER, // runs that wait (store/handover.h); nobody asks for it, a saved job does
} OperationKind;

typedef enum OperationState {
    OPERATION_COUNTING,
    OPERATION_RUNNING,
    OPERATION_DONE,
    OPERATION_CANCELLED,
} OperationState;

typedef struct Operation {
    int64_t tenant;
    Uuid id;
    OperationKind kind;
    DeliveryAction action; // RETRY, DISCARD or CANCEL, of OPERATION_ACT
    Str filter;            // JSON, as it was given
    Str reason;            // none
    Uuid actor;            // who made it: its slices are that one's doing
    bool is_dry;           // it only counts
    int64_t matched;       // while it is counting: so far
    int64_t done, skipped, failed;
    OperationState state;
    bool is_paused; // it gets no slice until somebody lets it go on
    int slices;     // that it was given: who had fewest is next
    Uuid position;  // of the last delivery it looked at
    Str sample;     // of one that is dry: the first ids that it matched, bytes behind one another
    Instant created_at, finished_at;
    AuditVerdict verdict; // of OPERATION_VERIFY: how far it came, and what it found
    AuditHead outside;    // the chain's head as it stood outside when it began
} Operation;

// operation_action reads "retry", "discard", "cancel", "replay", "verify" or "hand-over" into ret;
// operation_text is its word.
bool operation_action(Str text, Operation *ret);
const char *operation_text(const Operation *operation);
const char *operation_state_text(const Operation *operation); // also "paused"

// operation_check refuses a filter, lying at /filter, that its action cannot have. operation_filter
// reads that of an action on deliveries, and restricts it to those that the action is for: parked
// ones, or live ones for CANCEL. A state that does not fit is refused. error must not be NULL.
// What stuck means is frozen at the moment made_at.
Err operation_check(Arena *arena, const Operation *operation, const Json *source,
                    Error *error) MUST_USE;
Err operation_filter(Arena *arena, DeliveryAction action, const Json *source, Instant made_at,
                     DeliveryFilter *ret, Error *error) MUST_USE;

// operation_add adds one that is still to be counted.
void operation_add(Tx *tx, const Operation *operation);
Err operation_row(Db *db, Arena *arena, int64_t tenant, Uuid id, Operation *ret,
                  Error *error) MUST_USE;

// operation_page lists a tenant's, newest first; only those that are dry, or that are not, where
// is_dry is not NULL.
Err operation_page(Db *db, Arena *arena, int64_t tenant, const bool *is_dry, const Walk *walk,
                   Operation **ret, Seen *ret_seen, Error *error) MUST_USE;

// operation_turn pauses one, lets it go on, or cancels it, from its next slice on: what it did
// stays. Whoever asks twice is told the same. ERR_CONFLICT: it is over, or Peal's own.
typedef enum OperationTurn { OPERATION_PAUSE, OPERATION_RESUME, OPERATION_CANCEL } OperationTurn;
Err operation_turn(Tx *tx, int64_t tenant, Uuid id, OperationTurn turn, Operation *ret,
                   Error *error) MUST_USE;

// operation_verify begins one that verifies the tenant's audit chain, or joins the one that is
// under way. outside is the chain's head as it stands outside the database (audit_outside.h).
Err operation_verify(Tx *tx, int64_t tenant, const AuditHead *outside, Uuid *ret,
                     Error *error) MUST_USE;

// operation_step gives a slice to the operation that had fewest: it counts as far as one walk
// looks, acts on at most limit deliveries, or verifies OPERATION_VERIFIES times as many rows.
// ret_more is false when there was none to carry on.
Err operation_step(Tx *tx, int limit, bool *ret_more, Error *error) MUST_USE;

extern const Statement *const operation_statements[]; // ends with NULL
