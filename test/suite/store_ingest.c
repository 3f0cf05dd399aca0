#include "fixture.h"

#include "domain/dedup.h"
#include "store/act.h"
#include "store/decision.h"
#include "store/dedup.h"
#include "store/definition.h"
#include "store/event.h"
#include "store/idempotency.h"
#include "store/part.h"
#include "store/rule.h"

// What accept.h, dedup.h, decision.h, event.h, recall.h and idempotency.h promise.

#define PLAIN "{'id':'plain','eventKind':'visit','channel':'memory:default'}"
#define KEYED                                                                                      \
    "{'id':'keyed','eventKind':'visit','channel':'memory:default','dedupRecipe':['candidate.wip']" \
    "}"

static Uuid delivery_of(const Accept *accept, size_t item, size_t pair)
{
    return accept->items[item].pairs[pair].delivery;
}

static void an_event_becomes_rows(void)
{
    STORE(store);
    publish(&store, TENANT,
            "{'id':'late','eventKind':'visit','channel':'memory:default',"
            "'schedule':{'initialDelay':'1h','reminders':['1d','2d']}}");
    Accept *accept = take(&store, TENANT,
                          "{'kind':'visit','id':'v-1','source':'dms','entity':'booking:1',"
                          "'correlationId':'c-1','occurredAt':'2026-01-01T00:30:00Z',"
                          "'payload':{'wip':7},'recipient':{'address':'+43','locale':'de',"
                          "'customerRef':'anna'}}");
    CHECK(take_err(accept) == ERR_OK && accept->items[0].pair_count == 1);
    Uuid id = delivery_of(accept, 0, 0);
    CHECK(same_id(id, delivery_id_of(accept->items[0].event.id, 1)));

    Event event;
    MUST(&store, event_row(store.db, &store.arena, TENANT, accept->items[0].event.id, &event,
                           &store.error));
    CHECK(is_text(event.kind, "visit") && is_text(event.source, "dms"));
    CHECK(is_text(event.identity, "v-1") && is_text(event.entity, "booking:1"));
    CHECK(is_text(event.correlation_id, "c-1") && event.received_at == BEGINNING);
    CHECK(event.occurred_at == BEGINNING + 30 * SPAN_MINUTE);
    CHECK(is_text(event.payload, "{\"wip\":7}"));

    DeliveryView made = view(&store, TENANT, id);
    CHECK(made.state == DELIVERY_PENDING && made.attempt == 0 && made.send == 0);
    CHECK(made.due_at == BEGINNING + 90 * SPAN_MINUTE && made.reminders_left == 2);
    CHECK(made.promise.triggered_at == BEGINNING && is_text(made.rule_id, "late"));
    CHECK(made.promise.version == 1 && is_text(made.channel, "memory:default"));
    CHECK(is_text(made.promise.address, "+43") && is_text(made.promise.locale, "de"));
    CHECK(is_text(made.promise.customer_ref, "anna") && is_text(made.promise.entity, "booking:1"));
    CHECK(made.promise.public_id.len == PUBLIC_ID_LEN && made.last_sent_at == INSTANT_NONE);
    CHECK(same_id(made.promise.event, event.id) && same_id(made.origin.id, event.id));
}

static void what_is_not_said_is_none(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Accept *accept = take(&store, TENANT, "{'kind':'visit'}");
    Event event;
    MUST(&store, event_row(store.db, &store.arena, TENANT, accept->items[0].event.id, &event,
                           &store.error));
    CHECK(!event.identity.at && !event.entity.at && !event.correlation_id.at && !event.trace.at);
    CHECK(event.occurred_at == INSTANT_NONE && !event.recipient.at);
    CHECK(is_text(event.payload, "{}"));
    DeliveryView made = view(&store, TENANT, delivery_of(accept, 0, 0));
    CHECK(!made.promise.address.at && !made.promise.locale.at && !made.promise.customer_ref.at &&
          !made.promise.entity.at);
    CHECK(made.due_at == BEGINNING);
}

static void every_trigger_decides_for_itself(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, KEYED);
    publish(&store, TENANT,
            "{'id':'off','eventKind':'visit','channel':'memory:default','enabled':false}");
    publish(&store, TENANT,
            "{'id':'picky','eventKind':'visit','channel':'memory:default',"
            "'filter':{'path':'candidate.wip','op':'==','value':9}}");
    publish(&store, TENANT, "{'id':'deaf','eventKind':'other','channel':'memory:default'}");
    take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    Accept *again = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");

    Miss *rows;
    RuleName names[3];
    size_t count;
    MUST(&store, decision_of_event(store.db, &store.arena, TENANT, again->items[0].event.id, &rows,
                                   &count, &store.error));
    CHECK(count == 3);
    MUST(&store, decision_names(store.db, &store.arena, TENANT, rows, 3, names, &store.error));
    CHECK(is_text(names[0].id, "picky") && rows[0].kind == DECISION_FILTERED);
    CHECK(rows[0].leaf == 0 && uuid_is_none(rows[0].holder) && rows[0].version == 1);
    CHECK(is_text(names[1].id, "off") && rows[1].kind == DECISION_DISABLED);
    CHECK(is_text(names[2].id, "keyed") && rows[2].kind == DECISION_DUPLICATE);
    CHECK(rows[2].reason == DECISION_REASON_DUPLICATE_KEY && rows[2].leaf == -1);
    CHECK(same_id(rows[2].holder, again->items[0].pairs[0].key.holder));
    CHECK(ask_i64(&store, "SELECT COUNT(decided) FROM event") == 2); // one for each event
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 3);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 2);
}

