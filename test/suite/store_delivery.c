#include "fixture.h"

#include "store/act.h"
#include "store/attempt.h"
#include "store/event.h"
#include "store/operation.h"

// What delivery.h, attempt.h, event.h and operation.h promise: what a person may do, what a person
// sees, and one action on many.

#define PLAIN "{'id':'plain','eventKind':'visit','channel':'memory:default'}"
#define AWAITED                                                                                    \
    "{'id':'awaited','eventKind':'survey','channel':'memory:default','awaitAnswer':true}"

static Uuid hand_in(Store *store, int64_t tenant, const char *event)
{
    pass(store, SPAN_MILLISECOND);
    return take(store, tenant, event)->items[0].pairs[0].delivery;
}

// in_state makes a delivery and brings it where it is wanted.
static Uuid in_state(Store *store, DeliveryState state)
{
    bool waits = state == DELIVERY_WAITING;
    Uuid id = hand_in(store, TENANT, waits ? "{'kind':'survey'}" : "{'kind':'visit'}");
    if (state == DELIVERY_PENDING)
        return id;
    Claimed claimed = claim_one(store, 1);
    if (state == DELIVERY_SENDING)
        return id;
    if (state == DELIVERY_COMPLETED)
        MUST(store, act(store, TENANT, id, DELIVERY_ACTION_COMPLETE, NULL));
    else if (state == DELIVERY_CANCELLED)
        MUST(store, act(store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL));
    else if (state == DELIVERY_RETRYING)
        settle_one(store, &claimed, VERDICT_TRANSIENT);
    else if (state == DELIVERY_PARKED || state == DELIVERY_DISCARDED)
        settle_one(store, &claimed, VERDICT_PERMANENT);
    else
        settle_one(store, &claimed, VERDICT_DELIVERED);
    if (state == DELIVERY_DISCARDED)
        MUST(store, act(store, TENANT, id, DELIVERY_ACTION_DISCARD, NULL));
    return id;
}

// The table of states, written again: what CANCEL, COMPLETE, RETRY and DISCARD make of each.
static void a_person_may_do_what_the_state_allows(void)
{
    enum { NO = -1 };
    static const struct {
        DeliveryState state;
        int cancel, complete, retry, discard; // the state it becomes
    } rows[] = {
        { DELIVERY_PENDING, DELIVERY_CANCELLED, DELIVERY_COMPLETED, NO, NO },
        { DELIVERY_SENDING, DELIVERY_CANCELLED, DELIVERY_COMPLETED, NO, NO },
        { DELIVERY_RETRYING, DELIVERY_CANCELLED, DELIVERY_COMPLETED, NO, NO },
        { DELIVERY_WAITING, DELIVERY_CANCELLED, DELIVERY_COMPLETED, NO, NO },
        { DELIVERY_PARKED, NO, DELIVERY_COMPLETED, DELIVERY_PENDING, DELIVERY_DISCARDED },
        { DELIVERY_DELIVERED, NO, NO, NO, NO },
        { DELIVERY_COMPLETED, NO, NO, NO, NO },
        { DELIVERY_CANCELLED, NO, NO, NO, NO },
        { DELIVERY_DISCARDED, NO, NO, NO, NO },
    };
    static const DeliveryAction actions[] = { DELIVERY_ACTION_CANCEL, DELIVERY_ACTION_COMPLETE,
                                              DELIVERY_ACTION_RETRY, DELIVERY_ACTION_DISCARD };
    STORE(store);
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, AWAITED);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const int becomes[] = { rows[i].cancel, rows[i].complete, rows[i].retry, rows[i].discard };
        for (size_t a = 0; a < ARRAY_LEN(actions); a++) {
            Uuid id = in_state(&store, rows[i].state);
            const char *name = delivery_state_text(rows[i].state);
            Err err = act(&store, TENANT, id, actions[a], "because");
            CHECK_AT(name, err == (becomes[a] == NO ? ERR_CONFLICT : ERR_OK));
            DeliveryView after = view(&store, TENANT, id);
            CHECK_AT(name,
                     (int) after.state == (becomes[a] == NO ? (int) rows[i].state : becomes[a]));
            if (becomes[a] != NO && actions[a] != DELIVERY_ACTION_RETRY) {
                CHECK_AT(name, is_text(after.note, "because") && after.ended_at == now(&store));
            }
            // What is left in the queue would be claimed by the next one.
            if (delivery_may(after.state, DELIVERY_ACTION_CANCEL))
                MUST(&store, act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL));
        }
    }
}

