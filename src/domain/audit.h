// audit.h - the audit: what happened, told in rows that vouch for each other. Pure.
//
// A row is made of a fact (fact.h) and of what the store knows about the delivery that it tells of.
// One fact may be told in several rows: an attempt that ends a delivery is an Attempt and a
// Terminal, one that a person moved an Operator row besides, and one that went to several targets
// an Attempt for each of them. Rows of a tenant are numbered 1, 2, 3…
// without a gap, and each is linked to the one before: its hash is taken over that one's hash, the
// tenant and its own bytes. So a row that was changed, taken out or put elsewhere breaks the chain
// at its place, and a head that is kept elsewhere tells when the tail was cut off.
//
// What the hash covers are a row's packed bytes, in which everything is but the address: of that it
// covers a keyed hash (AuditTarget), and the address itself stands beside and may be erased without
// breaking anything. Rows are stored in blocks (audit_block.h).
//
//     link = SHA-256(link of the row before, 32 bytes zero for the first | tenant | bytes)
//
// with the tenant as 8 bytes, the highest first. The bytes begin with their layout's number and
// the row's own; test/unit/domain/test_audit.c has fixed vectors. Stored by the numbers in the
// tables: rows are only ever added at the end.
#pragma once

#include "base/crypto.h"
#include "domain/fact.h"
#include "domain/rule.h"
#include "domain/told.h"

// clang-format off
#define AUDIT_KIND_TABLE(X)                                   \
    /* name                    text                        */ \
    X(NOTIFICATION_ENQUEUED,   "Notification.Enqueued")       \
    X(NOTIFICATION_ATTEMPT,    "Notification.Attempt")        \
    X(NOTIFICATION_TERMINAL,   "Notification.Terminal")       \
    X(DELIVERY_CREATED,        "Delivery.Created")            \
    X(DELIVERY_ATTEMPT,        "Delivery.Attempt")            \
    X(DELIVERY_TERMINAL,       "Delivery.Terminal")           \
    X(OPERATOR_RETRY,          "Operator.retry")              \
    X(OPERATOR_DISCARD,        "Operator.discard")            \
    X(OPERATOR_CANCEL,         "Operator.cancel")             \
    X(OPERATOR_COMPLETE,       "Operator.complete")           \
    X(DEFINITION_SAVED,        "Definition.Saved")            \
    X(DEFINITION_DELETED,      "Definition.Deleted")          \
    X(OPERATOR_HOLD,           "Operator.hold")               \
    X(OPERATOR_RELEASE,        "Operator.release")            \
    X(KEY_CREATED,             "Key.Created")                 \
    X(KEY_REVOKED,             "Key.Revoked")                 \
    X(KEY_CHANGED,             "Key.Changed")                 \
    X(TENANT_CREATED,          "Tenant.Created")              \
    X(TENANT_CHANGED,          "Tenant.Changed")              \
    X(TENANT_DELETED,          "Tenant.Deleted")              \
    X(OPERATOR_OPERATION,      "Operator.operation")          \
    X(PURGE,                   "Purge")                       \
    X(CROSS_TENANT_READ,       "CrossTenant.Read")            \
    X(OTHER,                   "Other")                       \
    X(INTEGRATION_CHANGED,     "Integration.Changed")         \
    X(SURVEY_PUBLISHED,        "Survey.Published")            \
    X(SESSION_OPENED,          "Session.Opened")              \
    X(SESSION_CLOSED,          "Session.Closed")

#define AUDIT_STATUS_TABLE(X)                                                              \
    /* name        text          error  what it says                                    */ \
    X(SUCCESS,     "Success",    false, "it was done; of an attempt, the far side took it") \
    X(ENQUEUED,    "Enqueued",   false, "it was taken in")                                 \
    X(DELIVERED,   "Delivered",  false, "it ended: every target has it")                   \
    X(COMPLETED,   "Completed",  false, "it ended: it was answered")                       \
    X(TRANSIENT,   "Transient",  true,  "an attempt failed, and may be tried again")       \
    X(PERMANENT,   "Permanent",  true,  "an attempt failed for good")                      \
    X(UNKNOWN,     "Unknown",    true,  "nobody knows what became of an attempt")          \
    X(PARKED,      "Parked",     true,  "it waits for a person")                           \
    X(EXPIRED,     "Expired",    true,  "it ended: no answer came")                        \
    X(CANCELLED,   "Cancelled",  true,  "it was called off")                               \
    X(DISCARDED,   "Discarded",  true,  "a person gave it up")
// clang-format on

typedef enum AuditKind {
#define AUDIT_KIND_ENUM(name, text) AUDIT_##name,
    AUDIT_KIND_TABLE(AUDIT_KIND_ENUM)
#undef AUDIT_KIND_ENUM
} AuditKind;

