#include "rig.h"

#include "engine/watch.h"
#include "store/health.h"
#include "store/rate.h"

// What holds a lane: circuits of hosts, logins and order, each on the real engine and store.

// knock is HTTP that knows a login: 401 says that it was refused. ranks takes three in one parcel,
// and only in their order.
static void judge_knock(const Parcel *parcel, const TransferResult *result)
{
    Outcome outcome = judge_http(parcel->arena, result, parcel->now);
    if (outcome.code == 401) {
        outcome.verdict = VERDICT_TRANSIENT;
        outcome.reason = REASON_LOGIN_REFUSED;
    }
    parcel_judge(parcel, &outcome);
}

static Err request_ranks(const Parcel *parcel, Transfer *ret, Error *error)
{
    Buf list = buf_new(parcel->arena, 10000);
    (void) error;
    for (size_t i = 0; i < parcel->count; i++)
        buf_add_format(&list, "%.*s ", STR_ARG(parcel->messages[i].promise.entity));
    *ret =
        (Transfer){ .method = S("POST"), .url = S("http://ranks.test/"), .body = buf_str(&list) };
    return ERR_OK;
}

static const ChannelType ranks = { .type = "ranks",
                                   .carrier = CARRIER_TRANSFER,
                                   .parcel_max = 3,
                                   .is_ordered = true,
                                   .request = request_ranks,
                                   .judge = judge_knock };

static ChannelType knock, timeless;
static const ChannelType *const types[] = { &knock, &ranks, &timeless, &channel_http, NULL };

static void with_types(Rig *rig)
{
    knock = channel_http;
    knock.type = "knock";
    knock.judge = judge_knock;
    timeless = ranks;
    timeless.type = "timeless";
    timeless.is_timeless = true;
    rig->types = types;
    restart(rig);
}

// way makes a channel "TYPE:NAME" that goes to a URL, and a trigger that listens to NAME.
static void way(Rig *rig, const char *type, const char *name, const char *url, const char *members)
{
    Store *store = &rig->store;
    Arena *arena = &store->arena;
    channel_of(store, TENANT,
               str_format(arena, "{'key':'%s:%s','type':'%s','config':{'url':'%s'}%s}", type, name,
                          type, url, members)
                   .at);
    publish(store, TENANT,
            str_format(arena,
                       "{'id':'%s','eventKind':'%s','channel':'%s:%s',"
                       "'retry':{'policy':'fixed','interval':'1d','max':9}}",
                       name, name, type, name)
                .at);
}

static int sent_to(const Rig *rig, const char *url)
{
    int count = 0;
    for (int i = 0; i < rig->sent_count; i++)
        count += str_eq(rig->sent[i].url, str_from(url));
    return count;
}

// Hosts

static void a_dead_host_holds_its_backlog_unspent(void)
{
    RIG(rig);
    way(&rig, "http", "dead", "http://dead.test/", ",'concurrency':2");
    rig.is_dead = true;
    visits(&rig, "dead", 50);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count >= 5 && rig.sent_count <= 6); // those under way when the fifth failed
    int spent = rig.sent_count;
    CHECK(in_state(&rig, DELIVERY_PENDING) == 50 - spent && attempts(&rig) == spent);
    CHECK(in_state(&rig, DELIVERY_SENDING) == 0);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(rig.sent_count == spent);
    lapse(&rig, 3 * SPAN_SECOND); // the probe after 5 s …
    CHECK(rig.sent_count == spent + 1);
    lapse(&rig, 8 * SPAN_SECOND);
    CHECK(rig.sent_count == spent + 1);
    lapse(&rig, 4 * SPAN_SECOND); // … and after 10 more
    CHECK(rig.sent_count == spent + 2);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM queue WHERE attempt = 0") == 50 - spent - 2);
    rig.is_dead = false;
    rig.status = 200;
    lapse(&rig, 20 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 50 - spent - 2);
    CHECK(in_state(&rig, DELIVERY_RETRYING) == spent + 2); // they keep their own time
}