static void whoever_awaits_an_answer_is_filed(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT,
            "{'id':'survey','eventKind':'visit','channel':'memory:default','awaitAnswer':true,"
            "'dedupRecipe':['candidate.wip']}");
    Accept *made = take(&store, TENANT,
                        "[{'kind':'visit','payload':{'wip':7}},"
                        "{'kind':'visit','payload':{'wip':7}}]");
    const AcceptPair *pair = &made->items[0].pairs[1];
    Rows rows = ask(&store, "SELECT public_id, tenant, delivery FROM awaiting", "", NULL);
    CHECK(rows.count == 1 && rows.values[1].i64 == TENANT);
    CHECK(rows.count == 1 && str_eq(value_to_str(&rows.values[0]), pair->public_id));
    CHECK(rows.count == 1 && same_id(value_to_uuid(&rows.values[2]), pair->delivery));
}

static void a_taken_key_names_its_holder(void)
{
    STORE(store);
    publish(&store, TENANT, KEYED);
    Accept *first = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    Accept *again = take(&store, TENANT,
                         "[{'kind':'visit','payload':{'wip':8}},"
                         "{'kind':'visit','payload':{'wip':7}},"
                         "{'kind':'visit','payload':{'wip':8}}]");
    const AcceptPair *held = &first->items[0].pairs[0], *pairs[3];
    for (size_t i = 0; i < 3; i++)
        pairs[i] = &again->items[i].pairs[0];
    CHECK(held->key.is_won && same_id(held->key.holder, held->delivery));
    CHECK(pairs[0]->key.is_won);
    CHECK(!pairs[1]->key.is_won && same_id(pairs[1]->key.holder, held->delivery));
    CHECK(str_eq(pairs[1]->key.public_id, held->public_id));
    CHECK(!pairs[2]->key.is_won && same_id(pairs[2]->key.holder, pairs[0]->delivery));
    CHECK(str_eq(pairs[2]->key.public_id, pairs[0]->public_id));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM dedup") == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 4);
    CHECK(ask_i64(&store, "SELECT COUNT(decided) FROM event") == 2);
}

// Taking is one call of dedup_take() with the results it gave.
typedef struct Taking {
    DedupKey keys[8];
    DedupKey *order[8];
    size_t count;
    Arena *arena;
} Taking;

static Err apply_taking(Tx *tx, void *with, Error *error)
{
    Taking *taking = with;
    for (size_t i = 0; i < taking->count; i++)
        taking->order[i] = &taking->keys[i];
    TRY(dedup_take(tx, taking->order, taking->count, error));
    for (size_t i = 0; i < taking->count; i++)
        taking->keys[i].public_id = str_dup(taking->arena, taking->keys[i].public_id);
    return ERR_OK;
}

static DedupKey key_of(Store *store, int64_t tenant, int64_t scope, const char *text, size_t order)
{
    Sha256 hash = hash_of(text);
    return (DedupKey){ .tenant = tenant,
                       .key = dedup_key(scope, &hash),
                       .wanted_by = uuid_new(now(store), &store->random),
                       .order = order };
}

static void keys_are_taken_once(void)
{
    STORE(store);
    Taking first = { .arena = &store.arena, .count = 6 };
    // Handed in against their order: the lowest order wins among equals, not the first in line.
    first.keys[0] = key_of(&store, 1, 1, "x", 5);
    first.keys[1] = key_of(&store, 1, 1, "x", 2);
    first.keys[2] = key_of(&store, 1, 1, "x", 3);
    first.keys[3] = key_of(&store, 1, 2, "x", 4);
    first.keys[4] = key_of(&store, 2, 1, "x", 1);
    first.keys[5] = key_of(&store, 1, 1, "y", 0);
    MUST(&store, writer_run(store.writer, apply_taking, &first, &store.error));
    CHECK(!first.keys[0].is_won && first.keys[1].is_won && !first.keys[2].is_won);
    CHECK(first.keys[3].is_won && first.keys[4].is_won && first.keys[5].is_won);
    CHECK(same_id(first.keys[0].holder, first.keys[1].wanted_by));
    CHECK(same_id(first.keys[2].holder, first.keys[1].wanted_by));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM dedup") == 4);

    Taking second = { .arena = &store.arena, .count = 3 };
    second.keys[0] = key_of(&store, 1, 1, "x", 0);
    second.keys[1] = key_of(&store, 1, 1, "x", 1);
    second.keys[2] = key_of(&store, 2, 1, "y", 2);
    MUST(&store, writer_run(store.writer, apply_taking, &second, &store.error));
    for (size_t i = 0; i < 2; i++) {
        CHECK(!second.keys[i].is_won && !second.keys[i].public_id.len);
        CHECK(same_id(second.keys[i].holder, first.keys[1].wanted_by));
    }
    CHECK(second.keys[2].is_won && same_id(second.keys[2].holder, second.keys[2].wanted_by));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM dedup") == 5);
}

