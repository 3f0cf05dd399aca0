#include "fixture.h"

#include "store/attempt.h"
#include "store/meta.h"
#include "store/report.h"

// What target.h, queue_pull() and report.h promise: deliveries with several targets, and those that
// somebody outside has.

#define PLAIN "{'id':'plain','eventKind':'visit','channel':'memory:default'}"
#define RETRIED                                                                                    \
    "{'id':'retried','eventKind':'visit','channel':'memory:default',"                              \
    "'retry':{'policy':'fixed','interval':'1m','max':1}}"
#define REMINDED                                                                                   \
    "{'id':'reminded','eventKind':'visit','channel':'memory:default','expireAfter':'3d',"          \
    "'schedule':{'reminders':['1d']},'retry':{'policy':'fixed','interval':'1m','max':3}}"

enum { HOURS = 5 };

static Uuid visit(Store *store)
{
    pass(store, SPAN_MILLISECOND);
    return take(store, TENANT, "{'kind':'visit'}")->items[0].pairs[0].delivery;
}

typedef struct Addressed {
    Uuid id;
    int count;
} Addressed;

static Err apply_targets(Tx *tx, void *with, Error *error)
{
    const Addressed *to = with;
    TargetRow rows[TARGETS_MAX] = { 0 };
    for (int i = 0; i < to->count; i++)
        rows[i] = (TargetRow){ .tenant = TENANT,
                               .delivery = to->id,
                               .target = { .n = i + 1,
                                           .address = str_format(&tx->arena, "to%d", i + 1) } };
    target_insert(tx, rows, (size_t) to->count);
    return tx_sync(tx, error);
}

// visit_of is a delivery with so many targets.
static Uuid visit_of(Store *store, int count)
{
    Addressed to = { visit(store), count };
    MUST(store, writer_run(store->writer, apply_targets, &to, &store->error));
    return to.id;
}

static Claimed claim_with_targets(Store *store)
{
    ClaimLane lane = { .lane = 1, .free = 9, .bytes = BYTES, .has_targets = true };
    Claim taken = claim(store, &lane, 1);
    MUST(store, taken.count == 1 ? ERR_OK : ERR_INTERNAL);
    return taken.claimed[0];
}

// tell settles a claim of several targets: verdicts has a letter for each that is not done.
static Settle tell(Store *store, Claimed *claimed, const char *verdicts)
{
    size_t count = claimed->target_count;
    for (size_t i = 0; i < count; i++) {
        Target *target = &claimed->targets[i];
        char letter = verdicts[i];
        target->send = claimed->live.send;
        target->outcome = (Outcome){ .verdict = letter == 'd'   ? VERDICT_DELIVERED
                                                : letter == 't' ? VERDICT_TRANSIENT
                                                : letter == 'e' ? VERDICT_ELSEWHERE
                                                                : VERDICT_PERMANENT,
                                     .reason = letter == 'd' ? REASON_ACCEPTED : REASON_REFUSED,
                                     .lease = letter == 'e' ? HOURS * SPAN_HOUR : 0,
                                     .detail = S("so it said") };
    }
    CHECK(count == strlen(verdicts));
    Outcome outcome = outcome_fold(&store->arena, claimed->targets, count, &claimed->others);
    const Rule *rule = &claimed->trigger->rule;
    RetryPolicy policy = rule->has_retry ? rule->retry : retry_default();
    Settlement to = delivery_settle(&claimed->live, &rule->plan, &policy, &outcome, now(store), 0);
    QueueRow row = claimed_row(claimed);
    Settle settled = outcome.verdict == VERDICT_ELSEWHERE
                         ? settle_from(&row, to)
                         : settle_tried(&row, to, &outcome, now(store));
    settled.targets = claimed->targets;
    settled.target_count = count;
    settle(store, &settled, 1);
    return settled;
}

// todo lists the numbers of the targets that a claim is to be sent to.
static const char *todo(Store *store, const Claimed *claimed)
{
    Buf list = buf_new(&store->arena, 100);
    for (size_t i = 0; i < claimed->target_count; i++)
        buf_add_format(&list, "%lld", (long long) claimed->targets[i].n);
    return str_z(&store->arena, buf_str(&list));
}

