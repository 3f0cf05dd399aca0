// engine_suite.c - the engine's promises, each on the real engine, writer and store, with time and
// the far side invented (rig.h).
//
//   suite_engine [URL]      see fixture.h
#include "rig.h"

#include "store/idempotency.h"
#include "store/meta.h"
#include "store/node.h"
#include "store/sequence.h"

static Err apply_hold(Tx *tx, void *with, Error *error)
{
    TRY(tx_sync(tx, error));
    if (*(const bool *) with)
        meta_put(tx, META_HOLD, S("for the test"));
    else
        meta_remove(tx, META_HOLD);
    tx->changes_definitions = true;
    return ERR_OK;
}

static void hold(Store *store, bool is_held)
{
    MUST(store, writer_run(store->writer, apply_hold, &is_held, &store->error));
}

// A store outage

static void an_outage_longer_than_a_lease_sends_nothing_twice(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 4);
    turn(&rig);
    CHECK(rig.sent_count == 4);
    rig.is_away = true;
    lapse(&rig, 17 * SPAN_SECOND);
    rig.is_away = false;
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(rig.sent_count == 4);
    for (int i = 0; i < 4; i++)
        answer(&rig, i, 200);
    lapse(&rig, SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 4);
    CHECK(engine_tally(rig.engine).stale == 0 && engine_tally(rig.engine).lapsed == 0);
}

static void an_answer_that_comes_while_the_store_is_away_is_kept(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 2);
    turn(&rig);
    rig.is_away = true;
    lapse(&rig, 5 * SPAN_SECOND);
    answer(&rig, 0, 200);
    answer(&rig, 1, 400);
    lapse(&rig, 25 * SPAN_SECOND);
    rig.is_away = false;
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 2);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && in_state(&rig, DELIVERY_PARKED) == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE detail = 'as told'") == 2);
}

static void what_is_settled_is_counted_at_once(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 1);
    turn(&rig);
    answer(&rig, 0, 200);
    while (engine_in_flight(rig.engine) > 0) {
        engine_round(rig.engine);
        while (writer_step(rig.store.writer))
            ;
    }
    CHECK(engine_tally(rig.engine).delivered == 1);
}

static Instant lease_end(Rig *rig)
{
    return ask_i64(&rig->store, "SELECT MIN(lease_until) FROM queue WHERE state = 1");
}

static void leases_are_renewed_while_attempts_are_under_way(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 3);
    lapse(&rig, 85 * SPAN_SECOND); // for a minute a sweep would renew them too
    CHECK(rig.sent_count == 3 && lease_end(&rig) > now(&rig.store) + 5 * SPAN_SECOND);
}

static void a_claim_that_comes_back_late_is_not_sent_by(void)
{
    RIG(rig);
    http(&rig, "out", "", "");
    turn(&rig);
    visits(&rig, "out", 1);
    engine_round(rig.engine);
    while (writer_step(rig.store.writer))
        ;
    CHECK(in_state(&rig, DELIVERY_SENDING) == 1);
    clock_pass(&rig.store.clock, 12 * SPAN_SECOND); // the process was stopped
    engine_round(rig.engine);
    CHECK(rig.sent_count == 0);
    rig.status = 200;
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 1 && in_state(&rig, DELIVERY_DELIVERED) == 1 && attempts(&rig) == 1);
}

static void leases_of_a_dead_process_are_swept(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 3);
    turn(&rig);
    rig.is_away = true;
    restart(&rig);
    lapse(&rig, SPAN_SECOND);
    rig.is_away = false;
    // Though the first rounds failed. Alone they need not lapse; else another node may hold them.
    lapse(&rig, suite_is_postgres() ? 22 * SPAN_SECOND : SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_SENDING) == 0 && in_state(&rig, DELIVERY_RETRYING) == 3);
    CHECK(engine_tally(rig.engine).lapsed == 3 && attempts(&rig) == 3);
}

