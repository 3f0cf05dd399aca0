// session.h - a browser's sign-in: a key of a key. It is a row among the keys (store/key.h) whose
// parent is the key it was opened with. It has the rights that its key has by now, and ends with it
// (store/registry.h), when it is closed, or after SESSION_LIFE. Its secret is kept as a hash, as a
// key's is.
//
// A key has SESSIONS_MAX at most: one more closes the oldest. What has ended is kept for
// SESSION_KEPT, so that the audit can name it, and then deleted: no snapshot can have it as open by
// then, for it would have expired there.
#pragma once

#include "store/key.h"

#define SESSION_LIFE ((Span) 12 * SPAN_HOUR)
#define SESSION_KEPT SPAN_DAY
enum { SESSIONS_MAX = 100 };

// session_open opens a session of a key that was found under definition_lock().
Err session_open(Tx *tx, const Key *key, Str text, Key *ret, Error *error) MUST_USE;

// session_close closes one, session_close_all those of a key; session_shorten has them end no later
// than it. All under definition_lock().
Err session_close(Tx *tx, const Key *session, Error *error) MUST_USE;
Err session_close_all(Tx *tx, int64_t tenant, const Uuid *key, Error *error) MUST_USE;
void session_shorten(Tx *tx, const Key *key);

// session_purge lets snapshots forget those that expired, and deletes what ended long enough ago.
Err session_purge(Tx *tx, int64_t limit, int64_t *ret_gone, Error *error) MUST_USE;

extern const Statement *const session_statements[]; // ends with NULL