static void an_action_on_nothing_is_not_found(void)
{
    STORE(store);
    Uuid id = uuid_new(BEGINNING, &store.random);
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL) == ERR_NOT_FOUND);
    DeliveryView found;
    CHECK(delivery_view(store.db, &store.arena, TENANT, id, &found, &store.error) == ERR_NOT_FOUND);
}

static void a_retry_begins_the_send_again(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid id = in_state(&store, DELIVERY_PARKED);
    pass(&store, SPAN_HOUR);
    MUST(&store, act(&store, TENANT, id, DELIVERY_ACTION_RETRY, NULL));
    DeliveryView revived = view(&store, TENANT, id);
    CHECK(revived.state == DELIVERY_PENDING && revived.due_at == now(&store));
    CHECK(revived.attempt == 1 && revived.ended_at == INSTANT_NONE);
    Claimed claimed = claim_one(&store, 1);
    CHECK(claimed.live.attempt == 2 && claimed.live.send == 1);
    CHECK(claimed.live.first_due_at == now(&store)); // the budget of time begins again
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    AttemptView *log;
    Seen seen;
    MUST(&store, attempt_page(store.db, &store.arena, TENANT, id,
                              &(Walk){ .after = S("1"), .limit = 9 }, &log, &seen, &store.error));
    CHECK(seen.count == 1 && log[0].attempt.number == 2);
}

// walk_all reads all pages of two, each meeting no more than so many rows, and returns how many
// there were, newest first.
static size_t walk_all(Store *store, const DeliveryFilter *filter, int64_t met_max,
                       DeliveryView *ret, size_t room)
{
    size_t total = 0;
    Walk walk = { .limit = 2, .met_max = met_max };
    Seen seen;
    do {
        DeliveryView *page;
        MUST(store, delivery_page(store->db, &store->arena, TENANT, filter, &walk, &page, &seen,
                                  &store->error));
        CHECK(seen.count <= 2 && seen.has_more == (seen.next.at != NULL));
        CHECK(seen.is_cut == (seen.has_more && seen.count < 2));
        for (size_t i = 0; i < seen.count && total < room; i++)
            ret[total++] = page[i];
        walk.after = seen.next;
    } while (seen.has_more);
    for (size_t i = 1; i < total; i++)
        CHECK(uuid_cmp(ret[i - 1].promise.id, ret[i].promise.id) > 0);
    return total;
}

// page_of is what a filter names, and proves that it is the same however short the walks are.
static size_t page_of(Store *store, const DeliveryFilter *filter, DeliveryView *ret, size_t room)
{
    size_t total = walk_all(store, filter, 0, ret, room);
    CHECK(walk_all(store, filter, 1, ret, room) == total);
    CHECK(walk_all(store, filter, 3, ret, room) == total);
    return total;
}

