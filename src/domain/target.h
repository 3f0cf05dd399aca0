// target.h - one of the addresses that a delivery goes to, and what became of it there.
//
// Most deliveries have one target, the address of their promise. One with several keeps a row for
// each (store/target.h), so that a retry goes only to those that have it not.
#pragma once

#include "domain/delivery.h"

// Target is one address of one message.
typedef struct Target {
    Str address; // none: the channel knows where to
    int n;       // its row's number; 0: it has none
    Outcome outcome;
} Target;
