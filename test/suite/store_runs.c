#include "fixture.h"

#include "store/definition.h"
#include "store/event.h"
#include "store/execution.h"
#include "store/follow.h"
#include "store/report.h"
#include "store/rule.h"

// What follow.h promises: the end of a run is an event, once, with what ended it. What execution.h
// and the filters of delivery.h promise: the tries of a job's runs, and which of them are dead.

#define TOLD "{'id':'told','eventKind':'job-completed','channel':'memory:default'}"

static Err apply_name(Tx *tx, void *with, Error *error)
{
    Rule *rule = with;
    TRY(definition_lock(tx, error));
    TRY(rule_ensure(tx, TENANT, rule->kind, rule->id, error));
    return rule_number(tx->db, &tx->arena, TENANT, rule->kind, rule->id, &rule->number, error);
}

// job_named is a rule of which nothing is known but its name.
static Trigger *job_named(Store *store, RuleKind kind, const char *name)
{
    Trigger *job = ARENA_NEW(&store->arena, Trigger);
    *job = (Trigger){ .rule = rule_default(kind, str_from(name)), .enabled = true };
    job->rule.tenant = TENANT;
    job->rule.lane = 1;
    MUST(store, writer_run(store->writer, apply_name, &job->rule, &store->error));
    return job;
}

// run_deep makes a run of a job, of an event that stems from so many others.
static Uuid run_deep(Store *store, Trigger *job, const char *event, int depth)
{
    pass(store, SPAN_MILLISECOND);
    Accept *accept = accept_of(store, TENANT, event);
    const Trigger **named = ARENA_ARRAY(&store->arena, const Trigger *, 1);
    named[0] = job;
    accept->depth = depth;
    for (size_t i = 0; i < accept->count; i++) {
        accept->items[i].named = named;
        accept->items[i].named_count = 1;
    }
    take_in(store, accept);
    MUST(store, take_err(accept));
    return accept->items[0].pairs[0].delivery;
}

static Uuid run(Store *store, Trigger *job)
{
    return run_deep(store, job,
                    "{'kind':'job','source':'deferred','entity':'booking:7','payload':{}}", 0);
}

static int64_t events_of(Store *store, const char *kind)
{
    Value args[] = { value_text(str_from(kind)) };
    return value_to_i64(ask(store, "SELECT COUNT(*) FROM event WHERE kind = $1", "t", args).values);
}

static Event last_event(Store *store, const char *kind)
{
    Event *events;
    Seen seen;
    EventFilter filter = { .kind = str_from(kind), .to = INSTANT_NONE };
    MUST(store, event_page(store->db, &store->arena, TENANT, &filter, &(Walk){ .limit = 1 },
                           &events, &seen, &store->error));
    MUST(store, seen.count == 1 ? ERR_OK : ERR_NOT_FOUND);
    return events[0];
}

static void the_end_of_a_run_is_an_event_that_triggers_match(void)
{
    STORE(store);
    publish(&store, TENANT, TOLD);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    Uuid id = run(&store, job);
    Claimed claimed = claim_one(&store, 1);
    Settle settled = settle_of(&store, &claimed, VERDICT_DELIVERED, REASON_ACCEPTED);
    settled.attempt.outcome.detail = S("42 \"rates\"");
    settle(&store, &settled, 1);

    Event event = last_event(&store, "job-completed");
    char text[UUID_TEXT_LEN + 1];
    Str expected = str_format(&store.arena,
                              "{\"job\":\"Rates\",\"entity\":\"booking:7\",\"executionId\":"
                              "\"%.*s-1\",\"source\":\"Deferred\",\"succeeded\":true,"
                              "\"message\":\"42 \\\"rates\\\"\",\"attempts\":1}",
                              STR_ARG(uuid_text(id, text)));
    CHECK(str_eq(event.payload, expected));
    CHECK(is_text(event.entity, "booking:7") && is_text(event.source, "peal"));
    CHECK(event.occurred_at == now(&store));
    CHECK(ask_i64(&store, "SELECT depth FROM event WHERE kind = 'job-completed'") == 1);
    CHECK(same_id(claim_one(&store, 1).promise.event, event.id)); // of the trigger
}

