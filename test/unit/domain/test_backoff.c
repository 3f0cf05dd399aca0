#include "domain/backoff.h"

#include "documents.h"

static void delays_follow_the_policy(void)
{
    static const struct {
        const char *name;
        RetryPolicy policy;
        int retry;
        Span original_delay;
        double jitter;
        Span expect;
    } cases[] = {
#define MINUTES(n) ((n) *SPAN_MINUTE)
#define EXPONENTIAL { .kind = RETRY_EXPONENTIAL, .interval = SPAN_MINUTE, .max = 5 }
#define FIXED                                                                                      \
    {                                                                                              \
        .kind = RETRY_FIXED, .interval = 30 * (Span) SPAN_SECOND, .max = 3                         \
    }
#define PROPORTIONAL                                                                               \
    {                                                                                              \
        .kind = RETRY_PROPORTIONAL, .max = 3                                                       \
    }
        { "exponential 1", EXPONENTIAL, 1, 0, 0, MINUTES(1) },
        { "exponential 2", EXPONENTIAL, 2, 0, 0, MINUTES(2) },
        { "exponential 3", EXPONENTIAL, 3, 0, 0, MINUTES(4) },
        { "exponential 4", EXPONENTIAL, 4, 0, 0, MINUTES(8) },
        { "exponential 5", EXPONENTIAL, 5, 0, 0, MINUTES(16) },
        { "the ceiling is a day", EXPONENTIAL, 12, 0, 0, SPAN_DAY },
        { "no overflow", EXPONENTIAL, INT32_MAX, 0, 0, SPAN_DAY },
        { "all of the jitter", EXPONENTIAL, 1, 0, 1, MINUTES(1) + 6 * SPAN_SECOND },
        { "half of the jitter", EXPONENTIAL, 2, 0, 0.5, MINUTES(2) + 6 * SPAN_SECOND },
        { "a long interval is kept",
          { .kind = RETRY_EXPONENTIAL, .interval = 3 * SPAN_DAY },
          4,
          0,
          0,
          3 * SPAN_DAY },
        { "fixed 1", FIXED, 1, 0, 0, 30 * SPAN_SECOND },
        { "fixed 1000", FIXED, 1000, 0, 0, 30 * SPAN_SECOND },
        { "no jitter on fixed", FIXED, 1, 0, 1, 30 * SPAN_SECOND },
        { "15 min, retry 1", PROPORTIONAL, 1, MINUTES(15), 0, 90 * SPAN_SECOND },
        { "15 min, retry 2", PROPORTIONAL, 2, MINUTES(15), 0, 180 * SPAN_SECOND },
        { "no jitter on proportional", PROPORTIONAL, 1, MINUTES(15), 1, 90 * SPAN_SECOND },
        { "48 h is cut to 60 min", PROPORTIONAL, 1, 48 * SPAN_HOUR, 0, SPAN_HOUR },
        { "10 h is 60 min", PROPORTIONAL, 1, 10 * SPAN_HOUR, 0, SPAN_HOUR },
        { "just below 60 min", PROPORTIONAL, 1, 10 * SPAN_HOUR - SPAN_SECOND, 0,
          SPAN_HOUR - SPAN_SECOND / 10 },
        { "never under 10 s", PROPORTIONAL, 1, 0, 0, 10 * SPAN_SECOND },
        { "a negative delay is none", PROPORTIONAL, 3, -SPAN_DAY, 0, 10 * SPAN_SECOND },
        { "no overflow here either", PROPORTIONAL, INT32_MAX, INT64_MAX, 0, SPAN_HOUR },
#undef MINUTES
#undef EXPONENTIAL
#undef FIXED
#undef PROPORTIONAL
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_AT(cases[i].name,
                 backoff_delay(&cases[i].policy, cases[i].retry, cases[i].original_delay,
                               cases[i].jitter) == cases[i].expect);
}

static void the_default_is_exponential_five_times(void)
{
    RetryPolicy policy = retry_default();
    CHECK(policy.kind == RETRY_EXPONENTIAL && policy.interval == SPAN_MINUTE && policy.max == 5);
    CHECK(policy.give_up_after == 0);
}

static void missing_members_take_the_policys_defaults(void)
{
    static const struct {
        const char *source;
        RetryPolicy expect;
    } cases[] = {
        { "{'policy':'exponential'}", { RETRY_EXPONENTIAL, SPAN_MINUTE, 5, 0, 1 } },
        { "{'policy':'fixed'}", { RETRY_FIXED, SPAN_MINUTE, 5, 0, 1 } },
        { "{'policy':'proportional'}", { RETRY_PROPORTIONAL, 0, 3, 0, 1 } },
        { "{'policy':'fixed','interval':'30s','max':3}",
          { RETRY_FIXED, 30 * (Span) SPAN_SECOND, 3, 0, 1 } },
        { "{'policy':'exponential','interval':'1m','max':0,'giveUpAfter':'3d','unclassified':2}",
          { RETRY_EXPONENTIAL, SPAN_MINUTE, 0, 3 * SPAN_DAY, 2 } },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        RetryPolicy policy = { 0 };
        fields_note(&arena, document(&arena, cases[i].source), S("/retry"), &retry_shape, &policy,
                    &error);
        CHECK_AT(cases[i].source, error.count == 0);
        CHECK_AT(cases[i].source, policy.kind == cases[i].expect.kind);
        CHECK_AT(cases[i].source, policy.interval == cases[i].expect.interval);
        CHECK_AT(cases[i].source, policy.max == cases[i].expect.max);
        CHECK_AT(cases[i].source, policy.give_up_after == cases[i].expect.give_up_after);
        CHECK_AT(cases[i].source, policy.unclassified_max == cases[i].expect.unclassified_max);
    }
}

static void a_bad_policy_is_refused_with_its_place(void)
{
    static const struct {
        const char *source, *path, *code;
    } cases[] = {
        { "{}", "/retry/policy", "missing-member" },
        { "{'policy':'sometimes'}", "/retry/policy", "bad-value" },
        { "{'policy':'fixed','max':-1}", "/retry/max", "bad-value" },
        { "{'policy':'fixed','max':1001}", "/retry/max", "bad-value" },
        { "{'policy':'fixed','interval':'0s'}", "/retry/interval", "bad-duration" },
        { "{'policy':'fixed','interval':'31d'}", "/retry/interval", "bad-duration" },
        { "{'policy':'fixed','giveUpAfter':'366d'}", "/retry/giveUpAfter", "bad-duration" },
        { "{'policy':'fixed','giveUpAfter':'never'}", "/retry/giveUpAfter", "bad-duration" },
        { "{'policy':'fixed','intervall':'1m'}", "/retry/intervall", "unknown-member" },
        { "'fixed'", "/retry", "bad-type" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        RetryPolicy policy = { .max = 77 };
        fields_note(&arena, document(&arena, cases[i].source), S("/retry"), &retry_shape, &policy,
                    &error);
        CHECK_AT(cases[i].source, error.count == 1);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, cases[i].code));
        CHECK_AT(cases[i].source, policy.max == 77);
    }
}

static const Test tests[] = {
    TEST(delays_follow_the_policy),
    TEST(the_default_is_exponential_five_times),
    TEST(missing_members_take_the_policys_defaults),
    TEST(a_bad_policy_is_refused_with_its_place),
};
TEST_MAIN(tests)
