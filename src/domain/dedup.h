// dedup.h - the key that says two events are the same for one trigger.
//
// The recipe's paths in order, each written path=value, joined by byte 0x1F and hashed with
// SHA-256. Strings as given, numbers as their JSON text, booleans true or false, null and missing
// empty, objects and arrays as compact JSON with sorted keys.
#pragma once

#include "base/crypto.h"
#include "domain/event.h"

enum { DEDUP_PATHS_MAX = 32 };

Sha256 dedup_hash(Arena *scratch, const Str *paths, size_t count, const Event *event,
                  Str template_id);
