// expect.h - what a scenario expects beside what came, and in which way the two differ. It touches
// nothing: messages are as GET /v1/captured tells them, deliveries as GET /v1/deliveries does.
//
// Within one moment messages have no order. Each expectation takes one message of its own, and as
// many expectations as can be are met: one that leaves much open does not take away the only
// message that another could have had.
#pragma once

#include "cli/scenario.h"

#define EXPECT_NONE SIZE_MAX

// Expectation is a message that is to come, and which one did.
typedef struct Expectation {
    const MessageWanted *wanted;
    Instant at;
    Str pointer; // where it stands in the scenario
    size_t met;  // by this message; EXPECT_NONE
} Expectation;

// Came is a message that left, and who expected it.
typedef struct Came {
    const Json *message;
    Instant at;
    size_t meets; // this expectation; EXPECT_NONE
} Came;

typedef struct Comparison {
    Expectation *expected;
    size_t expected_count;
    Came *came; // in the order of time, without those that are ignored
    size_t came_count;
} Comparison;

// expect_compare holds all that came against the scenario.
Comparison expect_compare(Arena *arena, const Scenario *scenario, const Json *const *messages,
                          size_t count);

// expect_is_met: all that was expected came, and nothing else, or the scenario allows it.
bool expect_is_met(const Scenario *scenario, const Comparison *comparison);

// expect_report writes what was expected and what came in the order of time, a line each: "- " only
// expected, "+ " only came, "  " both. Long runs of lines of the last kind are cut, unless
// is_whole.
void expect_report(Arena *arena, const Scenario *scenario, const Comparison *comparison,
                   bool is_whole, Buf *out);

// expect_message_differs adds to out, a line each, in which way a message is not the one that is
// meant; false: it is.
bool expect_message_differs(Arena *arena, const MessageWanted *wanted, const Json *message,
                            Buf *out);

// expect_is_whose: a delivery is among those that are meant, whatever its state. expect_state_is:
// it has come to what is wanted of it.
bool expect_is_whose(const DeliveryWanted *wanted, const Json *delivery);
bool expect_state_is(const DeliveryWanted *wanted, const Json *delivery);

// expect_whose_text says which deliveries are meant.
Str expect_whose_text(Arena *arena, const DeliveryWanted *wanted);