static void only_the_end_is_told_and_only_of_runs(void)
{
    STORE(store);
    publish(&store, TENANT, "{'id':'plain','eventKind':'visit','channel':'memory:default'}");
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    Trigger *automation = job_named(&store, RULE_AUTOMATION, "Triage");
    Uuid id = run(&store, job);
    while (view(&store, TENANT, id).state != DELIVERY_PARKED) {
        CHECK(events_of(&store, "job-failed") == 0);
        Claimed claimed = claim_one(&store, 1);
        settle_one(&store, &claimed, VERDICT_TRANSIENT);
        pass(&store, SPAN_DAY);
    }
    CHECK(events_of(&store, "job-failed") == 1 && events_of(&store, "job-completed") == 0);

    take(&store, TENANT, "{'kind':'visit'}");
    run(&store, automation);
    for (int i = 0; i < 2; i++) {
        Claim taken = claim_lane(&store, 1, 1);
        settle_one(&store, &taken.claimed[0], VERDICT_DELIVERED);
    }
    CHECK(events_of(&store, "job-failed") == 1 && events_of(&store, "job-completed") == 0);
}

static void what_a_person_takes_back_is_not_told_of(void)
{
    STORE(store);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    Uuid cancelled = run(&store, job), discarded = run(&store, job), retried = run(&store, job);
    CHECK(act(&store, TENANT, cancelled, DELIVERY_ACTION_CANCEL, NULL) == ERR_OK);
    for (int i = 0; i < 2; i++) {
        Claim taken = claim_lane(&store, 1, 1);
        settle_one(&store, &taken.claimed[0], VERDICT_PERMANENT);
    }
    CHECK(events_of(&store, "job-failed") == 2);
    CHECK(act(&store, TENANT, discarded, DELIVERY_ACTION_DISCARD, NULL) == ERR_OK);
    CHECK(act(&store, TENANT, retried, DELIVERY_ACTION_RETRY, NULL) == ERR_OK);
    CHECK(events_of(&store, "job-failed") == 2 && events_of(&store, "job-completed") == 0);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    CHECK(events_of(&store, "job-failed") == 2 && events_of(&store, "job-completed") == 1);
    // A person says that it is done, whatever it told.
    Uuid done = run(&store, job);
    CHECK(act(&store, TENANT, done, DELIVERY_ACTION_COMPLETE, "by hand") == ERR_OK);
    Event event = last_event(&store, "job-completed");
    CHECK(str_contains(event.payload, S("by hand")));
}

static Err apply_report(Tx *tx, void *with, Error *error)
{
    return queue_report(tx, with, 1, error);
}

static void a_report_tells_once(void)
{
    STORE(store);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    Uuid id = run(&store, job);
    Claimed claimed = claim_one(&store, 1);
    Outcome elsewhere = { .verdict = VERDICT_ELSEWHERE, .lease = SPAN_MINUTE };
    RetryPolicy policy = retry_default();
    QueueRow row = claimed_row(&claimed);
    Settle left = settle_from(&row, delivery_settle(&claimed.live, &claimed.trigger->rule.plan,
                                                    &policy, &elsewhere, now(&store), 0));
    settle(&store, &left, 1);
    CHECK(events_of(&store, "job-completed") == 0);
    Report told = { .tenant = TENANT,
                    .id = id,
                    .attempt = 1,
                    .outcome = { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED } };
    for (int i = 0; i < 2; i++)
        MUST(&store, writer_run(store.writer, apply_report, &told, &store.error));
    CHECK(told.is_stale && events_of(&store, "job-completed") == 1);
    CHECK(view(&store, TENANT, id).state == DELIVERY_DELIVERED);
}

static void a_stale_settle_tells_nothing(void)
{
    STORE(store);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    run(&store, job);
    Claimed claimed = claim_one(&store, 1);
    Settle first = settle_of(&store, &claimed, VERDICT_DELIVERED, REASON_ACCEPTED), second = first;
    settle(&store, &first, 1);
    settle(&store, &second, 1);
    CHECK(second.is_stale && events_of(&store, "job-completed") == 1);
}

static void a_lapse_past_the_limit_parks_and_tells(void)
{
    STORE(store);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    int64_t tries = job->rule.retry.max + 1;
    Uuid id = run(&store, job);
    for (int64_t i = 1; i <= tries; i++) {
        CHECK(claim_one(&store, 1).live.attempt == i);
        pass(&store, SPAN_DAY);
        CHECK(sweep(&store, false).lapsed == 1);
        pass(&store, SPAN_DAY);
        CHECK(view(&store, TENANT, id).attempt == i);
    }
    CHECK(view(&store, TENANT, id).state == DELIVERY_PARKED);
    CHECK(events_of(&store, "job-failed") == 1);
}

