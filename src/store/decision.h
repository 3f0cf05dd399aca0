// decision.h - what did not become a delivery, and why: one row for each event, if there is any.
#pragma once

#include "domain/decision.h"
#include "store/rule.h"
#include "store/tx.h"

// DecisionRow is all that rules made of an event without making a delivery: what was known when it
// was decided, packed, and what turned out when its keys were taken.
typedef struct DecisionRow {
    int64_t tenant;
    Uuid event;
    Str missed;
    const Miss *misses;
    size_t count;
} DecisionRow;

void decision_insert(Tx *tx, const DecisionRow *rows, size_t count);

// decision_of_event reads what did not become a delivery of one event. decision_names gives the
// names of their rules, none where one is gone.
Err decision_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, Miss **ret,
                      size_t *ret_count, Error *error) MUST_USE;
Err decision_names(Db *db, Arena *arena, int64_t tenant, const Miss *misses, size_t count,
                   RuleName *ret, Error *error) MUST_USE;

extern const Statement *const decision_statements[]; // ends with NULL
