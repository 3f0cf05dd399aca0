// model_suite.c - a second, naive Peal in plain arrays, driven by chance beside the real store.
//
// After every few operations both must agree on every delivery: state, due time, figures, attempts,
// who holds which dedup key, and the counters. The model does its own arithmetic; it shares words
// with domain/ but no decision. A run is told by its seed: PEAL_SEED=N suite_model repeats one.
//
//   suite_model [URL]      see fixture.h
#include "fixture.h"

#include "domain/dedup.h"

#include "base/time.h"

enum {
    ITEMS_MAX = 40000,
    FLIGHTS_MAX = 4000,
    KEYS = 16,
    RULES = 5,
    LANES = 2,
    COMPARE_EVERY = 50,
    STEPS_SQLITE = 3000,
    STEPS_POSTGRES = 1000,
};

typedef enum Wait { WAIT_FIXED, WAIT_DOUBLING, WAIT_TENTHS } Wait;

// ModelRule is one trigger as the model understands it; json is the same for Peal.
typedef struct ModelRule {
    const char *id, *kind, *json;
    int lane; // index
    Span delay;
    int reminder_count;
    Span reminders[2];
    bool awaits;
    Span expires_after;
    Wait wait;
    Span interval;
    int max;
    Span give_up_after; // 0: never
    bool is_keyed, is_recalled;
} ModelRule;

static const ModelRule rules[RULES] = {
    { .id = "plain",
      .kind = "a",
      .json = "{'id':'plain','eventKind':'a','channel':'memory:default'}",
      .wait = WAIT_DOUBLING,
      .interval = SPAN_MINUTE,
      .max = 5 },
    { .id = "keyed",
      .kind = "a",
      .json =
          "{'id':'keyed','eventKind':'a','channel':'memory:slow','dedupRecipe':['candidate.key'],"
          "'schedule':{'initialDelay':'10m'},'retry':{'policy':'proportional'}}",
      .lane = 1,
      .delay = 10 * SPAN_MINUTE,
      .wait = WAIT_TENTHS,
      .max = 3,
      .is_keyed = true },
    { .id = "reminded",
      .kind = "b",
      .json = "{'id':'reminded','eventKind':'b','channel':'memory:default','expireAfter':'6h',"
              "'schedule':{'reminders':['1h','2h']},"
              "'retry':{'policy':'fixed','interval':'5m','max':1}}",
      .reminder_count = 2,
      .reminders = { SPAN_HOUR, 2 * SPAN_HOUR },
      .awaits = true,
      .expires_after = 6 * SPAN_HOUR,
      .interval = 5 * SPAN_MINUTE,
      .max = 1 },
    { .id = "strict",
      .kind = "b",
      .json =
          "{'id':'strict','eventKind':'b','channel':'memory:slow','dedupRecipe':['candidate.key'],"
          "'retry':{'policy':'fixed','interval':'4m','max':100,'giveUpAfter':'10m'}}",
      .lane = 1,
      .interval = 4 * SPAN_MINUTE,
      .max = 100,
      .give_up_after = 10 * SPAN_MINUTE,
      .is_keyed = true },
    { .id = "survey",
      .kind = "c",
      .json = "{'id':'survey','eventKind':'c','channel':'memory:default','awaitAnswer':true,"
              "'expireAfter':'2h','retry':{'policy':'fixed','interval':'1m','max':0},"
              "'cancelOn':{'eventKind':'d','match':['candidate.key']}}",
      .awaits = true,
      .expires_after = 2 * SPAN_HOUR,
      .interval = SPAN_MINUTE,
      .is_recalled = true },
};

// Item is one delivery in the model. While it is parked or final, due_at is when it expires.
typedef struct Item {
    Uuid id;
    const ModelRule *rule;
    int key;
    DeliveryState state;
    Step step;
    DeliveryReason reason;
    Instant due_at, triggered_at, first_due_at, last_sent_at, started_at, lease_until;
    int fence, attempt, failures, send, reminders_left;
    // The attempts that are on record, by number.
    int recorded;
    Verdict verdicts[64];
    bool is_recorded[64];
    bool is_called_off; // while its last attempt was under way
} Item;

