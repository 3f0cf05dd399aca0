// idempotency.h - the same request twice, done once: the answer is kept with the work, in the same
// transaction.
//
// idempotency_begin() takes the key. When it was taken before by the same request, the answer of
// then is in *ret; by another request: ERR_KEY_REUSED. Whoever took it anew ends with
// idempotency_finish() when there is an answer to keep, or idempotency_cancel() when there is none,
// so that a corrected request may use the key. Requests that are written in one set may meet the
// key of one before them that has no answer yet (is_under_way): they begin again after its end.
//
// A key stands for its request for 24 hours. After that its row counts for nothing: whoever comes
// next takes it over, and idempotency_purge() deletes what nobody came for.
#pragma once

#include "base/crypto.h"
#include "store/tx.h"

enum { IDEMPOTENCY_KEY_MAX = 200 };
#define IDEMPOTENCY_SPAN SPAN_DAY

typedef struct Idempotency {
    bool is_repeat;
    bool is_under_way; // in this very transaction
    int status;        // of the answer to give again
    Str body;          // in the transaction's arena
} Idempotency;

Err idempotency_begin(Tx *tx, int64_t tenant, Str key, const Sha256 *request, Idempotency *ret,
                      Error *error) MUST_USE;
// idempotency_look only looks; where nobody has taken the key it is no repeat.
Err idempotency_look(Db *db, Arena *arena, int64_t tenant, Str key, const Sha256 *request,
                     Instant now, Idempotency *ret, Error *error) MUST_USE;
void idempotency_finish(Tx *tx, int64_t tenant, Str key, int status, Str body);
void idempotency_cancel(Tx *tx, int64_t tenant, Str key);
// idempotency_purge deletes up to limit keys whose time is over, the oldest first, and counts them.
Err idempotency_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const idempotency_statements[]; // ends with NULL
