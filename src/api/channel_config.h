// channel_config.h - a channel's settings on their way into the store and out to a reader.
//
// Secret members (channels/channel.h says which) are sealed on the way in and never shown again:
// on the way out a mark stands in their place, {"set":true,"rotatedAt":…}. The mark may be given
// back, and a secret that is left out stays; null removes it. A header that is left out is gone,
// for the names of headers are no secret.
//
// A secret belongs to the place it was given for. Where the scheme, host or port that a channel
// sends to changes, or its type, each secret must be given anew: otherwise whoever may edit a
// channel could have its credentials sent to a host of their own.
#pragma once

#include "api/api.h"
#include "channels/channel.h"
#include "domain/channel.h"

// channel_config_put shows settings as they are stored; type may be NULL. The query of a URL may
// hold a token: only those who may edit channels see it.
void channel_config_put(Call *call, const ChannelType *type, const Json *config);

// channel_config_seal checks the settings of channel and returns them as they are to be stored. old
// is the stored definition that it replaces, NULL for none. ERR_CHANNEL_INVALID tells what is wrong
// with which member; ERR_CONFLICT that this node cannot seal.
Err channel_config_seal(Call *call, Tx *tx, const ChannelDefinition *channel,
                        const ChannelType *type, const Json *old, Str *ret, Error *error) MUST_USE;
