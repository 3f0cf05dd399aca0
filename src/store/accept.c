#include "store/accept.h"

#include "domain/dedup.h"
#include "domain/run.h"
#include "domain/template.h"
#include "store/awaiting.h"
#include "store/decision.h"
#include "store/delivery.h"
#include "store/event.h"
#include "store/preference.h"
#include "store/recall.h"

// Deciding comes first in this file, writing second. To write, accepts are flattened to entries,
// one for each event. All identities are taken in one set, then all dedup keys, then rows are
// written wave by wave. Mostly there is one wave: a new one begins only where an event calls off
// what an earlier event of the same tenant may have made in this very set.

_Static_assert((int) ACCEPT_RULES_MAX <= (int) DECISION_MISSES_MAX,
               "whatever an event misses fits into a row");

static Err check_size(const Accept *accept, const Registry *registry, Error *error);
static void name_events(Accept *accept, Random *random);
static void decide_item(const Accept *accept, AcceptItem *item, const Registry *registry,
                        Random *random);
static void ask_triggers(const Accept *accept, AcceptItem *item, const Registry *registry,
                         const RegistryKind *kind, Random *random);
static void ask_named(const Accept *accept, AcceptItem *item, Random *random);
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

// rules_of counts the triggers that look at an item: those that may make a delivery of it, and
// those whose deliveries it may call off.
static size_t rules_of(const Registry *registry, const AcceptItem *item, int64_t tenant,
                       size_t *ret_recallers)
{
    size_t rules = item->named_count;
    if (rules == 0)
        registry_triggers(registry, tenant, item->event.kind, &rules);
    registry_recallers(registry, tenant, item->event.kind, ret_recallers);
    return rules;
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
    const RegistryKind *kind = registry_kind(registry, accept->tenant, item->event.kind);
    assert(item->named_count > 0 || !kind || kind->count <= ACCEPT_RULES_MAX);
    item->before = item->pairs;
    item->before_count = item->pair_count;
    item->pairs = NULL;
    item->pair_count = item->created_count = 0;
    item->missed = STR_NONE;
    if (item->deferral && item->deferral->cancels)
        item->missed = STR_NONE; // it is for no rule
    else if (item->named_count > 0)
        ask_named(accept, item, random);
    else if (kind)
        ask_triggers(accept, item, registry, kind, random);
    decide_identity(accept, item);
    if (item->again)
        add_before(accept->arena, item);
}

