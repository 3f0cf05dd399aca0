#include "api/handlers.h"

#include "base/time.h"
#include "providers/provider.h"
#include "store/poll_group.h"

// interval_text tells an interval in seconds up to two minutes, as most are given.
static Str interval_text(Arena *arena, Span interval)
{
    if (interval < 2 * SPAN_MINUTE)
        return str_format(arena, "%llds", (long long) (interval / SPAN_SECOND));
    return duration_text(arena, interval);
}

bool poll_group_put(const Call *call, JsonOut *json, const PollGroup *group)
{
    ProviderName name;
    const Provider *provider =
        provider_name_parse(group->provider, &name) ? provider_of(name) : NULL;
    PollAsked asked = { 0 };
    if (provider)
        asked = poll_group_asked(call->registry, call->arena, call->tenant, name,
                                 group->integration, STR_NONE);
    if (asked.triggers == 0)
        return false;
    json_open(json, '{');
    json_put_str(json, S("provider"), group->provider);
    json_put_str(json, S("integration"),
                 group->integration.len > 0 ? group->integration : STR_NONE);
    json_put_i64(json, S("triggers"), (int64_t) asked.triggers);
    json_put_str(
        json, S("interval"),
        interval_text(call->arena, asked.interval ? asked.interval : provider->poll_every));
    json_put_time(json, S("lastPolledAt"), group->last_polled_at);
    json_put_time(json, S("nextPollAt"), group->next_at);
    json_put_time(json, S("cursorSetAt"), group->cursor_set_at);
    json_put_time(json, S("backoffUntil"), group->backoff_until);
    json_put_str(json, S("lastError"), group->last_error);
    json_close(json, '}');
    return true;
}

// A place is the provider and the integration of the last group, with a slash between them.
Err poll_group_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    Str after;
    PollGroup *groups;
    size_t count;
    TRY(call_walk(call, &walk, error));
    TRY(walk_after_text(&walk, &after, error));
    Str provider = str_cut(&after, '/'), integration = after.at ? after : S("");
    TRY(poll_groups_list(db, call->arena, call->tenant, provider, integration, walk.limit + 1,
                         &groups, &count, error));
    seen = walk_counted(&walk, count, false, false);
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        poll_group_put(call, json, &groups[i]);
    if (seen.has_more)
        seen.next = STR_JOIN(call->arena, groups[seen.count - 1].provider, S("/"),
                             groups[seen.count - 1].integration);
    page_close(call, &seen);
    return ERR_OK;
}
