// rule.h - a rule is whatever makes deliveries: a trigger, a template, a list, a job, what a site
// hands on, a survey's subscriber, who tries a channel out. (A survey makes none itself, its
// triggers do: it is here for the number, by which its responses go.)
//
// A rule's name gets a number when it is first mentioned, and keeps it for good: hidden and made
// again, it is the same rule. History, dedup keys and counters go by the number, which is short and
// needs no kind beside it; (number, version) names one version. Version 0 is that of a rule which
// was named and never defined: what is made for it keeps the defaults of its kind.
//
// Whatever its kind, a rule is compiled to a Trigger (trigger.h), so that one door decides and one
// engine sends for all of them. To add a kind, add a row at the end, for it is stored as its place
// in the table; one that is a definition has the same text there (definition.h) and a row among
// rule.c's parsers.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "domain/backoff.h"
#include "domain/delivery.h"
#include "domain/plan.h"

// clang-format off
#define RULE_KIND_TABLE(X)                                    \
    /* name         text          whose words for its states */ \
    X(TRIGGER,      "trigger",    T)                          \
    X(TEMPLATE,     "template",   M)                          \
    X(SURVEY,       "survey",     T)                          \
    X(SUBSCRIBER,   "subscriber", T)                          \
    X(JOB,          "job",        J)                          \
    X(NOTIFY,       "list",       N)                          \
    X(FORWARD,      "forward",    N)                          \
    X(POLL,         "poll",       W)                          \
    X(AUTOMATION,   "automation", W)                          \
    X(TEST,         "test",       T)
// clang-format on

typedef enum RuleKind {
#define RULE_ENUM(name, text, family) RULE_##name,
    RULE_KIND_TABLE(RULE_ENUM)
#undef RULE_ENUM
} RuleKind;

const char *rule_kind_text(RuleKind kind);
bool rule_kind_parse(Str text, RuleKind *ret);

// rule_family is whose words its deliveries have for their states (delivery_status).
StatusFamily rule_family(RuleKind kind);

// rule_put writes "rule":{kind, id, version}, by which answers and messages name a rule.
void rule_put(JsonOut *out, RuleKind kind, Str id, int64_t version);

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
    RetryPolicy retry; // its own, else that of its kind
} Rule;

// rule_default is a rule of which nothing is known but what it is called.
Rule rule_default(RuleKind kind, Str id);

// rule_parse compiles the text of a rule's definition, which must live as long as what it makes.
typedef struct Trigger Trigger;
Err rule_parse(RuleKind kind, Arena *arena, Str body, Trigger *ret, Error *error) MUST_USE;
