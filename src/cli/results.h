// results.h - what became of scenarios, for whoever reads it: lines for a person, JSON for a
// program, JUnit's XML for CI.
#pragma once

#include "cli/scenario.h"

#include <stdio.h>

typedef struct Result {
    const Scenario *scenario;
    bool is_passed;
    Str report; // of play.h
    Span took;
} Result;

typedef struct Results {
    Result *at;
    size_t count, passed;
    Span took;
} Results;

// result_print tells of one as soon as it is known, results_print how many there were.
void result_print(const Result *result);
void results_print(const Results *results);

Str results_json(Arena *arena, const Results *results);
Str results_junit(Arena *arena, const Results *results);