static void an_identity_comes_once(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    int64_t other = tenant_new(&store, "other");
    publish(&store, other, PLAIN);
    Accept *first = take(&store, TENANT, "{'kind':'visit','id':'1','source':'dms'}");
    Accept *more = take(&store, TENANT,
                        "[{'kind':'visit','id':'1','source':'dms'},"
                        "{'kind':'visit','id':'1','source':'crm'},"
                        "{'kind':'visit','id':'2','source':'dms'},"
                        "{'kind':'visit','id':'2','source':'dms'},"
                        "{'kind':'visit','source':'dms'}]");
    Accept *foreign = take(&store, other, "{'kind':'visit','id':'1','source':'dms'}");
    static const bool is_duplicate[] = { true, false, false, true, false };
    CHECK(!first->items[0].is_duplicate && !foreign->items[0].is_duplicate);
    for (size_t i = 0; i < ARRAY_LEN(is_duplicate); i++)
        CHECK(more->items[i].is_duplicate == is_duplicate[i]);
    CHECK(same_id(more->items[0].identity.holder, first->items[0].event.id));
    CHECK(same_id(more->items[3].identity.holder, more->items[2].event.id));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 5);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 5);
    CHECK(ask_i64(&store, "SELECT COUNT(decided) FROM event") == 0);
}

static void a_repeated_event_does_not_take_keys(void)
{
    STORE(store);
    take(&store, TENANT, "{'kind':'visit','id':'1','payload':{'wip':7}}");
    publish(&store, TENANT, KEYED);
    take(&store, TENANT, "{'kind':'visit','id':'1','payload':{'wip':7}}");
    Accept *third = take(&store, TENANT, "{'kind':'visit','id':'2','payload':{'wip':7}}");
    CHECK(third->items[0].pairs[0].key.is_won);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 1);
}

static void a_bad_item_takes_no_part(void)
{
    STORE(store);
    publish(&store, TENANT, KEYED);
    Accept *accept = accept_of(&store, TENANT,
                               "[{'kind':'visit','id':'1','payload':{'wip':7}},"
                               "{'kind':'visit','id':'1','payload':{'wip':7}}]");
    accept->items[0].err = ERR_EVENT_INVALID;
    take_in(&store, accept);
    CHECK(take_err(accept) == ERR_OK && !accept->items[1].is_duplicate);
    CHECK(accept->items[1].pairs[0].key.is_won);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 1);
}

static void tenants_do_not_meet(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    publish(&store, TENANT, KEYED);
    publish(&store, other, KEYED);
    Accept *ours = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    Accept *theirs = take(&store, other, "{'kind':'visit','payload':{'wip':7}}");
    CHECK(ours->items[0].pairs[0].key.is_won && theirs->items[0].pairs[0].key.is_won);
    Uuid id = delivery_of(ours, 0, 0);
    DeliveryView found;
    Event event;
    CHECK(delivery_view(store.db, &store.arena, other, id, &found, &store.error) == ERR_NOT_FOUND);
    CHECK(event_row(store.db, &store.arena, other, ours->items[0].event.id, &event, &store.error) ==
          ERR_NOT_FOUND);
    CHECK(act(&store, other, id, DELIVERY_ACTION_CANCEL, NULL) == ERR_NOT_FOUND);
    CHECK(view(&store, TENANT, id).state == DELIVERY_PENDING);
}

// Whatever statement fails, even the COMMIT: all of it is there or nothing is.
static void a_failed_ingest_leaves_nothing(void)
{
    Fuse fuse = { 0 };
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .fault = fuse_blow, .fault_with = &fuse });
    publish(&store, TENANT,
            "{'id':'keyed','eventKind':'visit','channel':'memory:default',"
            "'dedupRecipe':['candidate.wip'],"
            "'cancelOn':{'eventKind':'reopened','match':['candidate.wip']}}");
    publish(&store, TENANT,
            "{'id':'off','eventKind':'visit','channel':'memory:default','enabled':false}");
    int failed = 0;
    for (int n = 1;; n++) {
        fuse = (Fuse){ .left = n };
        Accept *accept = accept_of(&store, TENANT, "{'kind':'visit','id':'1','payload':{'wip':7}}");
        take_in(&store, accept);
        if (!fuse.is_blown)
            break;
        failed++;
        CHECK(take_err(accept) != ERR_OK);
        CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 0);
        CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 0);
        CHECK(ask_i64(&store, "SELECT COUNT(*) FROM dedup") == 0);
        CHECK(ask_i64(&store, "SELECT COUNT(decided) FROM event") == 0);
        CHECK(ask_i64(&store, "SELECT COUNT(*) FROM recall") == 0);
    }
    CHECK(failed >= 9); // every insert, the look at the generation, BEGIN and COMMIT
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM recall") == 1);
}

