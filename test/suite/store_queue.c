#include "fixture.h"

#include "store/attempt.h"

// What queue.h promises: claim, settle, renew, sweep and when something falls due.

#define PLAIN "{'id':'plain','eventKind':'visit','channel':'memory:default'}"
#define RETRIED                                                                                    \
    "{'id':'retried','eventKind':'visit','channel':'memory:default',"                              \
    "'retry':{'policy':'fixed','interval':'1m','max':1}}"
#define REMINDED                                                                                   \
    "{'id':'reminded','eventKind':'visit','channel':'memory:default','expireAfter':'3d',"          \
    "'schedule':{'reminders':['1d']},'retry':{'policy':'fixed','interval':'1m','max':0}}"

static Uuid made_by(const Accept *accept)
{
    return accept->items[0].pairs[0].delivery;
}

// visit hands in one event a millisecond after the last, so that ids are in the order of time.
static Uuid visit(Store *store)
{
    pass(store, SPAN_MILLISECOND);
    return made_by(take(store, TENANT, "{'kind':'visit'}"));
}

static size_t attempts_of(Store *store, Uuid id, AttemptView **ret)
{
    Seen seen;
    MUST(store, attempt_page(store->db, &store->arena, TENANT, id, &(Walk){ .limit = 100 }, ret,
                             &seen, &store->error));
    return seen.count;
}

static void release(Store *store, const Claim *taken)
{
    Settle rows[4];
    for (size_t i = 0; i < taken->count; i++) {
        QueueRow row = claimed_row(&taken->claimed[i]);
        rows[i] = settle_from(&row, delivery_release(&row.live, taken->claimed[i].was));
    }
    settle(store, rows, taken->count);
}

static void a_claim_says_all_it_takes_to_send(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Accept *accept = take(&store, TENANT,
                          "{'kind':'visit','occurredAt':'2025-12-31T23:00:00Z','payload':{'a':1},"
                          "'entity':'booking:1',"
                          "'recipient':{'address':'x@y','locale':'de','customerRef':'anna'}}");
    pass(&store, SPAN_SECOND);
    Claimed claimed = claim_one(&store, 1);
    CHECK(claimed.promise.tenant == TENANT && claimed.promise.lane == 1 &&
          claimed.was == DELIVERY_PENDING);
    CHECK(same_id(claimed.promise.id, made_by(accept)));
    CHECK(same_id(claimed.promise.event, accept->items[0].event.id));
    CHECK(str_eq(claimed.promise.public_id, accept->items[0].pairs[0].public_id));
    CHECK(claimed.promise.rule == 1 && claimed.promise.version == 1);
    CHECK(is_text(claimed.promise.address, "x@y") && is_text(claimed.promise.locale, "de"));
    CHECK(is_text(claimed.promise.customer_ref, "anna") && is_text(claimed.event_kind, "visit"));
    CHECK(is_text(claimed.promise.entity, "booking:1"));
    CHECK(claimed.promise.triggered_at == BEGINNING && claimed.promise.site == 0);
    CHECK(is_text(claimed.payload, "{\"a\":1}"));
    CHECK(claimed.origin.occurred_at == BEGINNING - SPAN_HOUR);
    CHECK(claimed.trigger && is_text(claimed.trigger->rule.id, "plain"));
    const Live *live = &claimed.live;
    CHECK(live->state == DELIVERY_SENDING && live->step == STEP_SEND);
    CHECK(live->fence == 1 && live->attempt == 1 && live->send == 1 && live->failures == 0);
    CHECK(live->started_at == now(&store) && live->lease_until == now(&store) + LEASE);
    CHECK(live->holder == NODE && live->due_at == BEGINNING);
    CHECK(live->first_due_at == BEGINNING && live->triggered_at == BEGINNING);

    // What is told is what is stored.
    Rows row = ask(&store,
                   "SELECT state, step, fence, attempt, send, due_at, lease_until, started_at,"
                   " holder FROM queue",
                   "", NULL);
    int64_t expected[] = { DELIVERY_SENDING, STEP_SEND,         1,           1,   1,
                           live->due_at,     live->lease_until, now(&store), NODE };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        CHECK(row.values[i].i64 == expected[i]);
}

static void a_claim_takes_what_each_lane_has_free(void)
{
    STORE(store);
    channel(&store, TENANT, "memory:slow");
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, "{'id':'slow','eventKind':'visit','channel':'memory:slow'}");
    for (int i = 0; i < 5; i++)
        visit(&store);
    int64_t slow = lane_of(&store, TENANT, "memory:slow");
    ClaimLane lanes[] = { { 1, 3, BYTES }, { slow, 1, BYTES }, { slow + 1, 9, BYTES } };
    Claim first = claim(&store, lanes, 3);
    size_t from_slow = 0;
    for (size_t i = 0; i < first.count; i++)
        from_slow += first.claimed[i].promise.lane == slow;
    CHECK(first.count == 4 && from_slow == 1);
    lanes[0].free = 0;
    lanes[1].free = 100;
    Claim second = claim(&store, lanes, 3);
    CHECK(second.count == 4);
    for (size_t i = 0; i < second.count; i++)
        CHECK(second.claimed[i].promise.lane == slow);
    CHECK(claim(&store, NULL, 0).count == 0);
    CHECK(claim_lane(&store, 1, 100).count == 2);
}

