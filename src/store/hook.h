// hook.h - where the webhooks of a tenant's sources come: no two sources listen at one path.
//
// A path is its source's as long as that is not deleted and does not choose another one. What
// listens where, a request is told by the registry (registry_hook).
#pragma once

#include "store/tx.h"

// hook_path_check fails with ERR_CONFLICT where another source has the path; it takes the lock on
// definitions, so that hook_path_take, which gives it to one in place of the path that it had, may
// follow when the source is saved. hook_path_drop takes it away.
Err hook_path_check(Tx *tx, int64_t tenant, Str source, Str path, Error *error) MUST_USE;
void hook_path_take(Tx *tx, int64_t tenant, Str source, Str path);
void hook_path_drop(Tx *tx, int64_t tenant, Str source);

extern const Statement *const hook_statements[]; // ends with NULL