static void a_retry_goes_to_those_that_have_it_not(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit_of(&store, 3);
    Claimed claimed = claim_with_targets(&store);
    CHECK(claimed.target_count == 3 && strcmp(todo(&store, &claimed), "123") == 0);
    CHECK(is_text(claimed.targets[2].address, "to3"));
    tell(&store, &claimed, "dtp");
    CHECK(view(&store, TENANT, id).state == DELIVERY_RETRYING);

    pass(&store, SPAN_MINUTE);
    claimed = claim_with_targets(&store);
    CHECK(strcmp(todo(&store, &claimed), "2") == 0);
    tell(&store, &claimed, "d");
    DeliveryView parked = view(&store, TENANT, id);
    CHECK(parked.state == DELIVERY_PARKED && parked.reason == REASON_PARTLY_DELIVERED);

    // A person's retry goes to those that have it not, though they refused.
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_RETRY, NULL) == ERR_OK);
    claimed = claim_with_targets(&store);
    CHECK(strcmp(todo(&store, &claimed), "3") == 0);
    tell(&store, &claimed, "d");
    CHECK(view(&store, TENANT, id).state == DELIVERY_DELIVERED);
    TargetRow *rows;
    Seen seen;
    Walk walk = { .limit = 9 };
    MUST(&store,
         target_page(store.db, &store.arena, TENANT, id, &walk, &rows, &seen, &store.error));
    CHECK(seen.count == 3 && rows[0].told_at < rows[1].told_at && rows[2].told_at == now(&store));
    CHECK(is_text(rows[0].target.outcome.detail, "so it said") && rows[2].target.n == 3);
}

static void a_reminder_goes_to_all(void)
{
    STORE(store);
    publish(&store, TENANT, REMINDED);
    visit_of(&store, 2);
    Claimed claimed = claim_with_targets(&store);
    tell(&store, &claimed, "dd");
    pass(&store, SPAN_DAY);
    claimed = claim_with_targets(&store);
    CHECK(claimed.live.send == 2 && strcmp(todo(&store, &claimed), "12") == 0);
    tell(&store, &claimed, "td");
    pass(&store, SPAN_MINUTE);
    claimed = claim_with_targets(&store);
    CHECK(strcmp(todo(&store, &claimed), "1") == 0);
    tell(&store, &claimed, "d");
}

static void targets_are_read_where_they_may_be_and_belong_to_their_own(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Uuid two = visit_of(&store, 2), none = visit(&store), three = visit_of(&store, 3);
    ClaimLane lane = { .lane = 1, .free = 9, .bytes = BYTES, .has_targets = true };
    Claim taken = claim(&store, &lane, 1);
    CHECK(taken.count == 3);
    for (size_t i = 0; i < taken.count; i++) {
        const Claimed *claimed = &taken.claimed[i];
        size_t expected = same_id(claimed->promise.id, two)     ? 2
                          : same_id(claimed->promise.id, three) ? 3
                                                                : 0;
        CHECK(claimed->target_count == expected);
        CHECK(expected || same_id(claimed->promise.id, none));
        settle_one(&store, claimed, VERDICT_DELIVERED);
    }
    visit_of(&store, 2);
    CHECK(claim_one(&store, 1).target_count == 0); // its lane's type has none
}

static void what_is_called_off_under_way_tells_of_its_targets(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit_of(&store, 2);
    Claimed claimed = claim_with_targets(&store);
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    CHECK(tell(&store, &claimed, "dt").is_stale);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM target WHERE told_at IS NOT NULL") == 2);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM target WHERE verdict = 0") == 1);
}

static void a_stale_settle_tells_nothing_of_targets(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    visit_of(&store, 2);
    Claimed claimed = claim_with_targets(&store);
    CHECK(!tell(&store, &claimed, "dt").is_stale);
    CHECK(tell(&store, &claimed, "td").is_stale);
    CHECK(ask_i64(&store, "SELECT n FROM target WHERE verdict = 0") == 1);
}

// Pulling

static Err apply_pull(Tx *tx, void *with, Error *error)
{
    Claim *claim = with;
    claim->lease_until = tx->now + HOURS * SPAN_HOUR;
    return queue_pull(tx, claim, error);
}