// Beside is what a transaction does besides taking an event: it acts on a delivery, and may fail.
typedef struct Beside {
    Uuid delivery;
    Err err;
} Beside;

static Err act_beside(Tx *tx, void *with, Error *error)
{
    const Beside *beside = with;
    TRY(tx_sync(tx, error));
    TRY(act_one(tx, TENANT, beside->delivery, DELIVERY_ACTION_CANCEL, STR_NONE, error));
    return beside->err == ERR_OK ? ERR_OK : fail(error, beside->err, "refused at the last moment");
}

static void an_event_is_made_beside_something_else_or_not_at_all(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, KEYED);
    Beside beside = { delivery_of(take(&store, TENANT, "{'kind':'visit'}"), 0, 0), ERR_CONFLICT };
    Accept *refused = accept_of(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    take_with(&store, refused, act_beside, &beside);
    CHECK(take_err(refused) == ERR_CONFLICT);
    CHECK(view(&store, TENANT, beside.delivery).state == DELIVERY_PENDING);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM dedup") == 1);

    beside.err = ERR_OK;
    Accept *made = accept_of(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    take_with(&store, made, act_beside, &beside);
    CHECK(take_err(made) == ERR_OK && made->items[0].pair_count == 2);
    CHECK(view(&store, TENANT, beside.delivery).state == DELIVERY_CANCELLED);
    CHECK(view(&store, TENANT, delivery_of(made, 0, 1)).state == DELIVERY_PENDING);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM event") == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM dedup") == 2);
}

// Named is a rule that nobody has defined, and its number.
typedef struct Named {
    const char *id;
    int64_t number;
} Named;

static Err name_rule(Tx *tx, void *with, Error *error)
{
    static const Statement find = {
        .name = "suite_rule_find",
        .scope = STATEMENT_TENANT,
        .params = "it",
        .sql = "SELECT rule FROM rule WHERE tenant = $1 AND id = $2",
    };
    Named *named = with;
    Value args[] = { value_i64(TENANT), value_text(str_from(named->id)) };
    Rows rows;
    TRY(definition_lock(tx, error));
    TRY(rule_ensure(tx, TENANT, RULE_NOTIFY, str_from(named->id), error));
    TRY(tx_query(tx, &find, args, &rows, error));
    named->number = value_to_i64(&rows.values[0]);
    return ERR_OK;
}

// nobody is such a rule, that goes through memory:default.
static Trigger nobody(Store *store)
{
    Named named = { .id = "nobody" };
    MUST(store, writer_run(store->writer, name_rule, &named, &store->error));
    Trigger rule = { .rule = rule_default(RULE_NOTIFY, S("nobody")), .enabled = true };
    rule.rule.tenant = TENANT;
    rule.rule.number = named.number;
    rule.rule.lane = lane_of(store, TENANT, "memory:default");
    return rule;
}

static void an_event_is_for_the_rules_that_it_names(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Trigger rules[2] = { nobody(&store) };
    rules[1] = rules[0];
    rules[1].enabled = false;
    const Trigger *both[] = { &rules[1], &rules[0] };
    Accept *accept = accept_of(&store, TENANT, "{'kind':'visit'}");
    accept->items[0].named = both;
    accept->items[0].named_count = 2;
    take_in(&store, accept);
    CHECK(take_err(accept) == ERR_OK && accept->items[0].pair_count == 1);
    CHECK(accept->items[0].pairs[0].decision.trigger == &rules[0]);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(decided) FROM event") == 1); // the disabled one

    // It is claimed under its version 0, which has the defaults of its kind.
    Claimed claimed = claim_one(&store, rules[0].rule.lane);
    CHECK(claimed.trigger && claimed.trigger->rule.kind == RULE_NOTIFY);
    CHECK(is_text(claimed.trigger->rule.id, "nobody") && claimed.trigger->rule.version == 0);
    DeliveryView seen = view(&store, TENANT, claimed.promise.id);
    CHECK(seen.rule_kind == RULE_NOTIFY && is_text(seen.rule_id, "nobody"));
}

