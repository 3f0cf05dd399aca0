#include "store/accept.h"

#include "domain/dedup.h"
#include "store/awaiting.h"
#include "store/decision.h"
#include "store/delivery.h"
#include "store/event.h"
#include "store/preference.h"
#include "store/recall.h"

// What was decided (accept_decide.c) is written here. Accepts are flattened to entries, one for
// each event. All identities are taken in one set, then all dedup keys, then rows are
// written wave by wave. Mostly there is one wave: a new one begins only where an event calls off
// what an earlier event of the same tenant may have made in this very set.

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
    EventRow *events;
    Promise *deliveries;
    QueueRow *queue;
    DecisionRow *decisions;
    Miss *misses; // of all events
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
    batch->events = ARENA_ARRAY(arena, EventRow, batch->count + 1);
    batch->deliveries = ARENA_ARRAY(arena, Promise, created + 1);
    batch->queue = ARENA_ARRAY(arena, QueueRow, created + 1);
    batch->filed = ARENA_ARRAY(arena, RecallKey, created + 1);
    batch->awaiting = ARENA_ARRAY(arena, Awaiting, created + 1);
    batch->decisions = ARENA_ARRAY(arena, DecisionRow, batch->count + 1);
    batch->misses = ARENA_ARRAY(arena, Miss, pairs + 1);
}

// take_identities finds out which events came before.
static bool has_identity(const AcceptItem *item)
{
    return !uuid_is_none(item->identity.wanted_by);
}

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
    for (size_t i = 0; i < count; i++)
        pairs[i]->lane = preference_lane(tx->registry, pairs[i]->decision.trigger, &asks[i].found);
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
    decision_renew(tx, batch->decisions + from.decision_count,
                   batch->decision_count - from.decision_count);
    recall_file(tx, batch->filed + from.filed_count, batch->filed_count - from.filed_count);
    awaiting_file(tx, batch->awaiting + from.awaiting_count,
                  batch->awaiting_count - from.awaiting_count);
}

// write_item turns an event and what was decided into rows; one that is decided anew has its own.
static void write_item(Batch *batch, const Entry *entry)
{
    const AcceptItem *item = entry->item;
    const Miss *misses = batch->misses + batch->miss_count;
    for (size_t p = 0; p < item->pair_count; p++)
        write_pair(batch, entry, &item->pairs[p]);
    size_t count = (size_t) (batch->misses + batch->miss_count - misses);
    Str facts = decision_facts(&batch->tx->arena, item->missed, misses, count);
    if (!item->again)
        batch->events[batch->event_count++] = (EventRow){ &item->event, facts };
    else if (facts.at)
        batch->decisions[batch->decision_count++] =
            (DecisionRow){ entry->accept->tenant, item->event.id, facts };
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