static void what_nobody_told_of_is_found_though_the_round_failed(void)
{
    RIG(rig);
    rig.status = 200;
    http(&rig, "out", "", "");
    lapse(&rig, SPAN_SECOND);
    take(&rig.store, TENANT, "{'kind':'out','recipient':{'address':'x'}}");
    while (writer_step(rig.store.writer))
        ;
    rig.is_away = true;
    lapse(&rig, 6 * SPAN_SECOND); // it has looked, in vain
    rig.is_away = false;
    lapse(&rig, SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1);
}

static void renewals_that_failed_are_made_up_for_at_once(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 1);
    lapse(&rig, 64 * SPAN_SECOND); // for a minute a sweep would renew it too
    Instant renewed = lease_end(&rig);
    for (int i = 0; i < 10 && lease_end(&rig) == renewed; i++)
        lapse(&rig, SPAN_SECOND);
    lapse(&rig, 3 * SPAN_SECOND);
    rig.is_away = true;
    lapse(&rig, 4 * SPAN_SECOND); // the next renewal fails
    rig.is_away = false;
    lapse(&rig, SPAN_SECOND);
    CHECK(lease_end(&rig) > now(&rig.store) + 10 * SPAN_SECOND);
}

static void a_process_that_was_stopped_does_not_sweep_its_own(void)
{
    RIG(rig);
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 3);
    lapse(&rig, SPAN_SECOND);
    clock_pass(&rig.store.clock, 20 * SPAN_SECOND);
    lapse(&rig, SPAN_SECOND);
    CHECK(engine_tally(rig.engine).lapsed == 0 && in_state(&rig, DELIVERY_SENDING) == 3);
}

// A clock that jumps

static void a_clock_that_jumps_for_a_while_is_not_obeyed(void)
{
    if (suite_is_postgres())
        return; // there the server's clock decides, which a rig does not invent
    RIG(rig);
    rig.status = 200;
    http(&rig, "later", "", ",'schedule':{'initialDelay':'1d'}");
    http(&rig, "asked", "", ",'expireAfter':'1d','schedule':{'reminders':[]},'awaitAnswer':true");
    visits(&rig, "later", 1);
    visits(&rig, "asked", 1);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 1 && in_state(&rig, DELIVERY_WAITING) == 1);
    jump(&rig, 2 * SPAN_DAY);
    lapse(&rig, 7 * SPAN_SECOND);
    CHECK(rig.sent_count == 1);
    CHECK(in_state(&rig, DELIVERY_EXPIRED) == 0);
    jump(&rig, -2 * SPAN_DAY);
    visits(&rig, "asked", 1);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_PENDING) == 1);
}

// claimed_ahead is a lane of concurrency 4 whose host has answered quickly, and hangs from now on:
// 8 requests were made, 4 of them are open, and some of the other 16 deliveries are claimed.
static void claimed_ahead(Rig *rig)
{
    http(rig, "host", ",'concurrency':4,'timeout':'5m'",
         ",'retry':{'policy':'fixed','interval':'1s','max':0}");
    visits(rig, "host", 4);
    turn(rig);
    for (int i = 0; i < 4; i++) {
        clock_pass(&rig->store.clock, SPAN_MILLISECOND);
        answer(rig, i, 200);
    }
    visits(rig, "host", 20);
    turn(rig);
    CHECK(rig->sent_count == 8 && in_state(rig, DELIVERY_SENDING) > 4);
}

// Claims that are never started

static void what_waits_too_long_is_given_back_unspent(void)
{
    RIG(rig);
    claimed_ahead(&rig);
    lapse(&rig, SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_SENDING) == 4 && in_state(&rig, DELIVERY_PENDING) == 16);
    lapse(&rig, 12 * SPAN_SECOND);
    CHECK(rig.sent_count == 8);
    CHECK(in_state(&rig, DELIVERY_SENDING) == 4 && in_state(&rig, DELIVERY_PENDING) == 16);
    rig.status = 200;
    lapse(&rig, 20 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 24 && attempts(&rig) == 24);
    CHECK(rig.sent_count == 24);
}