static void what_was_claimed_ahead_is_given_back_when_the_circuit_opens(void)
{
    RIG(rig);
    way(&rig, "http", "dead", "http://dead.test/", ",'concurrency':5,'timeout':'5m'");
    visits(&rig, "dead", 5);
    turn(&rig);
    for (int i = 0; i < 5; i++) {
        clock_pass(&rig.store.clock, SPAN_MILLISECOND);
        answer(&rig, i, 200);
    }
    visits(&rig, "dead", 40);
    turn(&rig);
    CHECK(rig.sent_count == 10 && in_state(&rig, DELIVERY_SENDING) > 10);
    for (int i = 5; i < 10; i++)
        answer(&rig, i, 0);
    int sent = rig.sent_count;
    CHECK(sent <= 14); // each of the first four freed a slot
    turn(&rig);
    CHECK(rig.sent_count == sent && in_state(&rig, DELIVERY_SENDING) == sent - 10);
    CHECK(ask_i64(&rig.store, "SELECT SUM(attempt) FROM queue") == sent - 5);
}

static void channels_of_one_host_share_its_circuit_and_one_probes(void)
{
    RIG(rig);
    way(&rig, "http", "a", "http://one.test/a", "");
    way(&rig, "http", "b", "http://ONE.test:80/b", "");
    way(&rig, "http", "other", "http://one.test:81/", "");
    rig.is_dead = true;
    visits(&rig, "b", 1);
    turn(&rig); // now it is known where b goes
    visits(&rig, "a", 4);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 5);
    visits(&rig, "a", 3);
    visits(&rig, "b", 3);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(rig.sent_count == 5);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 6);
    rig.is_dead = false;
    rig.status = 200;
    visits(&rig, "other", 3); // another port is another host
    turn(&rig);
    CHECK(sent_to(&rig, "http://one.test:81/") == 3);
    lapse(&rig, 11 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 3 + 5);
}

static void a_channel_that_is_new_to_a_dead_host_is_held_unspent(void)
{
    RIG(rig);
    way(&rig, "http", "a", "http://one.test/a", "");
    way(&rig, "http", "b", "http://one.test/b", "");
    rig.is_dead = true;
    visits(&rig, "a", 5);
    lapse(&rig, SPAN_SECOND);
    visits(&rig, "b", 7);
    lapse(&rig, SPAN_SECOND);
    CHECK(sent_to(&rig, "http://one.test/b") == 0 && attempts(&rig) == 5);
    CHECK(in_state(&rig, DELIVERY_PENDING) == 7);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE circuit = 1"
                              " AND error = 'no-answer: no answer'") == 2);
}

static void another_tenants_circuit_is_its_own(void)
{
    RIG(rig);
    int64_t other = tenant_new(&rig.store, "other");
    way(&rig, "http", "a", "http://one.test/a", "");
    http_of(&rig, other, "one", "", "");
    rig.is_dead = true;
    visits(&rig, "a", 9);
    lapse(&rig, SPAN_SECOND);
    int sent = rig.sent_count;
    rig.is_dead = false;
    rig.status = 200;
    visits_of(&rig, other, "one", 3);
    turn(&rig);
    CHECK(rig.sent_count == sent + 3 && in_state(&rig, DELIVERY_DELIVERED) == 3);
}

static void an_edited_channel_is_tried_at_once(void)
{
    RIG(rig);
    way(&rig, "http", "a", "http://one.test/a", ",'concurrency':1");
    rig.is_dead = true;
    visits(&rig, "a", 9);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 5);
    way(&rig, "http", "a", "http://two.test/a", "");
    rig.is_dead = false;
    rig.status = 200;
    turn(&rig);
    CHECK(sent_to(&rig, "http://two.test/a") == 4 && in_state(&rig, DELIVERY_DELIVERED) == 4);
}

static void hosts_take_so_much_at_once_from_all_channels(void)
{
    RIG(rig);
    for (int i = 0; i < 5; i++) {
        const char *name = str_format(&rig.store.arena, "c%d", i).at;
        way(&rig, "http", name, "http://one.test/", ",'timeout':'5m'");
        visits(&rig, name, 1);
    }
    turn(&rig);
    for (int i = 0; i < 5; i++)
        answer(&rig, i, 200);
    for (int i = 0; i < 5; i++)
        visits(&rig, str_format(&rig.store.arena, "c%d", i).at, 40);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 5 + HOST_CONCURRENCY);
    for (int i = 5; i < 15; i++)
        answer(&rig, i, 200);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 15 + HOST_CONCURRENCY);
    rig.status = 200;
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 205 && attempts(&rig) == 205);
}

