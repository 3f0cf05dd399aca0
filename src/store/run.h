// run.h - what runs were made of (domain/run.h), looked up when something becomes of them: a claim
// carries what it takes to send, and whoever ends a run needs to know who asked for it.
#pragma once

#include "domain/run.h"
#include "store/tx.h"

typedef struct RunRow {
    int64_t tenant;
    Uuid id;

    // Results.
    bool is_found; // it is one: else nothing below is known
    RuleKind kind;
    Str name; // of the job or automation
    Str entity;
    RunSource source;
    Instant scheduled_for;
    Instant made_at;
    int depth; // of its event (accept.h)
    Str trace, correlation_id;
} RunRow;

// runs_look looks up many, of any tenants.
Err runs_look(Tx *tx, RunRow *rows, size_t count, Error *error) MUST_USE;

extern const Statement *const run_statements[]; // ends with NULL
