#include "engine/watch.h"

static bool differ(Span a, Span b)
{
    return a - b > WATCH_TOLERANCE || b - a > WATCH_TOLERANCE;
}

void clock_watch_believe(ClockWatch *watch, Instant now, Instant monotonic)
{
    watch->believed = watch->seen = now - monotonic;
    watch->since = monotonic;
    watch->is_set = true;
    watch->is_off = false;
}

bool clock_watch_look(ClockWatch *watch, Instant now, Instant monotonic)
{
    Span ahead = now - monotonic;
    if (!watch->is_set)
        clock_watch_believe(watch, now, monotonic);
    bool has_jumped = differ(ahead, watch->seen);
    if (has_jumped)
        watch->since = monotonic;
    watch->seen = ahead;
    watch->is_off = differ(ahead, watch->believed);
    if (!watch->is_off)
        watch->believed = ahead;
    else if (!watch->has_peer && monotonic - watch->since >= WATCH_HOLDS)
        clock_watch_believe(watch, now, monotonic);
    return has_jumped;
}
