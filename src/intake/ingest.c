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

// Batch is what all operations of one transaction write together.
typedef struct Batch {
    DedupKey **identities, **keys;
    const Event **events;
    DeliveryNew *deliveries;
    QueueNew *queue;
    DecisionRow *decisions;
    RecallKey *filed, *called;
    size_t identity_count, key_count, event_count, delivery_count, decision_count, filed_count,
        called_count;
} Batch;

static void batch_init(Batch *batch, Arena *arena, Op **ops, size_t count)
{
    size_t items = 0, pairs = 0;
    for (size_t o = 0; o < count; o++) {
        const Ingest *ingest = (const Ingest *) ops[o];
        items += ingest->count;
        for (size_t i = 0; i < ingest->count; i++)
            pairs += ingest->items[i].pair_count;
    }
    *batch = (Batch){
        .identities = ARENA_ARRAY(arena, DedupKey *, items + 1),
        .keys = ARENA_ARRAY(arena, DedupKey *, pairs + 1),
        .events = ARENA_ARRAY(arena, const Event *, items + 1),
        .deliveries = ARENA_ARRAY(arena, DeliveryNew, pairs + 1),
        .queue = ARENA_ARRAY(arena, QueueNew, pairs + 1),
        .decisions = ARENA_ARRAY(arena, DecisionRow, pairs + 1),
        .filed = ARENA_ARRAY(arena, RecallKey, pairs + 1),
    };
}

#define EACH_ITEM(ops, count, ingest, item)                                                        \
    for (size_t o_ = 0; o_ < (count); o_++)                                                        \
        for (Ingest *ingest = (Ingest *) (ops)[o_]; ingest; ingest = NULL)                         \
            for (IngestItem *item = ingest->items, *end_ = item + ingest->count; item < end_;      \
                 item++)                                                                           \
                if (item->err == ERR_OK && !ingest->is_settled)

// take_identities finds out which events came before.
static Err take_identities(Tx *tx, Batch *batch, Op **ops, size_t count, Error *error)
{
    size_t order = 0;
    EACH_ITEM(ops, count, ingest, item)
    {
        item->is_duplicate = false;
        item->identity.order = order++;
        if (item->event.identity.len)
            batch->identities[batch->identity_count++] = &item->identity;
    }
    TRY(dedup_take(tx, batch->identities, batch->identity_count, error));
    EACH_ITEM(ops, count, ingest, item)
    {
        if (item->event.identity.len && !item->identity.is_won)
            item->is_duplicate = true;
    }
    return ERR_OK;
}

// take_keys finds out which deliveries would repeat another.
static Err take_keys(Tx *tx, Batch *batch, Op **ops, size_t count, Error *error)
{
    size_t order = 0;
    EACH_ITEM(ops, count, ingest, item)
    {
        for (size_t p = 0; p < item->pair_count && !item->is_duplicate; p++) {
            IngestPair *pair = &item->pairs[p];
            pair->key.order = order++;
            if (pair->decision.kind == DECISION_CREATED && pair->decision.has_key)
                batch->keys[batch->key_count++] = &pair->key;
        }
    }
    return dedup_take(tx, batch->keys, batch->key_count, error);
}

static void add_delivery(Batch *batch, const Ingest *ingest, const IngestItem *item,
                         const IngestPair *pair)
{
    const Decision *decision = &pair->decision;
    const Trigger *trigger = decision->trigger;
    size_t at = batch->delivery_count++;
    batch->deliveries[at] = (DeliveryNew){
        .tenant = ingest->tenant,
        .id = pair->delivery,
        .event = item->event.id,
        .public_id = pair->public_id,
        .trigger_id = trigger->id,
        .trigger_version = trigger->version,
        .lane = trigger->lane,
        .triggered_at = ingest->now,
        .address = decision->address,
        .locale = decision->locale,
        .customer_ref = decision->customer_ref,
        .entity = item->event.entity,
        .dedup_hash = decision->has_key ? &decision->key : NULL,
    };
    batch->queue[at] = (QueueNew){
        .tenant = ingest->tenant,
        .id = &batch->deliveries[at].id,
        .lane = trigger->lane,
        .live = delivery_first(&trigger->plan, decision->due_at, ingest->now),
    };
}

static void file_recall(Tx *tx, Batch *batch, const IngestItem *item, const IngestPair *pair)
{
    const Trigger *trigger = pair->decision.trigger;
    if (trigger->cancel_kind.len)
        batch->filed[batch->filed_count++] = (RecallKey){
            .tenant = item->event.tenant,
            .trigger_id = trigger->id,
            .hash = dedup_hash(&tx->arena, trigger->cancel_match, trigger->cancel_match_count,
                               &item->event, trigger->template_id),
            .id = pair->delivery,
        };
}

