#include "domain/plan.h"

#include "base/time.h"
#include "domain/members.h"

void plan_parse(const Json *source, Str pointer, Plan *ret, Error *error)
{
    static const char *const known[] = { "initialDelay", "reminders" };
    Error own = { 0 };
    Members members = members_open(source, pointer, error ? error : &own);
    Plan plan = { .expire_after = PLAN_EXPIRE_AFTER_DEFAULT };

    if (source && members_check(&members, known, ARRAY_LEN(known))) {
        members_span(&members, "initialDelay", 0, DURATION_MAX, &plan.initial_delay);
        plan.reminder_count =
            (int) members_spans(&members, "reminders", PLAN_REMINDERS_MAX, plan.reminders);
    }
    plan.await_answer = plan.reminder_count > 0;
    if (members.error->count == members.before)
        *ret = plan;
}

Instant plan_first_due(const Plan *plan, Instant occurred_at, Instant received_at, Instant now)
{
    Instant from = occurred_at != INSTANT_NONE ? occurred_at : received_at;
    return later(from + plan->initial_delay, now);
}

Instant plan_next_due(const Plan *plan, int remaining, Instant last_sent_at)
{
    int index = plan->reminder_count - remaining;
    if (remaining <= 0 || index < 0)
        return INSTANT_NONE;
    return last_sent_at + plan->reminders[index];
}
