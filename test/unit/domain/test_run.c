#include "domain/run.h"

#include "test.h"

#define AT(n) ((Instant) (n) *SPAN_MINUTE + SPAN_DAY)

static Live running(void)
{
    Plan plan = { 0 };
    Live first = delivery_first(&plan, AT(0), AT(0));
    return delivery_claim(&first, AT(0), AT(1), 1);
}

static void a_source_has_its_words(void)
{
    CHECK(run_source(S("schedule")) == RUN_SCHEDULED && run_source(S("manual")) == RUN_MANUAL);
    CHECK(run_source(S("deferred")) == RUN_DEFERRED);
    CHECK(run_source(S("api")) == RUN_MANUAL && run_source(STR_NONE) == RUN_MANUAL);
    CHECK(strcmp(run_source_text(RUN_SCHEDULED), "Scheduled") == 0);
    CHECK(strcmp(run_source_word(RUN_DEFERRED), "deferred") == 0);
    CHECK(run_of_rule(RULE_JOB) && run_of_rule(RULE_AUTOMATION) && !run_of_rule(RULE_TRIGGER));
}

static void what_ends_a_run_is_told(void)
{
    static const struct {
        DeliveryState from, to;
        bool is_told, is_success;
    } cases[] = {
        { DELIVERY_SENDING, DELIVERY_DELIVERED, true, true },
        { DELIVERY_SENDING, DELIVERY_PARKED, true, false },
        { DELIVERY_SENDING, DELIVERY_EXPIRED, true, false },
        { DELIVERY_PARKED, DELIVERY_COMPLETED, true, true },
        { DELIVERY_SENDING, DELIVERY_RETRYING, false, false },
        { DELIVERY_SENDING, DELIVERY_SENDING, false, false },
        { DELIVERY_PENDING, DELIVERY_CANCELLED, false, false },
        { DELIVERY_PARKED, DELIVERY_DISCARDED, false, false },
        { DELIVERY_PARKED, DELIVERY_PENDING, false, false },
        { DELIVERY_PARKED, DELIVERY_EXPIRED, false, false }, // that it failed was told before
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is_success;
        CHECK(run_is_told(cases[i].from, cases[i].to, &is_success) == cases[i].is_told);
        CHECK(is_success == cases[i].is_success);
    }
}

static void a_payload_is_json_whatever_was_said(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    RunEnd end = { .job = S("a\"b"), .message = S("x\n\x01\"}"), .attempts = 3 };
    Str text = run_end_payload(&arena, &end);
    const Json *json;
    CHECK(json_parse(&arena, text, &json, NULL) == ERR_OK);
    CHECK(str_eq(json_str(json_get(json, S("job"))), end.job));
    CHECK(str_eq(json_str(json_get(json, S("message"))), end.message));
    CHECK(json_type(json_get(json, S("entity"))) == JSON_NULL);
    CHECK(str_contains(text, S("-3\"")) && !json_bool(json_get(json, S("succeeded"))));
}

static void a_message_is_what_was_said_or_why_it_failed(void)
{
    Outcome said = { .verdict = VERDICT_TRANSIENT, .detail = S("out of rates") };
    Outcome lapsed = { .verdict = VERDICT_UNKNOWN, .reason = REASON_LEASE_LAPSED };
    Outcome silent = { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED };
    CHECK(str_eq(run_message(&said), said.detail) && !run_message(&silent).at);
    CHECK(str_eq(run_message(&lapsed), str_from(reason_meaning(REASON_LEASE_LAPSED))));
}

static void a_retry_falls_before_the_next_occurrence_or_is_it(void)
{
    Plan plan = { 0 };
    RetryPolicy policy = retry_default();
    Outcome failed = { .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL };
    Live live = running();
    Settlement to = delivery_settle(&live, &plan, &policy, &failed, AT(0), 0);
    CHECK(to.live.state == DELIVERY_RETRYING && to.live.due_at == AT(1));
    CHECK(delivery_recur(to, INSTANT_NONE).live.state == DELIVERY_RETRYING);
    CHECK(delivery_recur(to, AT(1) + 1).live.state == DELIVERY_RETRYING);
    Settlement over = delivery_recur(to, AT(1));
    CHECK(over.live.state == DELIVERY_EXPIRED && over.reason == REASON_SUPERSEDED);
    CHECK(over.live.attempt == live.attempt && over.expires_at == INSTANT_NONE);
    Outcome done = { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED };
    to = delivery_settle(&live, &plan, &policy, &done, AT(5), 0);
    CHECK(delivery_recur(to, AT(1)).live.state == DELIVERY_DELIVERED);
    policy.max = 0;
    to = delivery_settle(&live, &plan, &policy, &failed, AT(5), 0);
    CHECK(delivery_recur(to, AT(1)).live.state == DELIVERY_PARKED);
}

static void an_occurrence_that_nobody_handles_ends(void)
{
    Live live = running();
    Settlement parked = delivery_park(&live, REASON_NO_HANDLER);
    Settlement ended = delivery_recur(parked, INSTANT_NONE);
    CHECK(ended.live.state == DELIVERY_EXPIRED && ended.reason == REASON_NO_HANDLER);
    CHECK(ended.live.attempt == 1);
    Settlement refused = delivery_park(&live, REASON_REFUSED);
    CHECK(delivery_recur(refused, INSTANT_NONE).live.state == DELIVERY_PARKED);
}

static void the_next_occurrence_takes_a_runs_place(void)
{
    CronFault fault;
    JobSchedule hourly = { .enabled = true, .zone = zone_utc, .overlap = JOB_OVERLAP_SKIP };
    CHECK(cron_parse(S("0 * * * *"), CRON_ANY_FORM, &hourly.cron, &fault));
    Job job = { .schedules = &hourly, .schedule_count = 1 };
    // scheduled for, made at, now
    CHECK(run_overtaken_at(&job, AT(0), AT(0), AT(2)) == AT(60));
    CHECK(run_overtaken_at(&job, AT(0), AT(0), AT(61)) == AT(120)); // that at 60 was skipped
    CHECK(run_overtaken_at(&job, AT(0), AT(59), AT(59)) == AT(60)); // made up for, just in time
    CHECK(run_overtaken_at(&job, AT(0), AT(60), AT(61)) == INSTANT_NONE); // one of many made up for
    hourly.overlap = JOB_OVERLAP_QUEUE;
    CHECK(run_overtaken_at(&job, AT(0), AT(0), AT(61)) == AT(60)); // it waits to take over
    hourly.enabled = false;
    CHECK(run_overtaken_at(&job, AT(0), AT(0), AT(2)) == INSTANT_NONE);
    hourly.enabled = true;
    job.schedule_count = 0;
    CHECK(run_overtaken_at(&job, AT(0), AT(0), AT(2)) == INSTANT_NONE);
    CHECK(run_overtaken_at(NULL, AT(0), AT(0), AT(2)) == INSTANT_NONE);
}

static const Test tests[] = {
    TEST(a_source_has_its_words),
    TEST(what_ends_a_run_is_told),
    TEST(a_payload_is_json_whatever_was_said),
    TEST(a_message_is_what_was_said_or_why_it_failed),
    TEST(a_retry_falls_before_the_next_occurrence_or_is_it),
    TEST(an_occurrence_that_nobody_handles_ends),
    TEST(the_next_occurrence_takes_a_runs_place),
};
TEST_MAIN(tests)
