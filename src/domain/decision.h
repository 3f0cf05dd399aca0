// decision.h - what a rule made of an event, in words, and as bytes for those that made nothing.
//
// A rule that matched is told by its delivery. All others of an event (filtered, duplicate,
// disabled, failed) are one row of facts, packed: an event that a hundred rules pass over must not
// cost a hundred rows. What can be worked out again is left out: the values that a filter saw.
//
// The bytes: a 1 for the format; then for each rule its number and version, a byte that holds the
// kind and which of the rest follows, the reason, the filter's leaf, the 16 bytes of the holder.
// Numbers are of seven bits a byte, the lowest first. Kinds and reasons are stored as their place
// in the table: rows are only ever added at the end, of kinds at most sixteen.
#pragma once

#include "base/err.h"
#include "base/id.h"

// clang-format off
#define DECISION_TABLE(X)             \
    /* name      stored as         */ \
    X(CREATED,   "created")           \
    X(DUPLICATE, "duplicate")         \
    X(FILTERED,  "filtered")          \
    X(DISABLED,  "disabled")          \
    X(FAILED,    "failed")

#define DECISION_REASON_TABLE(X)                                               \
    /* name              code                 what it means                 */ \
    X(MATCHED,           "matched",           "the trigger matched")           \
    X(FILTER_FALSE,      "filter-false",      "the filter was false")          \
    X(TRIGGER_DISABLED,  "trigger-disabled",  "the trigger was disabled")      \
    X(DUPLICATE_KEY,     "duplicate-key",     "its dedup key was taken")       \
    X(TOO_LARGE,         "too-large",         "address or locale too long")
// clang-format on

typedef enum DecisionKind {
#define DECISION_ENUM(name, text) DECISION_##name,
    DECISION_TABLE(DECISION_ENUM)
#undef DECISION_ENUM
} DecisionKind;

typedef enum DecisionReason {
#define REASON_ENUM(name, code, meaning) DECISION_REASON_##name,
    DECISION_REASON_TABLE(REASON_ENUM)
#undef REASON_ENUM
} DecisionReason;

const char *decision_text(DecisionKind kind);
const char *decision_reason_code(DecisionReason reason);
const char *decision_reason_meaning(DecisionReason reason);

// Miss is a decision that made no delivery.
typedef struct Miss {
    int64_t rule; // its number
    int64_t version;
    DecisionKind kind;
    DecisionReason reason;
    int leaf;    // of the filter that decided; -1: none did
    Uuid holder; // the delivery that holds the key, for a duplicate; zero for none
} Miss;

enum { DECISION_MISSES_MAX = 60000, DECISION_BYTES_MAX = DECISION_MISSES_MAX * 48 };

// decision_pack writes at most DECISION_MISSES_MAX; decision_unpack reads them back, in their
// order. Bytes that no decision_pack() of ours wrote are ERR_CORRUPT.
Str decision_pack(Arena *arena, const Miss *misses, size_t count);
Err decision_unpack(Arena *arena, Str facts, Miss **ret, size_t *ret_count, Error *error) MUST_USE;