static Claim pull(Store *store, int free)
{
    static ClaimLane lane;
    lane = (ClaimLane){ .lane = 1, .free = free, .bytes = (int64_t) BYTES * 100 };
    Claim claim = { .lanes = &lane, .lane_count = 1, .arena = &store->arena };
    MUST(store, writer_run(store->writer, apply_pull, &claim, &store->error));
    return claim;
}

typedef struct Reports {
    Report *at;
    size_t count;
} Reports;

static Err apply_reports(Tx *tx, void *with, Error *error)
{
    const Reports *reports = with;
    return queue_report(tx, reports->at, reports->count, error);
}

static void report_all(Store *store, Report *at, size_t count)
{
    Reports reports = { at, count };
    MUST(store, writer_run(store->writer, apply_reports, &reports, &store->error));
}

static Report report_of(const Claimed *claimed, Verdict verdict)
{
    return (Report){ .tenant = TENANT,
                     .id = claimed->promise.id,
                     .fence = claimed->live.fence,
                     .outcome = { .verdict = verdict,
                                  .reason = verdict == VERDICT_DELIVERED ? REASON_ACCEPTED
                                                                         : REASON_UNWELL,
                                  .detail = S("told") } };
}

static Report report(Store *store, const Claimed *claimed, Verdict verdict)
{
    Report told = report_of(claimed, verdict);
    report_all(store, &told, 1);
    return told;
}

static Report renew(Store *store, const Claimed *claimed, Span lease)
{
    Report told = { .tenant = TENANT,
                    .id = claimed->promise.id,
                    .fence = claimed->live.fence,
                    .is_renewal = true,
                    .lease_until = now(store) + lease };
    report_all(store, &told, 1);
    return told;
}

static size_t attempts_of(Store *store, Uuid id, AttemptView **ret)
{
    Seen seen;
    MUST(store, attempt_page(store->db, &store->arena, TENANT, id, &(Walk){ .limit = 100 }, ret,
                             &seen, &store->error));
    return seen.count;
}

static bool is_same(const Live *a, const Live *b)
{
    return a->state == b->state && a->step == b->step && a->due_at == b->due_at &&
           a->fence == b->fence && a->attempt == b->attempt && a->failures == b->failures &&
           a->send == b->send && a->reminders_left == b->reminders_left &&
           a->first_due_at == b->first_due_at && a->started_at == b->started_at &&
           a->lease_until == b->lease_until && a->holder == b->holder;
}

static void what_is_pulled_is_claimed_as_the_domain_says(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit(&store);
    Rows before = ask(&store, "SELECT " STANDING_COLUMNS("") " FROM queue", "", NULL);
    QueueRow was, is;
    queue_read(before.values, &was);
    Claim taken = pull(&store, 9);
    CHECK(taken.count == 1 && same_id(taken.claimed[0].promise.id, id));
    Rows after = ask(&store, "SELECT " STANDING_COLUMNS("") " FROM queue", "", NULL);
    queue_read(after.values, &is);
    Live expected = delivery_pull(&was.live, now(&store), now(&store) + HOURS * SPAN_HOUR);
    CHECK(is_same(&is.live, &expected) && is_same(&taken.claimed[0].live, &expected));
    CHECK(view(&store, TENANT, id).state == DELIVERY_SENDING);
}

static void what_was_pulled_is_reported_by_its_fence(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    for (int i = 0; i < 4; i++)
        visit(&store);
    Claim taken = pull(&store, 4);
    CHECK(taken.count == 4);
    Report reports[4];
    for (size_t i = 0; i < 4; i++)
        reports[i] =
            report_of(&taken.claimed[i], (Verdict[]){ VERDICT_DELIVERED, VERDICT_TRANSIENT,
                                                      VERDICT_PERMANENT, VERDICT_DELIVERED }[i]);
    reports[3].fence++;
    pass(&store, SPAN_MINUTE);
    report_all(&store, reports, 4);
    static const DeliveryState states[] = { DELIVERY_DELIVERED, DELIVERY_RETRYING, DELIVERY_PARKED,
                                            DELIVERY_SENDING };
    for (size_t i = 0; i < 4; i++) {
        AttemptView *log;
        Uuid id = taken.claimed[i].promise.id;
        CHECK(reports[i].is_stale == (i == 3) && view(&store, TENANT, id).state == states[i]);
        CHECK(attempts_of(&store, id, &log) == (i == 3 ? 0 : 1));
        if (i == 3)
            continue;
        CHECK(reports[i].to.live.state == states[i] && !log[0].attempt.node);
        CHECK(log[0].attempt.finished_at - log[0].attempt.started_at == SPAN_MINUTE);
        CHECK(is_text(log[0].attempt.outcome.detail, "told"));
    }
    Report late = report(&store, &taken.claimed[0], VERDICT_TRANSIENT);
    CHECK(late.is_stale);
    CHECK(view(&store, TENANT, taken.claimed[0].promise.id).state == DELIVERY_DELIVERED);
}

