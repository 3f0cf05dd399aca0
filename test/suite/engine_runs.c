#include "rig.h"

#include "store/handler.h"
#include "store/run.h"

// What store/recur.h, follow.h and handler.h promise, on the real engine and store: a run that
// fails is retried, overtaken or ends, whoever dies on the way, and its end is told once.

static Err apply_run(Tx *tx, void *with, Error *error)
{
    const Trigger *rule;
    AcceptItem item;
    Run run = { .source = RUN_MANUAL, .due_at = tx->now };
    TRY(run_rule(tx, &tx->arena, TENANT, RULE_JOB, *(const Str *) with, &rule, error));
    TRY(run_item(&tx->arena, rule, &run, &item, error));
    Accept accept = {
        .arena = &tx->arena, .tenant = TENANT, .items = &item, .count = 1, .now = tx->now
    };
    Accept *accepts[] = { &accept };
    TRY(accept_decide(&accept, tx->registry, tx->random, error));
    return accept_write(tx, accepts, 1, error);
}

// run_now runs a job by hand.
static void run_now(Rig *rig, const char *name)
{
    Str job = str_from(name);
    MUST(&rig->store, writer_run(rig->store.writer, apply_run, &job, &rig->store.error));
    lapse(rig, 2 * SPAN_SECOND);
}

static int events_of(Rig *rig, const char *kind)
{
    Value args[] = { value_text(str_from(kind)) };
    Rows rows = ask(&rig->store, "SELECT COUNT(*) FROM event WHERE kind = $1", "t", args);
    return (int) value_to_i64(rows.values);
}

static int64_t ended_for(Rig *rig, DeliveryReason reason)
{
    Value args[] = { value_i64(reason) };
    return value_to_i64(
        ask(&rig->store, "SELECT COUNT(*) FROM ended WHERE reason = $1", "i", args).values);
}

static void an_occurrence_is_retried_while_that_falls_before_the_next(void)
{
    RIG(rig);
    handler(&rig, 503);
    job_of(&rig.store, TENANT, "slow", ",'cron':'0/5 * * * *','maxRetries':9");
    lapse(&rig, 5 * SPAN_MINUTE + SPAN_SECOND);
    CHECK(rig.sent_count == 1 && in_state(&rig, DELIVERY_RETRYING) == 1);
    lapse(&rig, 4 * SPAN_MINUTE); // after 1 and 3 minutes; that after 7 is the next occurrence
    CHECK(rig.sent_count == 3 && in_state(&rig, DELIVERY_EXPIRED) == 1);
    CHECK(ended_for(&rig, REASON_SUPERSEDED) == 1);
    CHECK(events_of(&rig, "job-failed") == 1);
    lapse(&rig, 90 * SPAN_SECOND);
    CHECK(rig.sent_count == 4); // the next occurrence, then
}

static void an_occurrence_out_of_retries_is_a_dead_letter(void)
{
    RIG(rig);
    handler(&rig, 503);
    job_of(&rig.store, TENANT, "daily", ",'cron':'1 0 * * *','maxRetries':2");
    lapse(&rig, 10 * SPAN_MINUTE);
    CHECK(rig.sent_count == 3 && in_state(&rig, DELIVERY_PARKED) == 1);
    CHECK(events_of(&rig, "job-failed") == 1);
}

static Err apply_there(Tx *tx, void *with, Error *error)
{
    (void) with;
    return handler_is_there(tx, TENANT, S("http:do"), STR_NONE, error);
}

static void what_nobody_handles_ends_or_waits_for_its_handler(void)
{
    RIG(rig);
    job_of(&rig.store, TENANT, "minutely", ",'cron':'* * * * *'");
    run_now(&rig, "minutely");
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1 && attempts(&rig) == 1);
    lapse(&rig, 2 * SPAN_MINUTE);
    CHECK(in_state(&rig, DELIVERY_EXPIRED) == 2 && in_state(&rig, DELIVERY_PARKED) == 1);
    CHECK(ended_for(&rig, REASON_NO_HANDLER) == 3 && attempts(&rig) == 3);
    CHECK(events_of(&rig, "job-failed") == 3 && rig.sent_count == 0);

    handler(&rig, 200);
    MUST(&rig.store, writer_run(rig.store.writer, apply_there, NULL, &rig.store.error));
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 0 && in_state(&rig, DELIVERY_DELIVERED) == 1);
    CHECK(events_of(&rig, "job-completed") == 1);
    // Where nobody waits there is nothing to do.
    MUST(&rig.store, writer_run(rig.store.writer, apply_there, NULL, &rig.store.error));
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM operation") == 1);
}

static void an_end_that_cannot_be_told_is_no_end(void)
{
    static const char *const statements[] = { "run_look", "event_insert" };
    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        RIG(rig);
        handler(&rig, 0);
        job_of(&rig.store, TENANT, "rates", "");
        run_now(&rig, "rates");
        rig.broken = statements[i];
        answer(&rig, 0, 200);
        lapse(&rig, 20 * SPAN_SECOND);
        CHECK_AT(statements[i], in_state(&rig, DELIVERY_SENDING) == 1);
        rig.broken = NULL;
        lapse(&rig, 20 * SPAN_SECOND);
        CHECK_AT(statements[i], in_state(&rig, DELIVERY_DELIVERED) == 1 && rig.sent_count == 1);
        CHECK_AT(statements[i], events_of(&rig, "job-completed") == 1);
    }
}

static void whoever_dies_in_the_middle_has_failed_a_try(void)
{
    RIG(rig);
    handler(&rig, 0);
    job_of(&rig.store, TENANT, "rates", ",'maxRetries':1");
    run_now(&rig, "rates");
    CHECK(rig.sent_count == 1);
    restart(&rig);
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_RETRYING) == 1 && events_of(&rig, "job-failed") == 0);
    lapse(&rig, 2 * SPAN_MINUTE);
    CHECK(rig.sent_count == 2);
    restart(&rig);
    lapse(&rig, 30 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_PARKED) == 1 && attempts(&rig) == 2);
    CHECK(events_of(&rig, "job-failed") == 1 && events_of(&rig, "job-completed") == 0);
}

static const Test tests[] = {
    TEST(an_occurrence_is_retried_while_that_falls_before_the_next),
    TEST(an_occurrence_out_of_retries_is_a_dead_letter),
    TEST(what_nobody_handles_ends_or_waits_for_its_handler),
    TEST(an_end_that_cannot_be_told_is_no_end),
    TEST(whoever_dies_in_the_middle_has_failed_a_try),
};
PART(runs_part, tests);
