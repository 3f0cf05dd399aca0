// decision.h - what did not become a delivery, and why, of each event.
//
// It stands in the event's own row, which is written once: a row for every event beside it would
// cost as much as its key in the dedup table. Where an event is decided anew, a row of its own
// holds in its place.
#pragma once

#include "domain/decision.h"
#include "store/rule.h"
#include "store/tx.h"

// decision_facts packs all that rules made of an event without making a delivery: what was known
// when it was decided, packed, and what turned out when its keys were taken. None: there is
// nothing.
Str decision_facts(Arena *arena, Str missed, const Miss *misses, size_t count);

// DecisionRow is what holds of an event that was decided anew.
typedef struct DecisionRow {
    int64_t tenant;
    Uuid event;
    Str facts;
} DecisionRow;

void decision_renew(Tx *tx, const DecisionRow *rows, size_t count);

// DECISION_HELD is what holds, of an event e; DECISION_ANEW what it takes for that.
#define DECISION_HELD "COALESCE(d.facts, e.decided)"
#define DECISION_ANEW " LEFT JOIN decision d ON d.tenant = e.tenant AND d.event = e.id"

// decision_of_event reads what did not become a delivery of one event. decision_names gives the
// names of their rules, none where one is gone.
Err decision_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, Miss **ret,
                      size_t *ret_count, Error *error) MUST_USE;
Err decision_names(Db *db, Arena *arena, int64_t tenant, const Miss *misses, size_t count,
                   RuleName *ret, Error *error) MUST_USE;

extern const Statement *const decision_statements[]; // ends with NULL
