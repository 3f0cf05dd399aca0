// scenario.h - a scenario as a file has it: what happens when, and which messages come of it.
//
// It is a document of `kind: scenario` beside the definitions that it is about (project.h); its
// members are rows, as a definition's are, so that a typo is refused with its line, and an editor
// knows them (schema.c). Its steps stand in the order of time. Times never look at a clock: they
// count from the scenario's start, which is a fixed day unless it says another.
//
//   2026-03-29T09:00:00+02:00   that moment
//   2026-03-29 09:00            when the clocks of its zone show that; where they show it twice the
//                               first time, where they skip it the moment at which they do
//   +3d12h                      so long after the start, to the second
//   +3d 09:00                   on the third day after the start's, when the clocks show that
#pragma once

#include "base/zone.h"
#include "cli/project.h"

enum { SCENARIO_STEPS_MAX = 1000, SCENARIO_WANTED_MAX = 1000, SCENARIO_TEXT_MAX = 64 * 1024 };

// The start of a scenario that says none: a Monday.
#define SCENARIO_START "2026-01-05T09:00:00Z"
// How many messages and deliveries are looked at.
#define SCENARIO_ROWS_MAX 100000
// The longest that a scenario lasts: as long as Peal keeps what has ended, at most (app/private.h).
#define SCENARIO_SPAN_MAX (3650 * SPAN_DAY)

// MessageWanted says which messages are meant; what it leaves out may be anything.
typedef struct MessageWanted {
    Str channel, to, rule, locale, customer_ref;
    Str subject, body;
    const Str *contains; // texts that its subject or body have in them
    size_t contains_count;
    const Json *payload; // members that its payload has, among others; NULL
    int send;            // 1: the first, 2: the first reminder; 0: any
    Span within;         // so much later is as good
} MessageWanted;

// DeliveryWanted says which deliveries are meant, and what is to have become of them.
typedef struct DeliveryWanted {
    Str rule, channel, to, customer_ref, entity;
    int state; // a DeliveryState …
    bool has_state;
    Str reason; // as its code
    int count;  // how many there are …
    bool has_count;
} DeliveryWanted;

typedef struct ScenarioAnswer {
    DeliveryWanted of;
    const Json *answers;
    Str agent;
} ScenarioAnswer;

// ScenarioHook is a webhook, signed as its provider signs.
typedef struct ScenarioHook {
    Str source, event; // the latter one of the provider's examples; none
    const Json *headers;
    const Json *body; // NULL: the example's
} ScenarioHook;

// ScenarioChannel is how a channel behaves from a step on.
typedef struct ScenarioChannel {
    Str key;
    const Json *config; // of a memory channel (channels/memory.c)
} ScenarioChannel;

// ScenarioAction is what a step does, beside what it expects.
#define SCENARIO_ACTION_TABLE(X)                                                                   \
    X(NONE, "")                                                                                    \
    X(EVENT, "event")                                                                              \
    X(NOTIFY, "notify")                                                                            \
    X(ANSWER, "answer")                                                                            \
    X(COMPLETE, "complete")                                                                        \
    X(CANCEL, "cancel")                                                                            \
    X(RUN, "run")                                                                                  \
    X(HOOK, "hook")                                                                                \
    X(CHANNEL, "channel")
typedef enum ScenarioAction {
#define ACTION_ENUM(name, text) SCENARIO_##name,
    SCENARIO_ACTION_TABLE(ACTION_ENUM)
#undef ACTION_ENUM
} ScenarioAction;
const char *scenario_action_text(ScenarioAction action);

typedef struct ScenarioStep {
    Str when; // as it was written; none: with the step before it
    Instant at;
    ScenarioAction action;
    const Json *event, *notify; // as their routes take them
    ScenarioAnswer answer;
    DeliveryWanted complete, cancel;
    Str run; // the name of a job
    ScenarioHook hook;
    ScenarioChannel channel;
    bool has_answer, has_complete, has_cancel, has_hook, has_channel;
    const MessageWanted *expect;
    size_t expect_count;
    const DeliveryWanted *deliveries;
    size_t delivery_count;
} ScenarioStep;

typedef struct Scenario {
    const ProjectPart *part;
    int kind;
    Str name, start_text, zone_name, until_text;
    const Zone *zone;
    Instant start, until;
    int unexpected; // not 0: what nobody expects may come
    const MessageWanted *ignore;
    size_t ignore_count;
    ScenarioStep *steps;
    size_t step_count;
} Scenario;

extern const Shape scenario_shape;

// scenario_read reads a document; an exit status, and what is wrong was told.
int scenario_read(Arena *arena, const ProjectPart *part, Scenario *ret);

// scenario_place is where something of a scenario stands: PATH:LINE.
Str scenario_place(Arena *arena, const Scenario *scenario, Str pointer);

// scenario_when is a moment as a person reads it: by the clocks of its zone, and from the start on.
Str scenario_when(Arena *arena, const Scenario *scenario, Instant at);
