#include "store/accept.h"

#include "domain/dedup.h"
#include "domain/run.h"
#include "domain/template.h"
#include "store/delivery.h"

_Static_assert((int) ACCEPT_RULES_MAX <= (int) DECISION_MISSES_MAX,
               "whatever an event misses fits into a row");

static Err check_size(const Accept *accept, const Registry *registry, Error *error);
static void name_events(Accept *accept, Random *random);
static void decide_item(const Accept *accept, AcceptItem *item, const Registry *registry,
                        Random *random);
static void ask_rules(const Accept *accept, AcceptItem *item, const Registry *registry,
                      const RegistryKind *kind, Random *random);
static void decide_identity(const Accept *accept, AcceptItem *item);
static void add_before(Arena *arena, AcceptItem *item);

Err accept_decide(Accept *accept, const Registry *registry, Random *random, Error *error)
{
    if (accept->depth > ACCEPT_DEPTH_MAX)
        return fail(error, ERR_CONFLICT, "events make events at most %d times in a row",
                    ACCEPT_DEPTH_MAX);
    int64_t moved = registry_moved(registry, accept->tenant);
    if (accept->decided == moved)
        return ERR_OK;
    TRY(check_size(accept, registry, error));
    if (accept->decided == 0)
        name_events(accept, random);
    if (accept->count > 1 && !accept->alike.at)
        accept->alike = public_id_alike(accept->arena, random);
    accept->decided = moved;
    accept->weight = 0;
    for (size_t i = 0; i < accept->count; i++) {
        AcceptItem *item = &accept->items[i];
        if (item->err != ERR_OK)
            continue;
        decide_item(accept, item, registry, random);
        // An event is a row, a delivery three: itself, its place, its key. A decision takes as
        // long.
        accept->weight += 1 + item->pair_count + 2 * item->created_count;
    }
    return ERR_OK;
}

static bool is_for_listeners(const AcceptItem *item)
{
    return item->named_count == 0 || item->is_open;
}

// rules_of counts the triggers that look at an item: those that may make a delivery of it, and
// those whose deliveries it may call off.
static size_t rules_of(const Registry *registry, const AcceptItem *item, int64_t tenant,
                       size_t *ret_recallers)
{
    size_t listeners = 0;
    if (is_for_listeners(item))
        registry_triggers(registry, tenant, item->event.kind, &listeners);
    registry_recallers(registry, tenant, item->event.kind, ret_recallers);
    return item->named_count + listeners;
}

size_t accept_pairs(const Accept *accept, const Registry *registry)
{
    size_t pairs = 0, recallers;
    for (size_t i = 0; i < accept->count; i++)
        if (accept->items[i].err == ERR_OK)
            pairs += rules_of(registry, &accept->items[i], accept->tenant, &recallers) + recallers;
    return pairs;
}

// check_size refuses what would take too much memory and time for one transaction.
static Err check_size(const Accept *accept, const Registry *registry, Error *error)
{
    for (size_t i = 0; i < accept->count; i++) {
        const AcceptItem *item = &accept->items[i];
        size_t recallers, rules = rules_of(registry, item, accept->tenant, &recallers);
        if (item->again && item->again->last + rules > UINT16_MAX)
            return fail(error, ERR_CONFLICT, "it was decided anew too often");
        if (item->err == ERR_OK && rules > ACCEPT_RULES_MAX)
            return fail(error, ERR_TOO_LARGE,
                        "%zu triggers listen to \"%.*s\"; one event can meet %d", rules,
                        STR_ARG(item->event.kind), ACCEPT_RULES_MAX);
    }
    size_t pairs = accept_pairs(accept, registry);
    size_t pairs_max = accept->pairs_max ? accept->pairs_max : ACCEPT_PAIRS_MAX;
    if (pairs > pairs_max)
        return fail(
            error, ERR_TOO_LARGE,
            "%zu events times the triggers that look at them make %zu decisions; at most %zu"
            " fit in a request: send smaller batches",
            accept->count, pairs, pairs_max);
    return ERR_OK;
}

static void name_events(Accept *accept, Random *random)
{
    for (size_t i = 0; i < accept->count; i++) {
        Event *event = &accept->items[i].event;
        if (uuid_is_none(event->id)) {
            event->id = uuid_new(accept->now, random);
            event->received_at = accept->now;
        }
        event->tenant = accept->tenant;
        event->depth = accept->depth;
    }
}