static void pages_show_what_the_filter_names(void)
{
    STORE(store);
    channel(&store, TENANT, "memory:slow");
    int64_t other = tenant_new(&store, "other");
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, AWAITED);
    publish(&store, TENANT, "{'id':'slow','eventKind':'note','channel':'memory:slow'}");
    publish(&store, other, PLAIN);
    static const DeliveryState states[] = { DELIVERY_DELIVERED, DELIVERY_PARKED,
                                            DELIVERY_PARKED,    DELIVERY_WAITING,
                                            DELIVERY_SENDING,   DELIVERY_CANCELLED,
                                            DELIVERY_PENDING };
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        in_state(&store, states[i]);
    Uuid slow = hand_in(&store, TENANT,
                        "{'kind':'note','entity':'booking:5%','recipient':{'address':'A_b@x'}}");
    hand_in(&store, other, "{'kind':'visit'}");

    DeliveryView found[20];
    DeliveryFilter filter = delivery_filter_any();
    CHECK(page_of(&store, &filter, found, 20) == 8 && same_id(found[0].promise.id, slow));
    for (DeliveryState state = 0; state < DELIVERY_STATE_COUNT; state++) {
        size_t expected = state == DELIVERY_PENDING;
        for (size_t i = 0; i < ARRAY_LEN(states); i++)
            expected += states[i] == state;
        filter = delivery_filter_any();
        filter.has_state = true;
        filter.state = state;
        CHECK_AT(delivery_state_text(state), page_of(&store, &filter, found, 20) == expected);
    }
    filter = delivery_filter_any();
    filter.is_live = true;
    CHECK(page_of(&store, &filter, found, 20) == 4);
    filter = delivery_filter_any();
    filter.trigger = S("awaited");
    CHECK(page_of(&store, &filter, found, 20) == 1);
    filter = delivery_filter_any();
    filter.channel = S("memory:slow");
    CHECK(page_of(&store, &filter, found, 20) == 1 && same_id(found[0].promise.id, slow));
    filter = delivery_filter_any();
    filter.entity = S("booking:5%");
    CHECK(page_of(&store, &filter, found, 20) == 1);
    filter = delivery_filter_any();
    filter.has_event = true;
    filter.event = view(&store, TENANT, slow).promise.event;
    CHECK(page_of(&store, &filter, found, 20) == 1 && same_id(found[0].promise.id, slow));
    filter = delivery_filter_any();
    filter.from = view(&store, TENANT, slow).promise.triggered_at;
    CHECK(page_of(&store, &filter, found, 20) == 1);
    filter.to = filter.from;
    CHECK(page_of(&store, &filter, found, 20) == 0);
    filter.to = filter.from + 1;
    filter.trigger = S("slow");
    CHECK(page_of(&store, &filter, found, 20) == 1);
    filter.entity = S("booking:5%");
    CHECK(page_of(&store, &filter, found, 20) == 1);
    filter.trigger = S("plain");
    CHECK(page_of(&store, &filter, found, 20) == 0);
    filter = delivery_filter_any();
    filter.trigger = S("plain");
    filter.has_state = true;
    filter.state = DELIVERY_DELIVERED;
    CHECK(page_of(&store, &filter, found, 20) == 1);
    filter.trigger = S("nobody");
    CHECK(page_of(&store, &filter, found, 20) == 0);
}

// An id runs ahead of its time while the clock slips back; from and to go by the time.
static void a_range_of_time_holds_what_its_ids_left(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    pass(&store, SPAN_SECOND);
    Uuid early = hand_in(&store, TENANT, "{'kind':'visit'}");
    pass(&store, -900 * SPAN_MILLISECOND);
    Uuid late = hand_in(&store, TENANT, "{'kind':'visit'}");
    CHECK(uuid_cmp(early, late) < 0);
    DeliveryView found[4];
    DeliveryFilter filter = delivery_filter_any();
    filter.from = now(&store);
    filter.to = now(&store) + 1;
    CHECK(page_of(&store, &filter, found, 4) == 1 && same_id(found[0].promise.id, late));
    EventFilter events = { .from = filter.from, .to = filter.to };
    Event *page;
    Seen seen;
    MUST(&store, event_page(store.db, &store.arena, TENANT, &events, &(Walk){ .limit = 9 }, &page,
                            &seen, &store.error));
    CHECK(seen.count == 1 && same_id(page[0].id, found[0].promise.event));
}

static void a_search_takes_its_text_plainly(void)
{
    static const struct {
        const char *q;
        size_t count;
    } rows[] = { { "a_B@", 1 }, { "a%b", 0 },  { "5%", 1 }, { "5_", 0 },
                 { "axb", 0 },  { "BOOK", 1 }, { "!", 0 },  { "nna", 1 } };
    STORE(store);
    publish(&store, TENANT, PLAIN);
    hand_in(&store, TENANT,
            "{'kind':'visit','entity':'booking:5%',"
            "'recipient':{'address':'A_b@x','customerRef':'Anna'}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DeliveryView found[4];
        DeliveryFilter filter = delivery_filter_any();
        filter.q = str_from(rows[i].q);
        CHECK_AT(rows[i].q, page_of(&store, &filter, found, 4) == rows[i].count);
    }
}

