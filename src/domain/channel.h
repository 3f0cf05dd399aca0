// channel.h - a configured way out, as its definition says: key, type, settings, limits, retry.
//
// This is the definition only; how each type sends is in channels/. channel_compile() refuses
// unknown members with their place. The type's own settings stay JSON and are checked by the type
// (channels/channel.h). Members of config that are secret are sealed before they are stored.
#pragma once

#include "domain/backoff.h"

// What holds where a channel does not say.
#define CHANNEL_CONCURRENCY 32
#define CHANNEL_TIMEOUT_SECONDS 15
#define CHANNEL_LEASE ((Span) 5 * SPAN_MINUTE)
#define CHANNEL_LEASE_MAX SPAN_DAY

// The type whose channels nobody sends through: whoever is outside pulls.
#define CHANNEL_WORKER "worker"

typedef struct ChannelDefinition {
    Str key;  // such as http:bi; 1 to CHANNEL_KEY_MAX characters of a-z A-Z 0-9 : . _ -
    Str type; // such as http
    const Json *config;
    int concurrency; // at most this many attempts at once
    int rate_max;    // attempts per rate_per; 0: no limit
    Span rate_per;
    Span timeout;     // of one attempt …
    bool has_timeout; // … and whether the channel says it
    bool has_retry;
    RetryPolicy retry;
    bool enabled; // default true
    bool ordered; // one parcel at a time, each delivery in its turn, and none given up
} ChannelDefinition;

extern const Shape channel_shape;

// CHANNEL_LEASE_FIELD is the row of types whose far side has a lease, at a place of their struct;
// channel_lease is what such a channel's settings say.
#define CHANNEL_LEASE_FIELD(place)                                                                 \
    {                                                                                              \
        "lease", FIELD_SPAN,                                                                       \
            .offset = (place), .min = SPAN_SECOND, .max = CHANNEL_LEASE_MAX,                       \
            .help = "how long whoever has a delivery may take, from his last sign of life on; 5m " \
                    "unless said"                                                                  \
    }
Span channel_lease(const Json *config);

// channel_is_pulled: whoever is outside claims from it, and names a claim by its fence.
bool channel_is_pulled(const ChannelDefinition *channel);

Err channel_compile(const Json *source, ChannelDefinition *ret, Error *error) MUST_USE;
