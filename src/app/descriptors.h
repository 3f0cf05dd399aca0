// descriptors.h - how the descriptors that a process may have open are parted.
//
// Whoever finds none left fails where nobody expects it: a connection that was never made, a file
// that cannot be looked at. So the API's connections and the deliveries in flight each have their
// part of the limit, and what is left over is for the store, its files and the loops. With
// DESCRIPTORS_WANTED or more no channel is held back by it.
#pragma once

#include "net/server.h"

enum {
    DESCRIPTORS_WANTED = 16384,
    DESCRIPTORS_RESERVED = 80 + SERVER_RESERVE, // the store and its files, the loops, the reserve
    DESCRIPTORS_PER_FLIGHT = 3, // its connection, one that is kept, one for name and certificates
};

typedef struct Descriptors {
    size_t limit;
    size_t connections_max; // of the API
    size_t flights_max;     // deliveries in flight; as many connections are kept for later ones
    bool is_small;          // the limit is below what is wanted
} Descriptors;

// descriptors_raise lifts the process's limit as far as it may, and returns it.
size_t descriptors_raise(void);
Descriptors descriptors_part(size_t limit);
