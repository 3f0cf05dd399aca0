// recur.h - occurrences of schedules that failed: whether each is tried again, or ends because the
// next occurrence is the retry.
//
// Whoever settles has recurs_decide() look at what the outcome made of a delivery, before it is
// written: a run that a schedule asked for is judged by when its job is due next, as the registry
// has it now (domain/run.h); all others stay as they are. A batch in which no run failed costs
// nothing.
#pragma once

#include "store/queue.h"

Err recurs_decide(Tx *tx, SettleBatch *batch, Error *error) MUST_USE;
