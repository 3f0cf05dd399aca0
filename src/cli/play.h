// play.h - plays a scenario on a Peal whose clock stands at its start, and holds what came of it
// against what it expects.
//
// The clock goes from step to step; all that falls due on the way is done at its own time, and
// nobody waits for it. After each step everything that is due at that moment is done before the
// next begins, so that steps of one moment happen in their order.
#pragma once

#include "cli/client.h"
#include "cli/scenario.h"

typedef struct Played {
    bool is_passed;
    Str report;      // what is wrong, in lines; with is_whole what came also where nothing is
    Failure failure; // of the Peal
} Played;

// play returns EXIT_DONE where the scenario was played, whether or not it passed. Otherwise the
// Peal failed: failure says how, as the client saw it.
int play(const Client *client, const Scenario *scenario, bool is_whole, Played *ret);