static void what_this_machine_could_not_try_is_given_back_unspent(void)
{
    RIG(rig);
    http(&rig, "host", "", ",'retry':{'policy':'fixed','interval':'1s','max':0}");
    visits(&rig, "host", 3);
    turn(&rig);
    CHECK(rig.sent_count == 3);
    for (int i = 0; i < 3; i++)
        lack(&rig, i);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PENDING) == 3 && attempts(&rig) == 0);
    CHECK(ask_i64(&rig.store, "SELECT MAX(attempt) FROM queue") == 0);
    CHECK(rig.sent_count == 3); // its lane pauses
    CHECK(engine_tally(rig.engine).released == 3);
    rig.status = 200;
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 3 && attempts(&rig) == 3);
    CHECK(rig.sent_count == 6);
}

static void no_more_are_in_flight_than_the_process_can_carry(void)
{
    RIG(rig);
    rig.flights_max = 30;
    restart(&rig);
    http(&rig, "wide", ",'concurrency':1000", "");
    http(&rig, "other", ",'concurrency':1000", "");
    visits(&rig, "wide", 100);
    visits(&rig, "other", 100);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count >= 10 && rig.sent_count <= 30);
    rig.status = 200;
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 200 && rig.sent_count == 200);
}

static void an_orderly_stop_gives_its_claims_back(void)
{
    RIG(rig);
    claimed_ahead(&rig);
    rig.status = 200; // what is in flight is answered in time
    CHECK(engine_stop(rig.engine, 10 * SPAN_SECOND));
    CHECK(in_state(&rig, DELIVERY_SENDING) == 0);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == rig.sent_count);
    int sent = rig.sent_count;
    CHECK(sent == 8);
    restart(&rig);
    lapse(&rig, 20 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 24 && rig.sent_count == 24);
}

static void claims_that_come_back_to_a_stopping_engine_are_given_back(void)
{
    RIG(rig);
    http(&rig, "host", "", "");
    turn(&rig);
    visits(&rig, "host", 5);
    engine_round(rig.engine); // the claim is at the writer
    CHECK(engine_stop(rig.engine, SPAN_SECOND));
    CHECK(rig.sent_count == 0 && in_state(&rig, DELIVERY_PENDING) == 5);
}

// Holds

static void nothing_starts_once_a_hold_is_seen(void)
{
    RIG(rig);
    claimed_ahead(&rig);
    hold(&rig.store, true);
    turn(&rig);
    for (int i = 4; i < 8; i++)
        answer(&rig, i, 200);
    turn(&rig);
    CHECK(rig.sent_count == 8 && in_state(&rig, DELIVERY_PENDING) == 16);
    rig.status = 200;
    hold(&rig.store, false);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 24 && rig.sent_count == 24);
}

static void what_was_called_off_is_not_started(void)
{
    RIG(rig);
    claimed_ahead(&rig);
    Rows claimed = ask(&rig.store, "SELECT id FROM queue WHERE state = 1", "", NULL);
    CHECK(claimed.count > 4);
    for (size_t i = 0; i < claimed.count; i++) {
        Uuid id = value_to_uuid(rows_at(&claimed, i));
        CHECK(act(&rig.store, TENANT, id, DELIVERY_ACTION_CANCEL, "") == ERR_OK);
        Move move = { .delivery = id, .from = DELIVERY_SENDING, .to = DELIVERY_CANCELLED };
        move.due_at = INSTANT_NONE;
        engine_moved(rig.engine, &move, 1);
    }
    engine_round(rig.engine); // it has seen that they were
    for (int i = 4; i < 8; i++)
        answer(&rig, i, 200);
    CHECK(rig.sent_count == 8);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_CANCELLED) == (int) claimed.count);
    CHECK(attempts(&rig) == 8); // no record of what was never sent
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE state = 8 AND attempt = 0") ==
          (int64_t) claimed.count - 4);
}

