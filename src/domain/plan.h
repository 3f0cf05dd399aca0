// plan.h - what is sent when, until answered: initial delay, reminders, expiry.
#pragma once

#include "domain/field.h"

enum { PLAN_REMINDERS_MAX = 50 };
#define PLAN_EXPIRE_AFTER_DEFAULT (30 * SPAN_DAY)

typedef struct Plan {
    Span initial_delay;
    const Span *reminders; // each counted from the send before it
    size_t reminder_count;
    bool await_answer;
    Span expire_after;
} Plan;

// plan_default sends at once, reminds of nothing and expires after PLAN_EXPIRE_AFTER_DEFAULT.
Plan plan_default(void);

// plan_shape reads {"initialDelay"?,"reminders"?} into a Plan. With reminders an answer is awaited.
extern const Shape plan_shape;

// plan_first_due is occurred_at (else received_at) plus the initial delay, or now if that is past.
Instant plan_first_due(const Plan *plan, Instant occurred_at, Instant received_at, Instant now);

// plan_next_due gives the reminder after a send at last_sent_at while remaining are left
// (index = total - remaining), or INSTANT_NONE when none is left.
Instant plan_next_due(const Plan *plan, int remaining, Instant last_sent_at);