static void an_operators_limit_of_a_host_is_the_most(void)
{
    RIG(rig);
    rig.host_max = 3;
    restart(&rig);
    way(&rig, "http", "a", "http://one.test/a", ",'timeout':'5m'");
    way(&rig, "http", "b", "http://one.test/b", ",'timeout':'5m'");
    visits(&rig, "a", 1); // where a channel goes is known from its first request
    visits(&rig, "b", 1);
    turn(&rig);
    visits(&rig, "a", 9);
    visits(&rig, "b", 9);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 3);
    answer(&rig, 0, 200);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 4);
    rig.status = 200;
    for (int i = 1; i < 4; i++)
        answer(&rig, i, 200);
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 20 && attempts(&rig) == 20);
}

// Bulk

static void a_single_message_does_not_wait_behind_a_batch(void)
{
    RIG(rig);
    way(&rig, "http", "bulk", "http://one.test/", ",'concurrency':2,'timeout':'5m'");
    visits(&rig, "bulk", 500);
    int at = 0, behind = 0;
    for (; at < 20; at++) { // the lane falls behind, a few answers a second
        lapse(&rig, 250 * SPAN_MILLISECOND);
        answer(&rig, at, 200);
    }
    take(&rig.store, TENANT,
         "[{'kind':'bulk','payload':{'single':1},'recipient':{'address':'x'}}]");
    while (writer_step(rig.store.writer))
        ;
    for (bool is_out = false; !is_out && behind < 100; behind++) {
        lapse(&rig, 250 * SPAN_MILLISECOND);
        is_out = str_contains(rig.sent[rig.sent_count - 1].body, S("single"));
        answer(&rig, at++, 200);
    }
    CHECK(behind < 12);
    CHECK(in_state(&rig, DELIVERY_PENDING) > 400);
}

// Logins

static void a_refused_login_holds_its_channel_at_once(void)
{
    RIG(rig);
    with_types(&rig);
    way(&rig, "knock", "shut", "http://one.test/shut", ",'concurrency':1");
    way(&rig, "knock", "fine", "http://one.test/fine", "");
    rig.status = 401;
    visits(&rig, "shut", 9);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 1 && attempts(&rig) == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM queue WHERE state = 2") == 1);
    rig.status = 200;
    visits(&rig, "fine", 9); // its host is well, and other channels there know their password
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 9);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(sent_to(&rig, "http://one.test/shut") == 1);
    way(&rig, "knock", "shut", "http://one.test/shut", ",'concurrency':2"); // a new secret, say
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 9 + 8);
}

// Order

static Str sent_bodies(Rig *rig, int from)
{
    Buf all = buf_new(&rig->store.arena, 10000);
    for (int i = from; i < rig->sent_count; i++)
        buf_add_format(&all, "%.*s|", STR_ARG(rig->sent[i].body));
    return buf_str(&all);
}

// line hands in events for an ordered channel, one after the other, named by letters.
static void line(Rig *rig, const char *letters)
{
    Store *store = &rig->store;
    for (; *letters; letters++) {
        Str body =
            str_format(&store->arena,
                       "[{'kind':'ranks','entity':'%c','recipient':{'address':'x'}}]", *letters);
        take(store, TENANT, body.at);
        while (writer_step(store->writer))
            ;
        clock_pass(&store->clock, SPAN_MILLISECOND);
    }
}

static void an_ordered_lane_sends_one_parcel_at_a_time_in_order(void)
{
    RIG(rig);
    with_types(&rig);
    way(&rig, "ranks", "ranks", "http://ranks.test/", ",'timeout':'5m'");
    line(&rig, "abcdefg");
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 1);
    answer(&rig, 0, 200);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 2);
    rig.status = 200;
    lapse(&rig, SPAN_SECOND);
    CHECK(str_eq(sent_bodies(&rig, 0), S("a b c |d e f |g |")));
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 7);
}