static Miss miss_of(const Decision *decision)
{
    return (Miss){ .rule = decision->trigger->rule.number,
                   .version = decision->trigger->rule.version,
                   .kind = decision->kind,
                   .reason = decision->reason,
                   .leaf = decision->leaf };
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
    return is_drawn ? item->before->public_id : public_id_new(accept->arena, random);
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

// ask_triggers asks those that the sieve picks; what the others say is known.
static void ask_triggers(const Accept *accept, AcceptItem *item, const Registry *registry,
                         const RegistryKind *kind, Random *random)
{
    Arena *arena = accept->arena;
    uint32_t *picked;
    const Sieve *sieve = registry_sieve(kind);
    size_t count = sieve_pick(sieve, arena, &item->event, &picked);
    item->missed = sieve_rest(sieve, arena, picked, count);
    if (count == 0)
        return;
    DEFER(arena_done) Arena scratch = { 0 };
    Choice choice = { .room = count };
    DecisionPack missed = decision_begin(arena, item->missed);
    for (size_t i = 0; i < count; i++) {
        Decision decision = ask(accept, item, registry, kind->triggers[picked[i]], &scratch);
        hear(accept, item, &decision, picked[i], &choice, &missed, random);
    }
    choose(accept, item, &choice, &missed, random);
    item->missed = decision_end(&missed);
}

static void ask_named(const Accept *accept, AcceptItem *item, Random *random)
{
    Choice choice = { .room = item->named_count };
    DecisionPack missed = decision_begin(accept->arena, STR_NONE);
    for (size_t i = 0; i < item->named_count; i++) {
        assert(item->named[i]->rule.number > 0 && item->named[i]->rule.lane > 0);
        Decision decision =
            trigger_decide(accept->arena, item->named[i], &item->event, accept->now);
        hear(accept, item, &decision, i, &choice, &missed, random);
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

// has_identity: one that is decided anew holds its own.
static bool has_identity(const AcceptItem *item)
{
    return item->event.identity.len > 0 && !item->again;
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

static void decide_identity(const Accept *accept, AcceptItem *item)
{
    if (!has_identity(item))
        return;
    item->identity = (DedupKey){ .tenant = accept->tenant,
                                 .key = identity_of(accept, item),
                                 .wanted_by = item->event.id };
}

bool accept_skipped(const AcceptPair *pair)
{
    return pair->decision.kind == DECISION_CREATED && pair->decision.has_key && !pair->key.is_won;
}

bool accept_made(const AcceptItem *item, const AcceptPair *pair)
{
    return pair->decision.kind == DECISION_CREATED && !accept_skipped(pair) && !item->is_duplicate;
}

// Entry is one event on its way into the store.
typedef struct Entry {
    Accept *accept;
    AcceptItem *item;
    size_t order; // in which they came
    size_t wave;  // in which they are written
    bool calls_off;
    const RecallKey *calls, *files; // what it calls off, and what it makes that can be; see gather
    size_t call_count, file_count;
} Entry;

// Batch is what the entries write. Each array grows wave by wave.
typedef struct Batch {
    Tx *tx;
    Entry *entries;
    size_t count;
    const Event **events;
    Promise *deliveries;
    QueueRow *queue;
    DecisionRow *decisions;
    Miss *misses; // of all decisions
    RecallKey *filed;
    Awaiting *awaiting;
    size_t event_count, delivery_count, decision_count, miss_count, filed_count, awaiting_count;
} Batch;

static void flatten(Batch *batch, Accept *const *accepts, size_t count);
static void make_room(Batch *batch);
static Err take_identities(Batch *batch, Error *error);
static Err take_keys(Batch *batch, Error *error);
static Err take_ways(Batch *batch, Error *error);
static void part_waves(Batch *batch);
static Err write_waves(Batch *batch, Error *error);
static Err call_off(Tx *tx, const Entry *entries, size_t count, Error *error);
static void write_rows(Batch *batch, const Entry *entries, size_t count);
static void write_item(Batch *batch, const Entry *entry);
static void write_pair(Batch *batch, const Entry *entry, const AcceptPair *pair);
static void add_delivery(Batch *batch, const Entry *entry, const AcceptPair *pair);
static void tell_holders(const Batch *batch);

Err accept_write(Tx *tx, Accept *const *accepts, size_t count, Error *error)
{
    Batch batch = { .tx = tx };
    flatten(&batch, accepts, count);
    make_room(&batch);
    TRY(take_identities(&batch, error));
    TRY(take_keys(&batch, error));
    TRY(take_ways(&batch, error));
    part_waves(&batch);
    TRY(write_waves(&batch, error));
    tell_holders(&batch);
    return ERR_OK;
}

// replaces: it calls off the deferred runs of its entity.
static bool replaces(const AcceptItem *item)
{
    return item->deferral && (item->deferral->replaces || item->deferral->cancels);
}

static bool calls_off(const Tx *tx, const AcceptItem *item)
{
    size_t count;
    registry_recallers(tx->registry, item->event.tenant, item->event.kind, &count);
    return count > 0 || replaces(item);
}

static void flatten(Batch *batch, Accept *const *accepts, size_t count)
{
    size_t room = 0;
    for (size_t a = 0; a < count; a++)
        room += accepts[a]->count;
    batch->entries = ARENA_ARRAY(&batch->tx->arena, Entry, room + 1);
    for (size_t a = 0; a < count; a++) {
        assert(accepts[a]->decided == registry_moved(batch->tx->registry, accepts[a]->tenant));
        for (size_t i = 0; i < accepts[a]->count; i++) {
            AcceptItem *item = &accepts[a]->items[i];
            size_t at = batch->count;
            if (item->err == ERR_OK)
                batch->entries[batch->count++] = (Entry){ .accept = accepts[a],
                                                          .item = item,
                                                          .order = at,
                                                          .calls_off = calls_off(batch->tx, item) };
        }
    }
}

static void make_room(Batch *batch)
{
    Arena *arena = &batch->tx->arena;
    size_t pairs = 0, created = 0;
    for (size_t i = 0; i < batch->count; i++) {
        pairs += batch->entries[i].item->pair_count;
        created += batch->entries[i].item->created_count;
    }
    batch->events = ARENA_ARRAY(arena, const Event *, batch->count + 1);
    batch->deliveries = ARENA_ARRAY(arena, Promise, created + 1);
    batch->queue = ARENA_ARRAY(arena, QueueRow, created + 1);
    batch->filed = ARENA_ARRAY(arena, RecallKey, created + 1);
    batch->awaiting = ARENA_ARRAY(arena, Awaiting, created + 1);
    batch->decisions = ARENA_ARRAY(arena, DecisionRow, batch->count + 1);
    batch->misses = ARENA_ARRAY(arena, Miss, pairs + 1);
}

// take_identities finds out which events came before.
static Err take_identities(Batch *batch, Error *error)
{
    DedupKey **keys = ARENA_ARRAY(&batch->tx->arena, DedupKey *, batch->count + 1);
    size_t used = 0;
    for (size_t i = 0; i < batch->count; i++) {
        AcceptItem *item = batch->entries[i].item;
        item->identity.order = i;
        if (has_identity(item))
            keys[used++] = &item->identity;
    }
    TRY(dedup_take(batch->tx, keys, used, error));
    for (size_t i = 0; i < batch->count; i++) {
        AcceptItem *item = batch->entries[i].item;
        item->is_duplicate = has_identity(item) && !item->identity.is_won;
    }
    return ERR_OK;
}

// wants_key says whether the pair would hold a dedup key.
static bool wants_key(const AcceptPair *pair)
{
    return pair->decision.kind == DECISION_CREATED && pair->decision.has_key;
}

// take_keys finds out which deliveries would repeat another.
static Err take_keys(Batch *batch, Error *error)
{
    size_t room = 0, used = 0;
    for (size_t i = 0; i < batch->count; i++)
        room += batch->entries[i].item->created_count;
    DedupKey **keys = ARENA_ARRAY(&batch->tx->arena, DedupKey *, room + 1);
    for (size_t i = 0; i < batch->count; i++) {
        AcceptItem *item = batch->entries[i].item;
        for (size_t p = 0; p < item->pair_count && !item->is_duplicate; p++) {
            AcceptPair *pair = &item->pairs[p];
            pair->key.order = used;
            if (wants_key(pair))
                keys[used++] = &pair->key;
        }
    }
    return dedup_take(batch->tx, keys, used, error);
}

// ask_recipients lists the addresses of what is about to be made, and by which pair.
static size_t ask_recipients(const Batch *batch, PreferenceAsk *asks, AcceptPair **pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        AcceptItem *item = batch->entries[i].item;
        for (size_t p = 0; p < item->pair_count; p++) {
            AcceptPair *pair = &item->pairs[p];
            bool has_way = pair->decision.address.len && !pair->decision.trigger->automation.at;
            if (!has_way || !accept_made(item, pair))
                continue;
            asks[count] = (PreferenceAsk){ .tenant = batch->entries[i].accept->tenant,
                                           .address = pair->decision.address };
            pairs[count++] = pair;
        }
    }
    return count;
}

// take_ways lets another channel stand in where the recipient wants that.
static Err take_ways(Batch *batch, Error *error)
{
    Tx *tx = batch->tx;
    size_t room = 0;
    bool is_asked = false;
    for (size_t i = 0; i < batch->count; i++) {
        room += batch->entries[i].item->created_count;
        is_asked |= preference_any(tx->registry, batch->entries[i].accept->tenant);
    }
    if (!is_asked || room == 0)
        return ERR_OK;
    PreferenceAsk *asks = ARENA_ARRAY(&tx->arena, PreferenceAsk, room);
    AcceptPair **pairs = ARENA_ARRAY(&tx->arena, AcceptPair *, room);
    size_t count = ask_recipients(batch, asks, pairs);
    TRY(preference_find_all(tx, asks, count, error));
    for (size_t i = 0; i < count; i++) {
        const Trigger *trigger = pairs[i]->decision.trigger;
        Str instead = preference_instead(asks[i].found.channel, trigger->channel);
        // What has no channel has a lane too, by no name: that one stands in for nothing.
        int64_t lane = instead.len ? registry_lane_of(tx->registry, asks[i].tenant, instead) : 0;
        pairs[i]->lane = lane ? lane : trigger->rule.lane;
    }
    return ERR_OK;
}

// recall_key files a delivery, or finds what an event calls off, by the trigger's match values.
static RecallKey recall_key(Tx *tx, const Trigger *trigger, const Event *event, Uuid delivery)
{
    Sha256 hash = dedup_hash(&tx->arena, trigger->cancel_match, trigger->cancel_match_count, event,
                             trigger->template_id);
    return (RecallKey){ .tenant = event->tenant,
                        .key = dedup_key(trigger->rule.number, &hash),
                        .delivery = delivery };
}

// entity_key files a deferred run, or finds those that are to be called off, by its job and entity.
static RecallKey entity_key(Tx *tx, AcceptItem *item, Uuid delivery)
{
    return (RecallKey){
        .tenant = item->event.tenant,
        .key = deferral_key(&tx->arena, item->named[0]->rule.number, item->deferral->entity),
        .delivery = delivery,
        .is_deferral = true,
        .called = &item->called_off,
    };
}

// find_calls notes what one event's kind and values call off. An event that came before calls
// nothing off again.
static void find_calls(Tx *tx, Entry *entry)
{
    const Event *event = &entry->item->event;
    size_t count;
    const RegistryTrigger *const *triggers =
        registry_recallers(tx->registry, event->tenant, event->kind, &count);
    RecallKey *keys = ARENA_ARRAY(&tx->arena, RecallKey, count + 2);
    DEFER(arena_done) Arena scratch = { 0 };
    bool is_first = !entry->item->is_duplicate && !entry->item->again;
    if (is_first && replaces(entry->item))
        keys[entry->call_count++] = entity_key(tx, entry->item, event->id);
    for (size_t i = 0; i < count && is_first; i++) {
        arena_reset(&scratch);
        const Trigger *trigger = registry_compiled(triggers[i], &scratch);
        if (filter_matches(trigger->cancel_filter, event, trigger->template_id, NULL))
            keys[entry->call_count++] = recall_key(tx, trigger, event, event->id);
    }
    entry->calls = keys;
}

// is_filed: what the trigger makes of it can be called off; file_key is by what.
static bool is_filed(const AcceptItem *item, const Trigger *trigger)
{
    return item->deferral || trigger->cancel_kind.len > 0;
}

static RecallKey file_key(Tx *tx, AcceptItem *item, const Trigger *trigger, Uuid delivery)
{
    return item->deferral ? entity_key(tx, item, delivery)
                          : recall_key(tx, trigger, &item->event, delivery);
}

// find_files notes what an entry makes that an event could call off.
static void find_files(Tx *tx, Entry *entry)
{
    AcceptItem *item = entry->item;
    RecallKey *keys = ARENA_ARRAY(&tx->arena, RecallKey, item->created_count + 1);
    for (size_t p = 0; p < item->pair_count; p++) {
        const Trigger *trigger = item->pairs[p].decision.trigger;
        if (is_filed(item, trigger) && accept_made(item, &item->pairs[p]))
            keys[entry->file_count++] = file_key(tx, item, trigger, item->pairs[p].delivery);
    }
    entry->files = keys;
}

// gather notes for every entry what it calls off and files, and returns how many keys that is.
static size_t gather(Batch *batch)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        Entry *entry = &batch->entries[i];
        find_calls(batch->tx, entry);
        find_files(batch->tx, entry);
        count += entry->call_count + entry->file_count;
    }
    return count;
}

// Turn is the first wave in which a key may be called off, or filed, by whoever comes next. Within
// a wave what is called off goes before what is made: so a call follows a file in the next wave,
// and a file may share the wave of a call.
typedef struct Turn {
    RecallKey key;
    size_t call, file;
} Turn;

typedef struct Turns {
    Turn *turns; // by key
    size_t count;
} Turns;

static int by_recall_key(const void *a, const void *b)
{
    const RecallKey *x = &((const Turn *) a)->key, *y = &((const Turn *) b)->key;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return uuid_cmp(x->key, y->key);
}

static Turns turns_of(const Batch *batch, size_t key_count)
{
    Turns all = { .turns = ARENA_ARRAY(&batch->tx->arena, Turn, key_count + 1) };
    size_t used = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const Entry *entry = &batch->entries[i];
        for (size_t k = 0; k < entry->call_count; k++)
            all.turns[used++].key = entry->calls[k];
        for (size_t k = 0; k < entry->file_count; k++)
            all.turns[used++].key = entry->files[k];
    }
    assert(used == key_count);
    qsort(all.turns, used, sizeof *all.turns, by_recall_key);
    for (size_t i = 0; i < used; i++)
        if (i == 0 || by_recall_key(&all.turns[i - 1], &all.turns[i]) != 0)
            all.turns[all.count++] = all.turns[i];
    return all;
}

