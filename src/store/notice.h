// notice.h - what subscribers in SQL are told: whose numbers went on (docs/stream.md). Pure.
//
// A notice names a tenant and its last number, of which the newest counts; they gather until the
// next may go out. Beyond NOTICE_TENANTS_MAX one without a tenant stands for all others. A notice
// is a hint, as a ring is (ring.h).
#pragma once

#include "base/base.h"
#include "base/str.h"

enum {
    NOTICE_TENANTS_MAX = 32,
    NOTICE_ID_MAX = 200,
    NOTICE_TEXT_MAX = NOTICE_TENANTS_MAX * (6 * NOTICE_ID_MAX + 64),
};

typedef struct Notice {
    char tenant[NOTICE_ID_MAX + 1];
    int64_t number;
} Notice;

// Notices is what is to be told; all zero to begin with.
typedef struct Notices {
    Notice items[NOTICE_TENANTS_MAX];
    size_t count;
    bool has_others; // of tenants that are not named
    Instant next_at; // monotonic: none goes out before
} Notices;

// notices_add adds a tenant, by its public id; none: some that are not named.
void notices_add(Notices *notices, Str tenant, int64_t number);

// notices_due is when they may go out, in monotonic time; INSTANT_NONE: there is nothing to tell.
Instant notices_due(const Notices *notices);

// notices_take writes them as a JSON array of {"tenant","number"}, and begins anew.
Str notices_take(Notices *notices, Arena *arena, Instant monotonic);

// notice_is: the text of a notification is a notice's, not a ring's.
bool notice_is(Str text);
