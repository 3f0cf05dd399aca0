// schema.h - the JSON Schema (2020-12) of definitions and scenarios as files have them, one or a
// list.
#pragma once

#include "base/str.h"

// schema_text is of one kind of document by its name, or of any: "definition".
Str schema_text(Arena *arena, const char *kind);