static void what_cannot_be_sent_in_order_holds_up_the_rest_unspent(void)
{
    RIG(rig);
    with_types(&rig);
    way(&rig, "ranks", "ranks", "http://ranks.test/", "");
    rig.status = 503;
    line(&rig, "abcde");
    turn(&rig);
    CHECK(rig.sent_count == 1 && attempts(&rig) == 0 && in_state(&rig, DELIVERY_PENDING) == 5);
    lapse(&rig, 10 * SPAN_MINUTE); // 1 s doubling to a minute, for ever
    int sent = rig.sent_count;
    CHECK(sent >= 14 && sent <= 17);
    CHECK(attempts(&rig) == 0 && in_state(&rig, DELIVERY_PENDING) == 5);
    rig.status = 200;
    lapse(&rig, SPAN_MINUTE);
    CHECK(str_eq(sent_bodies(&rig, sent), S("a |b c d |e |")));
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 5 && attempts(&rig) == 5);
}

static void what_is_refused_in_order_parks_alone(void)
{
    RIG(rig);
    with_types(&rig);
    way(&rig, "ranks", "ranks", "http://ranks.test/", "");
    rig.status = 400;
    line(&rig, "a");
    turn(&rig);
    rig.status = 200;
    line(&rig, "bc");
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1 && in_state(&rig, DELIVERY_DELIVERED) == 2);
}

static void a_death_keeps_the_place_of_what_was_sent_in_order(void)
{
    RIG(rig);
    with_types(&rig);
    way(&rig, "ranks", "ranks", "http://ranks.test/", ",'timeout':'5m'");
    line(&rig, "abcde");
    turn(&rig);
    CHECK(rig.sent_count == 1);
    restart(&rig);
    rig.status = 200;
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(str_eq(sent_bodies(&rig, 1), S("a b c |d e |")));
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 5);
}

static void a_clock_that_is_set_back_holds_up_no_timeless_lane(void)
{
    if (suite_is_postgres())
        return; // there the server's clock decides, which a rig does not invent
    RIG(rig);
    with_types(&rig);
    way(&rig, "timeless", "ranks", "http://ranks.test/", "");
    rig.status = 503;
    line(&rig, "abcd");
    lapse(&rig, 10 * SPAN_SECOND); // it is held, and tried again in a while
    int sent = rig.sent_count;
    jump(&rig, -4 * SPAN_DAY);
    rig.status = 200;
    lapse(&rig, WATCH_HOLDS + 2 * SPAN_SECOND);
    CHECK(str_eq(sent_bodies(&rig, sent), S("a |b c d |")));
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 4);
}

static void all_that_stands_in_a_timeless_lane_is_due(void)
{
    RIG(rig);
    http(&rig, "later", "", ",'schedule':{'initialDelay':'400d'}");
    visits(&rig, "later", 3);
    ClaimLane lane = { .lane = lane_of(&rig.store, TENANT, "http:later"),
                       .free = 10,
                       .bytes = 1 << 20 };
    Claim before = claim(&rig.store, &lane, 1);
    CHECK(before.count == 0);
    lane.is_timeless = true;
    Claim all = claim(&rig.store, &lane, 1);
    CHECK(all.count == 3);
    queue_claim_drop(&all);
}

static void nothing_overtakes_what_another_node_sends(void)
{
    RIG(rig);
    with_types(&rig);
    way(&rig, "ranks", "ranks", "http://ranks.test/", "");
    line(&rig, "abcde");
    int64_t lane = lane_of(&rig.store, TENANT, "ranks:ranks");
    ClaimLane one = { .lane = lane, .free = 1, .bytes = 1 << 20, .front = 10 };
    Claim first = claim(&rig.store, &one, 1), second = claim(&rig.store, &one, 1);
    CHECK(first.count == 1 && second.count == 0);
    one.front = 0;
    Claim third = claim(&rig.store, &one, 1);
    CHECK(third.count == 1);
    queue_claim_drop(&first);
    queue_claim_drop(&second);
    queue_claim_drop(&third);
}

static void a_channel_may_be_ordered_by_its_definition(void)
{
    RIG(rig);
    http(&rig, "line", ",'ordered':true,'timeout':'5m'", "");
    visits(&rig, "line", 3);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 1);
    answer(&rig, 0, 500);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 2 && str_eq(rig.sent[0].body, rig.sent[1].body));
}

// Pauses and rates, which are all nodes'

