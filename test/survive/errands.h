// errands.h - steps of the scenario beside sending: what applications emit and the drain makes of
// it, a notification to a list, a job's schedule, deferrals and progress (job_errands.c), a
// campaign (campaign_errands.c), and what is told of all that in the audit.
#pragma once

#include "engine/duty.h"
#include "scenario.h"

// errand_duty does a duty of the engine by itself.
typedef Err ErrandDuty(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error);
Err errand_duty(Scenario *scenario, ErrandDuty *duty, Error *error) MUST_USE;

Err errand_list(Scenario *scenario, Error *error) MUST_USE;   // a list, and its members
Err errand_notify(Scenario *scenario, Error *error) MUST_USE; // something to be sent to it
Err errand_emit(Scenario *scenario, Error *error) MUST_USE;   // rows of the inbox, one of them bad
Err errand_drain(Scenario *scenario, Error *error) MUST_USE;
Err errand_job(Scenario *scenario, Error *error) MUST_USE;      // with a schedule
Err errand_fire(Scenario *scenario, Error *error) MUST_USE;     // what that names becomes runs
Err errand_defer(Scenario *scenario, Error *error) MUST_USE;    // in place of what was before
Err errand_call_off(Scenario *scenario, Error *error) MUST_USE; // what is put off
Err errand_progress(Scenario *scenario, Error *error) MUST_USE; // of all that is held
Err errand_campaign(Scenario *scenario, Error *error) MUST_USE; // a file with rows …
Err errand_rows(Scenario *scenario, Error *error) MUST_USE;     // … which become events
Err errand_number(Scenario *scenario, Error *error) MUST_USE; // what happened gets its numbers …
Err errand_seal(Scenario *scenario, Error *error) MUST_USE;   // … and its rows in the audit
Err errand_sample(Scenario *scenario, Error *error) MUST_USE;