static void events_are_paged_newest_first(void)
{
    STORE(store);
    Uuid ids[5];
    for (size_t i = 0; i < 5; i++) {
        pass(&store, SPAN_MILLISECOND);
        ids[i] = take(&store, TENANT, i == 2 ? "{'kind':'b'}" : "{'kind':'a'}")->items[0].event.id;
    }
    Event *page;
    Seen seen;
    Walk walk = { .limit = 3 };
    EventFilter filter = { .to = INSTANT_NONE };
    MUST(&store,
         event_page(store.db, &store.arena, TENANT, &filter, &walk, &page, &seen, &store.error));
    CHECK(seen.count == 3 && same_id(page[0].id, ids[4]) && same_id(page[2].id, ids[2]));
    walk.after = seen.next;
    MUST(&store,
         event_page(store.db, &store.arena, TENANT, &filter, &walk, &page, &seen, &store.error));
    CHECK(seen.count == 2 && same_id(page[1].id, ids[0]) && !seen.has_more);
    filter.kind = S("b");
    walk = (Walk){ .limit = 3, .met_max = 2 };
    size_t empty = 0, found = 0;
    do { // two of kind a, then the one of kind b
        MUST(&store, event_page(store.db, &store.arena, TENANT, &filter, &walk, &page, &seen,
                                &store.error));
        CHECK(seen.count == 0 || same_id(page[0].id, ids[2]));
        empty += seen.count == 0 && seen.is_cut;
        found += seen.count;
        walk.after = seen.next;
    } while (seen.has_more);
    CHECK(found == 1 && empty == 1);
    filter = (EventFilter){ .from = BEGINNING + 2 * SPAN_MILLISECOND,
                            .to = BEGINNING + 4 * SPAN_MILLISECOND };
    walk = (Walk){ .limit = 9 };
    MUST(&store,
         event_page(store.db, &store.arena, TENANT, &filter, &walk, &page, &seen, &store.error));
    CHECK(seen.count == 2 && same_id(page[0].id, ids[2]) && same_id(page[1].id, ids[1]));
    MUST(&store, event_page(store.db, &store.arena, TENANT + 1, &filter, &walk, &page, &seen,
                            &store.error));
    CHECK(seen.count == 0);
}

// captured_in_order reads all pages of two, each meeting no more than so many rows, checks that
// nothing is left out, and counts.
static size_t captured_in_order(Store *store, const CapturedFilter *filter, int64_t met_max)
{
    AttemptKey last = { 0 };
    Walk walk = { .limit = 2, .met_max = met_max };
    Seen seen;
    size_t total = 0;
    do {
        Captured *page;
        MUST(store, captured_page(store->db, &store->arena, TENANT, filter, &walk, &page, &seen,
                                  &store->error));
        for (size_t i = 0; i < seen.count; i++) {
            int order = uuid_cmp(last.delivery, page[i].promise.id);
            CHECK(order <= 0 && page[i].number == (order < 0 ? 1 : last.number + 1));
            last = (AttemptKey){ page[i].promise.id, page[i].number };
        }
        total += seen.count;
        walk.after = seen.next;
    } while (seen.has_more);
    return total;
}

// Of three the first is delivered at once, the third with its second attempt, and the second not at
// all: attempts that ended their delivery and such that did not are one list.
static void captured_ones_are_paged_in_order(void)
{
    STORE(store);
    publish(&store, TENANT,
            "{'id':'plain','eventKind':'visit','channel':'memory:default',"
            "'retry':{'policy':'fixed','interval':'1m','max':9}}");
    for (int i = 0; i < 3; i++) {
        take(&store, TENANT, "{'kind':'visit'}");
        pass(&store, SPAN_MILLISECOND);
    }
    for (size_t round = 0; round < 3; round++) {
        Claim taken = claim_lane(&store, 1, 9);
        for (size_t i = 0; i < taken.count; i++) {
            Verdict verdict = i == round ? VERDICT_DELIVERED : VERDICT_TRANSIENT;
            Settle row = settle_of(&store, &taken.claimed[i], verdict, REASON_ACCEPTED);
            row.attempt.outcome.is_captured = true;
            settle(&store, &row, 1);
        }
        pass(&store, SPAN_MINUTE);
    }
    for (int64_t met_max = 0; met_max < 4; met_max++) {
        CapturedFilter here = { .channel = S("memory:default") };
        CapturedFilter elsewhere = { .channel = S("memory:other") };
        CHECK(captured_in_order(&store, &(CapturedFilter){ 0 }, met_max) == 1 + 3 + 2);
        CHECK(captured_in_order(&store, &here, met_max) == 6);
        CHECK(captured_in_order(&store, &elsewhere, met_max) == 0);
    }
}