static void decide_item(const Accept *accept, AcceptItem *item, const Registry *registry,
                        Random *random)
{
    const RegistryKind *kind = NULL;
    if (is_for_listeners(item))
        kind = registry_kind(registry, accept->tenant, item->event.kind);
    assert(item->named_count + (kind ? kind->count : 0) <= ACCEPT_RULES_MAX);
    item->before = item->pairs;
    item->before_count = item->pair_count;
    item->pairs = NULL;
    item->pair_count = item->created_count = 0;
    item->missed = STR_NONE;
    bool is_for_none = item->deferral && item->deferral->cancels;
    if (!is_for_none)
        ask_rules(accept, item, registry, kind, random);
    decide_identity(accept, item);
    if (item->again)
        add_before(accept->arena, item);
}

// public_id_of keeps what was drawn for a delivery when it was decided before: what is done again
// after an outage is the same to the last letter. Deliveries come in the order of their ids.
static Str public_id_of(const Accept *accept, AcceptItem *item, Uuid delivery, Random *random)
{
    while (item->before_count > 0 && uuid_cmp(item->before->delivery, delivery) < 0) {
        item->before++;
        item->before_count--;
    }
    bool is_drawn = item->before_count > 0 && uuid_cmp(item->before->delivery, delivery) == 0;
    return is_drawn ? item->before->public_id : public_id_new(accept->arena, random, accept->alike);
}

// pair_of makes a pair of a decision that has to do with the event. place is the trigger's among
// those that listen.
static AcceptPair pair_of(const Accept *accept, AcceptItem *item, const Decision *decision,
                          size_t place, Random *random)
{
    AcceptPair pair = { .decision = *decision };
    if (decision->kind != DECISION_CREATED)
        return pair;
    unsigned before = item->again ? item->again->last : 0;
    pair.delivery = delivery_id_of(item->event.id, before + (unsigned) place + 1);
    pair.public_id = public_id_of(accept, item, pair.delivery, random);
    pair.lane = decision->lane;
    pair.key = (DedupKey){ .tenant = accept->tenant,
                           .key = dedup_key(trigger_key_scope(decision->trigger), &decision->key),
                           .wanted_by = pair.delivery };
    return pair;
}

// add_pair makes room by doubling: of a thousand triggers that were asked, few have to do with it.
static void add_pair(Arena *arena, AcceptItem *item, const AcceptPair *pair)
{
    size_t count = item->pair_count, size = sizeof *pair;
    if ((count & (count - 1)) == 0)
        item->pairs = arena_grow(arena, item->pairs, count * size, (count ? count * 2 : 1) * size);
    item->pairs[item->pair_count++] = *pair;
    item->created_count += pair->decision.kind == DECISION_CREATED;
}

static bool has_pair(const Decision *decision)
{
    return decision->kind == DECISION_CREATED || decision->kind == DECISION_FAILED;
}

// ask decides by one trigger. One that is kept compiled nowhere is compiled aside: there may be
// sixty thousand of them, and few are needed any longer.
static Decision ask(const Accept *accept, const AcceptItem *item, const Registry *registry,
                    const RegistryTrigger *trigger, Arena *scratch)
{
    Arena *arena = accept->arena;
    arena_reset(scratch);
    const Trigger *compiled = registry_compiled(trigger, scratch);
    Decision decision = trigger_decide(arena, compiled, &item->event, accept->now);
    if (has_pair(&decision) && !registry_keeps(trigger, compiled))
        decision =
            trigger_decide(arena, registry_compiled(trigger, arena), &item->event, accept->now);
    return registry_hand_on(registry, trigger, decision);
}

// note keeps a decision: as a pair where it has to do with the event, else among those that missed.
static void note(const Accept *accept, AcceptItem *item, const Decision *decision, size_t place,
                 DecisionPack *missed, Random *random)
{
    if (again_has_fired(item->again, decision->trigger->rule.number))
        return;
    if (has_pair(decision)) {
        AcceptPair pair = pair_of(accept, item, decision, place, random);
        add_pair(accept->arena, item, &pair);
        return;
    }
    Miss miss = miss_of(decision);
    decision_add(missed, &miss);
}

// Choice is what templates decided that would make a message: which of them do is decided together.
typedef struct Choice {
    Decision *decisions;
    size_t *places;
    size_t count, room;
} Choice;

