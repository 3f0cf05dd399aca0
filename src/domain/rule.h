// rule.h - a rule is whatever makes deliveries: a trigger today; a template, a subscriber, a job
// tomorrow.
//
// A rule's name gets a number when it is first mentioned, and keeps it for good: hidden and made
// again, it is the same rule. History, dedup keys and counters go by the number, which is short and
// needs no kind beside it; (number, version) names one version. To add a kind, add a row at the
// end: it is stored as its place in the table.
#pragma once

#include "base/str.h"
#include "domain/backoff.h"
#include "domain/plan.h"

// clang-format off
#define RULE_KIND_TABLE(X)            \
    /* name         text           */ \
    X(TRIGGER,      "trigger")        \
    X(TEMPLATE,     "template")       \
    X(SURVEY,       "survey")         \
    X(SUBSCRIBER,   "subscriber")     \
    X(JOB,          "job")            \
    X(NOTIFY,       "notify")         \
    X(FORWARD,      "forward")        \
    X(POLL,         "poll")           \
    X(AUTOMATION,   "automation")
// clang-format on

typedef enum RuleKind {
#define RULE_ENUM(name, text) RULE_##name,
    RULE_KIND_TABLE(RULE_ENUM)
#undef RULE_ENUM
} RuleKind;

const char *rule_kind_text(RuleKind kind);
bool rule_kind_parse(Str text, RuleKind *ret);

// Rule is what all makers of deliveries have; each embeds it first. The definition says id, plan
// and retry; whoever loads it fills in the rest.
typedef struct Rule {
    int64_t number; // of (tenant, kind, id); from 1
    RuleKind kind;
    Str id;
    int64_t version, tenant;
    int64_t lane; // the queue's, of the channel it sends through
    Plan plan;
    bool has_retry;
    RetryPolicy retry;
} Rule;