static void a_far_side_that_names_a_time_pauses_its_lane(void)
{
    RIG(rig);
    way(&rig, "http", "busy", "http://one.test/busy", ",'concurrency':1");
    way(&rig, "http", "other", "http://one.test/other", "");
    rig.status = 429;
    rig.retry_after = "60";
    visits(&rig, "busy", 9);
    lapse(&rig, 50 * SPAN_SECOND);
    CHECK(rig.sent_count == 1 && attempts(&rig) == 1 && in_state(&rig, DELIVERY_PENDING) == 8);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE circuit = 0"
                              " AND paused_until IS NOT NULL AND error LIKE 'unwell (429)%'") == 1);
    rig.status = 200;
    visits(&rig, "other", 2); // its host is not asked for anything
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 2);
    lapse(&rig, 15 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 10);
    CHECK(engine_health(rig.engine).pauses == 1);
}

static Err apply_pause(Tx *tx, void *with, Error *error)
{
    (void) error;
    Health health = { .tenant = TENANT,
                      .lane = *(int64_t *) with,
                      .since = INSTANT_NONE,
                      .probe_at = INSTANT_NONE,
                      .paused_until = tx->now + SPAN_MINUTE };
    health_put(tx, &health, 1);
    health.paused_until = INSTANT_NONE; // who knows of none ends none
    health_put(tx, &health, 1);
    return tx_sync(tx, error);
}

static Err apply_lift(Tx *tx, void *with, Error *error)
{
    (void) with;
    health_lift(tx, TENANT, S("http:busy"));
    return tx_sync(tx, error);
}

static void a_pause_that_another_node_was_asked_for_holds_here(void)
{
    RIG(rig);
    way(&rig, "http", "busy", "http://one.test/busy", "");
    int64_t lane = lane_of(&rig.store, TENANT, "http:busy");
    MUST(&rig.store, writer_run(rig.store.writer, apply_pause, &lane, &rig.store.error));
    lapse(&rig, 6 * SPAN_SECOND);
    rig.status = 200;
    visits(&rig, "busy", 3);
    lapse(&rig, 40 * SPAN_SECOND);
    CHECK(rig.sent_count == 0 && in_state(&rig, DELIVERY_PENDING) == 3);
    lapse(&rig, 20 * SPAN_SECOND);
    CHECK(rig.sent_count == 3);
}

static void a_pause_that_is_lifted_in_the_store_ends_here(void)
{
    RIG(rig);
    way(&rig, "http", "busy", "http://one.test/busy", ",'concurrency':1");
    rig.status = 429;
    rig.retry_after = "3600";
    rig.broken = "health_put";
    visits(&rig, "busy", 4);
    lapse(&rig, 20 * SPAN_SECOND); // what the store does not know yet is not lifted
    CHECK(rig.sent_count == 1 && ask_i64(&rig.store, "SELECT COUNT(*) FROM health") == 0);
    rig.broken = NULL;
    rig.status = 200;
    lapse(&rig, 20 * SPAN_SECOND);
    CHECK(rig.sent_count == 1 && ask_i64(&rig.store, "SELECT COUNT(*) FROM health"
                                                     " WHERE paused_until IS NOT NULL") == 1);
    MUST(&rig.store, writer_run(rig.store.writer, apply_lift, NULL, &rig.store.error));
    lapse(&rig, 6 * SPAN_SECOND);
    CHECK(rig.sent_count == 4 && in_state(&rig, DELIVERY_DELIVERED) == 3);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE paused_until IS NOT NULL") == 0);
}

// pause_and_die pauses one of two ways to a host, which then dies.
static void pause_and_die(Rig *rig)
{
    way(rig, "http", "busy", "http://one.test/busy", ",'concurrency':1");
    way(rig, "http", "other", "http://one.test/other", ",'concurrency':1");
    rig->status = 429;
    rig->retry_after = "600";
    visits(rig, "busy", 4);
    turn(rig);
    rig->is_dead = true;
}

static void a_pause_holds_though_what_else_held_its_lane_is_over(void)
{
    RIG(rig);
    pause_and_die(&rig);
    visits(&rig, "other", 9);
    lapse(&rig, 2 * SPAN_SECOND); // the circuit of their host opens …
    rig.is_dead = false;
    rig.status = 200;
    lapse(&rig, 30 * SPAN_SECOND); // … and closes
    CHECK(sent_to(&rig, "http://one.test/other") == 9 &&
          sent_to(&rig, "http://one.test/busy") == 1);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM queue WHERE attempt = 0 AND fence = 0") == 3);
}

