// clock.h - the only source of "now".
//
// The system clock is the machine's, plus an offset that the PostgreSQL store measures. The manual
// clock stands still until it is moved. Time-outs of input and output use clock_monotonic(), which
// nothing moves. A Clock may be read by any thread.
#pragma once

#include "base/base.h"

#include <stdatomic.h>

typedef struct Clock {
    bool is_manual;
    _Atomic Instant manual_now; // when manual
    _Atomic Span offset;        // added to the system clock
} Clock;

void clock_init_system(Clock *clock);
void clock_init_manual(Clock *clock, Instant now);
Instant clock_now(const Clock *clock);
void clock_set(Clock *clock, Instant now);        // manual only
void clock_set_offset(Clock *clock, Span offset); // system only
Instant clock_monotonic(void);
