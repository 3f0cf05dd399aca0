#include "intake/ingest.h"

#include "domain/dedup.h"
#include "store/decision.h"
#include "store/delivery.h"
#include "store/event.h"
#include "store/recall.h"

static void decide(Ingest *ingest, Registry *registry, Random *random);
static Err apply(Tx *tx, Op **ops, size_t count, Error *error);
static void done(Op *op, Err err, const Error *error);

static const OpKind ingest_kind = { .name = "ingest", .apply = apply };

void ingest_accept(Writer *writer, Random *random, Ingest *ingest)
{
    Registry *registry = writer_registry(writer);
    ingest->op.kind = &ingest_kind;
    ingest->op.done = done;
    ingest->op.weight = ingest->count * 4;
    for (size_t i = 0; i < ingest->count; i++) {
        Event *event = &ingest->items[i].event;
        event->id = uuid_new(ingest->now, random);
        event->tenant = ingest->tenant;
        event->received_at = ingest->now;
    }
    decide(ingest, registry, random);
    writer_submit(writer, &ingest->op);
}

static void done(Op *op, Err err, const Error *error)
{
    Ingest *ingest = (Ingest *) op;
    Registry *registry = ingest->registry; // the decisions refer to it until they are told
    ingest->done(ingest, err, error);
    registry_drop(registry);
}

static void decide_item(Ingest *ingest, IngestItem *item, const Registry *registry, Random *random,
                        size_t *order)
{
    size_t count;
    const Trigger *const *triggers =
        registry_triggers(registry, ingest->tenant, item->event.kind, &count);
    if (count > INGEST_PAIRS_MAX)
        count = INGEST_PAIRS_MAX;
    item->pairs = ARENA_ARRAY(ingest->arena, IngestPair, count + 1);
    item->pair_count = count;
    for (size_t i = 0; i < count; i++) {
        IngestPair *pair = &item->pairs[i];
        pair->decision = trigger_decide(ingest->arena, triggers[i], &item->event, ingest->now);
        if (pair->decision.kind != DECISION_CREATED)
            continue;
        pair->delivery = delivery_id_of(item->event.id, (unsigned) i + 1);
        pair->public_id = public_id_new(ingest->arena, random);
        pair->key = (DedupKey){ .tenant = ingest->tenant,
                                .scope = triggers[i]->id,
                                .hash = pair->decision.key,
                                .wanted_by = pair->delivery,
                                .order = (*order)++ };
    }
    if (item->event.identity.len) {
        Buf text = buf_new(ingest->arena, EVENT_SOURCE_MAX + EVENT_IDENTITY_MAX + 1);
        buf_add(&text, item->event.source);
        buf_add_char(&text, 0x1f);
        buf_add(&text, item->event.identity);
        item->identity = (DedupKey){ .tenant = ingest->tenant,
                                     .scope = DEDUP_SCOPE_EVENT,
                                     .hash = sha256(buf_str(&text)),
                                     .wanted_by = item->event.id,
                                     .order = (*order)++ };
    }
}

// decide makes all decisions on one snapshot, which it takes over.
static void decide(Ingest *ingest, Registry *registry, Random *random)
{
    size_t order = 0;
    registry_drop(ingest->registry);
    ingest->registry = registry;
    for (size_t i = 0; i < ingest->count; i++)
        if (ingest->items[i].err == ERR_OK)
            decide_item(ingest, &ingest->items[i], registry, random, &order);
}

// Entry is one event of one operation. Operations are flattened to entries, which are written in
// sets.
typedef struct Entry {
    Ingest *ingest;
    IngestItem *item;
} Entry;

// Batch is what a set of entries writes together.
typedef struct Batch {
    DedupKey **identities, **keys;
    const Event **events;
    DeliveryNew *deliveries;
    QueueNew *queue;
    DecisionRow *decisions;
    RecallKey *filed;
    size_t identity_count, key_count, event_count, delivery_count, decision_count, filed_count;
} Batch;

static void batch_init(Batch *batch, Arena *arena, const Entry *entries, size_t count)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        pairs += entries[i].item->pair_count;
    *batch = (Batch){
        .identities = ARENA_ARRAY(arena, DedupKey *, count + 1),
        .keys = ARENA_ARRAY(arena, DedupKey *, pairs + 1),
        .events = ARENA_ARRAY(arena, const Event *, count + 1),
        .deliveries = ARENA_ARRAY(arena, DeliveryNew, pairs + 1),
        .queue = ARENA_ARRAY(arena, QueueNew, pairs + 1),
        .decisions = ARENA_ARRAY(arena, DecisionRow, pairs + 1),
        .filed = ARENA_ARRAY(arena, RecallKey, pairs + 1),
    };
}

