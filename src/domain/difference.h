// difference.h - how a definition differs from what is stored of it, member by member, for a person
// to read before it is applied.
//
// Objects are compared by their members, in whatever order these stand. Of lists what they begin
// and end with alike is left out: what lies between is compared element by element where there are
// as many on both sides, and otherwise was taken out and put in.
//
// A secret (FIELD_SEALED) differs where another was given; its values are told to nobody. What
// follows the ? of a URL may be a token, and is not told either.
#pragma once

#include "base/json.h"

enum { DIFFERENCE_ROWS_MAX = 200, DIFFERENCE_VALUE_MAX = 400 }; // the latter in bytes

// DifferenceRow is one member that differs.
typedef struct DifferenceRow {
    Str path; // JSON Pointer
    bool is_secret;
    Str old, now; // as JSON, a long one cut; none: there is no such member
} DifferenceRow;

typedef struct Difference {
    Arena *arena;
    DifferenceRow *rows; // DIFFERENCE_ROWS_MAX at most
    size_t count;        // of differences; may exceed what is kept
} Difference;

// difference_find compares; everything that is returned lies in the arena. from and to may be NULL.
Difference difference_find(Arena *arena, const Json *from, const Json *to);

// difference_add notes one that is found elsewhere: its texts are JSON.
void difference_add(Difference *difference, Str path, Str old, Str now);

// difference_write writes the rows as a list.
void difference_write(JsonOut *out, const Difference *difference);
