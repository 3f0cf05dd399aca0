// job.h - how jobs and automations stand, for their list: the last run that was tried, and how many
// wait for a person.
//
// The runs of a job are its own; an automation's are those of the triggers that run it, too. Who
// asks says whose runs count for what, a JobRule each.
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
    Uuid last; // its run that was tried last; the others are of that
    JobResult result;
    Instant last_run_at; // when its last try began; INSTANT_NONE
    int64_t dead;
} JobState;

// JobRule is a rule whose runs count for one of those that are looked at.
typedef struct JobRule {
    RuleKind kind;
    Str id;
    size_t row; // its number
} JobRule;

Err jobs_look(Db *db, Arena *arena, int64_t tenant, const JobRule *rules, size_t rule_count,
              JobState *rows, size_t count, Error *error) MUST_USE;

extern const Statement *const job_statements[]; // ends with NULL
