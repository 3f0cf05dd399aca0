// dead.h - dead letters as a table, for `peal dead` and `peal jobs dead`.
#pragma once

#include "cli/command.h"

// dead_print prints those of a job; of all where job is NULL.
int dead_print(CommandArgs *args, const char *job);
