// cause.h - what deliveries fail of, told apart: the channel, the reason, its code, and what the
// far side said less what differs from one delivery to the next.
//
// Ten thousand deliveries that are parked for one refused login are one cause, and a person decides
// once. Addresses, ids, numbers and times are taken out of what was said; the rest is the sample,
// which names nobody. All four together are numbered by a hash: the number stands in the row of
// each delivery, so that exactly those of one cause can be found.
#pragma once

#include "domain/delivery.h"

enum { CAUSE_SAMPLE_MAX = 160, CAUSE_TEXT_LEN = 16 };

// cause_sample takes out what differs: <address> stands for an e-mail or IPv6 address, <id> for a
// word that somebody's machine made, # for numbers and what is made of them (times, telephone
// numbers, IPv4 addresses). The status that an answer begins with stays. None for nothing.
Str cause_sample(Arena *arena, Str detail);

// cause_of is the number, above zero.
int64_t cause_of(int64_t lane, DeliveryReason reason, int code, Str sample);

// cause_text writes the number as 16 hex digits; cause_parse reads them.
Str cause_text(int64_t cause, char buffer[CAUSE_TEXT_LEN + 1]);
bool cause_parse(Str text, int64_t *ret);