// Flight is a claim that nobody has settled yet; its delivery may have moved on.
typedef struct Flight {
    Claimed claimed;
    Item *item;
} Flight;

typedef struct Model {
    Store *store;
    Random chance;
    uint64_t seed;
    int step;
    const char *move; // the last one
    bool has_failed;
    int64_t lanes[LANES];
    Item *items;
    size_t item_count;
    Flight *flights;
    size_t flight_count;
    Item *holders[RULES][KEYS];
} Model;

// EXPECT stops the run at the first difference and says how to see it again.
#define EXPECT(model, cond) expect((model), (cond), #cond, __LINE__)

static void expect(Model *model, bool holds, const char *what, int line)
{
    if (holds || model->has_failed)
        return;
    model->has_failed = true;
    printf("# PEAL_SEED=%llu step %d (%s), line %d: %s\n", (unsigned long long) model->seed,
           model->step, model->move, line, what);
    CHECK(!"the model and the store agree");
}

static int draw(Model *model, int count)
{
    return (int) (random_u64(&model->chance) % (uint64_t) count);
}

static bool is_live(const Item *item)
{
    return item->state <= DELIVERY_WAITING;
}

static Instant min_of(Instant a, Instant b)
{
    return a < b ? a : b;
}

static Instant max_of(Instant a, Instant b)
{
    return a > b ? a : b;
}

static void end_item(Item *item, DeliveryState state, DeliveryReason reason)
{
    item->state = state;
    item->reason = reason;
    item->due_at = INSTANT_NONE;
    item->started_at = INSTANT_NONE;
}

static void park_item(Item *item, DeliveryReason reason, Instant at)
{
    const ModelRule *rule = item->rule;
    end_item(item, DELIVERY_PARKED, reason);
    if (rule->awaits) {
        Instant from = item->last_sent_at != INSTANT_NONE ? item->last_sent_at : item->triggered_at;
        item->due_at = max_of(at, from + rule->expires_after);
    }
}

static Span wait_of(const Item *item)
{
    const ModelRule *rule = item->rule;
    Span tenth = (item->first_due_at - item->triggered_at) * item->failures / 10;
    switch (rule->wait) {
    case WAIT_FIXED:
        return rule->interval;
    case WAIT_DOUBLING:
        return min_of(rule->interval << (item->failures - 1), SPAN_DAY);
    case WAIT_TENTHS:
        return min_of(max_of(tenth, 10 * SPAN_SECOND), SPAN_HOUR);
    }
    return 0;
}

static void fail_item(Item *item, DeliveryReason reason, Span retry_after, Instant at)
{
    const ModelRule *rule = item->rule;
    item->failures++;
    if (item->failures > rule->max) {
        park_item(item, REASON_GAVE_UP, at);
        return;
    }
    Instant due_at = at + max_of(wait_of(item), retry_after);
    if (rule->give_up_after) {
        Instant last = item->first_due_at + rule->give_up_after;
        if (at >= last || at + retry_after > last) {
            park_item(item, REASON_TOO_LATE, at);
            return;
        }
        due_at = min_of(due_at, last);
    }
    item->state = DELIVERY_RETRYING;
    item->step = STEP_SEND;
    item->reason = reason;
    item->due_at = due_at;
    item->started_at = INSTANT_NONE;
}

static void deliver_item(Item *item)
{
    const ModelRule *rule = item->rule;
    item->last_sent_at = item->started_at;
    item->started_at = INSTANT_NONE;
    item->failures = 0;
    if (item->reminders_left > 0) {
        int sent = rule->reminder_count - item->reminders_left--;
        item->state = DELIVERY_WAITING;
        item->step = STEP_SEND;
        item->due_at = item->first_due_at = item->last_sent_at + rule->reminders[sent];
    } else if (rule->awaits) {
        item->state = DELIVERY_WAITING;
        item->step = STEP_EXPIRE;
        item->due_at = item->last_sent_at + rule->expires_after;
    } else {
        end_item(item, DELIVERY_DELIVERED, REASON_ACCEPTED);
    }
}

