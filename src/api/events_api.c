#include "api/handlers.h"

#include "store/event.h"

static Str id_text(Arena *arena, Uuid id)
{
    return uuid_is_none(id) ? STR_NONE : uuid_dup(arena, id);
}

static void put_event(Call *call, JsonOut *json, const Event *event)
{
    json_open(json, '{');
    json_put_str(json, S("id"), id_text(call->arena, event->id));
    json_put_str(json, S("kind"), event->kind);
    json_put_str(json, S("source"), event->source);
    json_put_str(json, S("entity"), event->entity);
    json_put_str(json, S("correlationId"), event->correlation_id);
    json_put_str(json, S("topic"), event->topic);
    if (event->schema_version)
        json_put_i64(json, S("schemaVersion"), event->schema_version);
    else
        json_put_null(json, S("schemaVersion"));
    json_put_str(json, S("traceparent"), event->trace);
    json_put_time(json, S("receivedAt"), event->received_at);
    json_put_time(json, S("occurredAt"), event->occurred_at);
    json_put_stored(json, S("payload"), event->payload);
    json_put_stored(json, S("recipient"), call_recipient(call, event->recipient));
    json_close(json, '}');
}

enum { EVENTS_KIND, EVENTS_TYPE, EVENTS_SOURCE, EVENTS_ENTITY, EVENTS_Q, EVENTS_FROM, EVENTS_TO };

// clang-format off
const Param event_params[] = {
    [EVENTS_KIND]   = { "kind",   PARAM_TEXT, .max = EVENT_KIND_MAX, .help = "Of this kind" },
    [EVENTS_TYPE]   = { "type",   PARAM_TEXT, .max = EVENT_KIND_MAX, .help = "The same, in the word of CloudEvents; one of both" },
    [EVENTS_SOURCE] = { "source", PARAM_TEXT, .max = EVENT_SOURCE_MAX, .help = "From this source" },
    [EVENTS_ENTITY] = { "entity", PARAM_TEXT, .max = EVENT_ENTITY_MAX, .help = "About this entity" },
    [EVENTS_Q]      = { "q",      PARAM_TEXT, .max = EVENT_QUERY_MAX, .help = "With all of these words in payload, kind, source or entity; a page may be short and go on" },
    [EVENTS_FROM]   = { "from",   PARAM_TIME, .help = "Received at this time or later" },
    [EVENTS_TO]     = { "to",     PARAM_TIME, .help = "Received before this time" },
    { 0 },
};
// clang-format on

Err event_list(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    EventFilter filter = { .to = INSTANT_NONE };
    Event *events;
    TRY(call_walk(call, &walk, error));
    if (param_text(call, EVENTS_KIND, &filter.kind) && param_text(call, EVENTS_TYPE, &filter.kind))
        return fail(error, ERR_MALFORMED, "give \"kind\" or \"type\", one of them");
    param_text(call, EVENTS_TYPE, &filter.kind);
    param_text(call, EVENTS_SOURCE, &filter.source);
    param_text(call, EVENTS_ENTITY, &filter.entity);
    param_text(call, EVENTS_Q, &filter.q);
    param_time(call, EVENTS_FROM, &filter.from);
    param_time(call, EVENTS_TO, &filter.to);
    TRY(event_page(db, call->arena, call->tenant, &filter, &walk, &events, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_event(call, json, &events[i]);
    page_close(call, &seen);
    return ERR_OK;
}

Err event_get(Call *call, Db *db, Error *error)
{
    Uuid id;
    Event event;
    TRY(call_id(call, 0, &id, error));
    TRY(event_row(db, call->arena, call->tenant, id, &event, error));
    put_event(call, call_json(call, 200), &event);
    return ERR_OK;
}
