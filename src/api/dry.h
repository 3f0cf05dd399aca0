// dry.h - bodies and answers of what is tried out and not done (dry_api.c), as rows (shapes.h).
#pragma once

#include "api/api.h"
#include "channels/channel.h"

// DryBody is what a definition is tried with: an event that is given, or one that is stored.
typedef struct DryBody {
    const Json *event; // NULL: none
    Uuid stored;
    bool has_stored;
    const Filter *filter; // of a filter that is tried
    Str template_id;      // likewise: what templateId is; none
} DryBody;

// Sent is what would leave the machine.
typedef struct Sent {
    Str url;
    const Header *headers;
    size_t header_count;
    Str body;
    Str address;
} Sent;

// sent_describe asks a parcel's type for the request, the command, or what it would capture.
// sent_config is a channel's settings with stand-ins for what is secret; NULL: they cannot be read.
Err sent_describe(const Parcel *parcel, Sent *ret, Error *error) MUST_USE;
const Json *sent_config(Call *call, const RegistryChannel *channel, const ChannelType *type);

extern const Shape trigger_test_body_shape;
extern const Shape trigger_test_shape;
extern const Shape filter_test_body_shape;
extern const Shape filter_test_shape;

Err trigger_test(Call *call, Db *db, Error *error);
Err filter_test(Call *call, Db *db, Error *error);
