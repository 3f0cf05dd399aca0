// origin.h - where a definition was applied from: which set of files, which of them, by whose key
// and when (docs/as-code.md).
//
// It is kept beside the definition, with the version that it had then. One that has another version
// by now was changed otherwise since: it has drifted. A set is a name that whoever applies chooses;
// what a set no longer has may be deleted with it, and nothing else is.
#pragma once

#include "base/id.h"
#include "domain/field.h"

enum { ORIGIN_SET_MAX = 100, ORIGIN_FILE_MAX = 400 };

typedef struct DefinitionOrigin {
    Str set, file; // file: none where it was not said
    Uuid by;       // the key
    Instant at;
    int64_t version;
} DefinitionOrigin;

extern const Shape origin_shape; // as it is shown

// origin_text is what is stored. origin_parse reads it; false where there is none, or it is
// damaged.
Str origin_text(Arena *arena, const DefinitionOrigin *origin);
bool origin_parse(Arena *arena, Str stored, DefinitionOrigin *ret);

// origin_has_drifted: the definition has another version by now.
bool origin_has_drifted(const DefinitionOrigin *origin, int64_t version);

// origin_put shows it, as the member origin, where there is one.
void origin_put(JsonOut *out, Arena *arena, Str stored, int64_t version);
