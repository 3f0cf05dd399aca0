#include "engine/compose.h"

#include "domain/template.h"

// render fills in what its template makes of the event.
static Err render(const Claimed *claimed, Arena *arena, Message *message, size_t *ret_missing,
                  Error *error)
{
    Event event = { .id = claimed->promise.event,
                    .kind = claimed->event_kind,
                    .entity = claimed->promise.entity,
                    .occurred_at = claimed->origin.occurred_at,
                    .received_at = claimed->promise.triggered_at,
                    .payload = claimed->payload,
                    .recipient = claimed->recipient };
    Filling filling = { .event = &event, .url = message->url };
    TRY(event_parse(arena, &event, error));
    TRY(template_say(claimed->trigger->template, arena, &filling, &message->content, error));
    *ret_missing = filling.missing_count;
    return ERR_OK;
}

// say fills in what a message says.
static size_t say(const Claimed *claimed, const ChannelType *type, Arena *arena, Message *message)
{
    const Json *payload;
    Error error = { .arena = arena };
    size_t missing = 0;
    if (claimed->trigger->template) {
        if (render(claimed, arena, message, &missing, &error) != ERR_OK)
            message_judge(message, &(Outcome){ .verdict = VERDICT_PERMANENT,
                                               .reason = REASON_RENDER_FAILED,
                                               .detail = str_dup(arena, str_from(error.detail)) });
    } else if (type->has_content && json_parse(arena, message->payload, &payload, NULL) == ERR_OK) {
        message->content = content_of_payload(arena, payload, message->url);
    }
    return missing;
}

size_t compose(const Claimed *claimed, const ChannelType *type, Str url_template, Target *targets,
               size_t target_count, Arena *arena, Message *ret)
{
    *ret = (Message){
        .promise = claimed->promise,
        .event_kind = claimed->event_kind,
        .rule_kind = claimed->trigger->rule.kind,
        .rule_id = claimed->trigger->rule.id,
        .automation = claimed->trigger->automation,
        .send = claimed->live.send,
        .attempt = claimed->live.attempt,
        .url = message_link(arena, url_template, claimed->promise.public_id),
        .occurred_at = claimed->origin.occurred_at,
        .source = claimed->origin.source,
        .trace = claimed->trace,
        .payload = claimed->payload,
        .targets = targets,
        .target_count = target_count,
        .list_name = claimed->trigger->list.name,
        .shows_targets = claimed->trigger->list.shows_targets,
    };
    return say(claimed, type, arena, ret);
}

Err compose_request(const Parcel *parcel, Transfer *ret, Error *error)
{
    assert(parcel->type->carrier == CARRIER_TRANSFER);
    for (size_t i = 0; parcel->type->has_content && i < parcel->count; i++)
        if (content_is_empty(&parcel->messages[i].content))
            return fail(error, ERR_INVALID, "the message says nothing: its payload has no body");
    return parcel->type->request(parcel, ret, error);
}

DeliveryReason compose_refusal(const RegistryLane *way, const ChannelType *type,
                               const Trigger *trigger)
{
    if (!type)
        return trigger_is_run(trigger) ? REASON_NO_HANDLER : REASON_NO_CHANNEL;
    return way->channel->definition.enabled ? REASON_NONE : REASON_CHANNEL_DISABLED;
}