// When a lane is looked at again

static void a_full_lane_goes_on_when_a_slot_is_free(void)
{
    RIG(rig);
    http(&rig, "one", ",'concurrency':1", "");
    visits(&rig, "one", 3);
    turn(&rig);
    for (int i = 0; i < 3; i++) {
        CHECK(rig.sent_count == i + 1);
        clock_pass(&rig.store.clock, SPAN_SECOND); // it is slow: nothing is claimed ahead
        answer(&rig, i, 200);
        turn(&rig);
    }
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 3);
}

static void a_rate_is_kept_to(void)
{
    RIG(rig);
    rig.status = 200;
    http(&rig, "rated", ",'rate':{'max':3,'per':'10s'}", "");
    visits(&rig, "rated", 5);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(rig.sent_count == 3);
    lapse(&rig, 8 * SPAN_SECOND);
    CHECK(rig.sent_count == 5);
}

// Both are looked at before the next poll, and each alone: one that is found brings a probe.
static void a_retry_is_known_from_its_settle(void)
{
    RIG(rig);
    http(&rig, "again", "", ",'retry':{'policy':'fixed','interval':'1s','max':3}");
    visits(&rig, "again", 1);
    turn(&rig);
    answer(&rig, 0, 503);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(rig.sent_count == 2);
}

static void an_expiry_is_known_from_its_settle(void)
{
    RIG(rig);
    http(&rig, "asked", "", ",'expireAfter':'1s','awaitAnswer':true");
    visits(&rig, "asked", 1);
    turn(&rig);
    answer(&rig, 0, 200);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_EXPIRED) == 1);
}

static void a_probe_that_is_older_does_not_put_a_note_off(void)
{
    RIG(rig);
    http(&rig, "out", "", "");
    lapse(&rig, 4 * SPAN_SECOND);
    clock_pass(&rig.store.clock, 2 * SPAN_SECOND);
    engine_round(rig.engine);             // a poll
    while (writer_step(rig.store.writer)) // it has seen that there is nothing
        ;
    visits(&rig, "out", 1);
    lapse(&rig, SPAN_SECOND); // long before the next poll
    CHECK(rig.sent_count == 1);
}

// Commands

static void note_report(void *with, const EngineReport *report)
{
    *(EngineReport *) with = *report;
}

static void a_stop_refuses_what_is_outstanding(void)
{
    RIG(rig);
    EngineReport ticked = { 0 }, later_on = { 0 };
    http(&rig, "slow", ",'timeout':'5m'", "");
    visits(&rig, "slow", 1);
    turn(&rig);
    engine_tick(rig.engine, note_report, &ticked);
    turn(&rig);
    CHECK(!ticked.refused); // it waits for the receiver
    engine_stop(rig.engine, SPAN_SECOND);
    engine_tick(rig.engine, note_report, &later_on);
    CHECK(ticked.err == ERR_STOPPING && later_on.err == ERR_STOPPING);
}

static void a_hold_is_told_what_is_in_flight(void)
{
    RIG(rig);
    EngineReport quiet = { .in_flight = -1 }, ticked = { 0 };
    claimed_ahead(&rig);
    engine_tick(rig.engine, note_report, &ticked); // it may wait for ever: a hold does not
    hold(&rig.store, true);
    engine_quiet(rig.engine, note_report, &quiet);
    CHECK(quiet.in_flight == -1);
    engine_round(rig.engine);
    CHECK(quiet.in_flight == 4 && !ticked.now);
    for (int i = 4; i < 8; i++)
        answer(&rig, i, 200);
    turn(&rig);
    CHECK(rig.sent_count == 8);
}

// Fairness