static void attempts_are_read_by_event_and_by_capture(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, "{'id':'twin','eventKind':'visit','channel':'memory:default'}");
    Accept *accept = take(&store, TENANT, "{'kind':'visit','payload':{'a':1}}");
    pass(&store, SPAN_MILLISECOND);
    take(&store, TENANT, "{'kind':'visit'}");
    Claim taken = claim_lane(&store, 1, 9);
    for (size_t i = 0; i < taken.count; i++) {
        Settle row = settle_of(&store, &taken.claimed[i], VERDICT_DELIVERED, REASON_ACCEPTED);
        row.attempt.outcome.is_captured = i > 0;
        settle(&store, &row, 1);
    }
    AttemptView *log;
    size_t count;
    Seen seen;
    Uuid event = accept->items[0].event.id;
    MUST(&store, attempt_of_event(store.db, &store.arena, TENANT, event, (AttemptKey){ 0 }, 9, &log,
                                  &count, &store.error));
    CHECK(count == 2);
    for (size_t i = 0; i < count; i++)
        CHECK(same_id(log[i].delivery, accept->items[0].pairs[i].delivery));
    AttemptKey first = { log[0].delivery, log[0].attempt.number };
    MUST(&store, attempt_of_event(store.db, &store.arena, TENANT, event, first, 9, &log, &count,
                                  &store.error));
    CHECK(count == 1 && same_id(log[0].delivery, accept->items[0].pairs[1].delivery));
    Captured *captured;
    CapturedFilter filter = { 0 };
    Walk walk = { .limit = 2 };
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, &walk, &captured, &seen,
                               &store.error));
    CHECK(seen.count == 2 && seen.has_more && is_text(captured[0].channel, "memory:default"));
    walk.after = seen.next;
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, &walk, &captured, &seen,
                               &store.error));
    CHECK(seen.count == 1 && !seen.has_more);
    filter = (CapturedFilter){ .has_delivery = true, .delivery = taken.claimed[0].promise.id };
    walk = (Walk){ .limit = 9 };
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, &walk, &captured, &seen,
                               &store.error));
    CHECK(seen.count == 0); // that one was sent
    filter.delivery = taken.claimed[1].promise.id;
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, &walk, &captured, &seen,
                               &store.error));
    CHECK(seen.count == 1 && same_id(captured[0].promise.id, taken.claimed[1].promise.id));
}

// Many is one operation and how far it got.
typedef struct Many {
    Operation operation;
    int limit;
    bool is_new, has_more;
} Many;

static Err apply_many(Tx *tx, void *with, Error *error)
{
    Many *many = with;
    if (many->is_new) {
        operation_add(tx, &many->operation);
        return tx_sync(tx, error);
    }
    return operation_step(tx, many->limit, &many->has_more, error);
}

static Many many_of(Store *store, DeliveryAction action, const char *filter, int limit)
{
    pass(store, SPAN_MILLISECOND);
    return (Many){ .operation = { .tenant = TENANT,
                                  .id = uuid_new(now(store), &store->random),
                                  .action = action,
                                  .filter = json_compact(store, filter),
                                  .reason = S("cleaning up"),
                                  .created_at = now(store) },
                   .limit = limit,
                   .is_new = true };
}

static Operation operation_of(Store *store, const Many *many)
{
    Operation found;
    MUST(store, operation_row(store->db, &store->arena, TENANT, many->operation.id, &found,
                              &store->error));
    return found;
}

