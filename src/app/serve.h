// serve.h - the running program: wiring, start, signals, stop.
#pragma once

#include "app/config.h"

#define SERVE_STOP_GRACE (10 * SPAN_SECOND) // for attempts under way when it stops
#define SERVE_TEND_EVERY (1 * SPAN_SECOND)  // what changes is looked after, the store tried again

// serve_run runs until SIGTERM or SIGINT and returns the exit status. It starts and stays up while
// its store is away, says so, and goes on when it is back.
int serve_run(Arena *arena, const Config *config);
