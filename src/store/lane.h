// lane.h - the lanes of the queue: the number that a channel key has, and in which of them anything
// stands to be sent.
//
// There may be tens of thousands of channels, most of them with nothing to do. Whoever looks at all
// lanes looks at those in use: the queue's index is walked from lane to lane, not row by row, and
// lanes that are empty cost nothing.
#pragma once

#include "store/tx.h"

#define LANE_NOWHERE S("") // the channel of what has none

// lane_ensure gives a channel key its number, if it has none yet: for good, and before the channel
// itself, where a trigger names it first.
Err lane_ensure(Tx *tx, int64_t tenant, Str channel_key, Error *error) MUST_USE;

// lane_used lists those in which anything stands to be sent, by number.
Err lane_used(Tx *tx, int64_t **ret, size_t *ret_count, Error *error) MUST_USE;

// LaneNext is when something falls due in each of them: sent with others, taken after the sync.
typedef struct LaneNext {
    Arena *arena;
    Rows rows; // private
} LaneNext;

void lane_next(Db *db, LaneNext *of);
size_t lane_next_take(const LaneNext *of, int64_t **ret_lanes, Instant **ret_due);

extern const Statement *const lane_statements[]; // ends with NULL
