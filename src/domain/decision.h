// decision.h - what a rule made of an event, in words, and as bytes for those that made nothing.
//
// A rule that matched is told by its delivery. All others of an event (filtered, duplicate,
// disabled, failed) are facts in its own row, packed: an event that a hundred rules pass over must
// not cost a hundred rows. What can be worked out again is left out: the values that a filter saw.
//
// Most of a thousand rules say the same, so the bytes are a 2 for the format, then groups of rules
// that differ in their numbers alone: a byte that holds the kind and which of the rest follows, the
// version, the reason, the filter's leaf; then the numbers, ascending, and a 0. Each number is
// written as its distance from the one before, doubled; where that is odd, a count follows of how
// often the same distance comes again: a thousand rules made one after the other are ten bytes. In
// a group with holders each number is followed by the 16 bytes of its own. Numbers are varints.
// Kinds and reasons are stored as their place in the table: rows are only ever added at the end, of
// kinds at most sixteen.
//
//     DecisionPack pack = decision_begin(&arena, STR_NONE);
//     decision_add(&pack, &miss);                              …
//     Str facts = decision_end(&pack);
//
// Groups stand for themselves: what was packed may be gone on with later. Whoever adds rules in the
// order of their numbers, those that say the same together, gets few.
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
    X(TOO_LARGE,         "too-large",         "address or locale too long")    \
    X(OTHER_LANGUAGE,    "other-language",    "a template in another language fits better, or its own does not fit") \
    X(NARROWER_SCOPE,    "narrower-scope",    "a template with a narrower scope was chosen") \
    X(AUTOMATION_DISABLED, "automation-disabled", "the automation that it runs was disabled") \
    X(RUN_CREATE_FAILED, "run-create-failed", "the automation that it runs was not there") \
    X(OTHER_KIND,        "other-kind",        "the trigger listens to another kind of events: only where it is tried out")
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

// DecisionPack is misses being packed, DECISION_MISSES_MAX at most.
typedef struct DecisionPack {
    Buf bytes;
    Miss last;        // of the group that is open
    bool is_open;     // there is one
    int64_t gap;      // between the last two; it is not written yet
    uint64_t repeats; // of the same gap
} DecisionPack;

// decision_begin goes on with what was packed; none: it begins anew. decision_end returns all of
// it, which lies in the arena; none where there is nothing.
DecisionPack decision_begin(Arena *arena, Str packed);
void decision_add(DecisionPack *pack, const Miss *miss);

// decision_add_run adds so many rules, each the gap behind the one before, that say the same and
// hold nothing: whatever their number, it takes as long as two.
void decision_add_run(DecisionPack *pack, const Miss *first, int64_t gap, size_t count);
Str decision_end(DecisionPack *pack);

// decision_unpack reads them back, in their order. Bytes that were not packed here are ERR_CORRUPT.
Err decision_unpack(Arena *arena, Str facts, Miss **ret, size_t *ret_count, Error *error) MUST_USE;