static void a_claim_takes_the_oldest_and_only_what_is_due(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid later[] = {
        made_by(take(&store, TENANT, "{'kind':'visit','occurredAt':'2026-01-01T03:00:00Z'}")),
        made_by(take(&store, TENANT, "{'kind':'visit','occurredAt':'2026-01-01T01:00:00Z'}")),
        made_by(take(&store, TENANT, "{'kind':'visit','occurredAt':'2026-01-01T02:00:00Z'}"))
    };
    CHECK(claim_lane(&store, 1, 9).count == 0);
    pass(&store, SPAN_HOUR - 1);
    CHECK(claim_lane(&store, 1, 9).count == 0);
    pass(&store, 1);
    Claimed first = claim_one(&store, 1);
    CHECK(same_id(first.promise.id, later[1]));
    pass(&store, 5 * SPAN_HOUR);
    Claim rest = claim_lane(&store, 1, 1);
    CHECK(rest.count == 1 && same_id(rest.claimed[0].promise.id, later[2]));
    rest = claim_lane(&store, 1, 9);
    CHECK(rest.count == 1 && same_id(rest.claimed[0].promise.id, later[0]));
}

// Payloads of 1,000 bytes, near enough: a claim stops before it has more than it may, but never
// at nothing.
static void a_claim_is_bounded_by_bytes(void)
{
    STORE(store);
    channel(&store, TENANT, "memory:slow");
    publish(&store, TENANT, PLAIN);
    publish(&store, TENANT, "{'id':'slow','eventKind':'visit','channel':'memory:slow'}");
    char filler[1001] = "";
    memset(filler, 'x', sizeof filler - 1);
    Str event = str_format(&store.arena, "{'kind':'visit','payload':{'a':'%s'}}", filler);
    for (int i = 0; i < 6; i++) {
        take(&store, TENANT, event.at);
        pass(&store, SPAN_MILLISECOND);
    }
    int64_t slow = lane_of(&store, TENANT, "memory:slow");
    ClaimLane lanes[] = { { 1, 9, 3500 }, { slow, 9, 10 } };
    Claim taken = claim(&store, lanes, 2);
    size_t from_slow = 0;
    for (size_t i = 0; i < taken.count; i++)
        from_slow += taken.claimed[i].promise.lane == slow;
    CHECK(taken.count == 4 && from_slow == 1);
    CHECK(taken.claimed[0].bytes == (int) taken.claimed[0].payload.len);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue WHERE state = 1") == 4);
    lanes[0].bytes = 2100;
    CHECK(claim(&store, lanes, 1).count == 2); // the next in order
    CHECK(claim(&store, lanes, 1).count == 1);
    CHECK(claim(&store, lanes, 1).count == 0);
}

static int by_id(const void *a, const void *b)
{
    return uuid_cmp(((const Claimed *) a)->promise.id, ((const Claimed *) b)->promise.id);
}

static void nothing_is_claimed_twice(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    for (int i = 0; i < 20; i++)
        visit(&store);
    Claimed all[40];
    size_t count = 0;
    for (Claim some; (some = claim_lane(&store, 1, 3)).count > 0;)
        for (size_t i = 0; i < some.count; i++)
            all[count++] = some.claimed[i];
    CHECK(count == 20);
    qsort(all, count, sizeof *all, by_id);
    for (size_t i = 1; i < count; i++)
        CHECK(!same_id(all[i - 1].promise.id, all[i].promise.id));
}

// Rival is a second node that claims while the first one's transaction is open.
typedef struct Rival {
    Store *store;
    Writer *writer;
    Claim ours, theirs;
    Err err;
} Rival;

static Err claim_here(Tx *tx, void *with, Error *error)
{
    Claim *claim = with;
    claim->lease_until = tx->now + LEASE;
    queue_claim(tx, claim);
    TRY(tx_sync(tx, error));
    return queue_claim_take(tx, claim, error);
}

static Err claim_and_let_the_other(Tx *tx, void *with, Error *error)
{
    Rival *rival = with;
    TRY(claim_here(tx, &rival->ours, error));
    rival->err = writer_run(rival->writer, claim_here, &rival->theirs, error);
    return ERR_OK;
}

