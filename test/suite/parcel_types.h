// parcel_types.h - channel types of the tests' own: many targets, one target, several messages, a
// program, one that is pulled; and HTTP.
//
// Their far side answers with a letter for each target of the parcel: d delivered, t transient, p
// permanent, e elsewhere, for an hour, c not reached, r transient with Retry-After.
#pragma once

#include "channels/channel.h"

extern const ChannelType *const parcel_types[]; // ends with NULL
