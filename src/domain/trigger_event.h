// trigger_event.h - what one trigger made of one event, in the words of automations.
//
// It is no row: a trigger that made a delivery of the event is told by where that stands, any other
// by what was decided (store/trigger_event.h). An event that came again, and found its key taken,
// made nothing of its own and is none.
#pragma once

#include "domain/decision.h"
#include "domain/delivery.h"

// clang-format off
#define TRIGGER_STATUS_TABLE(X)       \
    X(QUEUED,     "queued")           \
    X(PROCESSING, "processing")       \
    X(COMPLETED,  "completed")        \
    X(FAILED,     "failed")           \
    X(SKIPPED,    "skipped")

#define TRIGGER_SKIP_TABLE(X)                        \
    X(MANUAL,              "manual")                 \
    X(FILTER_MISMATCH,     "filter_mismatch")        \
    X(AUTOMATION_DISABLED, "automation_disabled")    \
    X(RUN_CREATE_FAILED,   "run_create_failed")
// clang-format on

typedef enum TriggerStatus {
#define TRIGGER_STATUS_ENUM(name, text) TRIGGER_##name,
    TRIGGER_STATUS_TABLE(TRIGGER_STATUS_ENUM)
#undef TRIGGER_STATUS_ENUM
        TRIGGER_STATUSES
} TriggerStatus;

typedef enum TriggerSkip {
    TRIGGER_SKIP_NONE,
#define TRIGGER_SKIP_ENUM(name, text) TRIGGER_SKIP_##name,
    TRIGGER_SKIP_TABLE(TRIGGER_SKIP_ENUM)
#undef TRIGGER_SKIP_ENUM
} TriggerSkip;

extern const char *const trigger_status_words[]; // by TriggerStatus; ends with NULL
extern const char *const trigger_skip_words[];   // without none; ends with NULL
const char *trigger_skip_text(TriggerSkip skip); // NULL for none

// trigger_status_of is the word for where a delivery stands. Who gives a run up has not skipped it:
// it failed.
TriggerStatus trigger_status_of(DeliveryState state);

// trigger_skip_of is why what was decided made no run; none where it is no trigger event.
TriggerSkip trigger_skip_of(DecisionKind kind);
