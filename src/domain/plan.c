#include "domain/plan.h"

#include "base/time.h"

Plan plan_default(void)
{
    return (Plan){ .expire_after = PLAN_EXPIRE_AFTER_DEFAULT };
}

// await_reminded: whoever is reminded is asked for something.
static void await_reminded(const Members *members, void *value)
{
    Plan *plan = value;
    if (plan && members->error->count == members->before)
        plan->await_answer = plan->reminder_count > 0;
}

static const Field reminder = { NULL, FIELD_SPAN, .min = 0, .max = DURATION_MAX };

// clang-format off
#define AT(member) .offset = offsetof(Plan, member)
static const Field fields[] = {
    { "initialDelay", FIELD_SPAN, AT(initial_delay), .min = 0, .max = DURATION_MAX,
      .help = "from when the event occurred to the first send" },
    { "reminders", FIELD_LIST, AT(reminders), .count = offsetof(Plan, reminder_count),
      .min = 0, .max = PLAN_REMINDERS_MAX, .of = &reminder,
      .help = "each counted from the send before it" },
};
// clang-format on

const Shape plan_shape = {
    "Schedule",
    SHAPE_ROWS(fields),
    .size = sizeof(Plan),
    .check = await_reminded,
};

Instant plan_first_due(const Plan *plan, Instant occurred_at, Instant received_at, Instant now)
{
    Instant from = occurred_at != INSTANT_NONE ? occurred_at : received_at;
    return later(from + plan->initial_delay, now);
}

Instant plan_next_due(const Plan *plan, int remaining, Instant last_sent_at)
{
    int index = (int) plan->reminder_count - remaining;
    if (remaining <= 0 || index < 0)
        return INSTANT_NONE;
    return last_sent_at + plan->reminders[index];
}
