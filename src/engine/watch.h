// watch.h - whether wall time can be believed. Pure.
//
// Everything that Peal does late cannot be undone: a delivery that was sent a day early, an answer
// that expired. So a clock that jumps is not obeyed at once. Monotonic time cannot jump; where wall
// time leaves it behind, or falls behind it, by more than WATCH_TOLERANCE, nothing is claimed,
// swept or expired until
//
//   - wall time is back where it was, or
//   - whoever has a better clock has said what time it is (clock_watch_believe), or
//   - where there is nobody to ask, it has held its new course for WATCH_HOLDS.
//
// Small steps and slewing are followed silently.
#pragma once

#include "base/base.h"

#define WATCH_TOLERANCE ((Span) 3750 * SPAN_MILLISECOND) // a quarter of a lease
#define WATCH_HOLDS ((Span) 30 * SPAN_SECOND)

typedef struct ClockWatch {
    bool has_peer; // somebody else's clock decides: holding still is not enough
    bool is_off;   // result: wall time is not to be believed
    bool is_set;
    Span believed; // wall time less monotonic time, when it was last believed
    Span seen;     // the same, at the last look
    Instant since; // monotonic: when it last moved
} ClockWatch;

// clock_watch_look is told both times, often; true where wall time has jumped since the last look.
bool clock_watch_look(ClockWatch *watch, Instant now, Instant monotonic);

// clock_watch_believe: this is the time, whatever was seen before.
void clock_watch_believe(ClockWatch *watch, Instant now, Instant monotonic);
