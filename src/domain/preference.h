// preference.h - what a recipient does not want, and what he wants another way.
//
// A preference is of an address, whoever writes to it: channels that he opted out of, by key or by
// the part before the colon (sms for sms:msg91), and channels that stand in for others. Addresses
// are compared without spaces, hyphens, brackets and case; in one with an @ the hyphens count, for
// there they tell people apart.
#pragma once

#include "base/arena.h"
#include "domain/field.h"

enum { PREFERENCE_ROWS_MAX = 50 };

typedef struct Preference {
    Str address;         // as it was given
    const Json *opt_out; // a list of texts; NULL: none
    const Json *channel; // from channel key to channel key; NULL: none
} Preference;

// preference_shape reads {"address","optOut"?,"channel"?} into a Preference.
extern const Shape preference_shape;

// preference_key is what an address is kept and found by; none for one of which nothing is left.
Str preference_key(Arena *arena, Str address);

// preference_opts_out says whether the recipient does not want what comes through a channel.
bool preference_opts_out(const Json *opt_out, Str channel);

// preference_instead is the channel that stands in for another; none: it stays.
Str preference_instead(const Json *channel, Str key);