static void a_chain_has_an_end_and_the_run_ends_anyway(void)
{
    STORE(store);
    publish(&store, TENANT, TOLD);
    Trigger *job = job_named(&store, RULE_JOB, "Loop");
    static const char event[] = "{'kind':'job','payload':{}}";
    Uuid last = run_deep(&store, job, event, ACCEPT_DEPTH_MAX - 1);
    Claimed claimed = claim_one(&store, 1);
    settle_one(&store, &claimed, VERDICT_DELIVERED);
    CHECK(ask_i64(&store, "SELECT depth FROM event WHERE kind = 'job-completed'") ==
          ACCEPT_DEPTH_MAX);
    Claim told = claim_lane(&store, 1, 1);
    settle_one(&store, &told.claimed[0], VERDICT_DELIVERED);

    Uuid over = run_deep(&store, job, event, ACCEPT_DEPTH_MAX);
    claimed = claim_one(&store, 1);
    CHECK(!settle_one(&store, &claimed, VERDICT_DELIVERED).is_stale);
    CHECK(events_of(&store, "job-completed") == 1);
    CHECK(view(&store, TENANT, last).state == DELIVERY_DELIVERED);
    CHECK(view(&store, TENANT, over).state == DELIVERY_DELIVERED);
}

static void a_thousand_that_end_together_are_told_together(void)
{
    enum { MANY = 1000 };
    STORE(store);
    publish(&store, TENANT, TOLD);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    Buf events = buf_new(&store.arena, MANY * 40);
    for (int i = 0; i < MANY; i++)
        buf_add_format(&events, "%c{'kind':'job','payload':{}}", i ? ',' : '[');
    buf_add_char(&events, ']');
    run_deep(&store, job, str_z(&store.arena, buf_str(&events)), 0);
    Claim taken = claim_lane(&store, 1, MANY);
    CHECK(taken.count == MANY);
    Settle *rows = ARENA_ARRAY(&store.arena, Settle, MANY);
    for (size_t i = 0; i < MANY; i++)
        rows[i] = settle_of(&store, &taken.claimed[i], VERDICT_DELIVERED, REASON_ACCEPTED);
    settle(&store, rows, MANY);
    CHECK(events_of(&store, "job-completed") == MANY);
    CHECK(claim_lane(&store, 1, MANY + 1).count == MANY);
}

static Execution *page(Store *store, int64_t tenant, int64_t rule, Walk walk, Seen *ret)
{
    Execution *rows;
    MUST(store,
         execution_page(store->db, &store->arena, tenant, rule, &walk, &rows, ret, &store->error));
    return rows;
}

static void say(Store *store, const Claimed *claimed, Verdict verdict, const char *words)
{
    Settle row = settle_of(store, claimed, verdict, REASON_REFUSED);
    row.attempt.outcome.detail = str_from(words);
    settle(store, &row, 1);
}

static void every_try_is_an_execution(void)
{
    STORE(store);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    Trigger *other = job_named(&store, RULE_JOB, "Other");
    Uuid first = run(&store, job);
    Claimed claimed = claim_one(&store, 1);
    say(&store, &claimed, VERDICT_TRANSIENT, "not yet");
    pass(&store, SPAN_DAY);
    claimed = claim_one(&store, 1);
    say(&store, &claimed, VERDICT_DELIVERED, "done");
    run(&store, other);
    claimed = claim_one(&store, 1);
    say(&store, &claimed, VERDICT_DELIVERED, "elsewhere");
    Uuid second = run(&store, job);
    claim_one(&store, 1);
    run(&store, job); // nobody has tried it

    Seen seen;
    Execution *rows = page(&store, TENANT, job->rule.number, (Walk){ .limit = 9 }, &seen);
    CHECK(seen.count == 3 && !seen.has_more);
    CHECK(same_id(rows[0].delivery, second) && rows[0].number == 1);
    CHECK(rows[0].finished_at == INSTANT_NONE &&
          rows[0].started_at == now(&store) - SPAN_MILLISECOND);
    CHECK(same_id(rows[1].delivery, first) && rows[1].number == 2);
    CHECK(rows[1].outcome.verdict == VERDICT_DELIVERED && is_text(rows[1].outcome.detail, "done"));
    CHECK(same_id(rows[2].delivery, first) && rows[2].number == 1);
    CHECK(rows[2].outcome.verdict == VERDICT_TRANSIENT && is_text(rows[2].source, "deferred"));
    CHECK(is_text(rows[2].entity, "booking:7") && rows[2].finished_at < rows[1].started_at);

    page(&store, tenant_new(&store, "acme"), job->rule.number, (Walk){ .limit = 9 }, &seen);
    CHECK(seen.count == 0 && !seen.has_more);
    Execution *none;
    Walk walk = { .after = S("no place"), .limit = 9 };
    CHECK(execution_page(store.db, &store.arena, TENANT, job->rule.number, &walk, &none, &seen,
                         &store.error) == ERR_MALFORMED);
}

