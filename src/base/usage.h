// usage.h - what this process takes of the machine, as the kernel counts it.
#pragma once

#include "base/base.h"

typedef struct Usage {
    Span cpu;                // user and system
    int64_t resident_bytes;  // 0 where it cannot be told
    int64_t virtual_bytes;   // 0 where it cannot be told
    int64_t descriptors;     // open; 0 where it cannot be told
    int64_t descriptors_max; // that may be
} Usage;

Usage usage_now(void);
