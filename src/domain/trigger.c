#include "domain/trigger.h"

#include "base/time.h"
#include "domain/dedup.h"
#include "domain/members.h"

enum { TEMPLATE_ID_MAX = 200 };

static const Filter *read_filter(Arena *arena, const Members *members, Str pointer)
{
    const Filter *filter = NULL;
    const Json *source = members_get(members, "filter");
    if (filter_compile(arena, source, pointer, &filter, members->error) != ERR_OK)
        return NULL; // its problems are noted
    return filter;
}

// read_plan reads the schedule and what stands beside it: whether an answer is awaited, how long.
static void read_plan(const Members *members, Plan *plan)
{
    plan_parse(members_get(members, "schedule"), S("/schedule"), plan, members->error);
    members_bool(members, "awaitAnswer", &plan->await_answer);
    members_span(members, "expireAfter", SPAN_SECOND, DURATION_MAX, &plan->expire_after);
}

static void read_cancel(Arena *arena, const Members *members, Trigger *trigger)
{
    static const char *const known[] = { "eventKind", "match", "filter" };
    const Json *source = members_get(members, "cancelOn");
    if (!source)
        return;
    Members cancel = members_open(source, S("/cancelOn"), members->error);
    if (!members_check(&cancel, known, ARRAY_LEN(known)))
        return;
    members_need(&cancel, "eventKind");
    members_need(&cancel, "match");
    members_text(&cancel, "eventKind", EVENT_KIND_MAX, &trigger->cancel_kind);
    trigger->cancel_match_count =
        members_paths(&cancel, "match", 1, ARRAY_LEN(trigger->cancel_match), trigger->cancel_match);
    trigger->cancel_filter = read_filter(arena, &cancel, S("/cancelOn/filter"));
}

Err trigger_compile(Arena *arena, const Json *source, Trigger *ret, Error *error)
{
    static const char *const known[] = {
        "id",          "enabled",  "eventKind", "templateId",  "filter",
        "dedupRecipe", "schedule", "channel",   "awaitAnswer", "expireAfter",
        "retry",       "cancelOn", "address",   "locale",
    };
    _Static_assert(ARRAY_LEN(ret->dedup) == DEDUP_PATHS_MAX, "a recipe fits");
    Error own = { 0 };
    Members members = members_open(source, S(""), error ? error : &own);
    if (!members_check(&members, known, ARRAY_LEN(known)))
        return members_close(&members, ERR_TRIGGER_INVALID);

    Trigger trigger = { .rule = { .kind = RULE_TRIGGER, .retry = retry_default() },
                        .enabled = true,
                        .address_path = S("recipient.address"),
                        .locale_path = S("recipient.locale") };
    members_need(&members, "id");
    members_need(&members, "eventKind");
    members_need(&members, "channel");
    members_key(&members, "id", TRIGGER_ID_MAX, &trigger.rule.id);
    members_text(&members, "eventKind", EVENT_KIND_MAX, &trigger.event_kind);
    members_key(&members, "channel", CHANNEL_KEY_MAX, &trigger.channel);
    members_bool(&members, "enabled", &trigger.enabled);
    trigger.template_id = trigger.rule.id;
    members_text_or_number(&members, "templateId", TEMPLATE_ID_MAX, &trigger.template_id);
    trigger.filter = read_filter(arena, &members, S("/filter"));
    trigger.dedup_count = members_paths(&members, "dedupRecipe", 1, DEDUP_PATHS_MAX, trigger.dedup);
    read_plan(&members, &trigger.rule.plan);
    members_path(&members, "address", &trigger.address_path);
    members_path(&members, "locale", &trigger.locale_path);
    read_cancel(arena, &members, &trigger);

    const Json *retry = members_get(&members, "retry");
    trigger.rule.has_retry = retry != NULL;
    if (retry)
        retry_parse(retry, S("/retry"), &trigger.rule.retry, members.error);

    TRY(members_close(&members, ERR_TRIGGER_INVALID));
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
    if (trigger->dedup_count == 0)
        return false;
    *ret = dedup_hash(scratch, trigger->dedup, trigger->dedup_count, event, trigger->template_id);
    return true;
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