static void one_tenant_cannot_take_the_whole_window(void)
{
    RIG(rig);
    int64_t other = tenant_new(&rig.store, "other");
    http_of(&rig, other, "live", "", "");
    for (int i = 0; i < 5; i++) {
        const char *name = str_format(&rig.store.arena, "tarpit%d", i).at;
        http(&rig, name, ",'concurrency':1000", "");
        visits(&rig, name, 1000);
    }
    lapse(&rig, SPAN_SECOND);
    int held = rig.sent_count;
    CHECK(held > 2500 && held < 5000);
    visits_of(&rig, other, "live", 40);
    turn(&rig);
    CHECK(rig.sent_count >= held + 32); // the channel's concurrency
}

static void a_lane_that_is_made_last_is_served_like_the_first(void)
{
    RIG(rig);
    for (int i = 0; i < 40; i++) {
        const char *name = str_format(&rig.store.arena, "dead%d", i).at;
        http(&rig, name, ",'concurrency':200", "");
        visits(&rig, name, 200);
    }
    lapse(&rig, SPAN_SECOND);
    int held = rig.sent_count;
    http(&rig, "live", "", "");
    visits(&rig, "live", 10);
    for (int tries = 0; tries < 10; tries++) {
        turn(&rig);
        for (int i = held; i < rig.sent_count; i++)
            if (rig.sent[i].done && str_ends(rig.sent[i].url, S("/live")))
                answer(&rig, i, 200);
    }
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 10);
}

static void an_event_that_is_due_later_wakes_nobody(void)
{
    RIG(rig);
    http(&rig, "out", "", ",'schedule':{'initialDelay':'100d'}");
    turn(&rig);
    int64_t lane = lane_of(&rig.store, TENANT, "http:out");
    int woken = rig.woken;
    Move move = { .lane = lane, .due_at = now(&rig.store) + 100 * SPAN_DAY };
    engine_moved(rig.engine, &move, 1);
    CHECK(rig.woken == woken);
    move.due_at = now(&rig.store) + SPAN_MILLISECOND;
    engine_moved(rig.engine, &move, 1);
    CHECK(rig.woken == woken + 1);
}

// A change of definitions makes nothing due, and there may be tens of thousands of lanes.
static void a_saved_definition_makes_nobody_look_at_all_lanes(void)
{
    RIG(rig);
    http(&rig, "out", "", "");
    visits(&rig, "out", 1);
    turn(&rig);
    int looks = rig.looks;
    CHECK(looks > 0); // at the start it does
    channel_of(&rig.store, TENANT,
               "{'key':'http:out','type':'http','enabled':false,"
               "'config':{'url':'http://127.0.0.1:1/out'}}");
    channel(&rig.store, TENANT, "memory:new");
    turn(&rig);
    CHECK(rig.looks == looks);
    visits(&rig, "out", 1); // and yet the change is known
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1);
    lapse(&rig, 6 * SPAN_SECOND);
    CHECK(rig.looks > looks); // now and then it does
}

// One bad row

// poison makes the store refuse every end whose attempt's detail says so.
static const Statement poison_on = {
    .name = "poison_on",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "CREATE TRIGGER poison BEFORE INSERT ON ended WHEN NEW.detail = 'poison'"
           " BEGIN SELECT RAISE(ABORT, 'it cannot be written'); END",
    .postgres = "ALTER TABLE ended ADD CONSTRAINT poison CHECK (detail <> 'poison')",
};
static const Statement poison_off = {
    .name = "poison_off",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "DROP TRIGGER poison",
    .postgres = "ALTER TABLE ended DROP CONSTRAINT poison",
};

static Err apply_poison(Tx *tx, void *with, Error *error)
{
    Rows rows;
    return tx_query(tx, *(const Statement *const *) with, NULL, &rows, error);
}

static void poison(Rig *rig, bool is_on)
{
    const Statement *statement = is_on ? &poison_on : &poison_off;
    MUST(&rig->store, writer_run(rig->store.writer, apply_poison, &statement, &rig->store.error));
}

