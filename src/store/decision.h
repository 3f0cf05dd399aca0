// decision.h - what did not become a delivery, and why: filtered, duplicate, disabled, failed.
#pragma once

#include "domain/trigger.h"
#include "store/tx.h"

typedef struct DecisionRow {
    int64_t tenant;
    Uuid event;
    Str trigger_id;
    int64_t trigger_version;
    DecisionKind kind;
    DecisionReason reason;
    int leaf;      // of the filter that decided; -1 for none
    Uuid delivery; // that holds the key, for duplicates; zero for none
} DecisionRow;

void decision_insert(Tx *tx, const DecisionRow *rows, size_t count);

// decision_of_event reads what did not become a delivery of one event.
Err decision_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, DecisionRow **ret,
                      size_t *ret_count, Error *error) MUST_USE;

extern const Statement *const decision_statements[]; // ends with NULL
