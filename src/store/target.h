// target.h - the targets of deliveries that have several, a row each (domain/target.h).
//
// Rows are made with their delivery, read with its claim and written with its settle, each for all
// deliveries of the transaction at once. A delivery without rows has the one target of its promise.
#pragma once

#include "domain/target.h"
#include "store/tx.h"

// TargetRow is one row.
typedef struct TargetRow {
    int64_t tenant;
    Uuid delivery;
    Target target;
    Instant told_at; // INSTANT_NONE: nothing was told yet
} TargetRow;

// target_insert makes the rows of new deliveries: at most TARGETS_MAX each, counted from 1.
void target_insert(Tx *tx, const TargetRow *rows, size_t count);

// TargetsOf are the targets of one delivery, as a claim needs them: without what the far side said.
typedef struct TargetsOf {
    int64_t tenant, index; // index: private
    Uuid delivery;
    Target *targets; // result, by n
    size_t count;    // result; 0: it has no rows
} TargetsOf;

// targets_load reads them for many deliveries, in one statement.
Err targets_load(Tx *tx, Arena *arena, TargetsOf *of, size_t count, Error *error) MUST_USE;

// target_tell writes what became of targets.
void target_tell(Tx *tx, const TargetRow *rows, size_t count);

// target_list reads the rows of one delivery.
Err target_list(Db *db, Arena *arena, int64_t tenant, Uuid delivery, TargetRow **ret,
                size_t *ret_count, Error *error) MUST_USE;

extern const Statement *const target_statements[]; // ends with NULL