typedef enum AuditStatus {
#define AUDIT_STATUS_ENUM(name, text, error, meaning) AUDIT_STATUS_##name,
    AUDIT_STATUS_TABLE(AUDIT_STATUS_ENUM)
#undef AUDIT_STATUS_ENUM
} AuditStatus;

const char *audit_kind_text(AuditKind kind);
const char *audit_status_text(AuditStatus status);
bool audit_status_is_error(AuditStatus status);

enum {
    AUDIT_TARGET_LEN = 16,
    AUDIT_PARTS_MAX = TARGETS_MAX + 2, // rows that one fact is told in
    AUDIT_TEXT_MAX = 500,              // bytes of any text of a row; what is longer is cut
    AUDIT_BYTES_MAX = 2560,            // of a row: four texts and what else there is
};

// AuditTarget is what the chain knows of an address: whoever has the key can tell whether it was
// this one, and nobody can tell it from the chain.
typedef struct AuditTarget {
    uint8_t b[AUDIT_TARGET_LEN];
} AuditTarget;

AuditTarget audit_target(Str key, Str address);

typedef struct AuditEntry {
    int64_t seq;    // its place in the chain, from 1
    int64_t number; // of the fact that it tells of (store/sequence.h)
    int part;       // which of that fact's rows it is, from 0
    Instant at;
    AuditKind kind;
    AuditStatus status;
    Uuid actor;    // the key of who did it; zero: the engine
    Uuid delivery; // zero: it is of none
    Uuid brought;  // its id where others may tell the same (audit_enqueued_id); zero: none
    int64_t lane, rule, site;
    int attempt; // number; 0: none
    DeliveryReason reason;
    int code; // the protocol's own; 0: none
    bool has_target;
    AuditTarget target;
    Str correlation_id, instance, provider_id;
    Str text; // a fact's subject, or what the far side said; none
} AuditEntry;

// AuditTold is an entry as it is told, with its address beside it; none.
typedef struct AuditTold {
    AuditEntry entry;
    Str address;
} AuditTold;

// AuditAddress is where something went to, and what the chain knows of it.
typedef struct AuditAddress {
    Str address; // none
    bool has_target;
    AuditTarget target;
} AuditAddress;

// AuditKnown is what the store knows about a fact's delivery, beyond the fact. All zero: nothing.
typedef struct AuditKnown {
    RuleKind rule_kind;
    bool was_tried; // there is an attempt of the fact's number, with this outcome
    Outcome outcome;
    AuditAddress to;             // the delivery's own
    const AuditAddress *targets; // of those that the move's attempt told, in their order; or NULL
    Str correlation_id, instance;
    Str identity; // of its event; none
} AuditKnown;

// audit_tell tells a fact in rows, and returns how many; seq is left to the caller.
size_t audit_tell(const Fact *fact, Instant at, int64_t number, const AuditKnown *known,
                  AuditTold ret[AUDIT_PARTS_MAX]);

// AuditBrought is what a site tells of a notification that was enqueued there.
typedef struct AuditBrought {
    int64_t site; // by whose key it came
    Uuid event;   // the row's own id: audit_enqueued_id() of the notification's
    Instant at;   // when it was enqueued
    Str instance, correlation_id, text; // text is such as the list; none. Cut to AUDIT_BROUGHT_MAX
} AuditBrought;

enum { AUDIT_BROUGHT_MAX = 128 };

// audit_brought_pack makes the subject of a fact AUDIT_BROUGHT.
Str audit_brought_pack(Arena *arena, const AuditBrought *brought);

// audit_enqueued_id is the id of the row that tells that a notification was enqueued, by the
// notification's id: the same at the site and where it goes to, so that it is one row.
Uuid audit_enqueued_id(Str notification);

// audit_event_id is the row's own id: the same whenever the same fact is told again.
Uuid audit_event_id(int64_t tenant, const AuditEntry *entry);

// audit_pack adds an entry's bytes, which are what its link covers. audit_text is what they hold of
// a text.
void audit_pack(Buf *bytes, const AuditEntry *entry);
Str audit_text(Str text);

Sha256 audit_link(const Sha256 *before, int64_t tenant, const AuditEntry *entry);

// clang-format off
#define AUDIT_PROBLEM_TABLE(X) \
    X(NONE,      "")           \
    X(CHANGED,   "changed")    \
    X(MISSING,   "missing")    \
    X(REORDERED, "reordered")  \
    X(CUT,       "cut")
// clang-format on

typedef enum AuditProblem {
#define AUDIT_PROBLEM_ENUM(name, text) AUDIT_PROBLEM_##name,
    AUDIT_PROBLEM_TABLE(AUDIT_PROBLEM_ENUM)
#undef AUDIT_PROBLEM_ENUM
} AuditProblem;

const char *audit_problem_text(AuditProblem problem);

// AuditHead is a place in a chain: the row's number and its link. Zero: before the first.
typedef struct AuditHead {
    int64_t seq;
    Sha256 link;
} AuditHead;
