// schedule.h - which occurrences of a schedule become runs, and which are passed over. Pure.
//
// Whoever fires looks at a schedule when its next occurrence falls due, or as soon after that as
// there is somebody to look. What has fallen due by then is judged twice:
//
//   missed    of several, the newest alone is on time, and that for SCHEDULE_GRACE; for the others
//             nobody was there. "skip" passes them over; "once" makes the newest, however late;
//             "all" makes every one, the newest SCHEDULE_MADE_MAX at most. What is older than the
//             schedule's window is passed over by any of them.
//   overlap   a run of before has not ended, be it that nobody has claimed it yet: "allow" is not
//             held back by that; "skip" passes over what is left; "queue" keeps the newest of it,
//             which is made when the run has ended. What is made together does not hold itself
//             back: "all" means all.
//
// What is passed over is counted, up to SCHEDULE_COUNT_MAX at a look: a schedule of every second
// that nobody looked at for a year costs milliseconds. The search goes on from the last occurrence
// that was dealt with and never back, so a clock that is set back fires nothing twice; and it goes
// by what the zone says today, so an occurrence that new tzdata has moved is due where it is now.
#pragma once

#include "domain/job.h"

enum {
    SCHEDULE_MADE_MAX = 1000,     // that "all" makes at a look
    SCHEDULE_COUNT_MAX = 10000,   // that are counted at a look
    SCHEDULE_BACKFILL_MAX = 1000, // that a person has made at once
};

#define SCHEDULE_GRACE (5 * SPAN_SECOND)

// ScheduleState is how far a schedule has come.
typedef struct ScheduleState {
    Instant last_for;   // the last occurrence that was dealt with, or when the schedule was made
    Instant queued_for; // the occurrence that waits for a run to end; INSTANT_NONE
    bool is_running;    // a run of it has not ended
} ScheduleState;

// SchedulePlan is what becomes of it.
typedef struct SchedulePlan {
    const Instant *made; // the occurrences that become runs, in order
    size_t made_count;
    int64_t missed;                        // passed over: too late …
    int64_t skipped;                       // … or because a run had not ended
    Instant passed_for;                    // the last of those; INSTANT_NONE
    Instant last_for, queued_for, next_at; // from now on; next_at is INSTANT_NONE where none comes
} SchedulePlan;

SchedulePlan schedule_plan(Arena *arena, const JobSchedule *schedule, const ScheduleState *state,
                           Instant now);

// schedule_next is the first occurrence after an instant; INSTANT_NONE where none comes.
Instant schedule_next(const JobSchedule *schedule, Instant after);

// schedule_between lists the occurrences from one instant on and before another, max at most.
size_t schedule_between(const JobSchedule *schedule, Instant from, Instant before, size_t max,
                        Instant *ret);