static void what_is_told_twice_is_repeated(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    visit(&store);
    visit(&store);
    Claim taken = pull(&store, 2);
    Report three[] = { report_of(&taken.claimed[0], VERDICT_DELIVERED),
                       report_of(&taken.claimed[1], VERDICT_TRANSIENT),
                       report_of(&taken.claimed[0], VERDICT_DELIVERED) };
    report_all(&store, three, 3); // one after the other, though they come together
    CHECK(!three[0].is_stale && !three[1].is_stale && !three[0].is_repeated);
    CHECK(three[2].is_stale && three[2].is_repeated);
    CHECK(three[2].to.live.state == DELIVERY_DELIVERED);
    CHECK(report(&store, &taken.claimed[1], VERDICT_TRANSIENT).is_repeated);
    CHECK(!report(&store, &taken.claimed[1], VERDICT_DELIVERED).is_repeated);
    CHECK(!renew(&store, &taken.claimed[0], SPAN_HOUR).is_repeated);

    pass(&store, SPAN_MINUTE);
    Claim again = pull(&store, 1); // of the next claim nothing was told yet
    Report told = report(&store, &taken.claimed[1], VERDICT_TRANSIENT);
    CHECK(again.count == 1 && told.is_stale && !told.is_repeated && !told.is_missing);
    Report lost = report_of(&again.claimed[0], VERDICT_DELIVERED);
    lost.id.b[15] ^= 1;
    report_all(&store, &lost, 1);
    CHECK(lost.is_missing && lost.is_stale);
}

static void who_is_limited_to_lanes_tells_of_no_others(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit(&store);
    Claim taken = pull(&store, 1);
    int64_t lanes[] = { 7, 1 };
    Report told = report_of(&taken.claimed[0], VERDICT_DELIVERED);
    told.lanes = lanes;
    told.lane_count = 1;
    report_all(&store, &told, 1);
    CHECK(told.is_barred && told.is_stale && view(&store, TENANT, id).state == DELIVERY_SENDING);
    told.lane_count = 2;
    report_all(&store, &told, 1);
    CHECK(!told.is_barred && !told.is_stale);
    told.lane_count = 0;
    report_all(&store, &told, 1);
    CHECK(told.is_barred && !told.is_repeated);
}

static void a_report_may_name_the_attempt_and_nobody_elses_tenant(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    visit(&store);
    Claim taken = pull(&store, 1);
    Report other = report_of(&taken.claimed[0], VERDICT_DELIVERED);
    other.tenant = tenant_new(&store, "other");
    report_all(&store, &other, 1);
    CHECK(other.is_stale);
    Report told = report_of(&taken.claimed[0], VERDICT_DELIVERED);
    told.fence = 0;
    told.attempt = 2;
    report_all(&store, &told, 1);
    CHECK(told.is_stale);
    told.attempt = 1;
    report_all(&store, &told, 1);
    CHECK(!told.is_stale && told.to.live.state == DELIVERY_DELIVERED);
}

static void what_a_node_sends_is_not_reported_from_outside(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    visit(&store);
    Claimed claimed = claim_one(&store, 1);
    CHECK(report(&store, &claimed, VERDICT_DELIVERED).is_stale);
    CHECK(view(&store, TENANT, claimed.promise.id).state == DELIVERY_SENDING);
}

