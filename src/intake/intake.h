// intake.h - the ways in that Peal itself goes: so far table sources, a thread for each.
//
// One thread looks whether definitions have changed, and starts and stops the sources' own
// (table.h). Nobody waits for any of them.
#pragma once

#include "intake/table.h"

enum { INTAKE_SOURCES_MAX = 100 }; // of all tenants; what is beyond waits, and the log says so

typedef struct Intake Intake;

Intake *intake_start(const TableOptions *options);
void intake_stop(Intake *intake); // waits for a turn that is under way; NULL: nothing
