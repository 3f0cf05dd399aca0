// sieve.h - which of many rules an event may concern, told by a few looks at it.
//
// A thousand rules may listen to one kind, each for one value of the same member: asking every
// filter costs a thousand times what the event itself does. A filter that begins with such a
// condition has a gate (filter.h). The sieve looks once at each path that gates stand at, and picks
// the rules whose gate lets the event pass, and those without one. Of all others it knows what they
// decide without being asked: those that are disabled say so, the rest was turned away at the gate,
// by the very leaf that asking them would name. That is packed (decision.h) when the sieve is made,
// so that an event which concerns nobody costs nothing more.
//
// A sieve is immutable; any thread may use it. Rules go by their place in the list it was made of.
#pragma once

#include "domain/decision.h"
#include "domain/filter.h"

typedef struct SieveRule {
    int64_t rule, version;
    bool is_enabled;
    Str path; // of its gate; none: it has to be asked
    const uint64_t *keys;
    size_t key_count;
} SieveRule;

typedef struct Sieve Sieve;

// sieve_new copies what it needs but for the paths, which must live as long.
Sieve *sieve_new(const SieveRule *rules, size_t count);
void sieve_free(Sieve *sieve); // NULL is fine

// sieve_pick returns the rules that have to be asked about an event, in their order.
size_t sieve_pick(const Sieve *sieve, Arena *arena, const Event *event, uint32_t **ret);

// sieve_rest is what all others decide, packed; picked is what sieve_pick() returned. It lies in
// the sieve or in the arena.
Str sieve_rest(const Sieve *sieve, Arena *arena, const uint32_t *picked, size_t count);