static void a_sign_of_life_keeps_the_lease(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit(&store);
    Claim taken = pull(&store, 1);
    const Claimed *claimed = &taken.claimed[0];
    pass(&store, 4 * SPAN_HOUR);
    CHECK(!renew(&store, claimed, SPAN_MINUTE).is_stale); // never shorter
    pass(&store, 59 * SPAN_MINUTE);
    Report kept = renew(&store, claimed, 2 * SPAN_HOUR);
    CHECK(!kept.is_stale && kept.to.live.lease_until == now(&store) + 2 * SPAN_HOUR);
    pass(&store, 2 * SPAN_HOUR - 1);
    CHECK(sweep(&store, true).lapsed == 0); // though the process is alone, and new
    CHECK(view(&store, TENANT, id).attempt == 1);
    pass(&store, 1);
    Sweep swept = sweep(&store, false);
    CHECK(swept.lapsed == 1 && swept.retried == 1 && swept.expired == 0);
    AttemptView *log;
    CHECK(attempts_of(&store, id, &log) == 1);
    CHECK(log[0].attempt.outcome.verdict == VERDICT_UNKNOWN);
    CHECK(log[0].attempt.outcome.reason == REASON_LEASE_LAPSED);
    CHECK(view(&store, TENANT, id).state == DELIVERY_RETRYING);
    CHECK(renew(&store, claimed, SPAN_HOUR).is_stale);
    CHECK(report(&store, claimed, VERDICT_DELIVERED).is_stale);
    CHECK(view(&store, TENANT, id).state == DELIVERY_RETRYING);
    CHECK(attempts_of(&store, id, &log) == 1 && log[0].attempt.outcome.verdict == VERDICT_UNKNOWN);
    pass(&store, SPAN_MINUTE);
    CHECK(claim_one(&store, 1).live.attempt == 2); // it is in its lane again
}

static void what_is_outside_can_be_called_off_and_told_of(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    static const DeliveryAction actions[] = { DELIVERY_ACTION_CANCEL, DELIVERY_ACTION_COMPLETE };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        AttemptView *log;
        Uuid id = visit(&store);
        Claim taken = pull(&store, 1);
        CHECK(act(&store, TENANT, id, actions[i], NULL) == ERR_OK);
        CHECK(delivery_is_final(view(&store, TENANT, id).state));
        CHECK(attempts_of(&store, id, &log) == 1);
        CHECK(log[0].attempt.outcome.reason == REASON_CALLED_OFF);
        DeliveryState ended = view(&store, TENANT, id).state;
        CHECK(report(&store, &taken.claimed[0], VERDICT_DELIVERED).is_stale);
        CHECK(view(&store, TENANT, id).state == ended && attempts_of(&store, id, &log) == 1);
        CHECK(log[0].attempt.outcome.verdict == VERDICT_DELIVERED);
        CHECK(is_text(log[0].attempt.outcome.detail, "told"));
    }
}

// The clock was put back since he had it: an attempt does not end before it began.
static void what_was_called_off_is_told_of_by_a_clock_put_back(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    visit(&store);
    Claim claim = pull(&store, 1);
    Uuid id = claim.claimed[0].promise.id;
    CHECK(act(&store, TENANT, id, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    clock_set(&store.clock, now(&store) - SPAN_MINUTE);
    CHECK(report(&store, &claim.claimed[0], VERDICT_DELIVERED).is_stale);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM ended WHERE verdict = 0"
                          " AND finished_at = started_at") == 1);
}

static void some_targets_may_be_elsewhere(void)
{
    STORE(store);
    publish(&store, TENANT, RETRIED);
    Uuid id = visit_of(&store, 4);
    Claimed claimed = claim_with_targets(&store);
    tell(&store, &claimed, "dtep");
    CHECK(view(&store, TENANT, id).state == DELIVERY_SENDING);
    CHECK(ask_i64(&store, "SELECT step FROM queue") == STEP_LEASE);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM attempt") == 0); // it is not over
    Report told = report(&store, &claimed, VERDICT_DELIVERED);
    CHECK(!told.is_stale && told.to.live.state == DELIVERY_RETRYING); // one failed for now
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM target WHERE detail = 'told'") == 1);
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM target WHERE detail = 'so it said'") == 3);
    pass(&store, SPAN_MINUTE);
    claimed = claim_with_targets(&store);
    CHECK(strcmp(todo(&store, &claimed), "2") == 0);
    tell(&store, &claimed, "d");
    CHECK(view(&store, TENANT, id).reason == REASON_PARTLY_DELIVERED);
}

