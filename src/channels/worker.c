#include "channels/channel.h"

#include "domain/channel.h"

// The worker channel sends nothing: whoever is outside claims what is due in its lane, under a
// lease, and reports what became of it (api/work_api.c).

static const Field fields[] = { CHANNEL_LEASE_FIELD(0) };

static const Shape config_shape = {
    "WorkerConfig",
    SHAPE_ROWS(fields),
    .size = sizeof(Span),
    .invalid = ERR_CHANNEL_INVALID,
};

const ChannelType channel_worker = {
    .type = CHANNEL_WORKER,
    .carrier = CARRIER_PULLED,
    .parcel_max = 1,
    .config = &config_shape,
};