static void two_nodes_share_a_lane(void)
{
    STORE(store);
    if (!suite_is_postgres())
        return; // one process has the file: there is no second node
    publish(&store, TENANT, PLAIN);
    for (int i = 0; i < 6; i++)
        visit(&store);
    Random random = random_seeded(43);
    WriterOptions options = { .url = store.url, .clock = &store.clock, .random = &random };
    ClaimLane lane = { 1, 4, BYTES };
    Claim wanted = { .lanes = &lane, .lane_count = 1, .node = NODE, .arena = &store.arena };
    Rival rival = { .store = &store, .ours = wanted, .theirs = wanted };
    rival.theirs.node = NODE + 1;
    MUST(&store, writer_open(&options, &rival.writer, &store.error));
    writer_set_node(rival.writer, NODE + 1);
    MUST(&store, writer_run(store.writer, claim_and_let_the_other, &rival, &store.error));
    CHECK(rival.err == ERR_OK && rival.ours.count == 4 && rival.theirs.count == 2);
    for (size_t i = 0; i < rival.theirs.count; i++)
        for (size_t k = 0; k < rival.ours.count; k++)
            CHECK(!same_id(rival.theirs.claimed[i].promise.id, rival.ours.claimed[k].promise.id));
    writer_close(rival.writer);
}

static void a_delivered_one_ends(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid id = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    pass(&store, SPAN_SECOND);
    Settle done = settle_of(&store, &claimed, VERDICT_DELIVERED, REASON_ACCEPTED);
    done.attempt.outcome.code = 200;
    done.attempt.outcome.provider_id = S("p-1");
    done.attempt.outcome.detail = S("thanks");
    settle(&store, &done, 1);
    CHECK(!done.is_stale);
    DeliveryView ended = view(&store, TENANT, id);
    CHECK(ended.state == DELIVERY_DELIVERED && ended.reason == REASON_ACCEPTED);
    CHECK(ended.ended_at == now(&store) && ended.last_sent_at == claimed.live.started_at);
    CHECK(ended.attempt == 1 && ended.send == 1 && ended.due_at == INSTANT_NONE);
    CHECK(ended.expires_at == INSTANT_NONE && !ended.last_error.at);

    AttemptView *log;
    CHECK(attempts_of(&store, id, &log) == 1);
    const AttemptRow *attempt = &log[0].attempt;
    CHECK(attempt->number == 1 && attempt->send == 1 && attempt->node == NODE);
    CHECK(attempt->started_at == claimed.live.started_at && attempt->finished_at == now(&store));
    CHECK(attempt->outcome.verdict == VERDICT_DELIVERED && attempt->outcome.code == 200);
    CHECK(attempt->outcome.reason == REASON_ACCEPTED);
    CHECK(is_text(attempt->outcome.provider_id, "p-1"));
    CHECK(is_text(attempt->outcome.detail, "thanks"));
    CHECK(claim_lane(&store, 1, 9).count == 0);
}

static void a_retry_keeps_its_send_and_counts_its_attempt(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_TRANSIENT);
    DeliveryView retrying = view(&store, TENANT, id);
    CHECK(retrying.state == DELIVERY_RETRYING && retrying.reason == REASON_UNWELL);
    CHECK(retrying.due_at == now(&store) + SPAN_MINUTE);
    pass(&store, SPAN_MINUTE - 1);
    CHECK(claim_lane(&store, 1, 1).count == 0);
    pass(&store, 1);
    claimed = claim_one(&store, 1);
    CHECK(claimed.was == DELIVERY_RETRYING && claimed.live.attempt == 2);
    CHECK(claimed.live.send == 1 && claimed.live.failures == 1);
    CHECK(view(&store, TENANT, id).send == 1 && view(&store, TENANT, id).attempt == 2);
    settle_one(&store, &claimed, VERDICT_TRANSIENT);
    DeliveryView parked = view(&store, TENANT, id);
    CHECK(parked.state == DELIVERY_PARKED && parked.reason == REASON_GAVE_UP);
    CHECK(parked.attempt == 2 && parked.send == 1 && is_text(parked.last_error, "unwell"));

    // A person's retry goes on counting attempts, and begins the same send again.
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_RETRY, "again") == ERR_OK);
    claimed = claim_one(&store, 1);
    CHECK(claimed.live.attempt == 3 && claimed.live.send == 1 && claimed.live.failures == 0);
}

static void a_reminder_is_the_next_send(void)
{
    STORE(store);
    publish(&store, TENANT, REMINDED);
    Uuid id = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    pass(&store, SPAN_SECOND);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    DeliveryView waiting = view(&store, TENANT, id);
    CHECK(waiting.state == DELIVERY_WAITING && waiting.reminders_left == 0);
    CHECK(waiting.due_at == claimed.live.started_at + SPAN_DAY);
    clock_set(&store.clock, waiting.due_at);
    claimed = claim_one(&store, 1);
    CHECK(claimed.was == DELIVERY_WAITING);
    CHECK(claimed.live.send == 2 && claimed.live.attempt == 2 && claimed.live.failures == 0);
    CHECK(view(&store, TENANT, id).send == 2 && view(&store, TENANT, id).attempt == 2);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    waiting = view(&store, TENANT, id);
    CHECK(waiting.state == DELIVERY_WAITING && waiting.due_at == INSTANT_NONE);
    CHECK(waiting.expires_at == claimed.live.started_at + 3 * SPAN_DAY);
    pass(&store, 3 * SPAN_DAY - 1);
    CHECK(claim_lane(&store, 1, 1).count == 0 && sweep(&store, false).expired == 0);
    pass(&store, 1);
    CHECK(sweep(&store, false).expired == 1);
    DeliveryView expired = view(&store, TENANT, id);
    CHECK(expired.state == DELIVERY_EXPIRED && expired.reason == REASON_QUIET);
    CHECK(expired.send == 2 && expired.last_sent_at == claimed.live.started_at);
}