// hear keeps a decision, or puts it among those that are to be chosen from.
static void hear(const Accept *accept, AcceptItem *item, const Decision *decision, size_t place,
                 Choice *choice, DecisionPack *missed, Random *random)
{
    if (decision->kind != DECISION_CREATED || !decision->trigger->template) {
        note(accept, item, decision, place, missed, random);
        return;
    }
    if (!choice->decisions) {
        choice->decisions = ARENA_ARRAY(accept->arena, Decision, choice->room);
        choice->places = ARENA_ARRAY(accept->arena, size_t, choice->room);
    }
    choice->decisions[choice->count] = *decision;
    choice->places[choice->count++] = place;
}

// choose decides which templates make a message. They stand behind the triggers, so deliveries stay
// in the order of their ids.
static void choose(const Accept *accept, AcceptItem *item, const Choice *choice,
                   DecisionPack *missed, Random *random)
{
    if (choice->count > 0)
        template_choose(accept->arena, choice->decisions, choice->count);
    for (size_t i = 0; i < choice->count; i++)
        note(accept, item, &choice->decisions[i], choice->places[i], missed, random);
}

// pick has the sieve tell which of those that listen are to be asked; what the others say is known.
static size_t pick(const Accept *accept, AcceptItem *item, const RegistryKind *kind, uint32_t **ret)
{
    if (!kind)
        return 0;
    const Sieve *sieve = registry_sieve(kind);
    size_t count = sieve_pick(sieve, accept->arena, &item->event, ret);
    item->missed = sieve_rest(sieve, accept->arena, *ret, count);
    return count;
}

static Decision ask_named(const Accept *accept, const AcceptItem *item, size_t place)
{
    const Trigger *rule = item->named[place];
    assert(rule->rule.number > 0 && rule->rule.lane > 0);
    return trigger_decide(accept->arena, rule, &item->event, accept->now);
}

// ask_rules asks those that are named, then those that listen: deliveries are in the order of their
// ids, which tell the rules' places.
static void ask_rules(const Accept *accept, AcceptItem *item, const Registry *registry,
                      const RegistryKind *kind, Random *random)
{
    uint32_t *picked = NULL;
    size_t named = item->named_count, count = pick(accept, item, kind, &picked);
    if (named + count == 0)
        return;
    DEFER(arena_done) Arena scratch = { 0 };
    Choice choice = { .room = named + count };
    DecisionPack missed = decision_begin(accept->arena, item->missed);
    for (size_t i = 0; i < named; i++) {
        Decision decision = ask_named(accept, item, i);
        hear(accept, item, &decision, i, &choice, &missed, random);
    }
    assert(choice.count == 0 || count == 0); // templates that are named are so alone
    for (size_t i = 0; i < count; i++) {
        Decision decision = ask(accept, item, registry, kind->triggers[picked[i]], &scratch);
        hear(accept, item, &decision, named + picked[i], &choice, &missed, random);
    }
    choose(accept, item, &choice, &missed, random);
    item->missed = decision_end(&missed);
}

// add_before puts what was decided before in front of what was now, while there is room for both.
static void add_before(Arena *arena, AcceptItem *item)
{
    Miss *misses = NULL;
    size_t count = 0;
    if (item->again->facts.len + item->missed.len > DECISION_BYTES_MAX / 2)
        return;
    if (item->missed.at && decision_unpack(arena, item->missed, &misses, &count, NULL) != ERR_OK)
        assert(!"what was packed here can be read");
    DecisionPack pack = decision_begin(arena, item->again->facts);
    for (size_t i = 0; i < count; i++)
        decision_add(&pack, &misses[i]);
    item->missed = decision_end(&pack);
}

// identity_of is the key of an item's identity. That of a run is its job's own, so that nobody who
// posts events can take it first.
static Uuid identity_of(const Accept *accept, const AcceptItem *item)
{
    const Event *event = &item->event;
    const Rule *rule = item->named_count > 0 ? &item->named[0]->rule : NULL;
    if (!rule || !run_of_rule(rule->kind))
        return dedup_identity(accept->arena, event->source, event->identity);
    Str parts[] = { event->source, event->identity };
    Sha256 hash = dedup_parts(accept->arena, parts, ARRAY_LEN(parts));
    return dedup_key(rule->number, &hash);
}

// decide_identity: one that is decided anew holds its own.
static void decide_identity(const Accept *accept, AcceptItem *item)
{
    if (item->event.identity.len == 0 || item->again)
        return;
    item->identity = (DedupKey){ .tenant = accept->tenant,
                                 .key = identity_of(accept, item),
                                 .wanted_by = item->event.id };
}