static void a_settle_that_cannot_be_written_stops_nobody_else(void)
{
    RIG(rig);
    http(&rig, "out", "", "");
    poison(&rig, true);
    visits(&rig, "out", 20);
    turn(&rig);
    CHECK(rig.sent_count == 20);
    for (int i = 0; i < 20; i++) {
        rig.body = i == 7 ? "poison" : "fine";
        answer(&rig, i, 200);
    }
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 20);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM ended WHERE detail = 'fine'") == 19);
    CHECK(engine_health(rig.engine).failed > 0 && !engine_health(rig.engine).is_failing);
    rig.status = 200;
    rig.body = "fine";
    visits(&rig, "out", 3);
    lapse(&rig, SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 23);
    poison(&rig, false);
}

static Err lose_an_event(Tx *tx, void *with, Error *error)
{
    static const Statement statement = {
        .name = "suite_lose_an_event",
        .scope = STATEMENT_SYSTEM,
        .params = "",
        .sql = "DELETE FROM event WHERE id = (SELECT id FROM event ORDER BY id LIMIT 1)",
    };
    Rows rows;
    (void) with;
    return tx_query(tx, &statement, NULL, &rows, error);
}

static void a_delivery_whose_event_is_missing_parks_alone(void)
{
    RIG(rig);
    rig.status = 200;
    http(&rig, "out", "", "");
    visits(&rig, "out", 3);
    MUST(&rig.store, writer_run(rig.store.writer, lose_an_event, NULL, &rig.store.error));
    turn(&rig);
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_DELIVERED) == 2);
    DeliveryFilter filter = delivery_filter_any();
    filter.has_state = true;
    filter.state = DELIVERY_PARKED;
    DeliveryView *parked;
    Seen seen;
    MUST(&rig.store, delivery_page(rig.store.db, &rig.store.arena, TENANT, &filter,
                                   &(Walk){ .limit = 9 }, &parked, &seen, &rig.store.error));
    CHECK(seen.count == 1 && parked[0].reason == REASON_UNREADABLE);
    Uuid id = parked[0].promise.id;
    DeliveryView shown = view(&rig.store, TENANT, id);
    CHECK(uuid_cmp(shown.origin.id, shown.promise.event) == 0 && shown.rule_id.at);
    CHECK(!shown.origin.kind.at && !shown.origin.payload.at);
    MUST(&rig.store, act(&rig.store, TENANT, id, DELIVERY_ACTION_RETRY, NULL));
    turn(&rig);
    CHECK(rig.sent_count == 2 && view(&rig.store, TENANT, id).state == DELIVERY_PARKED);
    MUST(&rig.store, act(&rig.store, TENANT, id, DELIVERY_ACTION_DISCARD, NULL));
    CHECK(view(&rig.store, TENANT, id).state == DELIVERY_DISCARDED);
}

static void what_fails_whenever_it_is_tried_stops_nothing_else(void)
{
    static const char *const statements[] = { "operation_next", "queue_lapsed", "node_beat" };
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        RIG(rig);
        http(&rig, "out", "", "");
        rig.status = 200;
        rig.broken = statements[i];
        visits(&rig, "out", 3);
        lapse(&rig, 10 * SPAN_SECOND);
        CHECK_AT(statements[i], in_state(&rig, DELIVERY_DELIVERED) == 3);
        visits(&rig, "out", 3);
        lapse(&rig, 5 * SPAN_SECOND);
        CHECK_AT(statements[i], in_state(&rig, DELIVERY_DELIVERED) == 6);
        // On PostgreSQL a fault stands for a lost connection, which is nobody's.
        CHECK_AT(statements[i], suite_is_postgres() || engine_health(rig.engine).failed < 10);
    }
}