// record keeps the first thing that was said of an attempt, unless it was that it was called off.
static void record(Item *item, int number, Verdict verdict)
{
    assert(number < 64);
    if (item->is_called_off && number == item->attempt)
        item->verdicts[number] = verdict;
    if (item->is_recorded[number])
        return;
    item->is_recorded[number] = true;
    item->verdicts[number] = verdict;
    item->recorded++;
}

static void call_off(Item *item, DeliveryState state, DeliveryReason reason)
{
    if (item->state == DELIVERY_SENDING) {
        record(item, item->attempt, VERDICT_UNKNOWN);
        item->is_called_off = true;
    }
    end_item(item, state, reason);
}

static Item *find_item(Model *model, Uuid id)
{
    for (size_t i = model->item_count; i-- > 0;)
        if (same_id(model->items[i].id, id))
            return &model->items[i];
    return NULL;
}

static void add_item(Model *model, const ModelRule *rule, const AcceptPair *pair, int key,
                     Instant occurred_at)
{
    Instant at = now(model->store);
    Instant from = occurred_at != INSTANT_NONE ? occurred_at : at;
    assert(model->item_count < ITEMS_MAX);
    Item *item = &model->items[model->item_count++];
    *item = (Item){ .id = pair->delivery,
                    .rule = rule,
                    .key = key,
                    .state = DELIVERY_PENDING,
                    .step = STEP_SEND,
                    .due_at = max_of(from + rule->delay, at),
                    .triggered_at = at,
                    .last_sent_at = INSTANT_NONE,
                    .started_at = INSTANT_NONE,
                    .reminders_left = rule->reminder_count };
    item->first_due_at = item->due_at;
    if (rule->is_keyed)
        model->holders[rule - rules][key] = item;
}

// expect_pair compares what one trigger made of one event, and follows it.
static void expect_pair(Model *model, const AcceptPair *pair, int key, Instant occurred_at)
{
    const ModelRule *rule = NULL;
    for (size_t r = 0; r < RULES; r++)
        if (is_text(pair->decision.trigger->rule.id, rules[r].id))
            rule = &rules[r];
    EXPECT(model, rule != NULL);
    if (!rule)
        return;
    const Item *holder = rule->is_keyed ? model->holders[rule - rules][key] : NULL;
    if (!holder) {
        EXPECT(model, !rule->is_keyed || pair->key.is_won);
        add_item(model, rule, pair, key, occurred_at);
        return;
    }
    EXPECT(model, !pair->key.is_won && same_id(pair->key.holder, holder->id));
}

static void recall_items(Model *model, int key)
{
    for (size_t i = 0; i < model->item_count; i++) {
        Item *item = &model->items[i];
        if (item->rule->is_recalled && item->key == key && is_live(item))
            call_off(item, DELIVERY_CANCELLED, REASON_CALLED_OFF);
    }
}

static void move_ingest(Model *model)
{
    enum { EVENTS_MAX = 4 };
    static const char kinds[] = { 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'd' };
    Store *store = model->store;
    int count = 1 + draw(model, EVENTS_MAX), keys[EVENTS_MAX];
    Instant occurred[EVENTS_MAX];
    char used[EVENTS_MAX];
    Buf events = buf_new(&store->arena, 4096);
    for (int i = 0; i < count; i++) {
        char text[TIME_TEXT_MAX];
        used[i] = kinds[draw(model, sizeof kinds)];
        keys[i] = draw(model, KEYS);
        occurred[i] = INSTANT_NONE;
        buf_add_format(&events, "%c{'kind':'%c','payload':{'key':%d}", i ? ',' : '[', used[i],
                       keys[i]);
        if (draw(model, 2)) {
            Instant at = now(store) + (draw(model, 3600) - 1800) * SPAN_SECOND;
            occurred[i] = at - at % SPAN_MILLISECOND; // as far as its text goes
            buf_add_format(&events, ",'occurredAt':'%.*s'", STR_ARG(time_text(occurred[i], text)));
        }
        buf_add_char(&events, '}');
    }
    buf_add_char(&events, ']');
    const Accept *accept = take(store, TENANT, str_z(&store->arena, buf_str(&events)));
    EXPECT(model, take_err(accept) == ERR_OK);
    for (int i = 0; i < count && !model->has_failed; i++) {
        if (used[i] == 'd')
            recall_items(model, keys[i]);
        for (size_t p = 0; p < accept->items[i].pair_count; p++)
            expect_pair(model, &accept->items[i].pairs[p], keys[i], occurred[i]);
    }
}

