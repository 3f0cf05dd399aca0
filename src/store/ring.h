// ring.h - what a node tells the others after its commits: where something fell due. Pure.
//
// What is to be told gathers until the next ring may go out: there are at most RINGS_A_SECOND, so
// that a busy node tells of many commits at once. A ring names the lanes that have something due
// before others would look by themselves. Where these are many, or where anything else was done
// (a definition saved, a hold), it names none, and whoever hears it looks at everything.
//
// A ring is a hint: whoever gets it too late, twice or never finds the same by looking.
#pragma once

#include "domain/move.h"

#define RING_AHEAD ((Span) SPAN_SECOND) // what falls due later, everybody finds in time

enum {
    RINGS_A_SECOND = 20,
    RING_LANES_MAX = 32,
    RING_TEXT_MAX = RING_LANES_MAX * 21, // 19 digits, a comma, and room for the end
};

// Ring is what is to be told; all zero to begin with.
typedef struct Ring {
    int64_t lanes[RING_LANES_MAX];
    size_t count;
    bool is_of_all;  // everything is to be looked at
    Instant next_at; // monotonic: no ring goes out before
} Ring;

// ring_add adds what was committed; without moves, that something else was done.
void ring_add(Ring *ring, const Move *moves, size_t count, Instant now);

// ring_due is when the ring may go out, in monotonic time; INSTANT_NONE: there is nothing to tell.
Instant ring_due(const Ring *ring);

// ring_take writes the ring down, and begins the next.
void ring_take(Ring *ring, Instant monotonic, char text[RING_TEXT_MAX]);

// ring_read reads what another wrote; what cannot be understood may mean anything.
Ring ring_read(Str text);
