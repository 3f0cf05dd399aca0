// window.h - who may claim how much: the room for claimed deliveries is shared fairly. Pure.
//
// What is claimed and not yet settled is a bounded window on an unbounded backlog: bounded in rows
// and in bytes. Room is given out one row at a time, in turns over the tenants that want some and
// for each over its lanes, from a start that moves on with every claim. Two rules keep newcomers
// from finding it full:
//
//   a tenant holds no more than what is left free   (one alone: half of the window)
//   a lane holds no more than its tenant could still take   (one alone: a third)
//
// whoever holds nothing gets one row as long as there is any room. So a dead host, or a tenant with
// a thousand of them, can slow itself down and nobody else. The sizes of deliveries are not known
// before they are claimed: a lane is asked for with a budget of bytes that is never less than the
// largest payload, and what it did not use is free again when the claim is back.
#pragma once

#include "base/base.h"

// Use is how much of the window somebody holds: claimed, or asked for.
typedef struct Use {
    int64_t rows, bytes;
} Use;

typedef struct Window {
    Use max;           // of the whole window
    Use held;          // by everybody
    int64_t rows;      // that one claim may take
    int64_t bytes_row; // the largest a row can be
    size_t turn;       // where the turns begin
} Window;

// Wish is what one lane could start now, and what it is given.
typedef struct Wish {
    int64_t lane, tenant;
    int64_t want;
    Use held;        // by the lane
    Use tenant_held; // by its tenant: the same in all wishes of one
    Use given;       // result: zero rows where it must wait
} Wish;

// window_share fills given. It puts the wishes in order of tenant and lane.
void window_share(const Window *window, Wish *wishes, size_t count);