// tries_of_many makes runs of which some wait, some have retries, and some are over.
static size_t tries_of_many(Store *store, Trigger *job)
{
    enum { RUNS = 12 };
    size_t tries = 0;
    for (int i = 0; i < RUNS; i++) {
        run(store, job);
        for (int n = 0; n < i % 4; n++) {
            Claim taken = claim_lane(store, 1, 1);
            CHECK(taken.count == 1);
            say(store, &taken.claimed[0], n == i % 4 - 1 ? VERDICT_DELIVERED : VERDICT_TRANSIENT,
                "so");
            pass(store, SPAN_DAY);
            tries++;
        }
    }
    return tries;
}

static void pages_of_any_size_make_one_list(void)
{
    STORE(store);
    Trigger *job = job_named(&store, RULE_JOB, "Rates");
    size_t tries = tries_of_many(&store, job);
    Seen seen;
    Execution *all = page(&store, TENANT, job->rule.number, (Walk){ .limit = 100 }, &seen);
    CHECK(seen.count == tries && !seen.has_more);
    static const Walk sizes[] = { { .limit = 1 },
                                  { .limit = 2 },
                                  { .limit = 5 },
                                  { .limit = 4, .met_max = 1 },
                                  { .limit = 1, .met_max = 2 } };
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        Walk walk = sizes[i];
        size_t met = 0;
        do {
            Execution *rows = page(&store, TENANT, job->rule.number, walk, &seen);
            CHECK(seen.count <= (size_t) walk.limit && met + seen.count <= tries);
            for (size_t n = 0; n < seen.count && met < tries; n++, met++)
                CHECK(same_id(rows[n].delivery, all[met].delivery) &&
                      rows[n].number == all[met].number);
            walk.after = seen.next;
        } while (seen.has_more);
        CHECK(met == tries);
    }
}

static size_t dead_of(Store *store, const char *job)
{
    DeliveryView *views;
    Seen seen;
    DeliveryFilter filter = delivery_filter_any();
    filter.state = DELIVERY_PARKED;
    filter.has_state = true;
    filter.is_run = !job;
    filter.job = str_from(job);
    MUST(store, delivery_page(store->db, &store->arena, TENANT, &filter, &(Walk){ .limit = 100 },
                              &views, &seen, &store->error));
    return seen.count;
}

static void dead_letters_are_told_by_job_or_all(void)
{
    STORE(store);
    publish(&store, TENANT, "{'id':'plain','eventKind':'visit','channel':'memory:default'}");
    run(&store, job_named(&store, RULE_JOB, "Rates"));
    run(&store, job_named(&store, RULE_JOB, "Other"));
    run(&store, job_named(&store, RULE_AUTOMATION, "Rates"));
    take(&store, TENANT, "{'kind':'visit'}");
    Claim taken = claim_lane(&store, 1, 4);
    for (size_t i = 0; i < taken.count; i++)
        settle_one(&store, &taken.claimed[i], VERDICT_PERMANENT);
    CHECK(dead_of(&store, NULL) == 3 && dead_of(&store, "Rates") == 1);
    CHECK(dead_of(&store, "Nobody") == 0);
}

static const Test tests[] = {
    TEST(the_end_of_a_run_is_an_event_that_triggers_match),
    TEST(only_the_end_is_told_and_only_of_runs),
    TEST(what_a_person_takes_back_is_not_told_of),
    TEST(a_report_tells_once),
    TEST(a_stale_settle_tells_nothing),
    TEST(a_lapse_past_the_limit_parks_and_tells),
    TEST(a_chain_has_an_end_and_the_run_ends_anyway),
    TEST(a_thousand_that_end_together_are_told_together),
    TEST(every_try_is_an_execution),
    TEST(pages_of_any_size_make_one_list),
    TEST(dead_letters_are_told_by_job_or_all),
};
PART(runs_part, tests);
