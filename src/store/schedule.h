// schedule.h - the schedules of jobs and automations: how far each has come, and when it is to be
// looked at next.
//
// There is a row for each cron expression of a definition. It follows the definition in the same
// transaction (schedule_follow): a new or changed expression counts from now, one that says the
// same is not disturbed; one that is switched off keeps its row, which is never due, and counts
// from when it is switched on again. So what falls meanwhile is not made up.
//
// A look costs what is due, however many there are: rows are found by next_at. Where more are due
// than one look takes, each tenant that has any gets its share: fifty thousand schedules of one
// tenant hold up nobody else's. On PostgreSQL a row belongs to whoever looks at it until his
// transaction ends, and others pass it by.
#pragma once

#include "domain/schedule.h"
#include "store/tx.h"

typedef struct ScheduleRow {
    int64_t tenant, rule;
    Str name;           // empty: the job's own
    int64_t version;    // of the definition
    Instant next_at;    // when it is to be looked at; INSTANT_NONE: never
    Instant last_for;   // as in ScheduleState
    Instant queued_for; // likewise
    Uuid run;           // the oldest that it, or a person, made and that may go on; none
    Str fault;          // why it does not fire; none: it does

    bool has_run;
    bool is_running;         // that one, or one made since, has not ended
    int64_t missed, skipped; // to settle: so many more
    Instant passed_for;      // the last of them; INSTANT_NONE
} ScheduleRow;

// schedule_follow has the rows of a job or automation say what its definition does, which was just
// saved; schedule_retire takes them away. Both need the lock of definitions.
Err schedule_follow(Tx *tx, int64_t tenant, const Trigger *saved, Error *error) MUST_USE;
Err schedule_retire(Tx *tx, int64_t tenant, RuleKind kind, Str id, Error *error) MUST_USE;

// schedules_take takes those that are to be looked at now, max at most or one of each tenant; there
// may be more where it is_cut.
typedef struct SchedulesTaken {
    ScheduleRow *rows; // by tenant
    size_t count;
    bool is_cut;
} SchedulesTaken;
Err schedules_take(Tx *tx, size_t max, SchedulesTaken *ret, Error *error) MUST_USE;

// schedules_carry_back has those count from now that a clock which ran ahead has carried further
// than SCHEDULE_AHEAD: they would wait until that time comes. It looks at all. What had its run
// keeps it, for an occurrence is known by its identity.
#define SCHEDULE_AHEAD SPAN_MINUTE
void schedules_carry_back(Tx *tx);

// schedules_settle writes how far taken rows have come.
void schedules_settle(Tx *tx, const ScheduleRow *rows, size_t count);

// schedules_due is when the first is to be looked at: sent with others, taken after the sync.
void schedules_due(Db *db, Arena *arena, Rows *ret);
Instant schedules_due_take(const Rows *rows);

// schedule_ran notes a run that a person asked for: while it goes on, occurrences overlap with it.
void schedule_ran(Tx *tx, int64_t tenant, int64_t rule, Uuid run);

// schedules_ended tells of runs that ended: an occurrence that waited for one is due, and waits on
// where others go on.
typedef struct ScheduleEnd {
    int64_t tenant, rule;
} ScheduleEnd;
Err schedules_ended(Tx *tx, const ScheduleEnd *ends, size_t count, Error *error) MUST_USE;

// ScheduleSum is how the schedules of a rule stand, all together.
typedef struct ScheduleSum {
    Str id; // given

    // Results.
    int64_t missed, skipped; // since the schedules were made
    Instant passed_for;      // the last of those; INSTANT_NONE
    Str fault;               // of one that does not fire; none
} ScheduleSum;
Err schedules_look(Db *db, Arena *arena, int64_t tenant, RuleKind kind, ScheduleSum *rows,
                   size_t count, Error *error) MUST_USE;

extern const Statement *const schedule_statements[]; // ends with NULL
