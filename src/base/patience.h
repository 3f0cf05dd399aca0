// patience.h - how long this thread lets a piece of work go on, known to whatever that calls.
//
// What a stranger sent is read by functions that know nothing of time. While the thread has
// patience, those of them that everything else goes through (JSON, gzip) count their steps, look at
// the clock now and then, and once the time is over find nothing more: a text does not parse, a
// member is not there, a loop over members ends. So whatever reads by them comes to an end soon,
// and has read nonsense: who had patience asks patience_end() before he believes any of it.
//
// Nothing is interrupted: a loop that neither reads JSON nor opens anything does not notice. Who
// cannot rely on that watches from outside, too.
#pragma once

#include "base/clock.h"

// patience_begin gives what follows on this thread until the given monotonic time of the clock. It
// is not given twice at once.
void patience_begin(const Clock *clock, Instant until);

// patience_end takes it back; false: it was over before.
bool patience_end(void) MUST_USE;

// Patience is the thread's own; only what follows looks at it.
typedef struct Patience {
    const Clock *clock; // NULL: there is all the time in the world
    Instant until;
    size_t left; // steps before the next look at the clock
    bool is_over;
} Patience;
extern _Thread_local Patience thread_patience;
bool patience_look(void);

// patience_lasts counts so many steps of a few nanoseconds, and says whether to go on.
static inline bool patience_lasts(size_t steps)
{
    Patience *own = &thread_patience;
    if (steps < own->left) {
        own->left -= steps;
        return true;
    }
    return !own->clock || patience_look();
}