static bool is_due(const Item *item, int lane, Instant at)
{
    return is_live(item) && item->step == STEP_SEND && item->state != DELIVERY_SENDING &&
           item->rule->lane == lane && item->due_at <= at;
}

// expect_claimed wants the oldest ones of a lane: as many as were free, none older left behind.
static void expect_claimed(Model *model, const Claim *taken, int lane, int free)
{
    Instant at = now(model->store), youngest = 0;
    int due = 0, count = 0;
    for (size_t i = 0; i < model->item_count; i++)
        due += is_due(&model->items[i], lane, at);
    for (size_t i = 0; i < taken->count; i++) {
        const Claimed *claimed = &taken->claimed[i];
        Item *item = find_item(model, claimed->promise.id);
        EXPECT(model, item != NULL);
        if (!item || claimed->promise.lane != model->lanes[lane])
            continue;
        EXPECT(model, is_due(item, lane, at));
        count++;
        youngest = max_of(youngest, item->due_at);
        item->send += item->state != DELIVERY_RETRYING;
        item->attempt++;
        item->fence++;
        item->state = DELIVERY_SENDING;
        item->started_at = at;
        item->lease_until = at + LEASE;
        EXPECT(model, claimed->live.attempt == item->attempt && claimed->live.send == item->send);
        EXPECT(model, claimed->live.fence == item->fence);
        assert(model->flight_count < FLIGHTS_MAX);
        model->flights[model->flight_count++] = (Flight){ *claimed, item };
    }
    EXPECT(model, count == (due < free ? due : free));
    for (size_t i = 0; i < model->item_count; i++)
        EXPECT(model, !is_due(&model->items[i], lane, at) || model->items[i].due_at >= youngest);
}

static void move_claim(Model *model)
{
    ClaimLane wanted[LANES];
    for (int lane = 0; lane < LANES; lane++)
        wanted[lane] = (ClaimLane){ model->lanes[lane], draw(model, 8), BYTES };
    Claim taken = claim(model->store, wanted, LANES);
    for (int lane = 0; lane < LANES; lane++)
        expect_claimed(model, &taken, lane, wanted[lane].free);
}

static bool is_stale(const Flight *flight)
{
    return flight->item->state != DELIVERY_SENDING ||
           flight->item->fence != flight->claimed.live.fence;
}

static Outcome draw_outcome(Model *model)
{
    int roll = draw(model, 20);
    if (roll < 10)
        return (Outcome){ .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED };
    if (roll < 17)
        return (Outcome){ .verdict = roll < 15 ? VERDICT_TRANSIENT : VERDICT_UNKNOWN,
                          .reason = REASON_UNWELL,
                          .retry_after = draw(model, 4) ? 0 : draw(model, 1200) * SPAN_SECOND };
    return (Outcome){ .verdict = VERDICT_PERMANENT, .reason = REASON_REFUSED };
}

// settle_with is the settle that Peal makes of an outcome.
static Settle settle_with(Model *model, const Flight *flight, const Outcome *outcome)
{
    Settle settle = settle_of(model->store, &flight->claimed, outcome->verdict, outcome->reason);
    const Trigger *trigger = flight->claimed.trigger;
    RetryPolicy policy = trigger->rule.has_retry ? trigger->rule.retry : retry_default();
    settle.attempt.outcome = *outcome;
    settle.to = delivery_settle(&flight->claimed.live, &trigger->rule.plan, &policy, outcome,
                                now(model->store), 0);
    return settle;
}

