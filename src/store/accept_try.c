#include "store/accept.h"

#include "domain/dedup.h"
#include "store/delivery.h"
#include "store/preference.h"

// What accept.c does in a transaction is looked up here, each with the function that decides it
// there: nothing is taken, filed or written.

// decide asks the rule, if it listens to the event's kind at all.
static Decision decide(Arena *arena, const Registry *registry, const RegistryTrigger *rule,
                       const Trigger *trigger, const Event *event, Instant now)
{
    if (!str_eq(event->kind, rule->kind))
        return (Decision){ .trigger = trigger,
                           .kind = DECISION_FILTERED,
                           .reason = DECISION_REASON_OTHER_KIND,
                           .leaf = -1,
                           .due_at = INSTANT_NONE };
    return registry_hand_on(registry, rule, trigger_decide(arena, trigger, event, now));
}

static void refuse(AcceptTrial *trial)
{
    trial->decision.kind = DECISION_DUPLICATE;
    trial->decision.reason = DECISION_REASON_DUPLICATE_KEY;
}

// look_for_identity: of an event that came before, nothing is decided.
static Err look_for_identity(Db *db, Arena *arena, const Event *event, AcceptTrial *trial,
                             Error *error)
{
    DedupKey key = { .tenant = event->tenant };
    if (event->identity.len == 0 || !uuid_is_none(event->id))
        return ERR_OK;
    key.key = dedup_identity(arena, event->source, event->identity);
    TRY(dedup_look(db, arena, &key, error));
    trial->before = key.holder;
    if (!uuid_is_none(key.holder))
        refuse(trial);
    return ERR_OK;
}

// is_of: the delivery is one of the event's.
static bool is_of(Uuid delivery, const Event *event)
{
    unsigned n = (unsigned) delivery.b[14] << 8 | delivery.b[15];
    return uuid_cmp(delivery, delivery_id_of(event->id, n)) == 0;
}

static Err look_for_key(Db *db, Arena *arena, const Event *event, AcceptTrial *trial, Error *error)
{
    const Decision *decision = &trial->decision;
    DedupKey key = { .tenant = event->tenant };
    if (decision->kind != DECISION_CREATED || !decision->has_key)
        return ERR_OK;
    key.key = dedup_key(trigger_key_scope(decision->trigger), &decision->key);
    TRY(dedup_look(db, arena, &key, error));
    trial->holder = key.holder;
    if (!uuid_is_none(key.holder) && !is_of(key.holder, event))
        refuse(trial);
    return ERR_OK;
}

// look_for_wishes: what runs an automation goes to nobody's address.
static Err look_for_wishes(Db *db, Arena *arena, const Registry *registry, AcceptTrial *trial,
                           Error *error)
{
    Decision *decision = &trial->decision;
    const Trigger *trigger = decision->trigger;
    PreferenceRow row = { 0 };
    if (decision->kind != DECISION_CREATED || !decision->address.len ||
        !preference_any(registry, trigger->rule.tenant) ||
        !preference_key(arena, decision->address).at)
        return ERR_OK;
    Err err = preference_get(db, arena, trigger->rule.tenant, decision->address, &row, error);
    if (err == ERR_NOT_FOUND)
        return ERR_OK;
    TRY(err);
    if (!trigger->automation.at)
        decision->lane = preference_lane(registry, trigger, &row.preference);
    const RegistryLane *lane = registry_lane(registry, decision->lane);
    trial->is_opted_out =
        preference_opts_out(row.preference.opt_out, lane ? lane->channel_key : STR_NONE);
    return ERR_OK;
}

Err accept_try(Db *db, Arena *arena, const Registry *registry, const RegistryTrigger *rule,
               const Event *event, Instant now, AcceptTrial *ret, Error *error)
{
    const Trigger *trigger = registry_compiled(rule, arena);
    *ret = (AcceptTrial){ .decision = decide(arena, registry, rule, trigger, event, now) };
    TRY(look_for_identity(db, arena, event, ret, error));
    TRY(look_for_key(db, arena, event, ret, error));
    ret->calls_off = uuid_is_none(ret->before) && rule->off_kind.len > 0 &&
                     str_eq(event->kind, rule->off_kind) &&
                     filter_matches(trigger->cancel_filter, event, trigger->template_id, NULL);
    return look_for_wishes(db, arena, registry, ret, error);
}
