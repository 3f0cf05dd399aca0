// scenarios.h - `peal test`: plays the scenarios of a folder, each on a Peal of its own.
#pragma once

#include "cli/command.h"
#include "cli/stage.h"

extern const CommandOption scenarios_options[];

// scenarios_run is the command; serve runs a Peal to test with.
int scenarios_run(CommandArgs *args, StageServe *serve);
