#include "fixture.h"

#include "store/attempt.h"

// A row that cannot be read, whatever became of it, stops nobody and waits for a person.

#define PLAIN "{'id':'plain','eventKind':'visit','channel':'memory:default'}"
#define RETRIED                                                                                    \
    "{'id':'retried','eventKind':'visit','channel':'memory:default',"                              \
    "'retry':{'policy':'fixed','interval':'1m','max':1}}"

// visit hands in one event a millisecond after the last, so that ids are in the order of time.
static void visit(Store *store)
{
    pass(store, SPAN_MILLISECOND);
    CHECK(take_err(take(store, TENANT, "{'kind':'visit'}")) == ERR_OK);
}

// lose_version makes the plain trigger's version unreadable, as no API can.
static Err lose_version(Tx *tx, void *with, Error *error)
{
    static const Statement lose = {
        .name = "suite_version_lose",
        .scope = STATEMENT_TENANT,
        .params = "it",
        .sql = "UPDATE definition_version SET body = $2 WHERE tenant = $1 AND id = 'plain'",
    };
    Rows rows;
    Value args[] = { value_i64(TENANT), value_text(str_from(with)) };
    return tx_query(tx, &lose, args, &rows, error);
}

static void an_unreadable_version_is_claimed_and_swept_all_the_same(void)
{
    STORE(store);
    char unknown[] = "{\"id\":\"plain\",\"no-longer-known\":1}";
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, RETRIED);
    MUST(&store, writer_run(store.writer, lose_version, unknown, &store.error));
    // The decisions are made on the snapshot, which knows the version as it was.
    take(&store, TENANT, "{'kind':'visit'}");
    Claim taken = claim_lane(&store, 1, 9);
    CHECK(taken.count == 2);
    for (size_t i = 0; i < taken.count; i++)
        CHECK(!taken.claimed[i].trigger == (taken.claimed[i].promise.rule == 1));

    // Nothing is known of its plan: whoever lost it, a person decides.
    pass(&store, LEASE);
    Sweep swept = sweep(&store, false);
    CHECK(swept.lapsed == 2 && swept.retried == 1 && swept.parked == 1);
    for (size_t i = 0; i < taken.count; i++) {
        if (taken.claimed[i].trigger)
            continue;
        DeliveryView parked = view(&store, TENANT, taken.claimed[i].promise.id);
        CHECK(parked.state == DELIVERY_PARKED && parked.reason == REASON_UNREADABLE);
    }
}

// damage does to the only row of the queue what no API can.
static Err damage(Tx *tx, void *with, Error *error)
{
    static const Statement statement = {
        .name = "suite_queue_damage",
        .scope = STATEMENT_SYSTEM,
        .params = "iiiii",
        .sql = "UPDATE queue SET state = $1, step = $2, attempt = $3, send = $4, failures = $5",
    };
    Rows rows;
    return tx_query(tx, &statement, with, &rows, error);
}

static void damage_row(Store *store, int64_t state, int64_t step, int64_t figure)
{
    Value args[] = { value_i64(state), value_i64(step), value_i64(figure), value_i64(figure),
                     value_i64(figure) };
    MUST(store, writer_run(store->writer, damage, args, &store->error));
}

static bool is_parked_as_unreadable(Store *store, Uuid id)
{
    DeliveryView parked = view(store, TENANT, id);
    return parked.state == DELIVERY_PARKED && parked.reason == REASON_UNREADABLE &&
           parked.attempt >= 0 && parked.send >= 0 &&
           ask_i64(store, "SELECT COUNT(*) FROM queue") == 0;
}

static void a_damaged_row_is_claimed_as_one_that_cannot_be_read(void)
{
    static const int64_t states[] = { 77, -5, DELIVERY_DELIVERED, DELIVERY_PENDING };
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        STORE(store);
        publish(&store, TENANT, PLAIN);
        visit(&store);
        damage_row(&store, states[i], STEP_SEND, -5);
        Claimed claimed = claim_one(&store, 1);
        CHECK(!claimed.trigger && claimed.live.attempt == 1);
        CHECK(claimed.live.send == 1 && claimed.live.failures == 0);
        QueueRow row = claimed_row(&claimed);
        Outcome outcome = { .verdict = VERDICT_PERMANENT, .reason = REASON_UNREADABLE };
        Settle parked =
            settle_tried(&row, delivery_park(&row.live, REASON_UNREADABLE), &outcome, now(&store));
        settle(&store, &parked, 1);
        CHECK(!parked.is_stale && is_parked_as_unreadable(&store, claimed.promise.id));
    }
}

static void a_damaged_row_is_swept_to_a_person(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    visit(&store);
    Claimed claimed = claim_one(&store, 1);
    damage_row(&store, DELIVERY_SENDING, STEP_SEND, -5);
    pass(&store, LEASE);
    Sweep lapsed = sweep(&store, false);
    CHECK(lapsed.lapsed == 1 && lapsed.parked == 1);
    CHECK(is_parked_as_unreadable(&store, claimed.promise.id));

    // What falls due and is neither a send nor an expiry, or an expiry of what awaits nothing.
    static const int64_t steps[] = { 2, STEP_EXPIRE, 77 };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        visit(&store);
        Rows found = ask(&store, "SELECT id FROM queue", "", NULL);
        Uuid id = value_to_uuid(&found.values[0]);
        damage_row(&store, 77, steps[i], 0);
        CHECK(view(&store, TENANT, id).reason == REASON_UNREADABLE);
        (void) sweep(&store, false);
        CHECK(is_parked_as_unreadable(&store, id));
    }
}