// settle_pair turns a decision into rows, now that the keys are known.
static void settle_pair(Tx *tx, Batch *batch, const Ingest *ingest, const IngestItem *item,
                        IngestPair *pair)
{
    Decision *decision = &pair->decision;
    if (decision->kind == DECISION_CREATED && (!decision->has_key || pair->key.is_won)) {
        add_delivery(batch, ingest, item, pair);
        file_recall(tx, batch, item, pair);
        return;
    }
    DecisionRow row = { .tenant = ingest->tenant,
                        .event = item->event.id,
                        .trigger_id = decision->trigger->id,
                        .trigger_version = decision->trigger->version,
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

// find_recalls lists the deliveries that these events call off.
static void find_recalls(Tx *tx, Batch *batch, Op **ops, size_t count)
{
    size_t room = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            batch->called = ARENA_ARRAY(&tx->arena, RecallKey, room + 1);
        EACH_ITEM(ops, count, ingest, item)
        {
            size_t callers;
            const Trigger *const *triggers =
                registry_recallers(tx->registry, ingest->tenant, item->event.kind, &callers);
            for (size_t t = 0; t < callers && !item->is_duplicate; t++) {
                const Trigger *trigger = triggers[t];
                if (!filter_matches(trigger->cancel_filter, &item->event, trigger->template_id,
                                    NULL))
                    continue;
                if (pass == 0) {
                    room++;
                    continue;
                }
                batch->called[batch->called_count++] = (RecallKey){
                    .tenant = ingest->tenant,
                    .trigger_id = trigger->id,
                    .hash = dedup_hash(&tx->arena, trigger->cancel_match,
                                       trigger->cancel_match_count, &item->event,
                                       trigger->template_id),
                    .id = item->event.id,
                };
            }
        }
    }
}

static void write_rows(Tx *tx, Batch *batch, Op **ops, size_t count)
{
    EACH_ITEM(ops, count, ingest, item)
    {
        if (item->is_duplicate)
            continue;
        batch->events[batch->event_count++] = &item->event;
        for (size_t p = 0; p < item->pair_count; p++)
            settle_pair(tx, batch, ingest, item, &item->pairs[p]);
    }
    event_insert(tx, batch->events, batch->event_count);
    delivery_insert(tx, batch->deliveries, batch->delivery_count);
    queue_insert(tx, batch->queue, batch->delivery_count);
    decision_insert(tx, batch->decisions, batch->decision_count);
    recall_file(tx, batch->filed, batch->filed_count);
}

// publish_keys tells the callers who holds the keys. The texts are copied: the transaction's arena
// ends with it.
static void publish_keys(Op **ops, size_t count)
{
    EACH_ITEM(ops, count, ingest, item)
    {
        for (size_t p = 0; p < item->pair_count; p++) {
            IngestPair *pair = &item->pairs[p];
            if (pair->decision.kind != DECISION_CREATED || !pair->decision.has_key)
                continue;
            if (pair->key.public_id.at)
                pair->key.public_id = str_dup(ingest->arena, pair->key.public_id);
        }
    }
}

// share_public_ids gives repeats within one batch the public id of the first.
static void share_public_ids(const Batch *batch, Op **ops, size_t count)
{
    EACH_ITEM(ops, count, ingest, item)
    {
        for (size_t p = 0; p < item->pair_count; p++) {
            IngestPair *pair = &item->pairs[p];
            bool is_open = pair->decision.kind == DECISION_CREATED && pair->decision.has_key &&
                           !pair->key.is_won && !pair->key.public_id.at;
            for (size_t d = 0; is_open && d < batch->delivery_count; d++) {
                if (uuid_cmp(batch->deliveries[d].id, pair->key.holder) != 0)
                    continue;
                pair->key.public_id = batch->deliveries[d].public_id;
                break;
            }
        }
    }
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    Batch batch;
    for (size_t o = 0; o < count; o++) {
        Ingest *ingest = (Ingest *) ops[o];
        ingest->is_settled = false;
        if (ingest->registry->generation != tx->registry->generation)
            decide(ingest, registry_hold(tx->registry), tx->random);
        if (ingest->before_all)
            TRY(ingest->before_all(ingest, tx, &ingest->is_settled, error));
    }
    batch_init(&batch, &tx->arena, ops, count);
    TRY(take_identities(tx, &batch, ops, count, error));
    TRY(take_keys(tx, &batch, ops, count, error));
    write_rows(tx, &batch, ops, count);
    share_public_ids(&batch, ops, count);
    publish_keys(ops, count);
    find_recalls(tx, &batch, ops, count);
    size_t recalled = 0;
    if (batch.called_count > 0)
        TRY(recall_call(tx, batch.called, batch.called_count, &recalled, error));
    for (size_t o = 0; o < count; o++) {
        Ingest *ingest = (Ingest *) ops[o];
        if (ingest->before_commit && !ingest->is_settled)
            TRY(ingest->before_commit(ingest, tx, error));
    }
    return ERR_OK;
}