static Turn *turn_of(const Turns *turns, const RecallKey *key)
{
    Turn wanted = { .key = *key };
    Turn *turn = bsearch(&wanted, turns->turns, turns->count, sizeof *turns->turns, by_recall_key);
    assert(turn);
    return turn;
}

// take_turn gives an entry the first wave that its keys allow.
static void take_turn(const Turns *turns, Entry *entry)
{
    size_t wave = 0;
    for (size_t k = 0; k < entry->call_count; k++) {
        size_t first = turn_of(turns, &entry->calls[k])->call;
        wave = first > wave ? first : wave;
    }
    for (size_t k = 0; k < entry->file_count; k++) {
        size_t first = turn_of(turns, &entry->files[k])->file;
        wave = first > wave ? first : wave;
    }
    entry->wave = wave;
    for (size_t k = 0; k < entry->call_count; k++)
        turn_of(turns, &entry->calls[k])->file = wave;
    for (size_t k = 0; k < entry->file_count; k++)
        turn_of(turns, &entry->files[k])->call = wave + 1;
}

static int by_wave(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->wave != y->wave)
        return x->wave < y->wave ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

// lock_entities has other nodes wait that call off the same deferred runs; all at once, so that no
// two wait for each other.
static void lock_entities(const Batch *batch)
{
    size_t room = 0, used = 0;
    for (size_t i = 0; i < batch->count; i++)
        room += batch->entries[i].call_count;
    RecallKey *keys = ARENA_ARRAY(&batch->tx->arena, RecallKey, room + 1);
    for (size_t i = 0; i < batch->count; i++)
        for (size_t k = 0; k < batch->entries[i].call_count; k++)
            keys[used++] = batch->entries[i].calls[k];
    recall_lock(batch->tx, keys, used);
}

