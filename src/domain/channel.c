#include "domain/channel.h"

#include "domain/circuit.h"
#include "domain/definition.h"
#include "domain/trigger.h"

enum { TYPE_MAX = 50, CONCURRENCY_MAX = 1000, RATE_MAX = 1000000 };
#define TIMEOUT_MAX (5 * SPAN_MINUTE)

// clang-format off
#define AT(member) .offset = offsetof(ChannelDefinition, member)
static const Field rate_fields[] = {
    { "per", FIELD_SPAN, FIELD_NEEDED, AT(rate_per), .min = SPAN_SECOND, .max = SPAN_DAY },
    { "max", FIELD_INT, FIELD_NEEDED, AT(rate_max), .min = 1, .max = RATE_MAX },
};
static const Shape rate_shape = { "Rate", SHAPE_ROWS(rate_fields), .size = sizeof(ChannelDefinition) };

static const char *const circuits[] = {
#define CIRCUIT_WORD(name, text) text,
    CIRCUIT_STATE_TABLE(CIRCUIT_WORD)
#undef CIRCUIT_WORD
    NULL
};
#define OR_NULL (FIELD_SHOWN | FIELD_ALWAYS | FIELD_NULLABLE)
static const Field health_fields[] = {
    { "circuit", FIELD_WORD, FIELD_SHOWN | FIELD_NEEDED, .words = circuits, .noun = "a state",
      .help = "open: nothing goes out but probes" },
    { "since", FIELD_TIME, OR_NULL, .help = "it opened then" },
    { "failures", FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED, .help = "in a row" },
    { "nextProbeAt", FIELD_TIME, OR_NULL },
    { "lastError", FIELD_TEXT, OR_NULL, .help = "what the far side, or the way to it, said last" },
    { "pausedUntil", FIELD_TIME, OR_NULL, .help = "the far side asked for it (Retry-After)" },
};
static const Shape health_shape = { "Health", SHAPE_ROWS(health_fields) };

static const Field fields[] = {
    { "key", FIELD_KEY, FIELD_NEEDED, AT(key), .max = CHANNEL_KEY_MAX, .help = "its name, such as http:bi" },
    { "type", FIELD_KEY, FIELD_NEEDED, AT(type), .max = TYPE_MAX, .help = "how it sends" },
    { "config", FIELD_OBJECT, AT(config), .component = "ChannelConfig" },
    { "concurrency", FIELD_INT, AT(concurrency), .min = 1, .max = CONCURRENCY_MAX,
      .help = "attempts at once; " MACRO_TEXT(CHANNEL_CONCURRENCY) " unless said" },
    // The rate's members lie in the channel itself.
    { "rate", FIELD_OBJECT, .inside = &rate_shape, .help = "at most max attempts in each per" },
    { "timeout", FIELD_SPAN, AT(timeout), .given = offsetof(ChannelDefinition, has_timeout), .min = SPAN_SECOND, .max = TIMEOUT_MAX,
      .help = "of one attempt; " MACRO_TEXT(CHANNEL_TIMEOUT_SECONDS) "s unless said" },
    { "retry", FIELD_OBJECT, AT(retry), .given = offsetof(ChannelDefinition, has_retry), .inside = &retry_shape },
    { "enabled", FIELD_BOOL, FIELD_ALWAYS, AT(enabled), .help = "a disabled one parks what it is to send" },
    { "ordered", FIELD_BOOL, AT(ordered),
      .help = "one at a time, in the order in which they fall due: what cannot be sent holds up the rest" },
    { "health", FIELD_OBJECT, FIELD_SHOWN, .inside = &health_shape },
    DEFINITION_SHOWN,
};
// clang-format on

const Shape channel_shape = {
    "Channel",
    SHAPE_ROWS(fields),
    .size = sizeof(ChannelDefinition),
    .invalid = ERR_CHANNEL_INVALID,
};

Err channel_compile(const Json *source, ChannelDefinition *ret, Error *error)
{
    ChannelDefinition channel = { .concurrency = CHANNEL_CONCURRENCY,
                                  .timeout = CHANNEL_TIMEOUT_SECONDS * SPAN_SECOND,
                                  .retry = retry_default(),
                                  .enabled = true };
    TRY(fields_read(NULL, source, S(""), &channel_shape, &channel, error));
    *ret = channel;
    return ERR_OK;
}

static const Field lease_fields[] = { CHANNEL_LEASE_FIELD(0) };
static const Shape lease_shape = {
    "Lease",
    SHAPE_ROWS(lease_fields),
    .size = sizeof(Span),
    .is_open = true,
};

Span channel_lease(const Json *config)
{
    Error ignored = { 0 }; // what was saved was checked
    Span lease = CHANNEL_LEASE;
    if (config)
        fields_note(NULL, config, S(""), &lease_shape, &lease, &ignored);
    return lease;
}

bool channel_is_pulled(const ChannelDefinition *channel)
{
    return str_eq(channel->type, S(CHANNEL_WORKER));
}