// Six settles in one batch. All five deliveries lapsed once and are in their second attempt: the
// first ends, the second is reported of by its first attempt too, the third was cancelled, the
// fourth was answered, the fifth fails for good.
static void a_stale_settle_only_records_its_attempt(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    for (int i = 0; i < 5; i++)
        visit(&store);
    Claim first = claim_lane(&store, 1, 9);
    CHECK(first.count == 5);
    pass(&store, LEASE);
    CHECK(sweep(&store, false).lapsed == 5);
    pass(&store, SPAN_MINUTE);
    Claim second = claim_lane(&store, 1, 9);
    CHECK(second.count == 5);

    Settle rows[6];
    rows[0] = settle_of(&store, &first.claimed[1], VERDICT_PERMANENT, REASON_REFUSED);
    for (size_t i = 0; i < 5; i++)
        rows[i + 1] = settle_of(&store, &second.claimed[i],
                                i == 4 ? VERDICT_TRANSIENT : VERDICT_DELIVERED, REASON_ACCEPTED);
    CHECK(act(&store, TENANT, rows[3].id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    CHECK(act(&store, TENANT, rows[4].id, DELIVERY_ACTION_COMPLETE, NULL) == ERR_OK);
    settle(&store, rows, 6);
    static const bool is_stale[] = { true, false, false, true, true, false };
    static const DeliveryState state[] = { DELIVERY_DELIVERED, DELIVERY_DELIVERED,
                                           DELIVERY_DELIVERED, DELIVERY_CANCELLED,
                                           DELIVERY_COMPLETED, DELIVERY_PARKED };
    for (size_t i = 0; i < 6; i++) {
        AttemptView *log;
        CHECK(rows[i].is_stale == is_stale[i]);
        CHECK(view(&store, TENANT, rows[i].id).state == state[i]);
        CHECK(attempts_of(&store, rows[i].id, &log) == 2);
        CHECK(log[0].attempt.outcome.verdict == VERDICT_UNKNOWN); // what was told first stays
        CHECK(log[1].attempt.outcome.verdict == (i == 5 ? VERDICT_TRANSIENT : VERDICT_DELIVERED));
    }
}

static void a_cancelled_one_may_still_report(void)
{
    static const Verdict verdicts[] = { VERDICT_DELIVERED, VERDICT_TRANSIENT, VERDICT_PERMANENT };
    STORE(store);
    publish(&store, TENANT, RETRIED);
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        AttemptView *log;
        Uuid id = visit(&store);
        Claimed claimed = claim_one(&store, 1);
        CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, "stop") == ERR_OK);
        // Should nobody report any more, there is a record of the attempt all the same.
        CHECK(view(&store, TENANT, id).is_in_flight);
        CHECK(attempts_of(&store, id, &log) == 1 && log[0].attempt.number == 1);
        CHECK(log[0].attempt.outcome.verdict == VERDICT_UNKNOWN && log[0].attempt.node == NODE);
        CHECK(log[0].attempt.outcome.reason == REASON_CALLED_OFF);
        Settle late = settle_one(&store, &claimed, verdicts[i]);
        DeliveryView ended = view(&store, TENANT, id);
        CHECK(late.is_stale && ended.state == DELIVERY_CANCELLED && !ended.is_in_flight);
        CHECK(ended.reason == REASON_BY_OPERATOR && is_text(ended.note, "stop"));
        CHECK(attempts_of(&store, id, &log) == 1);
        CHECK(log[0].attempt.outcome.verdict == verdicts[i]);
    }
}

// One that was given back and claimed again has the same attempt number, but not the same fence.
static void only_who_made_a_called_off_attempt_tells_of_it(void)
{
    STORE(store);
    AttemptView *log;
    publish(&store, TENANT, PLAIN);
    Uuid id = visit(&store);
    Claim first = claim_lane(&store, 1, 1);
    release(&store, &first);
    Claimed second = claim_one(&store, 1);
    CHECK(second.live.attempt == 1 && second.live.fence == 2);
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    CHECK(settle_one(&store, &first.claimed[0], VERDICT_PERMANENT).is_stale);
    CHECK(attempts_of(&store, id, &log) == 1 && view(&store, TENANT, id).is_in_flight);
    CHECK(log[0].attempt.outcome.verdict == VERDICT_UNKNOWN);
    CHECK(settle_one(&store, &second, VERDICT_DELIVERED).is_stale);
    CHECK(settle_one(&store, &second, VERDICT_TRANSIENT).is_stale); // it was told
    CHECK(attempts_of(&store, id, &log) == 1 && !view(&store, TENANT, id).is_in_flight);
    CHECK(log[0].attempt.outcome.verdict == VERDICT_DELIVERED);
}

