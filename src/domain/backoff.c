#include "domain/backoff.h"

#define EXPONENTIAL_CEILING SPAN_DAY
#define PROPORTIONAL_FLOOR ((Span) 10 * SPAN_SECOND)
#define PROPORTIONAL_CEILING SPAN_HOUR
enum { PROPORTIONAL_PARTS = 10, RETRIES_MAX = 1000 };

// clang-format off
static const RetryPolicy defaults[] = {
    [RETRY_EXPONENTIAL]  = { RETRY_EXPONENTIAL,  .interval = SPAN_MINUTE, .max = 5, .unclassified_max = 1 },
    [RETRY_FIXED]        = { RETRY_FIXED,        .interval = SPAN_MINUTE, .max = 5, .unclassified_max = 1 },
    [RETRY_PROPORTIONAL] = { RETRY_PROPORTIONAL, .max = 3, .unclassified_max = 1 },
};
// clang-format on
_Static_assert(ARRAY_LEN(defaults) == TABLE_ROWS(RETRY_POLICY_TABLE), "a default for each policy");

static const char *const policies[] = {
#define RETRY_TEXT(name, text) [RETRY_##name] = text,
    RETRY_POLICY_TABLE(RETRY_TEXT)
#undef RETRY_TEXT
        NULL,
};

RetryPolicy retry_default(void)
{
    return defaults[RETRY_EXPONENTIAL];
}

// fill_in gives what was left out the policy's own default.
static void fill_in(const Members *members, void *value)
{
    RetryPolicy *policy = value;
    if (!policy || members->error->count > members->before)
        return;
    if (!members_get(members, "interval"))
        policy->interval = defaults[policy->kind].interval;
    if (!members_get(members, "max"))
        policy->max = defaults[policy->kind].max;
    if (!members_get(members, "unclassified"))
        policy->unclassified_max = defaults[policy->kind].unclassified_max;
}

// clang-format off
#define AT(member) .offset = offsetof(RetryPolicy, member)
static const Field fields[] = {
    { "policy", FIELD_WORD, FIELD_NEEDED, AT(kind), .words = policies, .noun = "a policy",
      .help = "how the wait grows: doubled each time, the same, or a tenth of the original delay" },
    { "interval", FIELD_SPAN, AT(interval), .min = SPAN_SECOND, .max = 30 * SPAN_DAY,
      .help = "the first wait; 1m unless said" },
    { "max", FIELD_INT, AT(max), .min = 0, .max = RETRIES_MAX,
      .help = "retries after the first try; 5 unless said, 3 with proportional" },
    { "giveUpAfter", FIELD_SPAN, AT(give_up_after), .min = SPAN_SECOND, .max = 365 * SPAN_DAY,
      .help = "no retry later than this after the first try was due" },
    { "unclassified", FIELD_INT, AT(unclassified_max), .min = 0, .max = RETRIES_MAX,
      .help = "retries after an answer that Peal does not know; 1 unless said" },
};
// clang-format on

const Shape retry_shape = {
    "Retry",
    SHAPE_ROWS(fields),
    .size = sizeof(RetryPolicy),
    .check = fill_in,
};

static Span exponential(Span interval, int retry, double jitter)
{
    // An interval longer than the ceiling was asked for, and is kept.
    Span ceiling = later(EXPONENTIAL_CEILING, interval);
    Span wait = interval;
    for (int i = 1; i < retry && wait < ceiling; i++)
        wait = earlier(wait * 2, ceiling);
    return wait + (Span) ((double) wait / 10 * jitter);
}

static Span proportional(Span original_delay, int retry)
{
    // The comparison is a division, for the product of a long delay and a high retry overflows.
    if (original_delay > 0 && retry > PROPORTIONAL_CEILING * PROPORTIONAL_PARTS / original_delay)
        return PROPORTIONAL_CEILING;
    return later(original_delay * retry / PROPORTIONAL_PARTS, PROPORTIONAL_FLOOR);
}

Span backoff_delay(const RetryPolicy *policy, int retry, Span original_delay, double jitter)
{
    assert(retry >= 1);
    assert(jitter >= 0 && jitter <= 1);
    switch (policy->kind) {
    case RETRY_EXPONENTIAL:
        return exponential(policy->interval, retry, jitter);
    case RETRY_FIXED:
        return policy->interval;
    case RETRY_PROPORTIONAL:
        original_delay = policy->is_measured ? policy->original_delay : original_delay;
        return proportional(later(original_delay, 0), retry);
    }
    assert(!"there is no other policy");
    return 0;
}
