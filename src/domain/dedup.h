// dedup.h - the key that says two events are the same for one trigger.
//
// The recipe's paths in order, each written path=value, joined by byte 0x1F and hashed with
// SHA-256. Strings as given, numbers as their JSON text, booleans true or false, null and missing
// empty, objects and arrays as compact JSON with sorted keys.
#pragma once

#include "base/crypto.h"
#include "domain/event.h"

enum { DEDUP_PATHS_MAX = 32 };

// Scopes: a rule's keys have its number.
enum {
    DEDUP_SCOPE_EVENT = 0,    // of an event's identity
    DEDUP_SCOPE_MESSAGE = -1, // of a template's messages: theirs are unique per tenant
};

Sha256 dedup_hash(Arena *scratch, const Str *paths, size_t count, const Event *event,
                  Str template_id);

// dedup_parts is the hash over texts, each behind its length: no two lists have the same.
Sha256 dedup_parts(Arena *scratch, const Str *parts, size_t count);

// dedup_identity is the key of an event's identity, which is unique with its source.
Uuid dedup_identity(Arena *scratch, Str source, Str identity);

// dedup_key is what a hash is stored as within its scope: the first 16 bytes of SHA-256 over the
// scope's number (8 bytes, the highest first) and the hash. Half the bytes in the index that every
// delivery writes, and no text. In a store of 2^50 keys two fall together with a chance of 2^-29.
Uuid dedup_key(int64_t scope, const Sha256 *hash);
