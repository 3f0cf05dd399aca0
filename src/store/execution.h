// execution.h - the executions of a job: the attempts of its runs (attempt.h), one row per try, the
// newest first, and those that go on now.
//
// They are told along the runs of the rule, newest made first: a page costs the same at any number
// of them, and runs that were not tried yet are passed over (walk.h). What the definition has
// become meanwhile does not matter: they are there for as long as the runs are (docs/retention.md).
#pragma once

#include "store/progress.h"
#include "store/queue.h"
#include "store/walk.h"

typedef struct Execution {
    Uuid delivery;
    int number; // of the attempt
    Str entity; // none
    Str source; // of the run's event; none: it got lost
    bool is_backfill;
    Instant scheduled_for;
    Instant started_at;
    Instant finished_at; // INSTANT_NONE: it goes on
    Outcome outcome;     // once it is finished
    const Progress *progress;
    size_t progress_count;
} Execution;

// execution_page reads those of a rule, by its number, with what they said while they ran.
Err execution_page(Db *db, Arena *arena, int64_t tenant, int64_t rule, const Walk *walk,
                   Execution **ret, Seen *ret_seen, Error *error) MUST_USE;

extern const Statement *const execution_statements[]; // ends with NULL
