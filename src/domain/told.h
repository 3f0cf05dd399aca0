// told.h - what the targets of one attempt were told, packed. Pure.
//
// An attempt that goes to several targets tells each of them something of its own. Their rows
// (store/target.h) keep what they were told last; so that what each attempt told stays on record,
// it goes into the fact that the attempt leaves (fact.h). Targets that were told the same, as most
// are, take a byte or two each.
//
//     how many | of each: its number, as the step from the one before, and whether it was told the
//     same | if not: verdict, reason, code, the far side's id and its words
#pragma once

#include "domain/target.h"

enum {
    TOLD_TEXT_MAX = 200,       // bytes of what the far side says; what is longer is cut
    TOLD_BYTES_MAX = 64 << 10, // more than all that an attempt tells
};

// TargetTold is what a target was told.
typedef struct TargetTold {
    int64_t n; // the target's row
    Outcome outcome;
} TargetTold;

// told_pack packs what targets were told; none where there are none.
Str told_pack(Arena *arena, const Target *targets, size_t count);

// told_count says how many targets were told something; told_read reads what, as far as it can be
// read, and returns how many these are.
size_t told_count(Str bytes);
size_t told_read(Str bytes, TargetTold ret[TARGETS_MAX]);
