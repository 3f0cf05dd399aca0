// clock.h - the only source of "now", and of how much time has passed.
//
// Every Clock tells two times. clock_now() is wall time, which may jump; clock_monotonic() only
// counts on, and is what leases, patience and intervals are measured by.
//
//   system     both are the machine's; wall time has an offset that the PostgreSQL store measures
//   manual     wall time stands still until it is set; monotonic time is the machine's, for the
//              transfers under it are real
//   simulated  nothing is the machine's: clock_pass() moves both, clock_set() lets wall time jump
//
// A Clock may be read by any thread.
#pragma once

#include "base/base.h"

#include <stdatomic.h>

typedef struct Clock {
    bool is_manual, is_simulated;
    _Atomic Instant set_now;       // wall time, when it is not the machine's
    _Atomic Instant set_monotonic; // when simulated
    _Atomic Span offset;           // added to wall time, but for the manual clock's
} Clock;

void clock_init_system(Clock *clock);
void clock_init_manual(Clock *clock, Instant now);
void clock_init_simulated(Clock *clock, Instant now);
Instant clock_now(const Clock *clock);
Instant clock_monotonic(const Clock *clock);
void clock_set(Clock *clock, Instant now);        // manual and simulated
void clock_pass(Clock *clock, Span span);         // simulated
void clock_set_offset(Clock *clock, Span offset); // system and simulated

// clock_machine_monotonic is for whatever waits on real sockets, which no simulation runs.
Instant clock_machine_monotonic(void);
