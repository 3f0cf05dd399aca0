// audit.h - the audit chain in the store: sealed from the journal, listed, verified.
//
// Facts that have their numbers (sequence.h) are told in rows (domain/audit.h) and linked, tenant
// by tenant, by one node at a time, in one transaction per slice: either a slice is in the chain
// and its chain has moved on, or it is as if nobody had looked. So a failure costs nothing but
// time: what could not be sealed is sealed later, and the journal keeps what is not sealed yet. A
// delivery never waits for any of this, and never learns of it.
//
// Tenant 0's chain is the installation's: holds and releases.
//
// What sites bring goes the same way: audit_take() leaves a fact, which is sealed in its turn.
#pragma once

#include "domain/audit_block.h"
#include "store/sequence.h"
#include "store/walk.h"

#define AUDIT_LEASE S("seal") // of store/duty.h

enum {
    AUDIT_CHECKPOINT = 1000,   // rows
    AUDIT_VERIFY_MAX = 100000, // rows that a call verifies; more are an operation's
};

// audit_seal seals up to limit facts, of the chains that waited longest. Each gets its share.
typedef struct AuditSealed {
    int64_t rows;
    bool has_more;
    bool is_ours; // this node holds the lease until the end of the transaction
} AuditSealed;
Err audit_seal(Tx *tx, int limit, AuditSealed *ret, Error *error) MUST_USE;

// audit_take takes in what a site tells. What is brought twice, or is told here as well, is one
// row: which of them it becomes is known when it is sealed.
void audit_take(Tx *tx, int64_t tenant, const AuditBrought *brought);

// audit_some is how many facts from the first on name about so many targets together.
size_t audit_some(const JournalEntry *facts, size_t count, size_t most);

// audit_retell tells facts of a tenant again, as they were told, without those that were told under
// an id that somebody else had told before.
Err audit_retell(Tx *tx, int64_t tenant, JournalEntry *facts, size_t count, AuditTold **ret,
                 size_t *ret_count, Error *error) MUST_USE;

// audit_blocks packs what is told behind a head, which moves on with it, into blocks, for which ret
// has room: there are no more of them than rows. audit_write writes blocks.
size_t audit_blocks(Arena *arena, int64_t tenant, AuditHead *head, const AuditTold *told,
                    size_t count, AuditBlock *ret);
void audit_write(Tx *tx, const AuditBlock *blocks, size_t count);

// AuditFilter says which rows; what is none, zero or false does not restrict.
typedef struct AuditFilter {
    bool has_kind, has_status, has_actor, has_delivery, has_lane;
    AuditKind kind;
    AuditStatus status;
    Uuid actor; // zero: the engine
    Uuid delivery;
    int64_t lane;
    Str site; // its name
    Str instance, correlation_id;
    Str target; // an address
    bool errors_only;
    Instant from, to; // at or after, before; INSTANT_NONE
} AuditFilter;

// AuditRow is an entry as it is shown. From where a block's bytes cannot be followed any more, one
// row stands for what is left of it: is_read is false, and seq the last one's.
typedef struct AuditRow {
    int64_t seq;
    bool is_read;
    AuditEntry entry;
    Sha256 link;
    Str target; // the address; none
    Str site;   // its name; none
    Str actor;  // the name of who did it, where the caller has asked (key_names()); none
} AuditRow;

// audit_page reads rows newest first.
Err audit_page(Db *db, Arena *arena, const KeyRing *ring, int64_t tenant, const AuditFilter *filter,
               const Walk *walk, AuditRow **ret, Seen *ret_seen, Error *error) MUST_USE;

// audit_export reads rows in their order, behind *after and up to until: so many of the next
// AUDIT_EXPORT_LOOK or so as fit, and AUDIT_EXPORT_ROWS at most, for which ret has room. *after is
// then the last that was looked at.
enum { AUDIT_EXPORT_LOOK = 2000, AUDIT_EXPORT_ROWS = 200 };
Err audit_export(Db *db, Arena *arena, const KeyRing *ring, int64_t tenant,
                 const AuditFilter *filter, int64_t *after, int64_t until, AuditRow *ret,
                 size_t *ret_count, Error *error) MUST_USE;

// AuditChain is how far a tenant's audit has come.
typedef struct AuditChain {
    AuditHead head, anchor;
    int64_t waiting; // facts that are not sealed yet
} AuditChain;
Err audit_chain(Db *db, Arena *arena, int64_t tenant, AuditChain *ret, Error *error) MUST_USE;

// audit_backlog counts the facts of all chains that have their number and are not sealed yet.
Err audit_backlog(Db *db, Arena *arena, int64_t *ret, Error *error) MUST_USE;

// AuditVerdict is what a walk along a chain found. bad is the first bad row's number.
typedef struct AuditVerdict {
    AuditHead head; // how far it is sound
    int64_t rows;   // that were looked at
    AuditProblem problem;
    int64_t bad;
} AuditVerdict;

// audit_verify follows the chain from ret->head on, which is the anchor to begin with, for about
// limit rows: it ends with a block. ret_more says that it was not the end. At the end the chain
// must have come as far as its own head says, and as far as outside says, which is a head that was
// kept elsewhere (zero: none).
Err audit_verify(Db *db, int64_t tenant, const AuditHead *outside, int64_t limit, AuditVerdict *ret,
                 bool *ret_more, Error *error) MUST_USE;

extern const Statement *const audit_statements[];      // ends with NULL
extern const Statement *const audit_page_statements[]; // ends with NULL
