// causes.h - the causes that the server tells, each once: a long one may stand on several pages,
// and its counts are added up.
#pragma once

#include "cli/pages.h"

typedef struct CauseSum {
    const Json *item; // as the server told it first
    int64_t count;    // in all
} CauseSum;

// causes_sum makes one list of what pages hold, those with the most first.
size_t causes_sum(Arena *arena, const Pages *pages, CauseSum **ret);
