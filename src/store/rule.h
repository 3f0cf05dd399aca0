// rule.h - the numbers of rules (domain/rule.h).
#pragma once

#include "domain/rule.h"
#include "store/tx.h"

// rule_ensure gives a name its number, once. Needs the lock of definitions (definition_lock).
Err rule_ensure(Tx *tx, int64_t tenant, RuleKind kind, Str id, Error *error) MUST_USE;

// rule_names tells what rules of a tenant are called, in the order of numbers; none for a number
// that is no rule's.
Err rule_names(Db *db, Arena *arena, int64_t tenant, const int64_t *numbers, size_t count, Str *ret,
               Error *error) MUST_USE;

extern const Statement *const rule_statements[]; // ends with NULL
