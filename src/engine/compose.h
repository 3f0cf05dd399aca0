// compose.h - what an attempt of a delivery says, and the request that it goes out by.
//
// The engine sends what is composed here (parcel.c); whoever tries a trigger out is shown it
// (api/dry_api.c). So what was shown is what will be sent. Nothing here touches the store, the
// engine or the world: any thread may compose.
#pragma once

#include "channels/channel.h"
#include "store/queue.h"

// compose fills in a message to the targets: what its rule's template makes of the event, or, where
// its channel speaks to persons, what that says by itself. What cannot be rendered is judged at
// once. It returns how many placeholders had no value.
size_t compose(const Claimed *claimed, const ChannelType *type, Str url_template, Target *targets,
               size_t target_count, Arena *arena, Message *ret);

// compose_request describes what to send of a parcel whose carrier is a transfer. It refuses what
// says nothing to a person.
Err compose_request(const Parcel *parcel, Transfer *ret, Error *error) MUST_USE;

// compose_refusal is why there is no way out by a lane for what a rule made, as far as is known
// before it is tried; type is that of the lane's channel, NULL: there is none.
DeliveryReason compose_refusal(const RegistryLane *way, const ChannelType *type,
                               const Trigger *trigger);
