// handler.h - runs that found no handler go on when there is one: when the channel of that key is
// made, or the job that nobody had defined.
//
// They are parked for one cause (domain/cause.h), so they are found by it, however many wait
// besides; they are retried by an operation (operation.h), in slices, as if a person had asked.
#pragma once

#include "store/tx.h"

// handler_is_there begins it, where any wait: for the lane of a channel; of one job alone, where
// that is given.
Err handler_is_there(Tx *tx, int64_t tenant, Str channel, Str job, Error *error) MUST_USE;

extern const Statement *const handler_statements[]; // ends with NULL