// take_identities finds out which events came before.
static Err take_identities(Tx *tx, Batch *batch, const Entry *entries, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        IngestItem *item = entries[i].item;
        item->is_duplicate = false;
        item->identity.order = i;
        if (item->event.identity.len)
            batch->identities[batch->identity_count++] = &item->identity;
    }
    TRY(dedup_take(tx, batch->identities, batch->identity_count, error));
    for (size_t i = 0; i < count; i++) {
        IngestItem *item = entries[i].item;
        item->is_duplicate = item->event.identity.len && !item->identity.is_won;
    }
    return ERR_OK;
}

// wants_key says whether the pair would hold a dedup key.
static bool wants_key(const IngestPair *pair)
{
    return pair->decision.kind == DECISION_CREATED && pair->decision.has_key;
}

// take_keys finds out which deliveries would repeat another.
static Err take_keys(Tx *tx, Batch *batch, const Entry *entries, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        IngestItem *item = entries[i].item;
        for (size_t p = 0; p < item->pair_count && !item->is_duplicate; p++) {
            IngestPair *pair = &item->pairs[p];
            pair->key.order = batch->key_count;
            if (wants_key(pair))
                batch->keys[batch->key_count++] = &pair->key;
        }
    }
    return dedup_take(tx, batch->keys, batch->key_count, error);
}

static void add_delivery(Batch *batch, const Entry *entry, const IngestPair *pair)
{
    const Ingest *ingest = entry->ingest;
    const Decision *decision = &pair->decision;
    const Trigger *trigger = decision->trigger;
    size_t at = batch->delivery_count++;
    batch->deliveries[at] = (DeliveryNew){
        .tenant = ingest->tenant,
        .id = pair->delivery,
        .event = entry->item->event.id,
        .public_id = pair->public_id,
        .trigger_id = trigger->id,
        .trigger_version = trigger->version,
        .lane = trigger->lane,
        .triggered_at = ingest->now,
        .address = decision->address,
        .locale = decision->locale,
        .customer_ref = decision->customer_ref,
        .entity = entry->item->event.entity,
        .dedup_hash = decision->has_key ? &decision->key : NULL,
    };
    batch->queue[at] = (QueueNew){
        .tenant = ingest->tenant,
        .id = &batch->deliveries[at].id,
        .lane = trigger->lane,
        .live = delivery_first(&trigger->plan, decision->due_at, ingest->now),
    };
}

// recall_key files a delivery, or finds what an event calls off, by the trigger's match values.
static RecallKey recall_key(Tx *tx, const Trigger *trigger, const Event *event, Uuid delivery)
{
    return (RecallKey){
        .tenant = event->tenant,
        .trigger_id = trigger->id,
        .hash = dedup_hash(&tx->arena, trigger->cancel_match, trigger->cancel_match_count, event,
                           trigger->template_id),
        .delivery = delivery,
    };
}

// settle_pair turns a decision into rows, now that the keys are known.
static void settle_pair(Tx *tx, Batch *batch, const Entry *entry, IngestPair *pair)
{
    const Decision *decision = &pair->decision;
    const Trigger *trigger = decision->trigger;
    if (decision->kind == DECISION_CREATED && (!decision->has_key || pair->key.is_won)) {
        add_delivery(batch, entry, pair);
        if (trigger->cancel_kind.len)
            batch->filed[batch->filed_count++] =
                recall_key(tx, trigger, &entry->item->event, pair->delivery);
        return;
    }
    DecisionRow row = { .tenant = entry->ingest->tenant,
                        .event = entry->item->event.id,
                        .trigger_id = trigger->id,
                        .trigger_version = trigger->version,
                        .kind = decision->kind,
                        .reason = decision->reason,
                        .leaf = decision->kind == DECISION_FILTERED ? decision->node : -1 };
    if (decision->kind == DECISION_CREATED) {
        row.kind = DECISION_DUPLICATE;
        row.reason = DECISION_REASON_DUPLICATE_KEY;
        row.delivery = pair->key.holder;
    }
    batch->decisions[batch->decision_count++] = row;
}

static void write_rows(Tx *tx, Batch *batch, const Entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        IngestItem *item = entries[i].item;
        if (item->is_duplicate)
            continue;
        batch->events[batch->event_count++] = &item->event;
        for (size_t p = 0; p < item->pair_count; p++)
            settle_pair(tx, batch, &entries[i], &item->pairs[p]);
    }
    event_insert(tx, batch->events, batch->event_count);
    delivery_insert(tx, batch->deliveries, batch->delivery_count);
    queue_insert(tx, batch->queue, batch->delivery_count);
    decision_insert(tx, batch->decisions, batch->decision_count);
    recall_file(tx, batch->filed, batch->filed_count);
}

