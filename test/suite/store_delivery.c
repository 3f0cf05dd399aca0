#include "fixture.h"

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
    size_t count;
    MUST(&store,
         attempt_page(store.db, &store.arena, TENANT, id, 1, 9, &log, &count, &store.error));
    CHECK(count == 1 && log[0].attempt.number == 2);
}

// page_of reads all pages of two and returns how many there were, newest first.
static size_t page_of(Store *store, const DeliveryFilter *filter, DeliveryView *ret, size_t room)
{
    bool is_cut;
    size_t total = 0, count;
    Uuid before;
    do {
        DeliveryView *page;
        MUST(store, delivery_page(store->db, &store->arena, TENANT, filter, total ? &before : NULL,
                                  2, &page, &count, &is_cut, &store->error));
        CHECK(count <= 2);
        for (size_t i = 0; i < count && total < room; i++)
            ret[total++] = page[i];
        if (total)
            before = ret[total - 1].promise.id;
    } while (count == 2 && total < room);
    for (size_t i = 1; i < total; i++)
        CHECK(uuid_cmp(ret[i - 1].promise.id, ret[i].promise.id) > 0);
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
    size_t count;
    bool is_cut;
    MUST(&store, event_page(store.db, &store.arena, TENANT, &events, NULL, 9, &page, &count,
                            &is_cut, &store.error));
    CHECK(count == 1 && same_id(page[0].id, found[0].promise.event));
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
    size_t count;
    bool is_cut;
    EventFilter filter = { .to = INSTANT_NONE };
    MUST(&store, event_page(store.db, &store.arena, TENANT, &filter, NULL, 3, &page, &count,
                            &is_cut, &store.error));
    CHECK(count == 3 && same_id(page[0].id, ids[4]) && same_id(page[2].id, ids[2]));
    MUST(&store, event_page(store.db, &store.arena, TENANT, &filter, &ids[2], 3, &page, &count,
                            &is_cut, &store.error));
    CHECK(count == 2 && same_id(page[1].id, ids[0]));
    filter.kind = S("b");
    MUST(&store, event_page(store.db, &store.arena, TENANT, &filter, NULL, 3, &page, &count,
                            &is_cut, &store.error));
    CHECK(count == 1 && same_id(page[0].id, ids[2]));
    filter = (EventFilter){ .from = BEGINNING + 2 * SPAN_MILLISECOND,
                            .to = BEGINNING + 4 * SPAN_MILLISECOND };
    MUST(&store, event_page(store.db, &store.arena, TENANT, &filter, NULL, 9, &page, &count,
                            &is_cut, &store.error));
    CHECK(count == 2 && same_id(page[0].id, ids[2]) && same_id(page[1].id, ids[1]));
    MUST(&store, event_page(store.db, &store.arena, TENANT + 1, &filter, NULL, 9, &page, &count,
                            &is_cut, &store.error));
    CHECK(count == 0);
}

// captured_in_order reads all pages of two, checks that nothing is left out, and counts.
static size_t captured_in_order(Store *store, const CapturedFilter *filter)
{
    CapturedKey last = { 0 };
    size_t total = 0, count;
    do {
        Captured *page;
        bool is_cut;
        MUST(store, captured_page(store->db, &store->arena, TENANT, filter, last, 2, &page, &count,
                                  &is_cut, &store->error));
        for (size_t i = 0; i < count; i++) {
            int order = uuid_cmp(last.delivery, page[i].promise.id);
            CHECK(order <= 0 && page[i].number == (order < 0 ? 1 : last.number + 1));
            last = (CapturedKey){ page[i].promise.id, page[i].number };
        }
        total += count;
    } while (count == 2);
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
    CHECK(captured_in_order(&store, &(CapturedFilter){ 0 }) == 1 + 3 + 2);
    CHECK(captured_in_order(&store, &(CapturedFilter){ .channel = S("memory:default") }) == 6);
    CHECK(captured_in_order(&store, &(CapturedFilter){ .channel = S("memory:other") }) == 0);
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
    bool is_cut;
    MUST(&store, attempt_of_event(store.db, &store.arena, TENANT, accept->items[0].event.id, 9,
                                  &log, &count, &store.error));
    CHECK(count == 2);
    for (size_t i = 0; i < count; i++)
        CHECK(same_id(log[i].delivery, accept->items[0].pairs[i].delivery));
    Captured *captured;
    CapturedFilter filter = { 0 };
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, (CapturedKey){ 0 }, 2,
                               &captured, &count, &is_cut, &store.error));
    CHECK(count == 2 && is_text(captured[0].channel, "memory:default"));
    CapturedKey after = { captured[1].promise.id, captured[1].number };
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, after, 2, &captured, &count,
                               &is_cut, &store.error));
    CHECK(count == 1);
    filter = (CapturedFilter){ .has_delivery = true, .delivery = taken.claimed[0].promise.id };
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, (CapturedKey){ 0 }, 9,
                               &captured, &count, &is_cut, &store.error));
    CHECK(count == 0); // that one was sent
    filter.delivery = taken.claimed[1].promise.id;
    MUST(&store, captured_page(store.db, &store.arena, TENANT, &filter, (CapturedKey){ 0 }, 9,
                               &captured, &count, &is_cut, &store.error));
    CHECK(count == 1 && same_id(captured[0].promise.id, taken.claimed[1].promise.id));
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

