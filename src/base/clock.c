#include "base/clock.h"

static Instant read_clock(clockid_t which)
{
    struct timespec t;
    int failed = clock_gettime(which, &t);
    assert(!failed);
    return (Instant) t.tv_sec * SPAN_SECOND + t.tv_nsec / 1000;
}

static void init(Clock *clock, bool is_manual, bool is_simulated, Instant now)
{
    clock->is_manual = is_manual;
    clock->is_simulated = is_simulated;
    atomic_init(&clock->set_now, now);
    // Not from 0: a zero means "never" to those who remember when they last did something.
    atomic_init(&clock->set_monotonic, SPAN_DAY);
    atomic_init(&clock->offset, 0);
}

void clock_init_system(Clock *clock)
{
    init(clock, false, false, 0);
}

void clock_init_manual(Clock *clock, Instant now)
{
    init(clock, true, false, now);
}

void clock_init_simulated(Clock *clock, Instant now)
{
    init(clock, false, true, now);
}

Instant clock_now(const Clock *clock)
{
    if (clock->is_manual)
        return atomic_load(&clock->set_now);
    Instant now = clock->is_simulated ? atomic_load(&clock->set_now) : read_clock(CLOCK_REALTIME);
    return now + atomic_load(&clock->offset);
}

Instant clock_monotonic(const Clock *clock)
{
    return clock->is_simulated ? atomic_load(&clock->set_monotonic) : clock_machine_monotonic();
}

void clock_set(Clock *clock, Instant now)
{
    assert(clock->is_manual || clock->is_simulated);
    atomic_store(&clock->set_now, now);
}

void clock_pass(Clock *clock, Span span)
{
    assert(clock->is_simulated && span >= 0);
    atomic_fetch_add(&clock->set_now, span);
    atomic_fetch_add(&clock->set_monotonic, span);
}

void clock_set_offset(Clock *clock, Span offset)
{
    assert(!clock->is_manual);
    atomic_store(&clock->offset, offset);
}

Instant clock_machine_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
