// rule.h - the numbers of rules (domain/rule.h).
#pragma once

#include "domain/rule.h"
#include "store/tx.h"

// RULE_DEFINITION_SQL is the kind of definition that a row r of table rule is one of; NULL for
// none. RULE_NUMBER_SQL is the kind of rule that a row d of table definition is; NULL for none.
#define RULE_DEFINITION_SQL                                                                        \
    "CASE r.kind WHEN 0 THEN 'trigger' WHEN 1 THEN 'template' WHEN 3 THEN 'subscriber' WHEN 4 "    \
    "THEN 'job' WHEN 5 THEN 'list' WHEN 8 THEN 'automation' END"
#define RULE_NUMBER_SQL                                                                            \
    "CASE d.kind WHEN 'trigger' THEN 0 WHEN 'template' THEN 1 WHEN 'subscriber' THEN 3 WHEN "      \
    "'job' THEN 4 WHEN 'list' THEN 5 WHEN 'automation' THEN 8 END"
_Static_assert(RULE_TRIGGER == 0 && RULE_TEMPLATE == 1 && RULE_SUBSCRIBER == 3 && RULE_JOB == 4 &&
                   RULE_NOTIFY == 5 && RULE_AUTOMATION == 8,
               "the SQL names kinds by number");

// rule_ensure gives a name its number, once. Needs the lock of definitions (definition_lock).
Err rule_ensure(Tx *tx, int64_t tenant, RuleKind kind, Str id, Error *error) MUST_USE;

// rule_number is the number of a name; 0: it has none.
Err rule_number(Db *db, Arena *arena, int64_t tenant, RuleKind kind, Str id, int64_t *ret,
                Error *error) MUST_USE;

// rule_place gives a rule its number, and the channel that it goes by its lane, where they are 0:
// for names that a snapshot does not know. Only who names one first takes the lock.
Err rule_place(Tx *tx, Rule *rule, Str channel, Error *error) MUST_USE;

// rule_names tells what rules of a tenant are called, in the order of numbers; the id is none for a
// number that is no rule's.
typedef struct RuleName {
    RuleKind kind;
    Str id;
} RuleName;
Err rule_names(Db *db, Arena *arena, int64_t tenant, const int64_t *numbers, size_t count,
               RuleName *ret, Error *error) MUST_USE;

// rule_made counts the deliveries that a rule made from a moment on, up to limit.
Err rule_made(Db *db, Arena *arena, int64_t tenant, int64_t rule, Instant from, int64_t limit,
              int64_t *ret, Error *error) MUST_USE;

extern const Statement *const rule_statements[]; // ends with NULL
