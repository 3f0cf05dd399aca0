// id.h - ids: UUIDv7 inside, unguessable public ids outside.
//
// A Uuid is 16 bytes in the store and canonical lower-case text outside. New ones are version 7:
// they begin with the milliseconds of the given instant and grow with every id made from the same
// Random, so that rows land side by side in an index and their order is that of their making.
#pragma once

#include "base/base.h"
#include "base/random.h"
#include "base/str.h"

typedef struct Uuid {
    uint8_t b[16];
} Uuid;

enum { UUID_TEXT_LEN = 36, PUBLIC_ID_LEN = 18, PUBLIC_ID_ALIKE = 3 };

Uuid uuid_new(Instant now, Random *random); // safe for any thread with the system Random

// uuid_floor and uuid_ceiling enclose the ids of a time: none that was made at or after its instant
// is below the one, none that was made at or before it is above the other. They enclose a little
// more: where the clock slips back, ids run on ahead of it.
Uuid uuid_floor(Instant at);
Uuid uuid_ceiling(Instant at); // INSTANT_NONE: above all

bool uuid_parse(Str text, Uuid *ret); // any version
Str uuid_text(Uuid id, char buffer[UUID_TEXT_LEN + 1]);
Str uuid_dup(Arena *arena, Uuid id);
int uuid_cmp(Uuid a, Uuid b);
bool uuid_is_none(Uuid id); // all zero

// public_id_new makes PUBLIC_ID_LEN characters of A-Z a-z 0-9: 107 random bits. Those that are made
// together may begin alike, so that they lie together in an index; 89 bits are each one's own then.
// alike has the PUBLIC_ID_ALIKE characters of public_id_alike; none: nobody's.
Str public_id_new(Arena *arena, Random *random, Str alike);
Str public_id_alike(Arena *arena, Random *random);
