#include "domain/schedule.h"

// Due is what has fallen due: the occurrences that are not passed over yet, in order.
typedef struct Due {
    Instant *at;
    size_t count;
} Due;

Instant schedule_next(const JobSchedule *schedule, Instant after)
{
    return cron_next(&schedule->cron, schedule->zone, after, false);
}

// count_up lists the occurrences after one instant and up to another, max at most; ret may be NULL.
static size_t count_up(const JobSchedule *schedule, Instant after, Instant until, size_t max,
                       Instant *ret)
{
    size_t count = 0;
    Instant at = schedule_next(schedule, after);
    for (; count < max && at != INSTANT_NONE && at <= until; at = schedule_next(schedule, at)) {
        if (ret)
            ret[count] = at;
        count++;
    }
    return count;
}

size_t schedule_between(const JobSchedule *schedule, Instant from, Instant before, size_t max,
                        Instant *ret)
{
    return count_up(schedule, from - 1, before - 1, max, ret);
}

// begin_of is an instant after which as many occurrences come up to now as are wanted, or not twice
// as many; where there are fewer in all, it is after. Occurrences are a second apart and more, so
// that halving finds one, and however many there are few of them are looked at.
static Instant begin_of(const JobSchedule *schedule, Instant after, Instant now, size_t wanted)
{
    Instant far = after, near = now;
    size_t many = 2 * wanted;
    if (count_up(schedule, after, now, many, NULL) < many)
        return after;
    for (;;) {
        Instant at = far + (near - far) / 2;
        size_t count = count_up(schedule, at, now, many, NULL);
        if (count >= many)
            far = at;
        else if (count < wanted)
            near = at;
        else
            return at;
    }
}

// newest lists the last occurrences after an instant and up to now, max at most.
static Due newest(Arena *arena, const JobSchedule *schedule, Instant after, Instant now, size_t max)
{
    Due due = { .at = ARENA_ARRAY(arena, Instant, 2 * max) };
    Instant begin = begin_of(schedule, after, now, max);
    assert(due.at && max > 0);
    due.count = count_up(schedule, begin, now, 2 * max, due.at);
    if (due.count > max) {
        due.at += due.count - max;
        due.count = max;
    }
    return due;
}

// oldest_wanted is the instant from which on what is late is still made.
static Instant oldest_wanted(const JobSchedule *schedule, Instant now)
{
    if (schedule->missed == JOB_MISSED_SKIP)
        return now - SCHEDULE_GRACE;
    if (schedule->missed_window == 0)
        return ZONE_PAST;
    return now - later(schedule->missed_window, SCHEDULE_GRACE);
}

// pass_missed finds what is due and judges how late it is; what is too late is counted.
static Due pass_missed(Arena *arena, const JobSchedule *schedule, Instant last_for, Instant now,
                       SchedulePlan *plan)
{
    size_t max = schedule->missed == JOB_MISSED_ALL ? SCHEDULE_MADE_MAX : 1;
    Instant after = later(last_for, oldest_wanted(schedule, now) - 1);
    Due due = newest(arena, schedule, after, now, max);
    Instant until = due.count > 0 ? due.at[0] - 1 : now;
    plan->missed = (int64_t) count_up(schedule, last_for, until, SCHEDULE_COUNT_MAX, NULL);
    plan->last_for = last_for;
    if (plan->missed > 0) {
        Due last = newest(arena, schedule, last_for, until, 1);
        assert(last.count == 1); // it was counted
        plan->last_for = plan->passed_for = last.at[0];
    }
    if (due.count > 0)
        plan->last_for = due.at[due.count - 1];
    return due;
}

static void make(SchedulePlan *plan, const Due *due)
{
    plan->made = due->at;
    plan->made_count = due->count;
}

// keep lets the newest of what is due wait; the others, and what waited before, are passed over.
static void keep(SchedulePlan *plan, const Due *due)
{
    if (due->count == 0)
        return;
    Instant before = due->count > 1 ? due->at[due->count - 2] : plan->queued_for;
    plan->skipped = (int64_t) due->count - 1 + (plan->queued_for != INSTANT_NONE);
    plan->passed_for = plan->skipped > 0 ? before : plan->passed_for;
    plan->queued_for = due->at[due->count - 1];
}

// let_wait makes what waited, once nothing runs any more; what is due waits in its stead.
static void let_wait(Arena *arena, SchedulePlan *plan, bool is_running, const Due *due)
{
    if (is_running) {
        keep(plan, due);
    } else if (plan->queued_for == INSTANT_NONE) {
        make(plan, due);
    } else {
        Instant *first = ARENA_NEW(arena, Instant);
        *first = plan->queued_for;
        plan->queued_for = INSTANT_NONE;
        make(plan, &(Due){ first, 1 });
        keep(plan, due);
    }
}

static void skip(SchedulePlan *plan, const Due *due)
{
    plan->skipped = (int64_t) due->count;
    plan->passed_for = due->count > 0 ? due->at[due->count - 1] : plan->passed_for;
}

// forget_waiting passes over what waited under another policy.
static void forget_waiting(SchedulePlan *plan)
{
    if (plan->queued_for == INSTANT_NONE)
        return;
    plan->skipped++;
    if (plan->passed_for == INSTANT_NONE)
        plan->passed_for = plan->queued_for;
    plan->queued_for = INSTANT_NONE;
}

SchedulePlan schedule_plan(Arena *arena, const JobSchedule *schedule, const ScheduleState *state,
                           Instant now)
{
    SchedulePlan plan = { .passed_for = INSTANT_NONE, .queued_for = state->queued_for };
    Due due = pass_missed(arena, schedule, state->last_for, now, &plan);
    plan.next_at = schedule_next(schedule, later(plan.last_for, now));
    switch (schedule->overlap) {
    case JOB_OVERLAP_QUEUE:
        let_wait(arena, &plan, state->is_running, &due);
        return plan;
    case JOB_OVERLAP_SKIP:
        (state->is_running ? skip : make)(&plan, &due);
        break;
    case JOB_OVERLAP_ALLOW:
        make(&plan, &due);
        break;
    }
    forget_waiting(&plan);
    return plan;
}
