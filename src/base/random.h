// random.h - where chance comes from: the system, or a seed for simulation.
//
// Ids, keys and jitter all draw from a Random that is handed in, so that a test can repeat a run
// from one number. random_system() is safe for secrets and may be used by any thread; a seeded
// Random belongs to one thread and is never used for secrets outside tests.
#pragma once

#include "base/base.h"

#include <stdatomic.h>

typedef struct Random {
    bool is_seeded;
    uint64_t state;         // when seeded
    _Atomic uint64_t stamp; // of the last id made with it: see id.h
} Random;

Random random_system(void);
Random random_seeded(uint64_t seed);
void random_fill(Random *random, void *at, size_t len);
uint64_t random_u64(Random *random);