// An open one is also for those that listen, whose deliveries stand behind.
static void an_open_event_is_for_those_that_listen_too(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, KEYED);
    Trigger rule = nobody(&store);
    const Trigger *named[] = { &rule };
    Accept *accept = accept_of(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    accept->items[0].named = named;
    accept->items[0].named_count = 1;
    accept->items[0].is_open = true;
    take_in(&store, accept);
    const AcceptItem *item = &accept->items[0];
    CHECK(take_err(accept) == ERR_OK && item->pair_count == 3);
    CHECK(item->pairs[0].decision.trigger == &rule);
    for (size_t i = 1; i < item->pair_count; i++)
        CHECK(uuid_cmp(item->pairs[i - 1].delivery, item->pairs[i].delivery) < 0);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == 3);
}

// An event may be made of an event, but not without end.
static void a_chain_of_events_ends(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Registry *registry = writer_registry(store.writer);
    Accept *deep = accept_of(&store, TENANT, "{'kind':'visit'}");
    deep->depth = ACCEPT_DEPTH_MAX + 1;
    CHECK(accept_decide(deep, registry, &store.random, &store.error) == ERR_CONFLICT);
    deep->depth = ACCEPT_DEPTH_MAX;
    take_in(&store, deep);
    CHECK(take_err(deep) == ERR_OK && deep->items[0].pair_count == 1);
    registry_drop(registry);
}

#define CROWDED                                                                                    \
    "{'id':'one','eventKind':'visit','channel':'memory:default',"                                  \
    "'cancelOn':{'eventKind':'visit','match':['candidate.x']}}"

// kind_of is the same trigger so many times.
static RegistryKind *kind_of(const RegistryTrigger *trigger, size_t count)
{
    RegistryKind *kind = part_kind(S("visit"), count);
    while (kind->count < count)
        kind->triggers[kind->count++] = trigger;
    return kind;
}

// crowd is a snapshot in which so many triggers listen to one kind, and so many call off by it.
static Registry *crowd(Store *store, size_t listeners, size_t recallers)
{
    Registry *registry = memory_new(sizeof *registry);
    registry->holders = 1;
    registry->tenants.kind = &part_tenants;
    RegistryTenant *tenant = part_tenant(TENANT, S("crowded"), S(""));
    tenant->moved = 99;
    Trigger one = { .rule = { .id = S("one"), .tenant = TENANT, .number = 1, .version = 1 },
                    .enabled = true,
                    .event_kind = S("visit"),
                    .cancel_kind = S("visit") };
    RegistryTrigger *trigger = part_trigger(&one, json_compact(store, CROWDED));
    trie_put(&tenant->triggers, &trigger->item);
    trie_put(&tenant->kinds, &kind_of(trigger, listeners)->item);
    trie_put(&tenant->off_kinds, &kind_of(trigger, recallers)->item);
    trie_put(&registry->tenants, &tenant->item);
    return registry;
}

static Accept *visits(Store *store, size_t count)
{
    Accept *accept = accept_of(store, TENANT, "{'kind':'visit'}");
    Event event = accept->items[0].event;
    accept->items = ARENA_ARRAY(&store->arena, AcceptItem, count + 1);
    for (size_t i = 0; i < count; i++)
        accept->items[i].event = event;
    accept->count = count;
    return accept;
}

static void what_is_decided_at_once_is_bounded(void)
{
    static const struct {
        const char *about;
        size_t events, listeners, recallers;
        Err err;
    } rows[] = {
        { "as much as fits", 100, 1000, 0, ERR_OK },
        { "one event more", 101, 1000, 0, ERR_TOO_LARGE },
        { "those that call off count too", 100, 999, 2, ERR_TOO_LARGE },
        { "as many as an event can meet", 1, ACCEPT_RULES_MAX, 0, ERR_OK },
        { "more than an event can meet", 1, ACCEPT_RULES_MAX + 1, 0, ERR_TOO_LARGE },
    };
    STORE(store);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Registry *registry = crowd(&store, rows[i].listeners, rows[i].recallers);
        Accept *accept = visits(&store, rows[i].events);
        Err err = accept_decide(accept, registry, &store.random, &store.error);
        CHECK_AT(rows[i].about, err == rows[i].err);
        CHECK_AT(rows[i].about, err != ERR_OK || accept->weight >= rows[i].listeners);
        registry_drop(registry);
    }
}

#define RECALLED                                                                                   \
    "{'id':'csi','eventKind':'visit','channel':'memory:default','awaitAnswer':true,"               \
    "'cancelOn':{'eventKind':'reopened','match':['candidate.wip'],"                                \
    "'filter':{'not':{'path':'candidate.minor','op':'==','value':true}}}}"