static Operation finish(Store *store, Many *many)
{
    many->is_new = false;
    many->has_more = true;
    for (int i = 0; i < 100 && many->has_more; i++)
        MUST(store, writer_run(store->writer, apply_many, many, &store->error));
    Operation done = operation_of(store, many);
    CHECK(done.state == OPERATION_DONE && done.finished_at != INSTANT_NONE);
    return done;
}

static Operation operate(Store *store, DeliveryAction action, const char *filter, int limit)
{
    Many many = many_of(store, action, filter, limit);
    MUST(store, writer_run(store->writer, apply_many, &many, &store->error));
    return finish(store, &many);
}

// Acting is one action on a set of deliveries.
typedef struct Acting {
    const Uuid *ids;
    size_t count;
    Acted acted[4];
} Acting;

static Err apply_acting(Tx *tx, void *with, Error *error)
{
    Acting *acting = with;
    return act_all(tx, TENANT, acting->ids, acting->count, DELIVERY_ACTION_RETRY, STR_NONE,
                   acting->acted, error);
}

static void an_operation_acts_on_all_in_slices(void)
{
    STORE(store);
    int64_t other = tenant_new(&store, "other");
    publish(&store, TENANT, PLAIN);
    publish(&store, other, PLAIN);
    for (int i = 0; i < 5; i++)
        in_state(&store, DELIVERY_PARKED);
    in_state(&store, DELIVERY_DELIVERED);
    Uuid foreign = hand_in(&store, other, "{'kind':'visit'}");
    Operation done = operate(&store, DELIVERY_ACTION_RETRY, "{'trigger':'plain'}", 2);
    CHECK(done.matched == 5 && done.done == 5 && done.skipped == 0 && done.failed == 0);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue WHERE state = 0 AND tenant = 1") == 5);
    done = operate(&store, DELIVERY_ACTION_CANCEL, "{}", 3);
    CHECK(done.done == 5);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM ended WHERE note = 'cleaning up'") == 5);
    CHECK(view(&store, other, foreign).state == DELIVERY_PENDING);
    CHECK(operate(&store, DELIVERY_ACTION_DISCARD, "{}", 3).done == 0);
}

static void an_operation_leaves_newer_ones_alone(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    in_state(&store, DELIVERY_PENDING);
    Many many = { .operation = { .tenant = TENANT,
                                 .id = uuid_new(now(&store), &store.random),
                                 .action = DELIVERY_ACTION_CANCEL,
                                 .filter = S("{}"),
                                 .created_at = now(&store) },
                  .limit = 10,
                  .is_new = true };
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    Uuid newer = take(&store, TENANT, "{'kind':'visit'}")->items[0].pairs[0].delivery;
    many.is_new = false;
    for (int i = 0; i < 3; i++)
        MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    CHECK(!many.has_more && view(&store, TENANT, newer).state == DELIVERY_PENDING);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue") == 1);
}

// An operation that is counting has matched nothing yet, and one that is dry acts on nothing.
static void an_operation_counts_before_it_acts(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    for (int i = 0; i < 4; i++)
        in_state(&store, DELIVERY_PARKED);
    Many many = many_of(&store, DELIVERY_ACTION_DISCARD, "{}", 3);
    many.operation.is_dry = true;
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    CHECK(operation_of(&store, &many).state == OPERATION_COUNTING);
    Operation dry = finish(&store, &many);
    CHECK(dry.matched == 4 && dry.done == 0 && dry.slices == 1);
    many = many_of(&store, DELIVERY_ACTION_DISCARD, "{}", 3);
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    many.is_new = false;
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    Operation counted = operation_of(&store, &many);
    CHECK(counted.state == OPERATION_RUNNING && counted.matched == 4 && counted.done == 0);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM ended WHERE state = 4") == 4);
    CHECK(finish(&store, &many).done == 4);
}

typedef struct Turning {
    Uuid id;
    OperationTurn turn;
    Operation operation;
} Turning;

static Err apply_turn(Tx *tx, void *with, Error *error)
{
    Turning *turning = with;
    return operation_turn(tx, TENANT, turning->id, turning->turn, &turning->operation, error);
}

