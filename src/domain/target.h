// target.h - one of the addresses that a delivery goes to, what became of it there, and what all of
// them together make of the attempt.
//
// Most deliveries have one target, the address of their promise, and its outcome is the attempt's.
// One with several keeps a row for each (store/target.h), so that a retry goes only to those that
// have it not. There may be a hundred thousand of them (a list's): an attempt carries TARGETS_MAX,
// and the others are known by their numbers alone (TargetsElse).
#pragma once

#include "base/arena.h"
#include "domain/delivery.h"

// TARGETS_MAX is how many targets an attempt carries at most.
enum { TARGETS_MAX = 100 };

// Target is one address of a delivery, and what was last told of it.
typedef struct Target {
    int64_t n;        // its row's number, from 1; 0: it has none
    Str address;      // none: the channel knows where to
    Str name, locale; // of who is there; none
    int send;         // that the outcome is of; 0: none was told yet
    bool opts_out;    // as claimed: whoever is there does not want what comes this way
    Outcome outcome;
} Target;

// TargetsElse are those targets of a delivery that an attempt does not carry, since they are done
// or have been tried already: how many, and a few of those that have it not.
typedef struct TargetsElse {
    int64_t count, delivered, refused;   // the rest may pass, but for …
    int64_t opted_out;                   // … those who do not want it
    DeliveryReason least_reason, reason; // of those refused: the same where they share it
    const Target *told;                  // of those that have it not, the first few
    size_t told_count;
} TargetsElse;

// target_is_done: nothing is to be sent to it in this send. What was refused for good is not tried
// again; where a person asks for it, nothing counts as told (store/target.h: target_reopen).
bool target_is_done(const Target *target, int send);

// outcome_fold is what its targets make of an attempt: elsewhere while one of them is; else
// transient while one may pass (unknown, where nothing but that is the matter); else permanent
// where one was refused, and partly-delivered where another was not; else delivered. Who opted out
// counts for nothing, unless all did: then nobody wants it. The detail says how each fared that has
// it not, by its number: addresses are not everybody's to read. others may be NULL: the attempt
// carries all there are.
Outcome outcome_fold(Arena *arena, const Target *targets, size_t count, const TargetsElse *others);
