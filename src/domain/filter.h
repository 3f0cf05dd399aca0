// filter.h - the filter language: compiled once, evaluated on an event, explained on request.
//
// A leaf is {"path"|"questionId", "op", "value"}; "all" and "any" take arrays, "not" takes one
// filter. Anything else is refused when compiled, with the JSON Pointer of the place and a code
// of: unknown-member, missing-path, bad-path, missing-op, unknown-op, missing-value, bad-value,
// bad-type, too-deep, too-large. Evaluation is pure and cannot fail. The published cases are
// test/cases/filter.json: null counts as missing; a missing path makes a leaf false, except that
// "!=" is true and "exists" with value false is true; a number and a numeric text compare as
// numbers (exactly, for integers beyond 2^53); two texts compare as bytes, except that < <= > >=
// on two numeric texts compare as numbers; true and false equal only themselves; "contains" works
// on text (part of it) and on arrays (an equal element); "in" wants an array value.
#pragma once

#include "domain/event.h"

enum { FILTER_NODES_MAX = 1000, FILTER_DEPTH_MAX = 32 };

typedef struct Filter Filter;

// filter_compile checks source (which lies at pointer in its document, for messages) and builds a
// Filter in arena; it keeps references into source. NULL source gives NULL: always true.
Err filter_compile(Arena *arena, const Json *source, Str pointer, const Filter **ret,
                   Error *error) MUST_USE;

// filter_compile_all compiles several to one that holds where all do. A part that was made of
// something else (is_made), such as a member of a trigger's config, is told by its own place alone,
// wherever in it a leaf stands, and by what was asked for; it may use FILTER_SHARES, which holds
// where the array at a path has an element of the value's.
#define FILTER_SHARES "shares"
typedef struct FilterPart {
    const Json *source;
    Str pointer;
    bool is_made;
} FilterPart;
Err filter_compile_all(Arena *arena, const FilterPart *parts, size_t count, const Filter **ret,
                       Error *error) MUST_USE;

// filter_schema writes the JSON Schema of a filter; ref is what it refers to itself by.
void filter_schema(JsonOut *out, const char *ref);

// FilterMiss tells why a filter was false: the first leaf (in order) that decided it. leaf is its
// index in the compiled filter, which is what a decision row stores.
typedef struct FilterMiss {
    int leaf;
} FilterMiss;

bool filter_matches(const Filter *filter, const Event *event, Str template_id, FilterMiss *miss);

// FilterGate is a filter's first condition, where that alone turns most events away: the value at
// path must equal one of some, which are told apart by their keys. An event whose value there has
// another key, or none, is turned away by leaf FILTER_GATE_LEAF; of any other the filter must be
// asked, for different values may share a key.
enum { FILTER_GATE_MAX = 16, FILTER_GATE_LEAF = 0 };

typedef struct FilterGate {
    Str path; // none: the filter has no such condition
    uint64_t keys[FILTER_GATE_MAX];
    size_t count;
} FilterGate;

FilterGate filter_gate(const Filter *filter); // NULL has none

// filter_gate_key is the key of what an event has at a gate's path; false where that equals
// nothing.
bool filter_gate_key(const Event *event, Str path, uint64_t *ret);

// FilterReason is a miss in words, for explain and for the command line.
typedef struct FilterReason {
    Str path;           // JSON Pointer of the leaf within the trigger: /filter/all/0
    Str predicate;      // candidate.jobType == "GR"; of what was made: labels contained "ui";
                        // "bug" was asked for
    Str seen;           // JSON of the value found; none when it is missing
    Str would_match_if; // candidate.jobType were "GR"
} FilterReason;
FilterReason filter_explain(Arena *arena, const Filter *filter, int leaf, const Event *event,
                            Str template_id);
