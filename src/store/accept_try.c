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

// Keys are what an event and what it would make are told by. One that has none is held by nobody.
typedef struct Keys {
    DedupKey identity, key;
} Keys;

// asked_for makes an event's keys, and adds those that it has to those that are looked for.
static size_t asked_for(Arena *arena, const Event *event, const AcceptTrial *trial, Keys *keys,
                        DedupKey **asked)
{
    size_t count = 0;
    const Decision *decision = &trial->decision;
    *keys = (Keys){ { .tenant = event->tenant }, { .tenant = event->tenant } };
    if (event->identity.len > 0 && uuid_is_none(event->id)) {
        keys->identity.key = dedup_identity(arena, event->source, event->identity);
        asked[count++] = &keys->identity;
    }
    if (decision->kind == DECISION_CREATED && decision->has_key) {
        keys->key.key = dedup_key(trigger_key_scope(decision->trigger), &decision->key);
        asked[count++] = &keys->key;
    }
    return count;
}

// is_of: the delivery is one of the event's.
static bool is_of(Uuid delivery, const Event *event)
{
    unsigned n = (unsigned) delivery.b[14] << 8 | delivery.b[15];
    return uuid_cmp(delivery, delivery_id_of(event->id, n)) == 0;
}

// judge_keys: of an event that came before, nothing is decided.
static void judge_keys(const Keys *keys, const Event *event, AcceptTrial *trial)
{
    trial->before = keys->identity.holder;
    if (!uuid_is_none(trial->before)) {
        refuse(trial);
        return;
    }
    trial->holder = keys->key.holder;
    if (!uuid_is_none(trial->holder) && !is_of(trial->holder, event))
        refuse(trial);
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

static bool calls_off(const RegistryTrigger *rule, const Trigger *trigger, const Event *event)
{
    return rule->off_kind.len > 0 && str_eq(event->kind, rule->off_kind) &&
           filter_matches(trigger->cancel_filter, event, trigger->template_id, NULL);
}

Err accept_try(Db *db, Arena *arena, const Registry *registry, const RegistryTrigger *rule,
               const Event *const *events, size_t count, Instant now, AcceptTrial *ret,
               Error *error)
{
    const Trigger *trigger = registry_compiled(rule, arena);
    Keys *keys = ARENA_ARRAY(arena, Keys, count);
    DedupKey **asked = ARENA_ARRAY(arena, DedupKey *, count * 2);
    size_t asked_count = 0;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (AcceptTrial){ decide(arena, registry, rule, trigger, events[i], now) };
        asked_count += asked_for(arena, events[i], &ret[i], &keys[i], asked + asked_count);
    }
    TRY(dedup_look(db, arena, asked, asked_count, error));
    for (size_t i = 0; i < count; i++) {
        judge_keys(&keys[i], events[i], &ret[i]);
        ret[i].calls_off = uuid_is_none(ret[i].before) && calls_off(rule, trigger, events[i]);
        TRY(look_for_wishes(db, arena, registry, &ret[i], error));
    }
    return ERR_OK;
}
