// run.h - a run (domain/run.h) in the store: how one is made, by the one door, and what it was made
// of, looked up when something becomes of it: a claim carries what it takes to send, and whoever
// ends a run needs to know who asked for it.
//
// Whoever makes one (a schedule, a person, a deferral) makes it alike, inside his own transaction:
//
//     const Trigger *job;
//     TRY(run_rule(tx, arena, tenant, RULE_JOB, name, &job, error));
//     TRY(run_item(arena, job, &(Run){ .source = RUN_MANUAL, .due_at = tx->now }, &item, error));
//
//     TRY(runs_make(tx, arena, tenant, &item, 1, error));
//
// The delivery is the item's first pair's. The event is
// of kind "job" and says who asked (its source) and which moment it is for (occurredAt), before
// which the run is not due.
//
// Jobs go by name: one that nobody has defined gets its number all the same, with version 0 and no
// way to go, and its runs end as those without a handler do.
#pragma once

#include "domain/job.h"
#include "domain/run.h"
#include "store/accept.h"

typedef struct Run {
    RunSource source;
    Instant due_at;   // scheduled for; deferred: run at; by hand: now
    Str schedule;     // of an occurrence: by name; empty: the job's own
    bool is_backfill; // of an occurrence
    Str entity;       // none
    Str payload;      // JSON text of an object; none: the job's
} Run;

// run_rule finds the rule that a run is named by, as tx->registry has it: ready to make one,
// whether or not the job is enabled. It lives in the arena, or as long as the registry.
Err run_rule(Tx *tx, Arena *arena, int64_t tenant, RuleKind kind, Str name, const Trigger **ret,
             Error *error) MUST_USE;

// run_of makes that of a rule which the caller has found already; it must have its lane.
const Trigger *run_of(Arena *arena, const RegistryTrigger *known);

// run_item makes what the door takes. An occurrence has an identity, so that there is one run for
// it however many nodes fire it: its job, its moment and, where that has a name, its schedule.
Err run_item(Arena *arena, const Trigger *rule, const Run *run, AcceptItem *ret,
             Error *error) MUST_USE;

// runs_make has the door decide and write the items of runs, all of one tenant.
Err runs_make(Tx *tx, Arena *arena, int64_t tenant, AcceptItem *items, size_t count,
              Error *error) MUST_USE;

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
