// run.h - a run of a job or an automation: who asked for it, what each of its tries is called, and
// what is told when it ends.
//
// A run is a delivery to a handler and a try of it an attempt (delivery.h); what is particular to
// runs is here, and pure. The end of a job's run is an event, of which this is kind and payload;
// store/follow.h makes it. A run that a person or an event takes back (cancelled, discarded) did
// neither complete nor fail, and nothing is told.
#pragma once

#include "domain/delivery.h"
#include "domain/job.h"
#include "domain/rule.h"

// The event that makes a run has this kind; its topic says that it is for an occurrence which a
// person asked for afterwards.
#define RUN_EVENT_KIND S("job")
#define RUN_TOPIC_BACKFILL S("backfill")

// clang-format off
#define RUN_SOURCE_TABLE(X)                          \
    /* name      of its event   as it is shown    */ \
    X(SCHEDULED, "schedule",    "Scheduled")         \
    X(MANUAL,    "manual",      "Manual")            \
    X(DEFERRED,  "deferred",    "Deferred")          \
    X(TRIGGERED, "trigger",     "Trigger")
// clang-format on

typedef enum RunSource {
#define RUN_SOURCE_ENUM(name, source, text) RUN_##name,
    RUN_SOURCE_TABLE(RUN_SOURCE_ENUM)
#undef RUN_SOURCE_ENUM
} RunSource;

// run_source is whom the source of its event stands for; what is nobody's of the table asked for it
// by hand. What a trigger made has whatever source its event has: that it is one, its rule tells.
RunSource run_source(Str event_source);
const char *run_source_word(RunSource source); // of its event
const char *run_source_text(RunSource source); // as it is shown

// run_of_rule: the deliveries of such a rule are runs.
bool run_of_rule(RuleKind kind);

// run_event_id names what a trigger made of an event, a trigger event: <event id>.<rule number>;
// run_event_parse reads such a name.
Str run_event_id(Arena *arena, Uuid event, int64_t rule);
bool run_event_parse(Str text, Uuid *ret_event, int64_t *ret_rule);

// run_execution_id names a try of a run: <deliveryId>-<attempt>.
Str run_execution_id(Arena *arena, Uuid delivery, int attempt);

// RUN_NO_HANDLER is what the try of a run says that has no handler.
#define RUN_NO_HANDLER S("no handler")

// run_message is what a try had to say: the handler's words, else why it failed; none for a success
// without words.
Str run_message(const Outcome *outcome);

// run_overtaken_at is the occurrence that takes the place of a retry which does not fall before it:
// the next of the job's schedule, for a run that this asked for. While a run goes on, skipped
// occurrences take nobody's place. INSTANT_NONE where none does: there is no job any more or it has
// not the one schedule that is on, or the next was past when the run was made, to make up for it.
Instant run_overtaken_at(const Job *job, Instant scheduled_for, Instant made_at, Instant now);

// RunEnd is what is told of a run that ended.
typedef struct RunEnd {
    Str job, entity; // no entity: none
    Uuid delivery;
    RunSource source;
    bool is_success;
    Str message; // none
    int attempts;
} RunEnd;

// run_is_told says whether a move ends a run so that it is told of, and how it ended.
bool run_is_told(DeliveryState from, DeliveryState to, bool *ret_success);

Str run_end_kind(bool is_success); // of the event
Str run_end_payload(Arena *arena, const RunEnd *end);