static void an_event_calls_off_what_is_older(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    publish(&store, TENANT, RECALLED);
    publish(&store, other, RECALLED);
    Accept *older = take(&store, TENANT,
                         "[{'kind':'visit','payload':{'wip':7}},"
                         "{'kind':'visit','payload':{'wip':8}}]");
    Accept *foreign = take(&store, other, "{'kind':'visit','payload':{'wip':7}}");
    pass(&store, SPAN_SECOND);
    take(&store, TENANT, "{'kind':'reopened','payload':{'wip':7,'minor':true}}");
    CHECK(view(&store, TENANT, delivery_of(older, 0, 0)).state == DELIVERY_PENDING);
    pass(&store, SPAN_SECOND);
    Accept *call = take(&store, TENANT, "{'kind':'reopened','payload':{'wip':7}}");
    CHECK(take_err(call) == ERR_OK);
    pass(&store, SPAN_SECOND);
    Accept *newer = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");

    DeliveryView called = view(&store, TENANT, delivery_of(older, 0, 0));
    CHECK(called.state == DELIVERY_CANCELLED && called.reason == REASON_CALLED_OFF);
    CHECK(called.ended_at == BEGINNING + 2 * SPAN_SECOND);
    CHECK(view(&store, TENANT, delivery_of(older, 1, 0)).state == DELIVERY_PENDING);
    CHECK(view(&store, TENANT, delivery_of(newer, 0, 0)).state == DELIVERY_PENDING);
    CHECK(view(&store, other, delivery_of(foreign, 0, 0)).state == DELIVERY_PENDING);
}

static void a_call_reaches_every_live_state(void)
{
    STORE(store);
    publish(&store, TENANT, RECALLED);
    Accept *made[4];
    Claimed claimed[4];
    for (size_t i = 0; i < 4; i++) {
        pass(&store, SPAN_SECOND);
        made[i] = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
        claimed[i] = claim_one(&store, 1);
    }
    settle_one(&store, &claimed[0], VERDICT_DELIVERED); // waits for an answer
    settle_one(&store, &claimed[1], VERDICT_TRANSIENT); // retries
    settle_one(&store, &claimed[2], VERDICT_PERMANENT); // is parked: no longer in the queue
    pass(&store, SPAN_SECOND);
    take(&store, TENANT, "{'kind':'reopened','payload':{'wip':7}}");
    CHECK(view(&store, TENANT, delivery_of(made[0], 0, 0)).state == DELIVERY_CANCELLED);
    CHECK(view(&store, TENANT, delivery_of(made[1], 0, 0)).state == DELIVERY_CANCELLED);
    CHECK(view(&store, TENANT, delivery_of(made[2], 0, 0)).state == DELIVERY_PARKED);
    CHECK(view(&store, TENANT, delivery_of(made[3], 0, 0)).state == DELIVERY_CANCELLED);
    CHECK(settle_one(&store, &claimed[3], VERDICT_DELIVERED).is_stale);
    CHECK(view(&store, TENANT, delivery_of(made[3], 0, 0)).state == DELIVERY_CANCELLED);
}

// A trigger may listen to the very kind that calls it off: each new event replaces the last.
static void an_event_that_came_before_calls_nothing_off_again(void)
{
    STORE(store);
    publish(&store, TENANT,
            "{'id':'keyed','eventKind':'visit','channel':'memory:default',"
            "'schedule':{'initialDelay':'1h'},"
            "'cancelOn':{'eventKind':'reopened','match':['candidate.wip']}}");
    const char *call = "{'kind':'reopened','id':'r-1','payload':{'wip':7}}";
    take(&store, TENANT, call);
    Accept *visit = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    Accept *again = take(&store, TENANT, call);
    CHECK(again->items[0].is_duplicate);
    CHECK(view(&store, TENANT, delivery_of(visit, 0, 0)).state == DELIVERY_PENDING);
    take(&store, TENANT, "{'kind':'reopened','id':'r-2','payload':{'wip':7}}");
    CHECK(view(&store, TENANT, delivery_of(visit, 0, 0)).state == DELIVERY_CANCELLED);
}

static void an_event_does_not_call_off_its_own(void)
{
    STORE(store);
    publish(&store, TENANT,
            "{'id':'latest','eventKind':'visit','channel':'memory:default',"
            "'cancelOn':{'eventKind':'visit','match':['candidate.wip']}}");
    Accept *made[3];
    for (size_t i = 0; i < 3; i++) {
        pass(&store, SPAN_SECOND);
        made[i] = take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    }
    CHECK(view(&store, TENANT, delivery_of(made[0], 0, 0)).state == DELIVERY_CANCELLED);
    CHECK(view(&store, TENANT, delivery_of(made[1], 0, 0)).state == DELIVERY_CANCELLED);
    CHECK(view(&store, TENANT, delivery_of(made[2], 0, 0)).state == DELIVERY_PENDING);
}

// SetOf is several accepts in one transaction.
typedef struct SetOf {
    Accept *accepts[16];
    size_t count;
} SetOf;

static Err write_accepts(Tx *tx, void *with, Error *error)
{
    SetOf *set = with;
    for (size_t i = 0; i < set->count; i++)
        TRY(accept_decide(set->accepts[i], tx->registry, tx->random, error));
    return accept_write(tx, set->accepts, set->count, error);
}