static void a_store_that_is_away_is_told(void)
{
    RIG(rig);
    lapse(&rig, SPAN_SECOND);
    CHECK(!engine_health(rig.engine).is_failing);
    rig.is_away = true;
    lapse(&rig, 20 * SPAN_SECOND);
    EngineHealth health = engine_health(rig.engine);
    CHECK(health.is_failing && health.failed > 10 && health.failed < 200);
    CHECK(health.since_good > 14 * SPAN_SECOND && health.detail[0]);
    rig.is_away = false;
    lapse(&rig, SPAN_SECOND);
    CHECK(engine_health(rig.engine).since_good < SPAN_SECOND);
}

static Err apply_key(Tx *tx, void *with, Error *error)
{
    Idempotency found;
    Sha256 request = { 0 };
    TRY(idempotency_begin(tx, TENANT, str_from(with), &request, &found, error));
    idempotency_finish(tx, TENANT, str_from(with), 200, S("{}"));
    return ERR_OK;
}

static int64_t keys_after(Rig *rig, Span span)
{
    clock_pass(&rig->store.clock, span);
    lapse(rig, SPAN_MINUTE);
    return ask_i64(&rig->store, "SELECT COUNT(*) FROM idempotency");
}

static void old_idempotency_keys_go_within_a_minute(void)
{
    RIG(rig);
    char key[] = "k";
    MUST(&rig.store, writer_run(rig.store.writer, apply_key, key, &rig.store.error));
    CHECK(keys_after(&rig, SPAN_HOUR) == 1);
    CHECK(engine_tally(rig.engine).purged == 0);
    CHECK(keys_after(&rig, IDEMPOTENCY_SPAN) == 0);
    CHECK(engine_tally(rig.engine).purged == 1);
}

static int without_number(Rig *rig)
{
    return (int) ask_i64(&rig->store,
                         "SELECT COUNT(*) FROM journal j WHERE j.facts IS NOT NULL AND NOT EXISTS"
                         " (SELECT 1 FROM sequence s WHERE s.writer = j.writer AND s.n = j.n)");
}

static void what_happened_has_its_number_a_second_later(void)
{
    RIG(rig);
    http(&rig, "quick", "", "");
    rig.status = 200;
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(without_number(&rig) == 0);
    for (int i = 0; i < 3; i++) {
        visits(&rig, "quick", 2);
        turn(&rig);
        lapse(&rig, SPAN_SECOND);
        CHECK(without_number(&rig) == 0);
    }
    int before = rig.transactions;
    lapse(&rig, 4 * SPAN_SECOND);
    // The poll and the beat: numbers make no numbers. Others may write into an inbox on PostgreSQL.
    CHECK(rig.transactions - before <= (suite_is_postgres() ? 8 : 4));
}

static void the_counters_are_noted_within_a_minute(void)
{
    RIG(rig);
    http(&rig, "quick", "", "");
    rig.status = 200;
    visits(&rig, "quick", 3);
    lapse(&rig, SPAN_MINUTE + SPAN_SECOND);
    CHECK(ask_i64(&rig.store, "SELECT delivered FROM sample ORDER BY at DESC") == 3);
}

static void every_move_on_record_knows_its_rule(void)
{
    RIG(rig);
    http(&rig, "quick", "", ",'retry':{'policy':'fixed','interval':'1s','max':2}");
    int64_t rule = ask_i64(&rig.store, "SELECT rule FROM rule WHERE id = 'quick'");
    visits(&rig, "quick", 3);
    turn(&rig);
    answer(&rig, 0, 200);
    answer(&rig, 1, 500);
    answer(&rig, 2, 400);
    lapse(&rig, 3 * SPAN_SECOND);
    JournalEntry *entries;
    size_t count, moves = 0;
    MUST(&rig.store, journal_read(rig.store.db, &rig.store.arena, TENANT, 0, 100, &entries, &count,
                                  &rig.store.error));
    for (size_t i = 0; i < count; i++)
        if (entries[i].fact.kind == FACT_MOVED) {
            CHECK(entries[i].fact.move.rule == rule && entries[i].fact.move.lane > 0);
            moves++;
        }
    CHECK(rule > 0 && moves == 6);
}