// part_waves gives each entry its wave, where some call off at all.
static void part_waves(Batch *batch)
{
    bool any = false;
    for (size_t i = 0; i < batch->count && !any; i++)
        any = batch->entries[i].calls_off;
    if (!any)
        return;
    Turns turns = turns_of(batch, gather(batch));
    lock_entities(batch);
    for (size_t i = 0; i < batch->count; i++)
        take_turn(&turns, &batch->entries[i]);
    qsort(batch->entries, batch->count, sizeof *batch->entries, by_wave);
}

static Err write_waves(Batch *batch, Error *error)
{
    for (size_t from = 0, to; from < batch->count; from = to) {
        const Entry *entries = &batch->entries[from];
        for (to = from; to < batch->count && batch->entries[to].wave == entries->wave;)
            to++;
        TRY(call_off(batch->tx, entries, to - from, error));
        write_rows(batch, entries, to - from);
    }
    return ERR_OK;
}

// call_off cancels what a wave's events call off.
static Err call_off(Tx *tx, const Entry *entries, size_t count, Error *error)
{
    size_t room = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        room += entries[i].call_count;
    RecallKey *keys = ARENA_ARRAY(&tx->arena, RecallKey, room + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < entries[i].call_count; k++)
            keys[used++] = entries[i].calls[k];
    return recall_call(tx, keys, used, error);
}