static void a_pause_that_was_lifted_is_not_told_again(void)
{
    RIG(rig);
    pause_and_die(&rig);
    visits(&rig, "other", 5);
    MUST(&rig.store, writer_run(rig.store.writer, apply_lift, NULL, &rig.store.error));
    turn(&rig); // the circuit opens, and all lanes of the host tell of it
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE circuit = 1") == 2);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE paused_until IS NOT NULL") == 0);
}

static Err apply_share(Tx *tx, void *with, Error *error)
{
    RateShare *share = with;
    Rows rows;
    rate_take(tx, &tx->arena, share, 1, &rows);
    TRY(tx_sync(tx, error));
    rate_granted(&rows, share, 1);
    return ERR_OK;
}

static int64_t share_of(Rig *rig, int64_t lane, Instant window_at, int64_t wanted)
{
    RateShare share = { .lane = lane,
                        .window_at = window_at,
                        .max = 5,
                        .wanted = wanted,
                        .future = now(&rig->store) + SPAN_MINUTE };
    MUST(&rig->store, writer_run(rig->store.writer, apply_share, &share, &rig->store.error));
    return share.granted;
}

static void a_rate_is_shared_with_the_other_nodes(void)
{
    RIG(rig);
    way(&rig, "http", "slow", "http://one.test/slow", ",'rate':{'per':'10s','max':5}");
    int64_t lane = lane_of(&rig.store, TENANT, "http:slow");
    Instant window = now(&rig.store) - now(&rig.store) % (10 * SPAN_SECOND);
    CHECK(share_of(&rig, lane, window, 3) == 3); // another node's
    rig.status = 200;
    visits(&rig, "slow", 12);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(rig.sent_count == 2);
    CHECK(share_of(&rig, lane, window, 5) == 0);
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(rig.sent_count == 7);
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(rig.sent_count == 12 && attempts(&rig) == 12);
}

// What failed in an ordered lane spends no attempt, but its far side was asked.
static void an_ordered_lane_keeps_its_rate_while_it_fails(void)
{
    RIG(rig);
    http(&rig, "line", ",'ordered':true,'rate':{'per':'1h','max':3}", "");
    rig.status = 503;
    visits(&rig, "line", 3);
    lapse(&rig, 5 * SPAN_MINUTE);
    CHECK(rig.sent_count == 3 && attempts(&rig) == 0);
}

// quick_way is a channel that takes one at a time and is claimed ahead: its attempts are quick.
static void quick_way(Rig *rig, const char *rate)
{
    way(rig, "http", "slow", "http://one.test/slow",
        str_format(&rig->store.arena, ",'timeout':'5m','concurrency':1,'rate':%s", rate).at);
    visits(rig, "slow", 1);
    turn(rig);
    answer(rig, 0, 200);
    turn(rig);
}

static void what_is_not_begun_in_its_window_is_paid_for_anew(void)
{
    RIG(rig);
    const Span window = 10 * SPAN_SECOND;
    quick_way(&rig, "{'per':'10s','max':4}");
    clock_pass(&rig.store.clock, 2 * window - now(&rig.store) % window - 70 * SPAN_MILLISECOND);
    visits(&rig, "slow", 9);
    turn(&rig); // four are paid for: one is under way, three wait behind it …
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_SENDING) == 4);
    rig.status = 200;
    clock_pass(&rig.store.clock, 80 * SPAN_MILLISECOND); // … until the window is over
    answer(&rig, 1, 200);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 2 + 4);
}

static void what_was_paid_for_and_not_begun_is_paid_back(void)
{
    RIG(rig);
    quick_way(&rig, "{'per':'1h','max':4}");
    visits(&rig, "slow", 9);
    lapse(&rig, SPAN_SECOND); // what waits longer than a moment is given back
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_SENDING) == 1);
    CHECK(engine_tally(rig.engine).released > 0);
    rig.status = 200;
    answer(&rig, 1, 200);
    lapse(&rig, SPAN_SECOND);
    CHECK(rig.sent_count == 4); // all of the hour's rate
    lapse(&rig, SPAN_MINUTE);
    CHECK(rig.sent_count == 4);
}