static void a_damaged_row_can_be_cancelled(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    visit(&store);
    Rows found = ask(&store, "SELECT id FROM queue", "", NULL);
    Uuid id = value_to_uuid(&found.values[0]);
    damage_row(&store, 77, STEP_SEND, -5);
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, "damaged") == ERR_OK);
    CHECK(view(&store, TENANT, id).state == DELIVERY_CANCELLED);
}

static Err damage_end(Tx *tx, void *with, Error *error)
{
    static const Statement statement = {
        .name = "suite_ended_damage",
        .scope = STATEMENT_SYSTEM,
        .params = "ii",
        .sql = "UPDATE ended SET state = $1, reason = $2, verdict = $2, tried_reason = $2,"
               " failures = $2, reminders_left = $2, first_due_at = $2",
    };
    Rows rows;
    return tx_query(tx, &statement, with, &rows, error);
}

static void a_damaged_end_is_shown_and_left_to_a_person(void)
{
    static const int64_t states[] = { 77, -5, DELIVERY_SENDING };
    static const DeliveryAction actions[] = { DELIVERY_ACTION_DISCARD, DELIVERY_ACTION_RETRY };
    for (size_t i = 0; i < ARRAY_LEN(states) * ARRAY_LEN(actions); i++) {
        STORE(store);
        publish(&store, TENANT, PLAIN);
        visit(&store);
        Claimed claimed = claim_one(&store, 1);
        settle_one(&store, &claimed, VERDICT_PERMANENT);
        Value args[] = { value_i64(states[i / 2]), value_i64(-500) };
        MUST(&store, writer_run(store.writer, damage_end, args, &store.error));
        DeliveryView shown = view(&store, TENANT, claimed.promise.id);
        CHECK(delivery_state_text(shown.state) && reason_code(shown.reason));
        AttemptView *log;
        size_t count;
        MUST(&store,
             attempt_of_event(store.db, &store.arena, TENANT, claimed.promise.event,
                              (AttemptKey){ .number = -1000 }, 9, &log, &count, &store.error));
        for (size_t j = 0; j < count; j++)
            CHECK(verdict_text(log[j].attempt.outcome.verdict) &&
                  reason_code(log[j].attempt.outcome.reason));
        CHECK(act(&store, TENANT, claimed.promise.id, actions[i % 2], NULL) == ERR_OK);
        DeliveryState state = view(&store, TENANT, claimed.promise.id).state;
        CHECK(state == (i % 2 ? DELIVERY_PENDING : DELIVERY_DISCARDED));
    }
}

// is_as_shown: whoever only looks is told the same as who is shown all of it.
static bool is_as_shown(Store *store, Str public_id)
{
    DeliveryView all;
    Awaited seen;
    MUST(store, delivery_view_awaited(store->db, &store->arena, public_id, &all, &store->error));
    MUST(store, delivery_awaited(store->db, &store->arena, public_id, &seen, &store->error));
    return uuid_cmp(all.promise.id, seen.promise.id) == 0 && all.state == seen.state &&
           all.opened_at == seen.opened_at && all.promise.rule == seen.promise.rule &&
           str_eq(all.promise.public_id, seen.promise.public_id);
}

static void a_look_sees_what_is_shown_whatever_is_damaged(void)
{
    STORE(store);
    Awaited seen;
    publish(&store, TENANT,
            "{'id':'asked','eventKind':'visit','channel':'memory:default','awaitAnswer':true,"
            "'expireAfter':'9d'}");
    visit(&store);
    Rows found = ask(&store, "SELECT public_id FROM awaiting", "", NULL);
    Str public_id = value_to_str(&found.values[0]);
    CHECK(is_as_shown(&store, public_id));
    damage_row(&store, 77, STEP_SEND, -5);
    CHECK(is_as_shown(&store, public_id));
    damage_row(&store, DELIVERY_PENDING, STEP_SEND, 0);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_PERMANENT);
    CHECK(is_as_shown(&store, public_id));
    Value args[] = { value_i64(-5), value_i64(-500) };
    MUST(&store, writer_run(store.writer, damage_end, args, &store.error));
    CHECK(is_as_shown(&store, public_id));
    CHECK(delivery_awaited(store.db, &store.arena, S("nobody"), &seen, &store.error) ==
          ERR_NOT_FOUND);
    CHECK(act(&store, TENANT, claimed.promise.id, DELIVERY_ACTION_DISCARD, NULL) == ERR_OK);
}

static const Test tests[] = {
    TEST(an_unreadable_version_is_claimed_and_swept_all_the_same),
    TEST(a_damaged_row_is_claimed_as_one_that_cannot_be_read),
    TEST(a_damaged_row_is_swept_to_a_person),
    TEST(a_damaged_row_can_be_cancelled),
    TEST(a_damaged_end_is_shown_and_left_to_a_person),
    TEST(a_look_sees_what_is_shown_whatever_is_damaged),
};
PART(damage_part, tests);
