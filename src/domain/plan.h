// plan.h - what is sent when, until answered: initial delay, reminders, expiry.
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/json.h"

enum { PLAN_REMINDERS_MAX = 50 };
#define PLAN_EXPIRE_AFTER_DEFAULT (30 * SPAN_DAY)

typedef struct Plan {
    Span initial_delay;
    int reminder_count;
    Span reminders[PLAN_REMINDERS_MAX]; // each counted from the send before it
    bool await_answer;
    Span expire_after;
} Plan;

// plan_parse reads {"initialDelay"?,"reminders"?} lying at pointer.
void plan_parse(const Json *source, Str pointer, Plan *ret, Error *error);

// plan_first_due is occurred_at (else received_at) plus the initial delay, or now if that is past.
Instant plan_first_due(const Plan *plan, Instant occurred_at, Instant received_at, Instant now);

// plan_next_due gives the reminder after a send at last_sent_at while remaining are left
// (index = total - remaining), or INSTANT_NONE when none is left.
Instant plan_next_due(const Plan *plan, int remaining, Instant last_sent_at);