static void a_window_that_is_over_is_not_opened_again(void)
{
    RIG(rig);
    way(&rig, "http", "slow", "http://one.test/slow", ",'rate':{'per':'10s','max':5}");
    int64_t lane = lane_of(&rig.store, TENANT, "http:slow");
    Instant window = now(&rig.store) - now(&rig.store) % (10 * SPAN_SECOND);
    CHECK(share_of(&rig, lane, window, 4) == 4);
    CHECK(share_of(&rig, lane, window, 4) == 1);
    CHECK(share_of(&rig, lane, window + 10 * SPAN_SECOND, 2) == 2);
    CHECK(share_of(&rig, lane, window, 4) == 0); // a clock that is behind
    CHECK(share_of(&rig, lane, window + SPAN_DAY, 1) == 1);
    CHECK(share_of(&rig, lane, window, 4) == 4); // one that was a day ahead has been put right
}

static void what_holds_a_lane_is_told_to_all(void)
{
    RIG(rig);
    way(&rig, "http", "a", "http://one.test/a", ",'concurrency':1");
    way(&rig, "http", "b", "http://one.test/b", "");
    rig.status = 200;
    visits(&rig, "b", 1);
    turn(&rig);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health") == 0);
    rig.is_dead = true;
    visits(&rig, "a", 9);
    lapse(&rig, SPAN_SECOND);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE circuit = 1 AND failures = 5"
                              " AND probe_at = since + 5000000"
                              " AND error = 'no-answer: no answer'") == 2);
    CHECK(engine_health(rig.engine).circuits_open == 1);
    rig.is_dead = false;
    lapse(&rig, 6 * SPAN_SECOND);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE circuit = 0 AND since IS NULL"
                              " AND probe_at IS NULL AND error IS NULL") == 2);
    CHECK(engine_health(rig.engine).circuits_open == 0);
    CHECK(engine_health(rig.engine).circuits_opened == 1);
}

static void what_holds_a_lane_is_told_when_the_store_is_back(void)
{
    RIG(rig);
    way(&rig, "http", "a", "http://one.test/a", ",'concurrency':1");
    visits(&rig, "a", 5);
    rig.is_dead = true;
    rig.broken = "health_put";
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health") == 0);
    rig.broken = NULL;
    lapse(&rig, 40 * SPAN_SECOND);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM health WHERE circuit <> 0") == 1);
}

static const Test tests[] = {
    TEST(a_far_side_that_names_a_time_pauses_its_lane),
    TEST(a_pause_that_another_node_was_asked_for_holds_here),
    TEST(a_pause_that_is_lifted_in_the_store_ends_here),
    TEST(a_pause_holds_though_what_else_held_its_lane_is_over),
    TEST(a_pause_that_was_lifted_is_not_told_again),
    TEST(a_rate_is_shared_with_the_other_nodes),
    TEST(what_is_not_begun_in_its_window_is_paid_for_anew),
    TEST(what_was_paid_for_and_not_begun_is_paid_back),
    TEST(an_ordered_lane_keeps_its_rate_while_it_fails),
    TEST(a_window_that_is_over_is_not_opened_again),
    TEST(what_holds_a_lane_is_told_to_all),
    TEST(what_holds_a_lane_is_told_when_the_store_is_back),
    TEST(a_dead_host_holds_its_backlog_unspent),
    TEST(what_was_claimed_ahead_is_given_back_when_the_circuit_opens),
    TEST(channels_of_one_host_share_its_circuit_and_one_probes),
    TEST(a_channel_that_is_new_to_a_dead_host_is_held_unspent),
    TEST(another_tenants_circuit_is_its_own),
    TEST(an_edited_channel_is_tried_at_once),
    TEST(hosts_take_so_much_at_once_from_all_channels),
    TEST(an_operators_limit_of_a_host_is_the_most),
    TEST(a_single_message_does_not_wait_behind_a_batch),
    TEST(a_refused_login_holds_its_channel_at_once),
    TEST(an_ordered_lane_sends_one_parcel_at_a_time_in_order),
    TEST(what_cannot_be_sent_in_order_holds_up_the_rest_unspent),
    TEST(what_is_refused_in_order_parks_alone),
    TEST(a_death_keeps_the_place_of_what_was_sent_in_order),
    TEST(a_clock_that_is_set_back_holds_up_no_timeless_lane),
    TEST(all_that_stands_in_a_timeless_lane_is_due),
    TEST(nothing_overtakes_what_another_node_sends),
    TEST(a_channel_may_be_ordered_by_its_definition),
};
PART(circuit_part, tests);