static void follow(Model *model, Flight *flight, const Outcome *outcome)
{
    Item *item = flight->item;
    Instant at = now(model->store);
    bool stale = is_stale(flight);
    record(item, flight->claimed.live.attempt, outcome->verdict);
    if (stale)
        return;
    if (outcome->verdict == VERDICT_DELIVERED)
        deliver_item(item);
    else if (outcome->verdict == VERDICT_PERMANENT)
        park_item(item, outcome->reason, at);
    else
        fail_item(item, outcome->reason, outcome->retry_after, at);
}

// move_settle settles some of what is in flight in one batch, stale ones among them.
static void move_settle(Model *model)
{
    enum { BATCH_MAX = 8 };
    Settle rows[BATCH_MAX];
    bool stale[BATCH_MAX];
    size_t count = 0, wanted = 1 + (size_t) draw(model, BATCH_MAX);
    for (; count < wanted && model->flight_count > 0; count++) {
        size_t pick = (size_t) draw(model, (int) model->flight_count);
        Flight flight = model->flights[pick];
        Outcome outcome = draw_outcome(model);
        model->flights[pick] = model->flights[--model->flight_count];
        rows[count] = settle_with(model, &flight, &outcome);
        stale[count] = is_stale(&flight);
        follow(model, &flight, &outcome);
    }
    settle(model->store, rows, count);
    for (size_t i = 0; i < count; i++)
        EXPECT(model, rows[i].is_stale == stale[i]);
}

typedef struct Renewing {
    Renewal rows[8];
    size_t count;
} Renewing;

static Err apply_renewing(Tx *tx, void *with, Error *error)
{
    Renewing *renewing = with;
    return queue_renew(tx, renewing->rows, renewing->count, tx->now + LEASE, error);
}

static void move_renew(Model *model)
{
    Renewing renewing = { 0 };
    bool stale[8];
    for (size_t i = 0; i < model->flight_count && renewing.count < 8; i++) {
        Flight *flight = &model->flights[i];
        if (draw(model, 2))
            continue;
        bool is_twice = false; // of one delivery only the newest claim is renewed
        for (size_t r = 0; r < renewing.count; r++)
            is_twice |= same_id(renewing.rows[r].id, flight->item->id);
        if (is_twice)
            continue;
        stale[renewing.count] = is_stale(flight);
        renewing.rows[renewing.count++] = renewal_of(&flight->claimed);
        if (!is_stale(flight))
            flight->item->lease_until = now(model->store) + LEASE;
    }
    Store *store = model->store;
    MUST(store, writer_run(store->writer, apply_renewing, &renewing, &store->error));
    for (size_t i = 0; i < renewing.count; i++)
        EXPECT(model, renewing.rows[i].is_lost == stale[i]);
}

// move_release gives a claim back of which nothing was sent; one that was lost stays as it is.
static void move_release(Model *model)
{
    if (model->flight_count == 0)
        return;
    size_t pick = (size_t) draw(model, (int) model->flight_count);
    Flight flight = model->flights[pick];
    model->flights[pick] = model->flights[--model->flight_count];
    Item *item = flight.item;
    QueueRow row = claimed_row(&flight.claimed);
    Settle back = settle_from(&row, delivery_release(&row.live, flight.claimed.was));
    bool stale = is_stale(&flight);
    if (!stale) {
        item->state = flight.claimed.was;
        item->attempt--;
        item->send -= flight.claimed.was != DELIVERY_RETRYING;
        item->started_at = INSTANT_NONE;
    }
    settle(model->store, &back, 1);
    EXPECT(model, back.is_stale == stale);
}

static void move_sweep(Model *model)
{
    Instant at = now(model->store);
    Sweep expected = { 0 }, swept = sweep(model->store, false);
    for (size_t i = 0; i < model->item_count; i++) {
        Item *item = &model->items[i];
        if (is_live(item) && item->step == STEP_EXPIRE && item->due_at <= at) {
            end_item(item, DELIVERY_EXPIRED, REASON_QUIET);
            expected.expired++;
        }
        if (item->state != DELIVERY_SENDING || item->lease_until > at)
            continue;
        expected.lapsed++;
        record(item, item->attempt, VERDICT_UNKNOWN);
        fail_item(item, REASON_LEASE_LAPSED, 0, at);
        expected.retried += item->state == DELIVERY_RETRYING;
        expected.parked += item->state == DELIVERY_PARKED;
    }
    for (size_t i = 0; i < model->item_count; i++) {
        Item *item = &model->items[i];
        if (item->state == DELIVERY_PARKED && item->due_at <= at) {
            end_item(item, DELIVERY_EXPIRED, REASON_QUIET);
            expected.expired++;
        }
    }
    EXPECT(model, swept.lapsed == expected.lapsed && swept.retried == expected.retried);
    EXPECT(model, swept.parked == expected.parked && swept.expired == expected.expired);
}

