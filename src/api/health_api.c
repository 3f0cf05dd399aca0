#include "api/handlers.h"
#include "store/health.h"

// Health is shown with every channel that is read: how its circuit stands, and whether the far side
// asked for a pause. It is what the node said that found out last (store/health.h).

// Held are the lanes of the tenant that are held, by channel.
typedef struct Held {
    Health *rows;
    size_t count;
} Held;

Err channel_look(Call *call, Db *db, const Definition *rows, size_t count, const void **ret,
                 Error *error)
{
    (void) rows;
    (void) count; // whoever is held is few
    Held *held = ARENA_NEW(call->arena, Held);
    *ret = held;
    return health_list(db, call->arena, call->tenant, clock_now(call->api->clock), &held->rows,
                       &held->count, error);
}

static Health find(const Held *held, Str channel)
{
    for (size_t i = 0; i < held->count; i++)
        if (str_eq(held->rows[i].channel, channel))
            return held->rows[i];
    return (
        Health){ .since = INSTANT_NONE, .probe_at = INSTANT_NONE, .paused_until = INSTANT_NONE };
}

void channel_tell(Call *call, const void *known, Str id)
{
    JsonOut *out = &call->json;
    Health health = find(known, id);
    Instant now = clock_now(call->api->clock);
    json_key(out, S("health"));
    json_open(out, '{');
    json_put_str(out, S("circuit"), str_from(circuit_state_text(health.circuit)));
    json_put_time(out, S("since"), health.since);
    json_put_i64(out, S("failures"), health.failures);
    json_put_time(out, S("nextProbeAt"), health.probe_at);
    json_put_str(out, S("lastError"), health.error);
    json_put_time(out, S("pausedUntil"),
                  health.paused_until > now ? health.paused_until : INSTANT_NONE);
    json_close(out, '}');
}