static void write_rows(Batch *batch, const Entry *entries, size_t count)
{
    Tx *tx = batch->tx;
    Batch from = *batch; // what earlier waves have written
    for (size_t i = 0; i < count; i++) {
        if (!entries[i].item->is_duplicate)
            write_item(batch, &entries[i]);
    }
    event_insert(tx, batch->events + from.event_count, batch->event_count - from.event_count);
    delivery_insert(tx, batch->deliveries + from.delivery_count,
                    batch->delivery_count - from.delivery_count);
    queue_insert(tx, batch->queue + from.delivery_count,
                 batch->delivery_count - from.delivery_count);
    decision_insert(tx, batch->decisions + from.decision_count,
                    batch->decision_count - from.decision_count);
    recall_file(tx, batch->filed + from.filed_count, batch->filed_count - from.filed_count);
    awaiting_file(tx, batch->awaiting + from.awaiting_count,
                  batch->awaiting_count - from.awaiting_count);
}

// write_item turns an event and what was decided into rows.
static void write_item(Batch *batch, const Entry *entry)
{
    const AcceptItem *item = entry->item;
    const Miss *misses = batch->misses + batch->miss_count;
    if (!item->again)
        batch->events[batch->event_count++] = &item->event;
    for (size_t p = 0; p < item->pair_count; p++)
        write_pair(batch, entry, &item->pairs[p]);
    size_t count = (size_t) (batch->misses + batch->miss_count - misses);
    if (count > 0 || item->missed.at)
        batch->decisions[batch->decision_count++] =
            (DecisionRow){ entry->accept->tenant, item->event.id, item->missed, misses, count };
}