static Operation operate(Store *store, DeliveryAction action, const char *filter, int limit)
{
    pass(store, SPAN_MILLISECOND);
    Many many = { .operation = { .tenant = TENANT,
                                 .id = uuid_new(now(store), &store->random),
                                 .action = action,
                                 .filter = json_compact(store, filter),
                                 .reason = S("cleaning up"),
                                 .created_at = now(store) },
                  .limit = limit,
                  .is_new = true };
    MUST(store, writer_run(store->writer, apply_many, &many, &store->error));
    many.is_new = false;
    for (int i = 0; i < 100; i++) {
        MUST(store, writer_run(store->writer, apply_many, &many, &store->error));
        if (!many.has_more)
            break;
    }
    Operation done;
    MUST(store,
         operation_row(store->db, &store->arena, TENANT, many.operation.id, &done, &store->error));
    CHECK(done.is_done && done.finished_at != INSTANT_NONE);
    return done;
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
    CHECK(done.done == 5 && done.skipped == 0 && done.failed == 0);
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
    Uuid newer = in_state(&store, DELIVERY_PENDING);
    many.is_new = false;
    MUST(&store, writer_run(store.writer, apply_many, &many, &store.error));
    CHECK(view(&store, TENANT, newer).state == DELIVERY_PENDING);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue") == 1);
}

static void a_count_stops_at_its_limit(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    for (int i = 0; i < 4; i++)
        in_state(&store, DELIVERY_PARKED);
    DeliveryFilter filter = delivery_filter_any();
    filter.has_state = true;
    filter.state = DELIVERY_PARKED;
    int64_t count;
    MUST(&store, delivery_count(store.db, &store.arena, TENANT, &filter, 3, &count, &store.error));
    CHECK(count == 3);
    MUST(&store, delivery_count(store.db, &store.arena, TENANT, &filter, 9, &count, &store.error));
    CHECK(count == 4);
    filter = delivery_filter_any();
    filter.is_live = true;
    MUST(&store, delivery_count(store.db, &store.arena, TENANT, &filter, 9, &count, &store.error));
    CHECK(count == 0);
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
    size_t count, seen = 0;
    bool is_cut = true;
    Uuid before;
    for (int pages = 0; is_cut && pages < EVENTS; pages++) {
        DEFER(arena_done) Arena arena = { 0 };
        MUST(&store, event_page(store.db, &arena, TENANT, &filter, seen ? &before : NULL, 100,
                                &events, &count, &is_cut, &store.error));
        CHECK(count == (is_cut ? A_PAGE : EVENTS % A_PAGE));
        CHECK(arena.bytes < DB_PAGE_BYTES_MAX * 5 / 4);
        before = events[count - 1].id;
        seen += count;
    }
    CHECK(seen == EVENTS);
    DeliveryFilter any = delivery_filter_any();
    DeliveryView *views;
    MUST(&store, delivery_page(store.db, &store.arena, TENANT, &any, NULL, 100, &views, &count,
                               &is_cut, &store.error));
    CHECK(count == A_PAGE && is_cut);
    MUST(&store, delivery_page(store.db, &store.arena, TENANT, &any, NULL, 3, &views, &count,
                               &is_cut, &store.error));
    CHECK(count == 3 && !is_cut); // its limit ended it
    any.is_bare = true;
    MUST(&store, delivery_page(store.db, &store.arena, TENANT, &any, NULL, 100, &views, &count,
                               &is_cut, &store.error));
    CHECK(count == EVENTS && !is_cut && views[0].origin.payload.len == 0);
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
    TEST(a_count_stops_at_its_limit),
    TEST(a_range_of_time_holds_what_its_ids_left),
};
PART(delivery_part, tests);
