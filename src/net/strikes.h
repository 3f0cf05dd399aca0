// strikes.h - who asks too often: with a key that is not one, or for pages that are open to anyone.
//
// Each 401 is a strike against its client. After STRIKES_MAX of them a client is out: whatever else
// fails for want of a key is told 429, so that keys cannot be guessed by the thousand; a key that
// is known gets through all the same. One strike is forgiven every STRIKES_EVERY. Visits to pages
// are counted likewise, in a table of their own and by other figures: a whole company may stand
// behind one address. A table has a fixed size, for who asks from many addresses must not fill the
// memory; where it is full, those that are nearest to being forgiven make room.
#pragma once

#include "net/remote.h"

enum { STRIKES_MAX = 20, VISITS_MAX = 600, STRIKES_ROWS = 4096 };
#define STRIKES_EVERY (2 * SPAN_SECOND)
#define VISITS_EVERY (SPAN_SECOND / 20)

typedef struct Strike {
    Remote client;
    Instant clear_at; // when all is forgiven
} Strike;

typedef struct Strikes {
    uint64_t seed; // so that nobody can choose whose rows to take
    int max;       // who has so many is out …
    Span every;    // … and is forgiven one so often
    Strike rows[STRIKES_ROWS];
} Strikes;

void strikes_add(Strikes *strikes, Remote remote, Instant now);
bool strikes_out(const Strikes *strikes, Remote remote, Instant now);