static Err apply_hold(Tx *tx, void *with, Error *error)
{
    TRY(tx_sync(tx, error));
    meta_put(tx, META_HOLD, str_from(with));
    tx->changes_definitions = true;
    return ERR_OK;
}

static void a_held_store_is_not_pulled_from(void)
{
    STORE(store);
    char reason[] = "for the test";
    publish(&store, TENANT, RETRIED);
    visit(&store);
    visit(&store);
    Claim taken = pull(&store, 1);
    CHECK(taken.count == 1);
    MUST(&store, writer_run(store.writer, apply_hold, reason, &store.error));
    CHECK(pull(&store, 1).count == 0);
    CHECK(!report(&store, &taken.claimed[0], VERDICT_DELIVERED).is_stale); // it was sent before
}

// Long leases are in nobody's way: a claim behind ten thousand of them reads what it takes.
static void a_claim_reads_past_no_long_lease(void)
{
    STORE(store);
    publish(&store, TENANT, PLAIN);
    Buf list = buf_new(&store.arena, 1u << 20);
    for (int i = 0; i < 10000; i++)
        buf_add(&list, i ? S(",{'kind':'visit'}") : S("[{'kind':'visit'}"));
    buf_add(&list, S("]"));
    take(&store, TENANT, str_z(&store.arena, buf_str(&list)));
    for (int i = 0; i < 10; i++)
        CHECK(pull(&store, 1000).count == 1000);
    for (int i = 0; i < 5; i++)
        visit(&store);
    // As the claim picks them.
    Rows plan = ask(&store,
                    suite_is_postgres()
                        ? "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM"
                          " queue WHERE lane = 1 AND step = 1 AND state <> 1 AND"
                          " due_at <= 9000000000000000 ORDER BY due_at, id LIMIT 9"
                        : "EXPLAIN QUERY PLAN SELECT id FROM queue WHERE lane = 1 AND step = 1"
                          " AND state <> 1 AND due_at <= 9000000000000000"
                          " ORDER BY due_at, id LIMIT 9",
                    "", NULL);
    Buf text = buf_new(&store.arena, 10000);
    for (size_t i = 0; i < plan.count; i++) {
        buf_add(&text, value_to_str(&rows_at(&plan, i)[plan.columns - 1]));
        buf_add_char(&text, '\n');
    }
    const char *shown = str_z(&store.arena, buf_str(&text));
    CHECK_AT(shown, strstr(shown, "queue_send") && !strstr(shown, "Removed by Filter"));
    CHECK_AT(shown, !suite_is_postgres() || strstr(shown, "rows=5 "));
    // The index that it walks has no others.
    CHECK(ask_i64(&store, "SELECT COUNT(*) FROM queue WHERE lane = 1 AND step = 1") == 5);
    Claim taken = claim_lane(&store, 1, 9);
    CHECK(taken.count == 5);
    CHECK(sweep(&store, true).lapsed == 5); // as of a node that is gone, and no others
}

static const Test tests[] = {
    TEST(a_retry_goes_to_those_that_have_it_not),
    TEST(a_reminder_goes_to_all),
    TEST(targets_are_read_where_they_may_be_and_belong_to_their_own),
    TEST(what_is_called_off_under_way_tells_of_its_targets),
    TEST(a_stale_settle_tells_nothing_of_targets),
    TEST(what_is_pulled_is_claimed_as_the_domain_says),
    TEST(what_was_pulled_is_reported_by_its_fence),
    TEST(what_is_told_twice_is_repeated),
    TEST(who_is_limited_to_lanes_tells_of_no_others),
    TEST(a_report_may_name_the_attempt_and_nobody_elses_tenant),
    TEST(what_a_node_sends_is_not_reported_from_outside),
    TEST(a_sign_of_life_keeps_the_lease),
    TEST(what_is_outside_can_be_called_off_and_told_of),
    TEST(what_was_called_off_is_told_of_by_a_clock_put_back),
    TEST(some_targets_may_be_elsewhere),
    TEST(a_held_store_is_not_pulled_from),
    TEST(a_claim_reads_past_no_long_lease),
};
PART(outside_part, tests);