// In one set, what came before the call is called off and what came after it is not.
static void a_call_within_a_set_keeps_the_order(void)
{
    STORE(store);
    publish(&store, TENANT, RECALLED);
    Accept *made = take(&store, TENANT,
                        "[{'kind':'visit','payload':{'wip':7}},"
                        "{'kind':'visit','payload':{'wip':8}},"
                        "{'kind':'reopened','payload':{'wip':7}},"
                        "{'kind':'reopened','payload':{'wip':7}},"
                        "{'kind':'visit','payload':{'wip':7}},"
                        "{'kind':'reopened','payload':{'wip':8}},"
                        "{'kind':'visit','payload':{'wip':8}}]");
    CHECK(take_err(made) == ERR_OK);
    static const DeliveryState expected[] = {
        DELIVERY_CANCELLED, DELIVERY_CANCELLED, 0, 0, DELIVERY_PENDING, 0, DELIVERY_PENDING
    };
    for (size_t i = 0; i < made->count; i++)
        if (made->items[i].pair_count > 0)
            CHECK(view(&store, TENANT, delivery_of(made, i, 0)).state == expected[i]);
}

static int count_call(void *with, const char *call)
{
    (void) call;
    ++*(int *) with;
    return 0;
}

// statements_of returns how many statements it takes to write so many tenants' events in one
// transaction, where the last tenant calls something off.
static int statements_of(size_t count)
{
    int calls = 0;
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .fault = count_call, .fault_with = &calls });
    publish(&store, TENANT, RECALLED);
    take(&store, TENANT, "{'kind':'visit','payload':{'wip':7}}");
    SetOf set = { .count = count + 1 };
    for (size_t i = 0; i < count; i++) {
        int64_t tenant = tenant_new(&store, str_format(&store.arena, "t%zu", i).at);
        publish(&store, tenant, KEYED);
        set.accepts[i] = accept_of(&store, tenant, "{'kind':'visit','id':'1'}");
    }
    set.accepts[count] = accept_of(&store, TENANT, "{'kind':'reopened','payload':{'wip':7}}");
    calls = 0;
    MUST(&store, writer_run(store.writer, write_accepts, &set, &store.error));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM ended") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM delivery") == (int64_t) count + 1);
    return calls;
}

// replacing returns how many statements it takes to write events that each replace an older one
// of the same value; of so many values, and so often.
static int replacing(size_t values, size_t rounds)
{
    int calls = 0;
    DEFER(store_close) Store store = { 0 };
    store_open_with(&store, (WriterOptions){ .fault = count_call, .fault_with = &calls });
    publish(&store, TENANT,
            "{'id':'latest','eventKind':'visit','channel':'memory:default',"
            "'cancelOn':{'eventKind':'visit','match':['candidate.wip']}}");
    Buf events = buf_new(&store.arena, 4096);
    for (size_t i = 0; i < values * rounds; i++) {
        Str event = str_format(&store.arena, "%c{'kind':'visit','payload':{'wip':%zu}}",
                               i == 0 ? '[' : ',', i % values);
        buf_add(&events, event);
    }
    buf_add_char(&events, ']');
    calls = 0;
    take(&store, TENANT, str_z(&store.arena, buf_str(&events)));
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue") == (int64_t) values);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM ended") == (int64_t) (values * (rounds - 1)));
    return calls;
}

// Only what concerns the same values goes in turn.
static void calls_for_other_values_go_together(void)
{
    CHECK(replacing(20, 3) == replacing(2, 3));
    CHECK(replacing(2, 5) > replacing(2, 3));
}

static void a_call_slows_nobody_else(void)
{
    CHECK(statements_of(12) == statements_of(2));
}

// Request is one request with an idempotency key, as the API makes it.
typedef struct Request {
    const char *key, *body;
    int64_t tenant;
    bool finishes, cancels;
    Idempotency found;
    Arena *arena;
} Request;

static Err apply_request(Tx *tx, void *with, Error *error)
{
    Request *request = with;
    Sha256 hash = hash_of(request->body);
    Str key = str_from(request->key);
    TRY(idempotency_begin(tx, request->tenant, key, &hash, &request->found, error));
    request->found.body = str_dup(request->arena, request->found.body);
    if (request->finishes)
        idempotency_finish(tx, request->tenant, key, 202, S("{\"id\":1}"));
    if (request->cancels)
        idempotency_cancel(tx, request->tenant, key);
    return ERR_OK;
}

static Err request(Store *store, Request *request)
{
    request->arena = &store->arena;
    request->tenant = request->tenant ? request->tenant : TENANT;
    return writer_run(store->writer, apply_request, request, &store->error);
}

static void a_request_is_done_once(void)
{
    STORE(store);
    Request first = { .key = "k", .body = "one", .finishes = true };
    Request again = { .key = "k", .body = "one" };
    Request other = { .key = "k", .body = "two" };
    Request foreign = { .key = "k", .body = "two", .tenant = 2, .finishes = true };
    CHECK(request(&store, &first) == ERR_OK && !first.found.is_repeat);
    CHECK(request(&store, &again) == ERR_OK && again.found.is_repeat);
    CHECK(again.found.status == 202 && is_text(again.found.body, "{\"id\":1}"));
    CHECK(request(&store, &other) == ERR_KEY_REUSED);
    CHECK(request(&store, &foreign) == ERR_OK && !foreign.found.is_repeat);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM idempotency") == 2);
}