// write_pair turns a decision into rows, now that the keys are known.
static void write_pair(Batch *batch, const Entry *entry, const AcceptPair *pair)
{
    const Decision *decision = &pair->decision;
    const Trigger *trigger = decision->trigger;
    if (accept_made(entry->item, pair)) {
        add_delivery(batch, entry, pair);
        if (trigger->rule.plan.await_answer)
            batch->awaiting[batch->awaiting_count++] =
                (Awaiting){ entry->accept->tenant, pair->public_id, pair->delivery };
        if (is_filed(entry->item, trigger))
            batch->filed[batch->filed_count++] =
                file_key(batch->tx, entry->item, trigger, pair->delivery);
        return;
    }
    Miss miss = miss_of(decision);
    batch->tx->handoff_failures += miss.reason == DECISION_REASON_RUN_CREATE_FAILED;
    if (accept_skipped(pair)) {
        miss.kind = DECISION_DUPLICATE;
        miss.reason = DECISION_REASON_DUPLICATE_KEY;
        miss.holder = pair->key.holder;
    }
    batch->misses[batch->miss_count++] = miss;
}

// take_place has a delivery stand behind whatever came before it.
static void take_place(Places *places, Live *live)
{
    live->due_at = places->last = later(live->due_at, places->last + 1);
}

static void add_delivery(Batch *batch, const Entry *entry, const AcceptPair *pair)
{
    const Accept *accept = entry->accept;
    const Decision *decision = &pair->decision;
    const Trigger *trigger = decision->trigger;
    size_t at = batch->delivery_count++;
    batch->deliveries[at] = (Promise){
        .tenant = accept->tenant,
        .id = pair->delivery,
        .event = entry->item->event.id,
        .public_id = pair->public_id,
        .rule = trigger->rule.number,
        .version = trigger->rule.version,
        .lane = pair->lane,
        .site = entry->item->event.site,
        .triggered_at = accept->now,
        .address = decision->address,
        .locale = decision->locale,
        .customer_ref = decision->customer_ref,
        .entity = entry->item->event.entity,
    };
    batch->queue[at] = (QueueRow){
        .tenant = accept->tenant,
        .id = batch->deliveries[at].id,
        .lane = pair->lane,
        .rule = trigger->rule.number,
        .site = entry->item->event.site,
        .bytes = (int) entry->item->event.payload.len,
        .live = delivery_first(&trigger->rule.plan, decision->due_at, accept->now),
    };
    if (entry->item->places)
        take_place(entry->item->places, &batch->queue[at].live);
}

static int by_id(const void *a, const void *b)
{
    const Promise *x = *(const Promise *const *) a, *y = *(const Promise *const *) b;
    return uuid_cmp(x->id, y->id);
}

static const Promise **sort_deliveries(const Batch *batch)
{
    const Promise **sorted =
        ARENA_ARRAY(&batch->tx->arena, const Promise *, batch->delivery_count + 1);
    for (size_t i = 0; i < batch->delivery_count; i++)
        sorted[i] = &batch->deliveries[i];
    qsort(sorted, batch->delivery_count, sizeof *sorted, by_id);
    return sorted;
}

// tell_holders gives those who came too late the public id of the delivery that holds their key:
// dedup_take() knows those of before, this set's own are looked up here. The texts are copied: the
// transaction's arena ends with it.
static void tell_holders(const Batch *batch)
{
    const Promise **sorted = NULL;
    for (size_t i = 0; i < batch->count; i++) {
        const AcceptItem *item = batch->entries[i].item;
        Arena *arena = batch->entries[i].accept->arena;
        for (size_t p = 0; p < item->pair_count && !item->is_duplicate; p++) {
            DedupKey *key = &item->pairs[p].key;
            if (!accept_skipped(&item->pairs[p]))
                continue;
            batch->tx->dedup_hits++;
            if (!key->public_id.at) {
                sorted = sorted ? sorted : sort_deliveries(batch);
                Promise wanted = { .id = key->holder };
                const Promise *at = &wanted, **found;
                found = bsearch(&at, sorted, batch->delivery_count, sizeof *sorted, by_id);
                key->public_id = found ? (*found)->public_id : STR_NONE;
            }
            if (key->public_id.at)
                key->public_id = str_dup(arena, key->public_id);
        }
    }
}