// act_on is what a person's action makes of an item; false: it is refused.
static bool act_on(Item *item, DeliveryAction action, Instant at)
{
    bool parked = item->state == DELIVERY_PARKED;
    if (action == DELIVERY_ACTION_CANCEL && is_live(item)) {
        call_off(item, DELIVERY_CANCELLED, REASON_BY_OPERATOR);
    } else if (action == DELIVERY_ACTION_COMPLETE && (is_live(item) || parked)) {
        call_off(item, DELIVERY_COMPLETED, REASON_ANSWERED);
    } else if (action == DELIVERY_ACTION_DISCARD && parked) {
        end_item(item, DELIVERY_DISCARDED, REASON_BY_OPERATOR);
    } else if (action == DELIVERY_ACTION_RETRY && parked) {
        item->state = DELIVERY_PENDING;
        item->step = STEP_SEND;
        item->reason = REASON_NONE;
        item->due_at = item->first_due_at = at;
        item->failures = 0;
        item->send = item->send > 0 ? item->send - 1 : 0;
    } else {
        return false;
    }
    return true;
}

// pick_item takes any of the newer ones, of which more are still alive, or else a parked one.
static Item *pick_item(Model *model)
{
    size_t span = model->item_count < 60 ? model->item_count : 60;
    Item *last = &model->items[model->item_count - 1];
    if (draw(model, 2))
        for (Item *item = last; item >= model->items; item--)
            if (item->state == DELIVERY_PARKED && draw(model, 4) == 0)
                return item;
    return last - draw(model, (int) span);
}

static void move_act(Model *model)
{
    static const DeliveryAction actions[] = { DELIVERY_ACTION_CANCEL, DELIVERY_ACTION_COMPLETE,
                                              DELIVERY_ACTION_RETRY, DELIVERY_ACTION_RETRY,
                                              DELIVERY_ACTION_DISCARD };
    if (model->item_count == 0)
        return;
    Item *item = pick_item(model);
    DeliveryAction action = actions[draw(model, ARRAY_LEN(actions))];
    Err err = act(model->store, TENANT, item->id, action, NULL);
    bool done = act_on(item, action, now(model->store));
    EXPECT(model, err == (done ? ERR_OK : ERR_CONFLICT));
}

static void move_advance(Model *model)
{
    int roll = draw(model, 10);
    Instant at = now(model->store), next = INSTANT_NONE;
    if (roll < 4) {
        pass(model->store, draw(model, 20) * SPAN_SECOND);
        return;
    }
    if (roll == 9) {
        pass(model->store, draw(model, 7200) * SPAN_SECOND);
        return;
    }
    for (size_t i = 0; i < model->item_count; i++)
        if (model->items[i].due_at > at)
            next = min_of(next, model->items[i].due_at);
    if (next != INSTANT_NONE)
        clock_set(&model->store->clock, next);
}

static bool same_time(const Value *value, Instant expected)
{
    return value_to_time(value) == expected;
}

#define FIGURES "attempt, failures, send, reminders_left, first_due_at, last_sent_at, fence"

static void expect_figures(Model *model, const Item *item, const Value *row)
{
    EXPECT(model, row[0].i64 == item->attempt && row[1].i64 == item->failures);
    EXPECT(model, row[2].i64 == item->send && row[3].i64 == item->reminders_left);
    EXPECT(model, same_time(&row[4], item->first_due_at) && same_time(&row[5], item->last_sent_at));
    EXPECT(model, row[6].i64 == item->fence);
}