// tell_holders gives those who came too late the public id of the delivery that holds their key.
// The texts are copied: the transaction's arena ends with it.
static void tell_holders(const Batch *batch, const Entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const IngestItem *item = entries[i].item;
        for (size_t p = 0; p < item->pair_count; p++) {
            DedupKey *key = &item->pairs[p].key;
            if (!wants_key(&item->pairs[p]) || key->is_won || item->is_duplicate)
                continue;
            for (size_t d = 0; !key->public_id.at && d < batch->delivery_count; d++)
                if (uuid_cmp(batch->deliveries[d].id, key->holder) == 0)
                    key->public_id = batch->deliveries[d].public_id;
            if (key->public_id.at)
                key->public_id = str_dup(entries[i].ingest->arena, key->public_id);
        }
    }
}

static Err apply_set(Tx *tx, const Entry *entries, size_t count, Error *error)
{
    Batch batch;
    batch_init(&batch, &tx->arena, entries, count);
    TRY(take_identities(tx, &batch, entries, count, error));
    TRY(take_keys(tx, &batch, entries, count, error));
    write_rows(tx, &batch, entries, count);
    tell_holders(&batch, entries, count);
    return ERR_OK;
}

// call_off cancels what an event's kind and values call off.
static Err call_off(Tx *tx, const IngestItem *item, Error *error)
{
    size_t count;
    const Trigger *const *triggers =
        registry_recallers(tx->registry, item->event.tenant, item->event.kind, &count);
    for (size_t i = 0; i < count; i++) {
        if (!filter_matches(triggers[i]->cancel_filter, &item->event, triggers[i]->template_id,
                            NULL))
            continue;
        RecallKey key = recall_key(tx, triggers[i], &item->event, item->event.id);
        TRY(recall_call(tx, &key, error));
    }
    return ERR_OK;
}

// apply_in_turn writes one event after the other: each first calls off what was made before it. An
// event that came before calls nothing off again.
static Err apply_in_turn(Tx *tx, const Entry *entries, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        IngestItem *item = entries[i].item;
        Batch batch;
        batch_init(&batch, &tx->arena, &entries[i], 1);
        TRY(take_identities(tx, &batch, &entries[i], 1, error));
        if (item->is_duplicate)
            continue;
        TRY(call_off(tx, item, error));
        TRY(take_keys(tx, &batch, &entries[i], 1, error));
        write_rows(tx, &batch, &entries[i], 1);
        tell_holders(&batch, &entries[i], 1);
    }
    return ERR_OK;
}

static bool calls_off(const Tx *tx, const IngestItem *item)
{
    size_t count;
    registry_recallers(tx->registry, item->event.tenant, item->event.kind, &count);
    return count > 0;
}

// begin prepares an operation for this try and appends its good items to entries.
static Err begin(Tx *tx, Ingest *ingest, Entry *entries, size_t *count, Error *error)
{
    ingest->is_settled = false;
    if (ingest->registry->generation != tx->registry->generation)
        decide(ingest, registry_hold(tx->registry), tx->random);
    if (ingest->before_all)
        TRY(ingest->before_all(ingest, tx, &ingest->is_settled, error));
    for (size_t i = 0; i < ingest->count && !ingest->is_settled; i++)
        if (ingest->items[i].err == ERR_OK)
            entries[(*count)++] = (Entry){ ingest, &ingest->items[i] };
    return ERR_OK;
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    size_t room = 0, used = 0;
    bool in_turn = false;
    for (size_t o = 0; o < count; o++)
        room += ((const Ingest *) ops[o])->count;
    Entry *entries = ARENA_ARRAY(&tx->arena, Entry, room + 1);
    for (size_t o = 0; o < count; o++)
        TRY(begin(tx, (Ingest *) ops[o], entries, &used, error));
    for (size_t i = 0; i < used && !in_turn; i++)
        in_turn = calls_off(tx, entries[i].item);
    TRY(in_turn ? apply_in_turn(tx, entries, used, error) : apply_set(tx, entries, used, error));
    for (size_t o = 0; o < count; o++) {
        Ingest *ingest = (Ingest *) ops[o];
        if (ingest->before_commit && !ingest->is_settled)
            TRY(ingest->before_commit(ingest, tx, error));
    }
    return ERR_OK;
}