static Err turn(Store *store, const Many *many, OperationTurn to)
{
    Turning turning = { .id = many->operation.id, .turn = to };
    return writer_run(store->writer, apply_turn, &turning, &store->error);
}

static void slice(Store *store, Many *many)
{
    many->is_new = false;
    MUST(store, writer_run(store->writer, apply_many, many, &store->error));
}

// An operation that is paused gets no slice, whatever it was at; one that was cancelled never
// again.
static void an_operation_rests_and_ends_where_it_is(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    for (int i = 0; i < 6; i++)
        in_state(&store, DELIVERY_PARKED);
    Many many = many_of(&store, DELIVERY_ACTION_DISCARD, "{}", 2);
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    MUST(&store, turn(&store, &many, OPERATION_PAUSE));
    slice(&store, &many);
    CHECK(!many.has_more && operation_of(&store, &many).state == OPERATION_COUNTING);
    MUST(&store, turn(&store, &many, OPERATION_RESUME));
    slice(&store, &many);
    slice(&store, &many);
    MUST(&store, turn(&store, &many, OPERATION_PAUSE));
    MUST(&store, turn(&store, &many, OPERATION_PAUSE));
    slice(&store, &many);
    Operation found = operation_of(&store, &many);
    CHECK(!many.has_more && found.is_paused && found.state == OPERATION_RUNNING && found.done == 2);
    MUST(&store, turn(&store, &many, OPERATION_RESUME));
    slice(&store, &many);
    CHECK(many.has_more && operation_of(&store, &many).done == 4);
    MUST(&store, turn(&store, &many, OPERATION_CANCEL));
    MUST(&store, turn(&store, &many, OPERATION_CANCEL));
    slice(&store, &many);
    found = operation_of(&store, &many);
    CHECK(!many.has_more && found.state == OPERATION_CANCELLED && found.finished_at == now(&store));
    CHECK(found.done == 4 && found.skipped == 0);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM ended WHERE state = 4") == 2);
    CHECK(turn(&store, &many, OPERATION_RESUME) == ERR_CONFLICT);
    many.operation.id = (Uuid){ { 1 } };
    CHECK(turn(&store, &many, OPERATION_PAUSE) == ERR_NOT_FOUND);
}

// What moved on between the count and its turn is skipped, and the rest of its set is not.
static void an_operation_skips_what_moved_on(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = in_state(&store, DELIVERY_PARKED);
    Acting acting = { .ids = ids, .count = 3 };
    MUST(&store, act(&store, TENANT, ids[1], DELIVERY_ACTION_DISCARD, NULL));
    MUST(&store, writer_run(store.writer, apply_acting, &acting, &store.error));
    CHECK(acting.acted[0].err == ERR_OK && acting.acted[2].err == ERR_OK);
    CHECK(acting.acted[1].err == ERR_CONFLICT && acting.acted[1].state == DELIVERY_DISCARDED);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue WHERE state = 0") == 2);
    ids[0] = (Uuid){ { 1 } }; // the first of all ids, and nobody's
    MUST(&store, writer_run(store.writer, apply_acting, &acting, &store.error));
    CHECK(acting.acted[0].err == ERR_NOT_FOUND && acting.acted[2].err == ERR_CONFLICT);
}

// What left the filter since it was counted was skipped, what came into it was matched: at the end
// each is accounted for.
static void an_operation_accounts_for_what_moves_meanwhile(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid comes = in_state(&store, DELIVERY_PARKED);
    in_state(&store, DELIVERY_PENDING);
    Uuid leaves = in_state(&store, DELIVERY_PENDING), too = in_state(&store, DELIVERY_PENDING);
    Many many = many_of(&store, DELIVERY_ACTION_CANCEL, "{}", 1);
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    many.is_new = false;
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    CHECK(operation_of(&store, &many).matched == 3);
    MUST(&store, act(&store, TENANT, leaves, DELIVERY_ACTION_CANCEL, NULL));
    MUST(&store, act(&store, TENANT, too, DELIVERY_ACTION_CANCEL, NULL));
    Operation done = finish(&store, &many);
    CHECK(done.matched == 3 && done.done == 1 && done.skipped == 2 && done.failed == 0);

    in_state(&store, DELIVERY_PENDING);
    many = many_of(&store, DELIVERY_ACTION_CANCEL, "{}", 1);
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    many.is_new = false;
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    CHECK(operation_of(&store, &many).matched == 1);
    MUST(&store, act(&store, TENANT, comes, DELIVERY_ACTION_RETRY, NULL));
    done = finish(&store, &many);
    CHECK(done.matched == 2 && done.done == 2 && done.skipped == 0 && done.failed == 0);
}

