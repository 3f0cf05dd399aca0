// automation.h - an automation: a handler that is run by any number of schedules, or by hand.
//
// It is a job under another name (job.h), and compiled to the same form: what differs is that it
// may have several schedules, each by its name, and what its runs are told (channels/channel.h).
#pragma once

#include "domain/job.h"

enum { AUTOMATION_NAME_MAX = 200, AUTOMATION_SCHEDULES_MAX = 50 };

extern const Shape automation_shape;
extern const Shape automation_schedule_shape;

// automation_compile and automation_parse are as for jobs; ERR_AUTOMATION_INVALID.
Err automation_compile(Arena *arena, const Json *json, Trigger *ret, Error *error) MUST_USE;
Err automation_parse(Arena *arena, Str body, Trigger *ret, Error *error) MUST_USE;

// automation_check_schedule checks one of its schedules by itself, as the body of a request.
Err automation_check_schedule(Arena *arena, const Json *source, Error *error) MUST_USE;
