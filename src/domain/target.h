// target.h - one of the addresses that a delivery goes to, what became of it there, and what all of
// them together make of the attempt.
//
// Most deliveries have one target, the address of their promise, and its outcome is the attempt's.
// One with several keeps a row for each (store/target.h), so that a retry goes only to those that
// have it not.
#pragma once

#include "base/arena.h"
#include "domain/delivery.h"

// TARGETS_MAX is how many targets a delivery has at most, and an attempt carries.
enum { TARGETS_MAX = 100 };

// Target is one address of a delivery, and what was last told of it.
typedef struct Target {
    int n;       // its row's number, from 1; 0: it has none
    Str address; // none: the channel knows where to
    int send;    // that the outcome is of; 0: none was told yet
    Outcome outcome;
} Target;

// target_is_done: nothing is to be sent to it in this send. What was refused for good is not tried
// again, but where a person asks for it: then the send is begun again, and is no retry.
bool target_is_done(const Target *target, int send, bool is_retry);

// outcome_fold is what its targets make of an attempt: elsewhere while one of them is; else
// transient while one may pass (unknown, where nothing but that is the matter); else permanent
// where one was refused, and partly-delivered where another was not; else delivered. The detail
// says how each fared that has it not, by its number: addresses are not everybody's to read.
Outcome outcome_fold(Arena *arena, const Target *targets, size_t count);