// Nine tenths of a mebibyte: nine of them make a page.
static const char *large_events(Store *store, int count)
{
    enum { LARGE = 900 * 1024 };
    Buf text = buf_new(&store->arena, SIZE_MAX / 2);
    char *filler = arena_alloc(&store->arena, LARGE + 1);
    memset(filler, 'x', LARGE);
    for (int i = 0; i < count; i++)
        buf_add_format(&text, "%s{'kind':'visit','payload':{'wip':%d,'note':'%s'}}", i ? "," : "[",
                       i, filler);
    buf_add(&text, S("]"));
    return str_z(&store->arena, buf_str(&text));
}

// A page of rows that are all within their own limit must not be without one itself.
static void a_page_ends_at_so_many_bytes(void)
{
    STORE(store);
    enum { EVENTS = 20, A_PAGE = 9 };
    publish(&store, TENANT, "{'id':'t','eventKind':'visit','channel':'memory:default'}");
    take(&store, TENANT, large_events(&store, EVENTS));
    EventFilter filter = { .to = INSTANT_NONE };
    Event *events;
    Seen seen = { .has_more = true };
    size_t total = 0;
    Walk walk = { .limit = 100 };
    for (int pages = 0; seen.has_more && pages < EVENTS; pages++) {
        DEFER(arena_done) Arena arena = { 0 };
        MUST(&store,
             event_page(store.db, &arena, TENANT, &filter, &walk, &events, &seen, &store.error));
        CHECK(seen.count == (seen.is_cut ? A_PAGE : EVENTS % A_PAGE));
        CHECK(seen.is_cut == seen.has_more && arena.bytes < DB_PAGE_BYTES_MAX * 5 / 4);
        walk.after = seen.next.at ? str_dup(&store.arena, seen.next) : STR_NONE;
        total += seen.count;
    }
    CHECK(total == EVENTS);
    DeliveryFilter any = delivery_filter_any();
    DeliveryView *views;
    size_t count;
    walk = (Walk){ .limit = 100 };
    MUST(&store,
         delivery_page(store.db, &store.arena, TENANT, &any, &walk, &views, &seen, &store.error));
    CHECK(seen.count == A_PAGE && seen.is_cut);
    walk = (Walk){ .after = seen.next, .limit = 3 };
    MUST(&store,
         delivery_page(store.db, &store.arena, TENANT, &any, &walk, &views, &seen, &store.error));
    CHECK(seen.count == 3 && seen.has_more && !seen.is_cut); // its limit ended it
    MUST(&store, delivery_of_event(store.db, &store.arena, TENANT, views[0].promise.event, 0, 9,
                                   &views, &count, &store.error));
    CHECK(count == 1 && views[0].origin.payload.len == 0);
}

static const Test tests[] = {
    TEST(a_page_ends_at_so_many_bytes),
    TEST(a_person_may_do_what_the_state_allows),
    TEST(an_action_on_nothing_is_not_found),
    TEST(a_retry_begins_the_send_again),
    TEST(pages_show_what_the_filter_names),
    TEST(a_search_takes_its_text_plainly),
    TEST(events_are_paged_newest_first),
    TEST(attempts_are_read_by_event_and_by_capture),
    TEST(captured_ones_are_paged_in_order),
    TEST(an_operation_acts_on_all_in_slices),
    TEST(an_operation_leaves_newer_ones_alone),
    TEST(an_operation_counts_before_it_acts),
    TEST(an_operation_rests_and_ends_where_it_is),
    TEST(an_operation_skips_what_moved_on),
    TEST(an_operation_accounts_for_what_moves_meanwhile),
    TEST(a_range_of_time_holds_what_its_ids_left),
};
PART(delivery_part, tests);
