// dry.h - trying a trigger out on the server, for `peal triggers` (definitions.c).
#pragma once

#include "cli/command.h"

int trigger_try(CommandArgs *args);
