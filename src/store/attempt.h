// attempt.h - the attempt log as it is read: per delivery, per event, and what was captured.
//
// Rows are written by a settle (queue.h), the last one of a delivery with its end.
#pragma once

#include "store/queue.h"
#include "store/walk.h"

typedef struct AttemptView {
    Uuid delivery;
    AttemptRow attempt;
    Str node; // the name of the node that made it, else its number; none
} AttemptView;

// AttemptKey is the place of one in the order of all: by delivery, then by number.
typedef struct AttemptKey {
    Uuid delivery;
    int number;
} AttemptKey;

// attempt_page reads the attempts of a delivery in their order.
Err attempt_page(Db *db, Arena *arena, int64_t tenant, Uuid delivery, const Walk *walk,
                 AttemptView **ret, Seen *ret_seen, Error *error) MUST_USE;

// attempt_of_event reads up to limit attempts of all deliveries of an event behind after (zero:
// from the first on), in their order.
Err attempt_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, AttemptKey after,
                     int64_t limit, AttemptView **ret, size_t *ret_count, Error *error) MUST_USE;

// Captured is a message that went nowhere: the attempt with all it takes to show what it sent.
typedef struct Captured {
    Promise promise;
    int number, send;
    Instant started_at;
    RuleKind rule_kind;
    Str rule_id, channel;
    Str event_kind, payload, recipient;
    Instant occurred_at;
} Captured;

// CapturedFilter says which; what is none does not restrict.
typedef struct CapturedFilter {
    bool has_delivery;
    Uuid delivery;
    Str channel;
    bool is_newest_first;
} CapturedFilter;

// captured_page reads them in their order, or against it.
Err captured_page(Db *db, Arena *arena, int64_t tenant, const CapturedFilter *filter,
                  const Walk *walk, Captured **ret, Seen *ret_seen, Error *error) MUST_USE;

extern const Statement *const attempt_statements[]; // ends with NULL