static int by_id(const void *a, const void *b)
{
    return uuid_cmp((*(Item *const *) a)->id, (*(Item *const *) b)->id);
}

// sorted returns the items by id, only those in the queue or only those that are not.
static Item **sorted(Model *model, bool live, size_t *ret_count)
{
    Item **list = ARENA_ARRAY(&model->store->arena, Item *, model->item_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < model->item_count; i++)
        if (is_live(&model->items[i]) == live)
            list[count++] = &model->items[i];
    qsort(list, count, sizeof *list, by_id);
    *ret_count = count;
    return list;
}

static void compare_states(Model *model)
{
    size_t count;
    Item **live = sorted(model, true, &count);
    Rows rows = ask(model->store,
                    "SELECT id, state, step, due_at, started_at, triggered_at, " FIGURES
                    " FROM queue ORDER BY id",
                    "", NULL);
    EXPECT(model, rows.count == count);
    for (size_t i = 0; i < count && !model->has_failed; i++) {
        const Value *row = rows_at(&rows, i);
        const Item *item = live[i];
        EXPECT(model, same_id(value_to_uuid(&row[0]), item->id));
        EXPECT(model, row[1].i64 == (int64_t) item->state && row[2].i64 == (int64_t) item->step);
        EXPECT(model, row[3].i64 == item->due_at && same_time(&row[4], item->started_at));
        EXPECT(model, row[5].i64 == item->triggered_at);
        expect_figures(model, item, row + 6);
    }
    Item **ended = sorted(model, false, &count);
    rows =
        ask(model->store,
            "SELECT id, state, reason, expires_at, " FIGURES " FROM ended ORDER BY id", "", NULL);
    EXPECT(model, rows.count == count);
    for (size_t i = 0; i < count && !model->has_failed; i++) {
        const Value *row = rows_at(&rows, i);
        const Item *item = ended[i];
        EXPECT(model, same_id(value_to_uuid(&row[0]), item->id));
        EXPECT(model, row[1].i64 == (int64_t) item->state && row[2].i64 == (int64_t) item->reason);
        EXPECT(model, same_time(&row[3], item->due_at));
        expect_figures(model, item, row + 4);
    }
}

static void compare_attempts(Model *model)
{
    Rows rows = ask(model->store,
                    "SELECT delivery, number, verdict FROM attempt UNION ALL"
                    " SELECT id, attempt, verdict FROM ended WHERE verdict IS NOT NULL"
                    " ORDER BY delivery, number",
                    "", NULL);
    size_t recorded = 0, live_count, ended_count;
    Item **live = sorted(model, true, &live_count), **ended = sorted(model, false, &ended_count);
    for (size_t i = 0; i < model->item_count; i++)
        recorded += (size_t) model->items[i].recorded;
    EXPECT(model, rows.count == recorded);
    for (size_t i = 0; i < rows.count && !model->has_failed; i++) {
        const Value *row = rows_at(&rows, i);
        Item wanted = { .id = value_to_uuid(&row[0]) }, *key = &wanted;
        Item **found = bsearch(&key, live, live_count, sizeof *live, by_id);
        if (!found)
            found = bsearch(&key, ended, ended_count, sizeof *ended, by_id);
        EXPECT(model, found != NULL);
        if (found)
            EXPECT(model, (*found)->is_recorded[row[1].i64] &&
                              (int64_t) (*found)->verdicts[row[1].i64] == row[2].i64);
    }
}

static int64_t number_of(Store *store, const char *rule)
{
    Value args[] = { value_text(str_from(rule)) };
    Rows rows = ask(store, "SELECT rule FROM rule WHERE id = $1", "t", args);
    return rows.count ? value_to_i64(&rows.values[0]) : 0;
}

