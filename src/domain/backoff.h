// backoff.h - how long to wait before the next try, and when to stop trying.
//
// One mechanism with three policies: fixed (the interval), exponential (the interval doubled each
// time, up to a ceiling of a day; jitter only adds, up to a tenth) and proportional (a tenth of the
// original delay times the retry, from 10 s to 60 min). max counts retries after the first try;
// where the far side answers what nobody can read, there are no more than unclassified of them.
#pragma once

#include "domain/field.h"

// clang-format off
#define RETRY_POLICY_TABLE(X)          \
    X(EXPONENTIAL,  "exponential")     \
    X(FIXED,        "fixed")           \
    X(PROPORTIONAL, "proportional")
// clang-format on

typedef enum RetryKind {
#define RETRY_ENUM(name, text) RETRY_##name,
    RETRY_POLICY_TABLE(RETRY_ENUM)
#undef RETRY_ENUM
} RetryKind;

typedef struct RetryPolicy {
    RetryKind kind;
    Span interval;
    int max;              // retries after the first try
    Span give_up_after;   // counted from the send's first due time; 0: no such limit
    int unclassified_max; // retries after an answer that is not understood

    // Proportional: of what a tenth is taken, where that is known from the start; else it is the
    // delivery's own first delay.
    bool is_measured;
    Span original_delay;
} RetryPolicy;

// retry_default is exponential 1, 2, 4, 8, 16 min.
RetryPolicy retry_default(void);

// retry_shape reads {"policy","interval"?,"max"?,"giveUpAfter"?,"unclassified"?} into a
// RetryPolicy; what is left out takes the policy's own default.
extern const Shape retry_shape;

// backoff_delay gives the wait before retry number retry (1 is the first). original_delay is the
// delivery's first due time minus its creation, for proportional. jitter is a fraction from 0 to 1
// drawn by the caller; 0 for none.
Span backoff_delay(const RetryPolicy *policy, int retry, Span original_delay, double jitter);
