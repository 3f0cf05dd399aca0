// trigger_events.h - bodies and answers of trigger events and of automations' runs, as rows
// (shapes.h), and what the definitions of both show beside their bodies (noun.h).
#pragma once

#include "api/noun.h"

// ResultBody is what a run writes back of itself: what is absent stays, what is null goes.
typedef struct ResultBody {
    Str session_id;
    const Json *enriched, *filter_result, *analysis_result;
} ResultBody;
extern const Shape trigger_result_shape;

typedef struct ActionBody {
    Str tool, status, error;
    const Json *input, *output;
    Instant started_at, completed_at;
} ActionBody;
extern const Shape trigger_action_body_shape;
extern const Shape trigger_action_shape;
extern const Shape trigger_event_shape;
extern const Shape automation_run_shape;

Err trigger_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                 Error *error);
void trigger_tell(Call *call, const void *known, Str id);
Err trigger_look_at(Call *call, Db *db, Str id, const void **ret, Error *error);
void trigger_put(const Call *call, JsonOut *out, const void *looked);

Err automation_look_at(Call *call, Db *db, Str id, const void **ret, Error *error);
void automation_put(const Call *call, JsonOut *out, const void *looked);
