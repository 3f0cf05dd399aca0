// trigger_event.h - trigger events (domain/trigger_event.h) as they are read from events, decisions
// and deliveries, and what runs write back of themselves.
//
// A list walks along the events of the trigger's kind, newest first (event.h), and asks of each
// what became of it: a page meets no more rows than any other, and may be empty and yet go on. What
// is of another integration than the trigger's is none of its events.
//
// What a run writes back (session, results, actions) hangs on its delivery and goes with it. Who
// writes has seen to it that he may.
#pragma once

#include "domain/trigger_event.h"
#include "store/event.h"

enum {
    TRIGGER_ACTIONS_MAX = 100, // of a run
    TRIGGER_JSON_MAX = 65536,  // bytes of what is written back, each
    TRIGGER_SESSION_MAX = 200,
    TRIGGER_TOOL_MAX = 200,
    TRIGGER_WORD_MAX = 50, // of an action's status
    TRIGGER_ERROR_MAX = 4096,
};

// TriggerResult is what a run wrote back. What is none was not.
typedef struct TriggerResult {
    int64_t tenant;
    Uuid delivery;
    Str session_id, enriched, filter_result, analysis_result; // JSON, but for the session
    bool has_session_id, has_enriched, has_filter_result, has_analysis_result; // those are written
} TriggerResult;

typedef struct TriggerAction {
    int64_t tenant;
    Uuid delivery;
    int n; // from 1
    Str tool, status;
    Str input, output, error;         // the first two are JSON; none
    Instant started_at, completed_at; // INSTANT_NONE
} TriggerAction;

typedef struct TriggerEvent {
    Event event; // its payload parsed; NULL where that is damaged
    int64_t rule;
    TriggerStatus status;
    TriggerSkip skip; // none where it is not skipped
    bool is_made;     // a delivery was made of it:
    Uuid delivery;
    int64_t lane; // that it stands, or stood, in
    DeliveryState state;
    TriggerResult result;
    TriggerAction *actions;
    size_t action_count;
} TriggerEvent;

// TriggerLook says whose events are looked for.
typedef struct TriggerLook {
    int64_t rule;
    Str kind;        // that it listens to
    Str integration; // none: any
} TriggerLook;

// trigger_event_page reads those of a trigger, newest first, without input and output of actions
// and without results but the session. trigger_event_get reads one with all of it; ERR_NOT_FOUND
// where the trigger made nothing of the event.
Err trigger_event_page(Db *db, Arena *arena, int64_t tenant, const TriggerLook *look,
                       const Walk *walk, TriggerEvent **ret, Seen *ret_seen, Error *error) MUST_USE;
Err trigger_event_get(Db *db, Arena *arena, int64_t tenant, Uuid event, int64_t rule,
                      TriggerEvent *ret, Error *error) MUST_USE;

// trigger_result_put writes those members that are to be written. trigger_action_add adds an action
// behind the others; ERR_CONFLICT where there are as many as may be.
void trigger_result_put(Tx *tx, const TriggerResult *result);
Err trigger_action_add(Tx *tx, TriggerAction *action, Error *error) MUST_USE;

// TriggerCounts is how many of a trigger's deliveries stand where, by the words of trigger events.
typedef struct TriggerCounts {
    Str id; // of the trigger
    int64_t n[TRIGGER_STATUSES];
} TriggerCounts;
Err trigger_counts(Db *db, Arena *arena, int64_t tenant, TriggerCounts *rows, size_t count,
                   Error *error) MUST_USE;

extern const Statement *const trigger_event_statements[]; // ends with NULL
