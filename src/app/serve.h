// serve.h - the running program: wiring, start, signals, stop.
#pragma once

#include "app/config.h"

// serve_run runs until SIGTERM or SIGINT and returns the exit status. It starts and stays up while
// its store is away, says so, and goes on when it is back.
int serve_run(Arena *arena, const Config *config);
