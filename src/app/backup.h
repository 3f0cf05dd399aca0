// backup.h - `peal backup`: a copy of the store in a file, and what its owner has to know.
#pragma once

#include "app/config.h"

int backup_run(Arena *arena, const Config *config, Str path, bool is_json); // the exit status
