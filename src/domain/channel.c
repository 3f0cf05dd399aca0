#include "domain/channel.h"

#include "domain/members.h"
#include "domain/trigger.h"

enum { TYPE_MAX = 50, CONCURRENCY_DEFAULT = 32, CONCURRENCY_MAX = 1000, RATE_MAX = 1000000 };
#define TIMEOUT_DEFAULT ((Span) 15 * SPAN_SECOND)
#define TIMEOUT_MAX (5 * SPAN_MINUTE)

static void read_rate(const Members *members, ChannelDefinition *channel)
{
    static const char *const known[] = { "per", "max" };
    const Json *source = members_get(members, "rate");
    if (!source)
        return;
    Members rate = members_open(source, members_pointer(members, S("rate")), members->error);
    if (!members_check(&rate, known, ARRAY_LEN(known)))
        return;
    members_need(&rate, "per");
    members_need(&rate, "max");
    members_span(&rate, "per", SPAN_SECOND, SPAN_DAY, &channel->rate_per);
    members_int(&rate, "max", 1, RATE_MAX, &channel->rate_max);
}

Err channel_compile(const Json *source, ChannelDefinition *ret, Error *error)
{
    static const char *const known[] = { "key",  "type",    "config", "concurrency",
                                         "rate", "timeout", "retry",  "enabled" };
    Error own = { 0 };
    Members members = members_open(source, S(""), error ? error : &own);
    if (!members_check(&members, known, ARRAY_LEN(known)))
        return members_close(&members, ERR_CHANNEL_INVALID);

    ChannelDefinition channel = { .concurrency = CONCURRENCY_DEFAULT,
                                  .timeout = TIMEOUT_DEFAULT,
                                  .retry = retry_default(),
                                  .enabled = true };
    members_need(&members, "key");
    members_need(&members, "type");
    members_key(&members, "key", CHANNEL_KEY_MAX, &channel.key);
    members_key(&members, "type", TYPE_MAX, &channel.type);
    members_int(&members, "concurrency", 1, CONCURRENCY_MAX, &channel.concurrency);
    members_span(&members, "timeout", SPAN_SECOND, TIMEOUT_MAX, &channel.timeout);
    members_bool(&members, "enabled", &channel.enabled);
    read_rate(&members, &channel);

    channel.config = members_get(&members, "config");
    if (channel.config && json_type(channel.config) != JSON_OBJECT)
        members_note(&members, S("config"), "bad-type", "must be an object, not %s",
                     json_type_name(json_type(channel.config)));

    const Json *retry = members_get(&members, "retry");
    channel.has_retry = retry != NULL;
    if (retry)
        retry_parse(retry, S("/retry"), &channel.retry, members.error);

    TRY(members_close(&members, ERR_CHANNEL_INVALID));
    *ret = channel;
    return ERR_OK;
}
