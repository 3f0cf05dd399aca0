// strikes.h - who keeps asking with a key that is not one.
//
// Each 401 is a strike against its host. After STRIKES_MAX of them a host is out: its failures are
// no longer looked into. One strike is forgiven every STRIKES_EVERY. The table has a fixed size;
// where it is full, those that are nearest to being forgiven make room.
#pragma once

#include "net/remote.h"

enum { STRIKES_MAX = 20, STRIKES_ROWS = 4096 };
#define STRIKES_EVERY (2 * SPAN_SECOND)

typedef struct Strike {
    Remote host;
    Instant clear_at; // when all is forgiven
} Strike;

typedef struct Strikes {
    uint64_t seed; // so that nobody can choose whose rows to take
    Strike rows[STRIKES_ROWS];
} Strikes;

void strikes_add(Strikes *strikes, Remote remote, Instant now);
bool strikes_out(const Strikes *strikes, Remote remote, Instant now);
