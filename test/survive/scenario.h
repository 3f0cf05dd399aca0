// scenario.h - a scripted run of the real store: what the crash and fault tests do over and over.
//
// A step is one operation of an inline writer, so one transaction and one acknowledgement. The
// clock, the chance and every id follow from the number of the step alone: a step that is tried
// again, or done in another process, writes the same rows. So the state of the database after each
// step is known beforehand (inspect.h gives it a digest), and after a crash it must be one of them.
#pragma once

#include "base/clock.h"
#include "store/queue.h"
#include "store/writer.h"

enum { SCENARIO_CLAIM_MAX = 8 };

typedef struct ScenarioOptions {
    Str url;
    int cycles;                                 // how often the middle part is repeated
    bool is_weak;                               // see DbOptions
    int (*fault)(void *with, const char *call); // see WriterOptions
    void *fault_with;
} ScenarioOptions;

// Held is a delivery that was claimed and is not yet settled; of a list's, with its targets.
enum { SCENARIO_TARGETS = 3 };

typedef struct Held {
    int64_t tenant, lane, rule;
    int bytes;
    Uuid id;
    Live live;
    const Trigger *trigger;
    Target targets[SCENARIO_TARGETS]; // by their numbers alone
    size_t target_count;              // 0: it has no rows
} Held;

typedef struct Scenario {
    ScenarioOptions options;
    Writer *writer;
    Clock clock;
    Random random;
    KeyRing ring;
    Arena scratch; // of one step
    size_t step;   // the next one
    Held held[SCENARIO_CLAIM_MAX];
    size_t held_count;
} Scenario;

// scenario_open makes the tables where they are missing and opens the writer.
Err scenario_open(Scenario *scenario, const ScenarioOptions *options, Error *error) MUST_USE;
void scenario_close(Scenario *scenario);

size_t scenario_length(const ScenarioOptions *options);
const char *scenario_name(const Scenario *scenario); // of the next step

// scenario_skips: the next step leaves what another transaction holds for later, and so does less
// while one that is over for us is still open at the server.
bool scenario_skips(const Scenario *scenario);

// scenario_step does the next step; on failure it may be asked again.
Err scenario_step(Scenario *scenario, Error *error) MUST_USE;

// scenario_reseed makes chance a matter of the step alone, however often it is tried: whoever draws
// in a transaction calls it there.
void scenario_reseed(Scenario *scenario);
