#include "base/clock.h"

static Instant read_clock(clockid_t which)
{
    struct timespec t;
    int failed = clock_gettime(which, &t);
    assert(!failed);
    return (Instant) t.tv_sec * SPAN_SECOND + t.tv_nsec / 1000;
}

void clock_init_system(Clock *clock)
{
    clock->is_manual = false;
    atomic_init(&clock->manual_now, 0);
    atomic_init(&clock->offset, 0);
}

void clock_init_manual(Clock *clock, Instant now)
{
    clock->is_manual = true;
    atomic_init(&clock->manual_now, now);
    atomic_init(&clock->offset, 0);
}

Instant clock_now(const Clock *clock)
{
    if (clock->is_manual)
        return atomic_load(&clock->manual_now);
    return read_clock(CLOCK_REALTIME) + atomic_load(&clock->offset);
}

void clock_set(Clock *clock, Instant now)
{
    assert(clock->is_manual);
    atomic_store(&clock->manual_now, now);
}

void clock_set_offset(Clock *clock, Span offset)
{
    assert(!clock->is_manual);
    atomic_store(&clock->offset, offset);
}

Instant clock_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