static void a_clock_that_was_long_under_way_is_not_believed(void)
{
    if (!suite_is_postgres())
        return; // there is no server to ask
    RIG(rig);
    lapse(&rig, SPAN_SECOND);
    clock_set_offset(&rig.real, 0);
    rig.clock_delay = 3 * SPAN_SECOND;
    lapse(&rig, NODE_BEAT);
    CHECK(rig.real.offset == rig.clock_delay); // as it is, and not by half of it
    rig.clock_delay = 0;
    lapse(&rig, NODE_BEAT);
    CHECK(rig.real.offset > -SPAN_SECOND && rig.real.offset < SPAN_SECOND);
}

static const Test tests[] = {
    TEST(an_outage_longer_than_a_lease_sends_nothing_twice),
    TEST(an_answer_that_comes_while_the_store_is_away_is_kept),
    TEST(what_is_settled_is_counted_at_once),
    TEST(leases_are_renewed_while_attempts_are_under_way),
    TEST(a_claim_that_comes_back_late_is_not_sent_by),
    TEST(leases_of_a_dead_process_are_swept),
    TEST(what_nobody_told_of_is_found_though_the_round_failed),
    TEST(renewals_that_failed_are_made_up_for_at_once),
    TEST(a_process_that_was_stopped_does_not_sweep_its_own),
    TEST(a_clock_that_jumps_for_a_while_is_not_obeyed),
    TEST(what_waits_too_long_is_given_back_unspent),
    TEST(what_this_machine_could_not_try_is_given_back_unspent),
    TEST(no_more_are_in_flight_than_the_process_can_carry),
    TEST(an_orderly_stop_gives_its_claims_back),
    TEST(claims_that_come_back_to_a_stopping_engine_are_given_back),
    TEST(nothing_starts_once_a_hold_is_seen),
    TEST(what_was_called_off_is_not_started),
    TEST(a_full_lane_goes_on_when_a_slot_is_free),
    TEST(a_rate_is_kept_to),
    TEST(a_retry_is_known_from_its_settle),
    TEST(an_expiry_is_known_from_its_settle),
    TEST(a_probe_that_is_older_does_not_put_a_note_off),
    TEST(a_stop_refuses_what_is_outstanding),
    TEST(a_hold_is_told_what_is_in_flight),
    TEST(one_tenant_cannot_take_the_whole_window),
    TEST(a_lane_that_is_made_last_is_served_like_the_first),
    TEST(an_event_that_is_due_later_wakes_nobody),
    TEST(a_saved_definition_makes_nobody_look_at_all_lanes),
    TEST(a_settle_that_cannot_be_written_stops_nobody_else),
    TEST(a_delivery_whose_event_is_missing_parks_alone),
    TEST(what_fails_whenever_it_is_tried_stops_nothing_else),
    TEST(a_store_that_is_away_is_told),
    TEST(old_idempotency_keys_go_within_a_minute),
    TEST(what_happened_has_its_number_a_second_later),
    TEST(the_counters_are_noted_within_a_minute),
    TEST(every_move_on_record_knows_its_rule),
    TEST(a_clock_that_was_long_under_way_is_not_believed),
};

PART(engine_part, tests);
extern const Part cost_part, parcel_part, circuit_part, inbox_part, said_part, schedule_part,
    pulls_part, runs_part, hooks_part, polls_part, unpacking_part, campaign_part;

int main(int argc, char **argv)
{
    // What things cost is told on a database that is as new.
    const Part *const parts[] = { &cost_part,    &engine_part, &parcel_part,   &circuit_part,
                                  &inbox_part,   &said_part,   &schedule_part, &pulls_part,
                                  &runs_part,    &hooks_part,  &polls_part,    &unpacking_part,
                                  &campaign_part };
    return suite_main(argc, argv, parts, ARRAY_LEN(parts));
}