// Each of two is reported of twice, the second time together with one that is reported of for the
// first time: what was told first stays, and what is new is not held up.
static void a_second_report_of_an_attempt_changes_nothing(void)
{
    static const Verdict verdicts[] = { VERDICT_DELIVERED, VERDICT_TRANSIENT };
    STORE(store);
    publish(&store, TENANT, RETRIED);
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        AttemptView *log;
        visit(&store);
        visit(&store);
        Claim taken = claim_lane(&store, 1, 2);
        Settle rows[2];
        settle_one(&store, &taken.claimed[0], verdicts[i]);
        DeliveryState state = view(&store, TENANT, taken.claimed[0].promise.id).state;
        for (size_t k = 0; k < 2; k++)
            rows[k] = settle_of(&store, &taken.claimed[k], VERDICT_PERMANENT, REASON_REFUSED);
        settle(&store, rows, 2);
        CHECK(rows[0].is_stale && !rows[1].is_stale);
        CHECK(view(&store, TENANT, rows[0].id).state == state);
        CHECK(view(&store, TENANT, rows[1].id).state == DELIVERY_PARKED);
        CHECK(attempts_of(&store, rows[0].id, &log) == 1);
        CHECK(log[0].attempt.outcome.verdict == verdicts[i]);
    }
}

// A claim that was lost in a failover is made again under its number. What was told of it stands in
// the way of the insert and of nothing else.
static void an_attempt_that_is_on_record_holds_up_no_settle(void)
{
    STORE(store);
    AttemptView *log;
    publish(&store, TENANT, RETRIED);
    Uuid id = visit(&store);
    Claim lost = claim_lane(&store, 1, 1);
    release(&store, &lost);
    CHECK(settle_one(&store, &lost.claimed[0], VERDICT_PERMANENT).is_stale);
    Claimed again = claim_one(&store, 1);
    CHECK(again.live.attempt == 1);
    CHECK(!settle_one(&store, &again, VERDICT_TRANSIENT).is_stale);
    CHECK(view(&store, TENANT, id).state == DELIVERY_RETRYING);
    CHECK(attempts_of(&store, id, &log) == 1);
    CHECK(log[0].attempt.outcome.verdict == VERDICT_PERMANENT);
}

static bool same_attempt(const AttemptRow *a, const AttemptRow *b)
{
    const Outcome *x = &a->outcome, *y = &b->outcome;
    return a->number == b->number && a->send == b->send && a->started_at == b->started_at &&
           a->finished_at == b->finished_at && a->node == b->node && x->verdict == y->verdict &&
           x->reason == y->reason && x->code == y->code && str_eq(x->detail, y->detail) &&
           str_eq(x->provider_id, y->provider_id) && x->is_captured == y->is_captured;
}

// The attempt that ends a delivery stands there; revived, the delivery goes on and leaves it
// behind.
static void a_revival_leaves_its_attempt_on_record(void)
{
    STORE(store);
    AttemptView *log;
    publish(&store, TENANT, PLAIN);
    Uuid id = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    pass(&store, SPAN_SECOND);
    Settle parked = settle_of(&store, &claimed, VERDICT_PERMANENT, REASON_REFUSED);
    parked.attempt.outcome.code = 410;
    parked.attempt.outcome.provider_id = S("p-1");
    parked.attempt.outcome.detail = S("gone");
    parked.attempt.outcome.is_captured = true;
    settle(&store, &parked, 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM attempt") == 0);
    CHECK(attempts_of(&store, id, &log) == 1 && same_attempt(&log[0].attempt, &parked.attempt));

    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_RETRY, NULL) == ERR_OK);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM attempt") == 1);
    CHECK(attempts_of(&store, id, &log) == 1 && same_attempt(&log[0].attempt, &parked.attempt));
    CHECK(is_text(view(&store, TENANT, id).last_error, "gone"));

    // Ended without another attempt, the last error is still what it was.
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    CHECK(attempts_of(&store, id, &log) == 1 && same_attempt(&log[0].attempt, &parked.attempt));
    DeliveryView cancelled = view(&store, TENANT, id);
    CHECK(is_text(cancelled.last_error, "gone") && !cancelled.is_in_flight);
}

// Settled in one transaction with the next claim, as the engine does it.
static Err settle_and_claim(Tx *tx, void *with, Error *error)
{
    Rival *round = with;
    Settle late =
        settle_of(round->store, &round->theirs.claimed[0], VERDICT_DELIVERED, REASON_ACCEPTED);
    SettleBatch batch = { .rows = &late, .count = 1 };
    TRY(queue_settle(tx, &batch, error));
    TRY(claim_here(tx, &round->ours, error));
    TRY(queue_settle_check(tx, &batch, error));
    round->err = late.is_stale ? ERR_STALE : ERR_OK;
    return ERR_OK;
}