static void compare_holders(Model *model)
{
    Store *store = model->store;
    size_t held = 0;
    for (size_t r = 0; r < RULES; r++) {
        for (int key = 0; key < KEYS; key++) {
            const Item *holder = model->holders[r][key];
            Sha256 hash = sha256(str_format(&store->arena, "candidate.key=%d", key));
            Uuid taken = dedup_key(number_of(store, rules[r].id), &hash);
            Value args[] = { value_uuid(&taken) };
            Rows rows = ask(store, "SELECT holder FROM dedup WHERE key = $1", "u", args);
            EXPECT(model, rows.count == (holder != NULL));
            if (holder && rows.count == 1)
                EXPECT(model, same_id(value_to_uuid(&rows.values[0]), holder->id));
            held += holder != NULL;
        }
    }
    EXPECT(model, ask_i64(store, "SELECT COUNT(*) FROM dedup") == (int64_t) held);
}

static void compare_counters(Model *model)
{
    Rows rows = ask(model->store,
                    "SELECT lane, state, CAST(SUM(n) AS BIGINT) FROM counter GROUP BY lane, state",
                    "", NULL);
    int64_t counted = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        int64_t expected = 0;
        for (size_t k = 0; k < model->item_count; k++)
            expected += model->lanes[model->items[k].rule->lane] == row[0].i64 &&
                        (int64_t) model->items[k].state == row[1].i64;
        EXPECT(model, row[2].i64 == expected);
        counted += row[2].i64;
    }
    EXPECT(model, counted == (int64_t) model->item_count);
}

typedef struct Turn {
    const char *name;
    int weight;
    void (*run)(Model *model);
} Turn;

static const Turn moves[] = {
    { "ingest", 20, move_ingest },   { "claim", 22, move_claim },    { "settle", 24, move_settle },
    { "advance", 20, move_advance }, { "sweep", 10, move_sweep },    { "act", 12, move_act },
    { "renew", 4, move_renew },      { "release", 4, move_release },
};

static void make_move(Model *model)
{
    int total = 0;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        total += moves[i].weight;
    int roll = draw(model, total);
    size_t pick = 0;
    while (roll >= moves[pick].weight)
        roll -= moves[pick++].weight;
    model->move = moves[pick].name;
    moves[pick].run(model);
}

static void compare(Model *model)
{
    compare_states(model);
    compare_attempts(model);
    compare_holders(model);
    compare_counters(model);
}

static void run_model(uint64_t seed, int reached[DELIVERY_STATE_COUNT])
{
    STORE(store);
    Model model = { .store = &store, .chance = random_seeded(seed), .seed = seed };
    model.items = memory_new(ITEMS_MAX * sizeof *model.items);
    model.flights = memory_new(FLIGHTS_MAX * sizeof *model.flights);
    channel(&store, TENANT, "memory:slow");
    model.lanes[0] = lane_of(&store, TENANT, "memory:default");
    model.lanes[1] = lane_of(&store, TENANT, "memory:slow");
    for (size_t r = 0; r < RULES; r++)
        publish(&store, TENANT, rules[r].json);
    int steps = suite_is_postgres() ? STEPS_POSTGRES : STEPS_SQLITE;
    for (model.step = 1; model.step <= steps && !model.has_failed; model.step++) {
        make_move(&model);
        if (model.step % COMPARE_EVERY == 0)
            compare(&model);
    }
    printf("# PEAL_SEED=%llu: %zu deliveries\n", (unsigned long long) seed, model.item_count);
    for (size_t i = 0; i < model.item_count; i++)
        reached[model.items[i].state]++;
    free(model.items);
    free(model.flights);
}

static void the_store_follows_the_model(void)
{
    static const uint64_t seeds[] = { 1, 20260514, 777 };
    const char *wanted = getenv("PEAL_SEED");
    int reached[DELIVERY_STATE_COUNT] = { 0 };
    int64_t seed;
    if (wanted && str_to_i64(str_from(wanted), 0, INT64_MAX, &seed)) {
        run_model((uint64_t) seed, reached);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
        run_model(seeds[i], reached);
    // A run in which something never happens tests less than it seems to.
    for (DeliveryState state = 0; state < DELIVERY_STATE_COUNT; state++)
        CHECK_AT(delivery_state_text(state), reached[state] > 0);
}

static const Test tests[] = { TEST(the_store_follows_the_model) };
PART(model_part, tests);

int main(int argc, char **argv)
{
    static const Part *const parts[] = { &model_part };
    return suite_main(argc, argv, parts, ARRAY_LEN(parts));
}
