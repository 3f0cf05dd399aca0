#include "domain/backoff.h"

#include "domain/members.h"

#define EXPONENTIAL_CEILING SPAN_DAY
#define PROPORTIONAL_FLOOR ((Span) 10 * SPAN_SECOND)
#define PROPORTIONAL_CEILING SPAN_HOUR
enum { PROPORTIONAL_PARTS = 10, RETRIES_MAX = 1000 };

static const RetryPolicy defaults[] = {
    [RETRY_EXPONENTIAL] = { .kind = RETRY_EXPONENTIAL, .interval = SPAN_MINUTE, .max = 5 },
    [RETRY_FIXED] = { .kind = RETRY_FIXED, .interval = SPAN_MINUTE, .max = 5 },
    [RETRY_PROPORTIONAL] = { .kind = RETRY_PROPORTIONAL, .max = 3 },
};
_Static_assert(ARRAY_LEN(defaults) == TABLE_ROWS(RETRY_POLICY_TABLE), "a default for each policy");

static const char *const policies[] = {
#define RETRY_TEXT(name, text) [RETRY_##name] = text,
    RETRY_POLICY_TABLE(RETRY_TEXT)
#undef RETRY_TEXT
};

RetryPolicy retry_default(void)
{
    return defaults[RETRY_EXPONENTIAL];
}

static bool find_policy(Str text, RetryKind *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        if (str_eq(text, str_from(policies[i]))) {
            *ret = (RetryKind) i;
            return true;
        }
    }
    return false;
}

void retry_parse(const Json *source, Str pointer, RetryPolicy *ret, Error *error)
{
    static const char *const known[] = { "policy", "interval", "max", "giveUpAfter" };
    Error own = { 0 };
    Members members = members_open(source, pointer, error ? error : &own);
    if (!members_check(&members, known, ARRAY_LEN(known)))
        return;

    Str policy = STR_NONE;
    RetryKind kind = RETRY_EXPONENTIAL;
    members_need(&members, "policy");
    members_text(&members, "policy", 20, &policy);
    if (policy.at && !find_policy(policy, &kind))
        members_note(&members, S("policy"), "bad-value",
                     "\"%.*s\" is not a policy; use one of exponential fixed proportional",
                     STR_ARG(policy));

    RetryPolicy read = defaults[kind];
    members_span(&members, "interval", SPAN_SECOND, 30 * SPAN_DAY, &read.interval);
    members_int(&members, "max", 0, RETRIES_MAX, &read.max);
    members_span(&members, "giveUpAfter", SPAN_SECOND, 365 * SPAN_DAY, &read.give_up_after);
    if (members.error->count == members.before)
        *ret = read;
}

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
        return proportional(later(original_delay, 0), retry);
    }
    assert(!"there is no other policy");
    return 0;
}
