// doctor.h - looks at a store and says what is wrong with it, and what to do.
#pragma once

#include "app/config.h"

int doctor_run(Arena *arena, const Config *config, bool is_json);
