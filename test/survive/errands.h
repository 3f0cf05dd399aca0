// errands.h - steps of the scenario beside sending: what applications emit and the drain makes of
// it, a notification to a list, and what is told of all that in the audit.
#pragma once

#include "scenario.h"

Err errand_list(Scenario *scenario, Error *error) MUST_USE;   // a list, and its members
Err errand_notify(Scenario *scenario, Error *error) MUST_USE; // something to be sent to it
Err errand_emit(Scenario *scenario, Error *error) MUST_USE;   // rows of the inbox, one of them bad
Err errand_drain(Scenario *scenario, Error *error) MUST_USE;
Err errand_number(Scenario *scenario, Error *error) MUST_USE; // what happened gets its numbers …
Err errand_seal(Scenario *scenario, Error *error) MUST_USE;   // … and its rows in the audit
Err errand_sample(Scenario *scenario, Error *error) MUST_USE;