static void a_replayed_round_claims_once(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid id = visit(&store);
    ClaimLane lane = { 1, 5, BYTES };
    Rival round = { .store = &store, .theirs = claim_lane(&store, 1, 1) };
    round.ours = (Claim){ .lanes = &lane, .lane_count = 1, .node = NODE, .arena = &store.arena };
    Uuid next = visit(&store);
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    MUST(&store, writer_run(store.writer, settle_and_claim, &round, &store.error));
    CHECK(round.err == ERR_STALE && round.ours.count == 1);
    CHECK(same_id(round.ours.claimed[0].promise.id, next) &&
          round.ours.claimed[0].live.attempt == 1);
}

typedef struct Renewing {
    Renewal rows[4];
    size_t count;
    Instant until;
} Renewing;

static Err apply_renewing(Tx *tx, void *with, Error *error)
{
    Renewing *renewing = with;
    return queue_renew(tx, renewing->rows, renewing->count, renewing->until, error);
}

static void a_renewal_tells_what_is_lost(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    for (int i = 0; i < 4; i++)
        visit(&store);
    Claim taken = claim_lane(&store, 1, 4);
    CHECK(act(&store, TENANT, taken.claimed[1].promise.id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    settle_one(&store, &taken.claimed[2], VERDICT_TRANSIENT);
    pass(&store, LEASE - 1);
    Renewing renewing = { .count = 4, .until = now(&store) + LEASE };
    for (size_t i = 0; i < 4; i++)
        renewing.rows[i] = renewal_of(&taken.claimed[i]);
    renewing.rows[0].is_lost = true;
    renewing.rows[3].fence = 9;
    MUST(&store, writer_run(store.writer, apply_renewing, &renewing, &store.error));
    CHECK(!renewing.rows[0].is_lost && renewing.rows[1].is_lost);
    CHECK(renewing.rows[2].is_lost && renewing.rows[3].is_lost);
    pass(&store, 1);
    Sweep swept = sweep(&store, false); // only the one with the wrong fence lapses
    CHECK(swept.lapsed == 1 && swept.retried == 1);
    CHECK(view(&store, TENANT, taken.claimed[0].promise.id).state == DELIVERY_SENDING);
    CHECK(view(&store, TENANT, taken.claimed[3].promise.id).state == DELIVERY_RETRYING);
    pass(&store, LEASE - 1);
    CHECK(sweep(&store, false).lapsed == 1);
    renewing.count = 0;
    MUST(&store, writer_run(store.writer, apply_renewing, &renewing, &store.error));
}

static Err apply_opening(Tx *tx, void *with, Error *error)
{
    const QueueOpened *opened = with;
    (void) error;
    queue_open(tx, opened, 1);
    return ERR_OK;
}

// Whoever sends it has read the row before: what he settles must not take the look back.
static void a_look_is_noted_once_also_while_it_is_sent(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    visit(&store);
    Claim taken = claim_lane(&store, 1, 1);
    Uuid id = taken.claimed[0].promise.id;
    QueueOpened opened = { TENANT, id, now(&store) }, again = { TENANT, id, now(&store) + 5 };
    QueueOpened other = { TENANT + 1, id, now(&store) };
    MUST(&store, writer_run(store.writer, apply_opening, &other, &store.error));
    CHECK(view(&store, TENANT, id).opened_at == INSTANT_NONE);
    MUST(&store, writer_run(store.writer, apply_opening, &opened, &store.error));
    MUST(&store, writer_run(store.writer, apply_opening, &again, &store.error));
    CHECK(view(&store, TENANT, id).opened_at == opened.at);
    settle_one(&store, &taken.claimed[0], VERDICT_TRANSIENT);
    CHECK(view(&store, TENANT, id).state == DELIVERY_RETRYING);
    CHECK(view(&store, TENANT, id).opened_at == opened.at);
}

// Three that are given back: one as it was claimed, one whose lease went to another node, one that
// a person has ended.
static void a_released_claim_is_as_before_but_for_its_fence(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    for (int i = 0; i < 3; i++)
        visit(&store);
    Claim taken = claim_lane(&store, 1, 3);
    Uuid id = taken.claimed[0].promise.id;
    taken.claimed[1].live.holder = NODE + 1;
    CHECK(act(&store, TENANT, taken.claimed[2].promise.id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    release(&store, &taken);
    CHECK(view(&store, TENANT, id).state == DELIVERY_PENDING);
    CHECK(view(&store, TENANT, id).attempt == 0 && view(&store, TENANT, id).send == 0);
    CHECK(view(&store, TENANT, taken.claimed[1].promise.id).state == DELIVERY_SENDING);
    CHECK(view(&store, TENANT, taken.claimed[2].promise.id).state == DELIVERY_CANCELLED);
    AttemptView *log;
    CHECK(view(&store, TENANT, taken.claimed[2].promise.id).attempt == 0);
    CHECK(attempts_of(&store, taken.claimed[2].promise.id, &log) == 0); // it was never made

    // It may be claimed at once; who gave it back cannot settle it any more.
    Settle late = settle_of(&store, &taken.claimed[0], VERDICT_DELIVERED, REASON_ACCEPTED);
    late.has_attempt = false;
    Claimed again = claim_one(&store, 1);
    CHECK(same_id(again.promise.id, id) && again.live.fence == 2);
    CHECK(again.live.attempt == 1 && again.live.send == 1);
    settle(&store, &late, 1);
    CHECK(late.is_stale && view(&store, TENANT, id).state == DELIVERY_SENDING);
    settle_one(&store, &again, VERDICT_TRANSIENT);

    // A retry that is given back is still one.
    pass(&store, SPAN_MINUTE);
    taken = claim_lane(&store, 1, 1);
    CHECK(taken.count == 1 && taken.claimed[0].live.attempt == 2);
    release(&store, &taken);
    CHECK(view(&store, TENANT, id).state == DELIVERY_RETRYING);
    CHECK(view(&store, TENANT, id).attempt == 1 && view(&store, TENANT, id).send == 1);
}

// After a failover that lost a claim, two nodes may have the same fence: the holder tells.
static void a_settle_of_another_holder_changes_nothing(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    visit(&store);
    Claimed claimed = claim_one(&store, 1);
    Claimed other = claimed;
    other.live.holder = NODE + 1;
    Settle theirs = settle_of(&store, &other, VERDICT_PERMANENT, REASON_REFUSED);
    theirs.has_attempt = false;
    settle(&store, &theirs, 1);
    CHECK(theirs.is_stale && view(&store, TENANT, claimed.promise.id).state == DELIVERY_SENDING);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    CHECK(view(&store, TENANT, claimed.promise.id).state == DELIVERY_DELIVERED);
}

static void a_lapsed_lease_is_an_unknown_attempt(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit(&store);
    Claimed claimed = claim_one(&store, 1);
    pass(&store, LEASE - 1);
    CHECK(sweep(&store, false).lapsed == 0);
    pass(&store, 1);
    Sweep swept = sweep(&store, false);
    CHECK(swept.lapsed == 1 && swept.retried == 1 && swept.parked == 0 && swept.expired == 0);
    DeliveryView retrying = view(&store, TENANT, id);
    CHECK(retrying.state == DELIVERY_RETRYING && retrying.reason == REASON_LEASE_LAPSED);
    CHECK(retrying.due_at == now(&store) + SPAN_MINUTE);
    AttemptView *log;
    CHECK(attempts_of(&store, id, &log) == 1 && log[0].attempt.node == NODE);
    CHECK(log[0].attempt.outcome.verdict == VERDICT_UNKNOWN);
    CHECK(log[0].attempt.outcome.reason == REASON_LEASE_LAPSED);
    CHECK(log[0].attempt.started_at == claimed.live.started_at);
    CHECK(log[0].attempt.finished_at == now(&store));

    pass(&store, SPAN_MINUTE);
    claim_one(&store, 1);
    pass(&store, LEASE);
    swept = sweep(&store, false);
    CHECK(swept.lapsed == 1 && swept.retried == 0 && swept.parked == 1);
    CHECK(view(&store, TENANT, id).state == DELIVERY_PARKED);
    CHECK(attempts_of(&store, id, &log) == 2);
}

static void a_lapse_follows_the_version_it_was_made_under(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit(&store);
    publish(&store, TENANT,
            "{'id':'retried','eventKind':'visit','channel':'memory:default',"
            "'retry':{'policy':'fixed','interval':'1h','max':9}}");
    claim_one(&store, 1);
    pass(&store, LEASE);
    sweep(&store, false);
    CHECK(view(&store, TENANT, id).due_at == now(&store) + SPAN_MINUTE);
}

static void orphans_are_swept_at_once(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    for (int i = 0; i < 3; i++)
        visit(&store);
    claim_lane(&store, 1, 2);
    Sweep swept = sweep(&store, true);
    CHECK(swept.lapsed == 2 && swept.retried == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue WHERE state = 0") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM attempt WHERE verdict = 3") == 2);
    CHECK(sweep(&store, true).lapsed == 0);
}

static void a_parked_one_that_awaits_an_answer_expires(void)
{
    STORE(store);
    publish(&store, TENANT, REMINDED);
    publish(&store, TENANT, "{'id':'mute','eventKind':'note','channel':'memory:default'}");
    Uuid never_sent = visit(&store);
    Instant triggered = now(&store);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_PERMANENT);
    Uuid mute = made_by(take(&store, TENANT, "{'kind':'note'}"));
    claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_PERMANENT);
    CHECK(view(&store, TENANT, never_sent).expires_at == triggered + 3 * SPAN_DAY);
    CHECK(view(&store, TENANT, mute).expires_at == INSTANT_NONE);
    clock_set(&store.clock, triggered + 3 * SPAN_DAY - 1);
    CHECK(sweep(&store, false).expired == 0);
    pass(&store, 1);
    Sweep swept = sweep(&store, false);
    CHECK(swept.expired == 1 && swept.lapsed == 0);
    DeliveryView expired = view(&store, TENANT, never_sent);
    CHECK(expired.state == DELIVERY_EXPIRED && expired.reason == REASON_QUIET);
    CHECK(expired.ended_at == now(&store));
    pass(&store, 400 * SPAN_DAY);
    CHECK(sweep(&store, false).expired == 0);
    CHECK(view(&store, TENANT, mute).state == DELIVERY_PARKED);
}

static Err sweep_one(Tx *tx, void *with, Error *error)
{
    Sweep *sweep = with;
    sweep->lapsed = 0; // of an earlier try
    TRY(sweep_leases(tx, with, error));
    return sweep_others(tx, with, error);
}

static void a_sweep_keeps_to_its_limit(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    for (int i = 0; i < 5; i++)
        visit(&store);
    claim_lane(&store, 1, 5);
    pass(&store, LEASE);
    int lapsed = 0;
    for (int i = 0; i < 3; i++) {
        Sweep some = { .lanes = (const int64_t[]){ 1 }, .lane_count = 1, .limit = 2 };
        MUST(&store, writer_run(store.writer, sweep_one, &some, &store.error));
        CHECK(some.lapsed == (i < 2 ? 2 : 1));
        lapsed += some.lapsed;
    }
    CHECK(lapsed == 5);
}

static QueueNext next_of(Store *store, const int64_t *lanes, size_t count)
{
    QueueNext next = { .lanes = lanes, .lane_count = count, .arena = &store->arena };
    queue_next(store->db, &next);
    MUST(store, db_sync(store->db, &store->error));
    queue_next_take(&next);
    return next;
}

static void the_next_due_moments_are_told(void)
{
    STORE(store);
    channel(&store, TENANT, "memory:slow");
    publish(&store, TENANT, REMINDED);
    int64_t lanes[] = { 1, lane_of(&store, TENANT, "memory:slow") };
    QueueNext next = next_of(&store, lanes, 2);
    CHECK(next.lane_due[0] == INSTANT_NONE && next.lane_due[1] == INSTANT_NONE);
    CHECK(next.sweep_due == INSTANT_NONE);
    take(&store, TENANT, "{'kind':'visit','occurredAt':'2026-01-01T03:00:00Z'}");
    take(&store, TENANT, "{'kind':'visit','occurredAt':'2026-01-01T02:00:00Z'}");
    next = next_of(&store, lanes, 2);
    CHECK(next.lane_due[0] == BEGINNING + 2 * SPAN_HOUR && next.lane_due[1] == INSTANT_NONE);
    pass(&store, 2 * SPAN_HOUR);
    Claimed claimed = claim_one(&store, 1);
    next = next_of(&store, lanes, 2);
    CHECK(next.lane_due[0] == BEGINNING + 3 * SPAN_HOUR);
    CHECK(next.sweep_due == INSTANT_NONE);           // leases are looked for, not waited for
    settle_one(&store, &claimed, VERDICT_PERMANENT); // parked, and may still expire
    next = next_of(&store, lanes, 2);
    CHECK(next.sweep_due == BEGINNING + 3 * SPAN_DAY);
    CHECK(next_of(&store, lanes, 0).sweep_due == BEGINNING + 3 * SPAN_DAY);
}

static const Test tests[] = {
    TEST(a_claim_says_all_it_takes_to_send),
    TEST(a_claim_takes_what_each_lane_has_free),
    TEST(a_claim_takes_the_oldest_and_only_what_is_due),
    TEST(a_claim_is_bounded_by_bytes),
    TEST(nothing_is_claimed_twice),
    TEST(two_nodes_share_a_lane),
    TEST(a_delivered_one_ends),
    TEST(a_retry_keeps_its_send_and_counts_its_attempt),
    TEST(a_reminder_is_the_next_send),
    TEST(a_stale_settle_only_records_its_attempt),
    TEST(a_cancelled_one_may_still_report),
    TEST(only_who_made_a_called_off_attempt_tells_of_it),
    TEST(a_second_report_of_an_attempt_changes_nothing),
    TEST(an_attempt_that_is_on_record_holds_up_no_settle),
    TEST(a_revival_leaves_its_attempt_on_record),
    TEST(a_replayed_round_claims_once),
    TEST(a_renewal_tells_what_is_lost),
    TEST(a_look_is_noted_once_also_while_it_is_sent),
    TEST(a_released_claim_is_as_before_but_for_its_fence),
    TEST(a_settle_of_another_holder_changes_nothing),
    TEST(a_lapsed_lease_is_an_unknown_attempt),
    TEST(a_lapse_follows_the_version_it_was_made_under),
    TEST(orphans_are_swept_at_once),
    TEST(a_parked_one_that_awaits_an_answer_expires),
    TEST(a_sweep_keeps_to_its_limit),
    TEST(the_next_due_moments_are_told),
};
PART(queue_part, tests);
