// strikes.h - who keeps asking with a key that is not one.
//
// Each 401 is a strike against its client. After STRIKES_MAX of them a client is out: whatever else
// fails for want of a key is told 429, so that keys cannot be guessed by the thousand; a key that
// is known gets through all the same. One strike is forgiven every STRIKES_EVERY. The table has a
// fixed size, for who asks from many addresses must not fill the memory; where it is full, those
// that are nearest to being forgiven make room.
#pragma once

#include "net/remote.h"

enum { STRIKES_MAX = 20, STRIKES_ROWS = 4096 };
#define STRIKES_EVERY (2 * SPAN_SECOND)

typedef struct Strike {
    Remote client;
    Instant clear_at; // when all is forgiven
} Strike;

typedef struct Strikes {
    uint64_t seed; // so that nobody can choose whose rows to take
    Strike rows[STRIKES_ROWS];
} Strikes;

void strikes_add(Strikes *strikes, Remote remote, Instant now);
bool strikes_out(const Strikes *strikes, Remote remote, Instant now);
