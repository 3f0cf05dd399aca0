#include "base/patience.h"

enum { STEPS = 10000 }; // about 100 us

_Thread_local Patience thread_patience;

void patience_begin(const Clock *clock, Instant until)
{
    assert(!thread_patience.clock);
    thread_patience = (Patience){ .clock = clock, .until = until };
}

bool patience_end(void)
{
    bool is_over = thread_patience.is_over;
    assert(thread_patience.clock);
    thread_patience = (Patience){ 0 };
    return !is_over;
}

bool patience_look(void)
{
    Patience *own = &thread_patience;
    own->is_over |= clock_monotonic(own->clock) >= own->until;
    own->left = own->is_over ? 0 : STEPS;
    return !own->is_over;
}
