// defer.h - the jobs that deferrals are for, as rules that the door can decide by.
//
// A deferral (domain/defer.h) comes in by any door: a call, a row of the inbox, a row of a site.
// Whoever decides an Accept names the rules of its deferrals first. A job that nobody has defined
// is named all the same, with version 0, and goes nowhere (LANE_NOWHERE): when it falls due and
// there still is none, it parks. Whether a job is enabled is not asked: that is its schedule's
// matter, and who defers asks for this run.
#pragma once

#include "store/accept.h"

// deferrals_name names the jobs of an accept's deferrals as the snapshot has them, before
// accept_decide() is called with it. False where one is not known there: then they are named inside
// the transaction.
bool deferrals_name(Accept *accept, const Registry *registry);

// deferrals_name_now does that on tx->registry, unless the accept is decided on it, and gives
// numbers to jobs that have none; but a job of which only something is cancelled gets none.
Err deferrals_name_now(Tx *tx, Accept *accept, Error *error) MUST_USE;