static void a_key_whose_answer_is_not_kept_is_free(void)
{
    STORE(store);
    Request refused = { .key = "k", .body = "bad", .cancels = true };
    Request corrected = { .key = "k", .body = "good", .finishes = true };
    Request late = { .key = "k", .body = "good", .cancels = true };
    CHECK(request(&store, &refused) == ERR_OK);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM idempotency") == 0);
    CHECK(request(&store, &corrected) == ERR_OK && !corrected.found.is_repeat);
    CHECK(request(&store, &late) == ERR_OK && late.found.is_repeat); // an answer is never cancelled
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM idempotency") == 1);
}

static void a_key_is_free_after_a_day(void)
{
    STORE(store);
    Request first = { .key = "k", .body = "one", .finishes = true };
    Request other = { .key = "k", .body = "two", .finishes = true };
    Request again = { .key = "k", .body = "two" };
    CHECK(request(&store, &first) == ERR_OK);
    clock_set(&store.clock, now(&store) + IDEMPOTENCY_SPAN - SPAN_SECOND);
    CHECK(request(&store, &other) == ERR_KEY_REUSED);
    clock_set(&store.clock, now(&store) + SPAN_SECOND);
    CHECK(request(&store, &other) == ERR_OK && !other.found.is_repeat);
    CHECK(request(&store, &again) == ERR_OK && again.found.is_repeat);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM idempotency") == 1);
}

static Err apply_purge(Tx *tx, void *with, Error *error)
{
    return idempotency_purge(tx, 2, with, error);
}

static int64_t purged(Store *store)
{
    int64_t count = 0;
    MUST(store, writer_run(store->writer, apply_purge, &count, &store->error));
    return count;
}

static void old_keys_are_purged_in_slices(void)
{
    STORE(store);
    static const char *const keys[] = { "a", "b", "c" };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        Request one = { .key = keys[i], .body = "one", .finishes = true };
        CHECK(request(&store, &one) == ERR_OK);
    }
    clock_set(&store.clock, now(&store) + SPAN_SECOND);
    Request young = { .key = "d", .body = "one", .finishes = true };
    CHECK(request(&store, &young) == ERR_OK);
    CHECK(purged(&store) == 0);
    clock_set(&store.clock, now(&store) + IDEMPOTENCY_SPAN - SPAN_SECOND);
    CHECK(purged(&store) == 2 && purged(&store) == 1 && purged(&store) == 0);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM idempotency WHERE key = 'd'") == 1);
}

static Err begin_twice(Tx *tx, void *with, Error *error)
{
    Request *request = with;
    request->cancels = request->finishes = false;
    TRY(apply_request(tx, request, error));
    return apply_request(tx, request, error);
}

static void a_request_meets_the_one_it_came_with(void)
{
    STORE(store);
    Request twice = { .key = "k", .body = "one", .tenant = TENANT, .arena = &store.arena };
    MUST(&store, writer_run(store.writer, begin_twice, &twice, &store.error));
    CHECK(twice.found.is_under_way && !twice.found.is_repeat);
}

static const Test tests[] = {
    TEST(an_event_becomes_rows),
    TEST(what_is_not_said_is_none),
    TEST(every_trigger_decides_for_itself),
    TEST(whoever_awaits_an_answer_is_filed),
    TEST(a_taken_key_names_its_holder),
    TEST(keys_are_taken_once),
    TEST(an_identity_comes_once),
    TEST(a_repeated_event_does_not_take_keys),
    TEST(a_bad_item_takes_no_part),
    TEST(tenants_do_not_meet),
    TEST(a_failed_ingest_leaves_nothing),
    TEST(an_event_is_made_beside_something_else_or_not_at_all),
    TEST(an_event_is_for_the_rules_that_it_names),
    TEST(an_open_event_is_for_those_that_listen_too),
    TEST(a_chain_of_events_ends),
    TEST(what_is_decided_at_once_is_bounded),
    TEST(an_event_calls_off_what_is_older),
    TEST(a_call_reaches_every_live_state),
    TEST(an_event_that_came_before_calls_nothing_off_again),
    TEST(an_event_does_not_call_off_its_own),
    TEST(a_call_within_a_set_keeps_the_order),
    TEST(a_call_slows_nobody_else),
    TEST(calls_for_other_values_go_together),
    TEST(a_request_is_done_once),
    TEST(a_key_whose_answer_is_not_kept_is_free),
    TEST(a_key_is_free_after_a_day),
    TEST(old_keys_are_purged_in_slices),
    TEST(a_request_meets_the_one_it_came_with),
};
PART(ingest_part, tests);
