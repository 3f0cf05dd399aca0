#include "domain/trigger.h"

#include "base/time.h"
#include "domain/dedup.h"
#include "domain/definition.h"
#include "domain/template.h"

enum { TEMPLATE_ID_MAX = 200, CANCEL_PATHS_MAX = 16 };

static const Field path = { NULL, FIELD_PATH };

// clang-format off
#define AT(member) .offset = offsetof(Trigger, member)
#define KIND FIELD_TEXT, .max = EVENT_KIND_MAX
static const Field cancel_fields[] = {
    { "eventKind", KIND, AT(cancel_kind), .flags = FIELD_NEEDED },
    { "kind", KIND, .flags = FIELD_ALSO },
    { "match", FIELD_LIST, FIELD_NEEDED, AT(cancel_match), .count = offsetof(Trigger, cancel_match_count),
      .min = 1, .max = CANCEL_PATHS_MAX, .of = &path,
      .help = "paths whose values must be those of the event that made the delivery" },
    { "filter", FIELD_FILTER, AT(cancel_filter) },
};
const Shape cancel_shape = { "CancelOn", SHAPE_ROWS(cancel_fields), .size = sizeof(Trigger) };

static const Field fields[] = {
    { "id", FIELD_KEY, FIELD_NEEDED, AT(rule.id), .max = TRIGGER_ID_MAX },
    { "eventKind", KIND, AT(event_kind), .flags = FIELD_NEEDED, .help = "the events that it listens to" },
    { "kind", KIND, .flags = FIELD_ALSO },
    { "channel", FIELD_KEY, FIELD_NEEDED, AT(channel), .max = CHANNEL_KEY_MAX,
      .help = "the key of the channel that it sends through" },
    { "enabled", FIELD_BOOL, FIELD_ALWAYS, AT(enabled), .help = "a disabled one makes no deliveries" },
    { "templateId", FIELD_TEXT_OR_NUMBER, AT(template_id), .max = TEMPLATE_ID_MAX, .help = "its id unless said" },
    { "filter", FIELD_FILTER, AT(filter) },
    { "dedupRecipe", FIELD_LIST, AT(dedup), .count = offsetof(Trigger, dedup_count),
      .min = 1, .max = DEDUP_PATHS_MAX, .of = &path,
      .help = "paths whose values say that two events are the same" },
    // What is awaited follows from the schedule, unless it is said: so that stands first.
    { "schedule", FIELD_OBJECT, AT(rule.plan), .inside = &plan_shape },
    { "awaitAnswer", FIELD_BOOL, AT(rule.plan.await_answer),
      .help = "whether the delivery waits for an answer; true where there are reminders" },
    { "expireAfter", FIELD_SPAN, AT(rule.plan.expire_after), .min = SPAN_SECOND, .max = DURATION_MAX,
      .help = "how long after its last send; 30d unless said" },
    { "retry", FIELD_OBJECT, AT(rule.retry), .given = offsetof(Trigger, rule.has_retry), .inside = &retry_shape,
      .help = "the channel's unless said" },
    // The members of cancelOn lie in the trigger itself.
    { "cancelOn", FIELD_OBJECT, .inside = &cancel_shape, .help = "an event that calls its deliveries off" },
    { "address", FIELD_PATH, AT(address_path), .help = "recipient.address unless said" },
    { "locale", FIELD_PATH, AT(locale_path), .help = "recipient.locale unless said" },
    DEFINITION_SHOWN,
};
// clang-format on

const Shape trigger_shape = {
    "Trigger",
    SHAPE_ROWS(fields),
    .size = sizeof(Trigger),
    .invalid = ERR_TRIGGER_INVALID,
};

Err trigger_compile(Arena *arena, const Json *source, Trigger *ret, Error *error)
{
    Trigger trigger = {
        .rule = rule_default(RULE_TRIGGER, STR_NONE),
        .enabled = true,
        .address_path = S("recipient.address"),
        .locale_path = S("recipient.locale"),
    };
    TRY(fields_read(arena, source, S(""), &trigger_shape, &trigger, error));
    if (!trigger.template_id.at)
        trigger.template_id = trigger.rule.id;
    *ret = trigger;
    return ERR_OK;
}

Err trigger_parse(Arena *arena, Str body, Trigger *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, body, &json, error));
    return trigger_compile(arena, json, ret, error);
}

static Decision refuse(const Trigger *trigger, DecisionKind kind, DecisionReason reason, int leaf)
{
    return (Decision){
        .trigger = trigger, .kind = kind, .reason = reason, .leaf = leaf, .due_at = INSTANT_NONE
    };
}

bool trigger_key(Arena *scratch, const Trigger *trigger, const Event *event, Sha256 *ret)
{
    if (trigger->template) {
        *ret = template_key(scratch, trigger, event);
        return true;
    }
    if (trigger->dedup_count == 0)
        return false;
    *ret = dedup_hash(scratch, trigger->dedup, trigger->dedup_count, event, trigger->template_id);
    return true;
}

int64_t trigger_key_scope(const Trigger *trigger)
{
    return trigger->template ? DEDUP_SCOPE_MESSAGE : trigger->rule.number;
}

Decision trigger_decide(Arena *arena, const Trigger *trigger, const Event *event, Instant now)
{
    FilterMiss miss = { .leaf = -1 };
    if (!trigger->enabled)
        return refuse(trigger, DECISION_DISABLED, DECISION_REASON_TRIGGER_DISABLED, -1);
    if (!filter_matches(trigger->filter, event, trigger->template_id, &miss))
        return refuse(trigger, DECISION_FILTERED, DECISION_REASON_FILTER_FALSE, miss.leaf);

    Str template_id = trigger->template_id;
    Decision decision = {
        .trigger = trigger,
        .kind = DECISION_CREATED,
        .reason = DECISION_REASON_MATCHED,
        .leaf = -1,
        .due_at = plan_first_due(&trigger->rule.plan, event->occurred_at, event->received_at, now),
        .address = event_text_at(arena, event, template_id, trigger->address_path),
        .locale = event_text_at(arena, event, template_id, trigger->locale_path),
        .customer_ref = event_text_at(arena, event, template_id, S("recipient.customerRef")),
    };
    if (decision.address.len > EVENT_ADDRESS_MAX || decision.locale.len > EVENT_ADDRESS_MAX)
        return refuse(trigger, DECISION_FAILED, DECISION_REASON_TOO_LARGE, -1);

    decision.has_key = trigger_key(arena, trigger, event, &decision.key);
    return decision;
}
