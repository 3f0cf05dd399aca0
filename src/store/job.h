// job.h - how jobs stand, for their list: the last run that was tried, and how many wait for a
// person.
//
// Both are looked up job by job, so that a list of ten thousand jobs with a million runs costs what
// its page holds: the newest of a job's runs are walked back to the first that was tried, past
// those which are still to come, and past JOB_LOOK_MAX of those no further.
#pragma once

#include "domain/job.h"
#include "store/db.h"

enum { JOB_LOOK_MAX = 20000 };

typedef struct JobState {
    Str name;

    // Results.
    JobResult result;
    Instant last_run_at; // when its last try began; INSTANT_NONE
    int64_t dead;
} JobState;

Err jobs_look(Db *db, Arena *arena, int64_t tenant, RuleKind kind, JobState *rows, size_t count,
              Error *error) MUST_USE;

extern const Statement *const job_statements[]; // ends with NULL
