#include "rig.h"

#include "base/time.h"
#include "store/run.h"
#include "store/schedule.h"

// What store/schedule.h and firing promise, on the real engine and store: each occurrence becomes
// one run at its time, whatever ends, restarts or jumps meanwhile, and nobody is held up by
// another.

static void job(Store *store, const char *name, const char *members)
{
    job_of(store, TENANT, name, members);
}

static int runs(Store *store)
{
    return (int) ask_i64(store, "SELECT COUNT(*) FROM delivery");
}

// run_for says whether there is one for the moment so long after the beginning.
static bool run_for(Store *store, Span span)
{
    Value args[] = { value_i64(BEGINNING + span) };
    Rows rows = ask(store, "SELECT COUNT(*) FROM event WHERE occurred_at = $1", "i", args);
    return value_to_i64(rows.values) == 1;
}

static int64_t of_schedule(Store *store, const char *column)
{
    return ask_i64(store, str_format(&store->arena, "SELECT %s FROM schedule", column).at);
}

// times counts how often a statement was sent since the last time this was asked.
static int times(Rig *rig, const char *statement)
{
    int count = 0;
    for (Str rest = buf_str(&rig->said); rest.len > 0;)
        count += str_eq(str_cut(&rest, ' '), str_from(statement));
    rig->said.len = 0;
    return count;
}

// spend lets time pass in steps of five seconds, and what is left of it in one.
static void spend(Rig *rig, Span span)
{
    const Span step = 5 * SPAN_SECOND;
    for (; span > 0; span -= step) {
        clock_pass(&rig->store.clock, span < step ? span : step);
        turn(rig);
    }
}

static void an_occurrence_becomes_a_run_when_it_is_due(void)
{
    RIG(rig);
    handler(&rig, 200);
    job(&rig.store, "minutely", ",'cron':'* * * * *','payload':{'a':1}");
    turn(&rig);
    spend(&rig, SPAN_MINUTE - SPAN_SECOND);
    CHECK(runs(&rig.store) == 0);
    spend(&rig, 2 * SPAN_MINUTE);
    CHECK(runs(&rig.store) == 2 && run_for(&rig.store, SPAN_MINUTE));
    CHECK(run_for(&rig.store, 2 * SPAN_MINUTE));
    CHECK(rig.sent_count == 2 && in_state(&rig, DELIVERY_DELIVERED) == 2);
}

static void a_tick_costs_what_is_due(void)
{
    RIG(rig);
    handler(&rig, 200);
    for (int i = 0; i < 300; i++)
        job(&rig.store, str_format(&rig.store.arena, "yearly%d", i).at, ",'cron':'@yearly'");
    job(&rig.store, "minutely", ",'cron':'* * * * *'");
    turn(&rig);
    (void) times(&rig, "schedule_take");
    spend(&rig, SPAN_MINUTE);
    CHECK(runs(&rig.store) == 1);
    CHECK(times(&rig, "schedule_take") <= 2); // the moment it was due, and no looking about
}

static void what_is_missed_goes_by_its_policy(void)
{
    static const struct {
        const char *members;
        int runs;
        int64_t missed;
    } cases[] = {
        { "", 1, 3 },
        { ",'missed':'once','missedWindow':'10s'", 0, 4 },
        { ",'missed':'skip'", 0, 4 },
        { ",'missed':'all'", 4, 0 },
        { ",'missed':'all','missedWindow':'2m'", 2, 2 },
        { ",'missed':'all','overlap':'allow'", 4, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        RIG(rig);
        handler(&rig, 200);
        Str members = str_format(&rig.store.arena, ",'cron':'* * * * *'%s", cases[i].members);
        job(&rig.store, "minutely", members.at);
        turn(&rig);
        clock_pass(&rig.store.clock, 4 * SPAN_MINUTE + 30 * SPAN_SECOND);
        restart(&rig);
        spend(&rig, SPAN_SECOND);
        CHECK_AT(cases[i].members, runs(&rig.store) == cases[i].runs);
        CHECK_AT(cases[i].members, of_schedule(&rig.store, "missed") == cases[i].missed);
        spend(&rig, SPAN_MINUTE);
        CHECK_AT(cases[i].members, runs(&rig.store) == cases[i].runs + 1);
    }
}

static void a_run_that_goes_on_holds_the_next_one_back(void)
{
    static const struct {
        const char *overlap;
        int runs, after; // while it goes on; when it has ended
        int64_t skipped;
    } cases[] = { { "skip", 1, 1, 3 }, { "allow", 4, 4, 0 }, { "queue", 1, 2, 2 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        RIG(rig);
        handler(&rig, 0);
        Str members =
            str_format(&rig.store.arena, ",'cron':'* * * * *','overlap':'%s'", cases[i].overlap);
        job(&rig.store, "minutely", members.at);
        spend(&rig, 4 * SPAN_MINUTE + SPAN_SECOND);
        CHECK_AT(cases[i].overlap, runs(&rig.store) == cases[i].runs);
        CHECK_AT(cases[i].overlap, of_schedule(&rig.store, "skipped") == cases[i].skipped);
        for (int j = 0; j < cases[i].runs; j++)
            answer(&rig, j, 200);
        turn(&rig);
        CHECK_AT(cases[i].overlap, runs(&rig.store) == cases[i].after);
        CHECK_AT(cases[i].overlap, rig.sent_count == cases[i].after);
    }
}

static void what_is_queued_is_the_latest(void)
{
    RIG(rig);
    handler(&rig, 0);
    job(&rig.store, "minutely", ",'cron':'* * * * *','overlap':'queue'");
    spend(&rig, 3 * SPAN_MINUTE + SPAN_SECOND);
    CHECK(of_schedule(&rig.store, "queued_for") == BEGINNING + 3 * SPAN_MINUTE);
    answer(&rig, 0, 200);
    turn(&rig);
    CHECK(runs(&rig.store) == 2 && run_for(&rig.store, 3 * SPAN_MINUTE));
    CHECK(of_schedule(&rig.store, "next_at") == BEGINNING + 4 * SPAN_MINUTE);
}

static void a_run_that_nobody_has_claimed_counts_as_running(void)
{
    RIG(rig);
    handler(&rig, 0);
    channel_of(&rig.store, TENANT,
               "{'key':'http:do','type':'http','ordered':true,'config':{'url':'http://do.test/'}}");
    job(&rig.store, "a", ",'cron':'* * * * *'");
    job(&rig.store, "b", ",'cron':'* * * * *'");
    spend(&rig, 2 * SPAN_MINUTE + SPAN_SECOND);
    CHECK(runs(&rig.store) == 2 && rig.sent_count == 1);
    CHECK(ask_i64(&rig.store, "SELECT CAST(SUM(skipped) AS BIGINT) FROM schedule") == 2);
}

// apply_ran has a run made, as a person does.
static Err apply_ran(Tx *tx, void *with, Error *error)
{
    AcceptItem item;
    const Trigger *rule;
    Run run = { .source = RUN_MANUAL, .due_at = tx->now };
    (void) with;
    TRY(run_rule(tx, &tx->arena, TENANT, RULE_JOB, S("late"), &rule, error));
    TRY(run_item(&tx->arena, rule, &run, &item, error));
    TRY(runs_make(tx, &tx->arena, TENANT, &item, 1, error));
    schedule_ran(tx, TENANT, rule->rule.number, item.pairs[0].delivery);
    return tx_sync(tx, error);
}

static void a_run_by_hand_holds_the_next_one_back(void)
{
    RIG(rig);
    handler(&rig, 0);
    job(&rig.store, "late", ",'cron':'5 * * * *'");
    MUST(&rig.store, writer_run(rig.store.writer, apply_ran, NULL, &rig.store.error));
    spend(&rig, 6 * SPAN_MINUTE);
    CHECK(runs(&rig.store) == 1);
    CHECK(of_schedule(&rig.store, "skipped") == 1);
}

static void the_clock_of_the_machine_fires_nothing_twice(void)
{
    RIG(rig);
    handler(&rig, 200);
    job(&rig.store, "minutely", ",'cron':'* * * * *'");
    spend(&rig, 5 * SPAN_MINUTE + SPAN_SECOND);
    CHECK(runs(&rig.store) == 5);
    jump(&rig, -3 * SPAN_MINUTE);
    spend(&rig, 2 * SPAN_MINUTE);
    CHECK(runs(&rig.store) == 5);
    spend(&rig, 2 * SPAN_MINUTE);
    CHECK(run_for(&rig.store, 6 * SPAN_MINUTE) && runs(&rig.store) == 6);
}

static void a_clock_that_ran_ahead_silences_nobody(void)
{
    for (int restarts = 0; restarts < 2; restarts++) {
        RIG(rig);
        handler(&rig, 200);
        job(&rig.store, "minutely", ",'cron':'* * * * *'");
        spend(&rig, SPAN_MINUTE + SPAN_SECOND);
        jump(&rig, 365 * SPAN_DAY);
        spend(&rig, 2 * SPAN_MINUTE);
        CHECK(of_schedule(&rig.store, "last_for") > BEGINNING + 365 * SPAN_DAY);
        jump(&rig, -365 * SPAN_DAY);
        if (restarts)
            restart(&rig);
        spend(&rig, 3 * SPAN_MINUTE);
        CHECK(run_for(&rig.store, 5 * SPAN_MINUTE) && run_for(&rig.store, 6 * SPAN_MINUTE));
    }
}

static void an_hour_that_is_skipped_is_missed(void)
{
    RIG(rig);
    handler(&rig, 200);
    job(&rig.store, "minutely", ",'cron':'* * * * *','missed':'skip'");
    spend(&rig, SPAN_MINUTE + SPAN_SECOND);
    jump(&rig, SPAN_HOUR);
    spend(&rig, 2 * SPAN_MINUTE);
    int64_t missed = of_schedule(&rig.store, "missed");
    CHECK(missed >= 58 && missed <= 62);
    CHECK(runs(&rig.store) <= 4);
}

static void a_schedule_follows_its_definition(void)
{
    RIG(rig);
    Store *store = &rig.store;
    handler(&rig, 200);
    job(store, "j", ",'cron':'0 * * * *'");
    Instant created = now(store);
    clock_pass(&store->clock, 30 * SPAN_MINUTE);
    job(store, "j", ",'cron':'0 * * * *','payload':{'other':1}");
    CHECK(of_schedule(store, "last_for") == created && of_schedule(store, "version") == 2);
    job(store, "j", ",'cron':'30 * * * *'");
    CHECK(of_schedule(store, "next_at") == BEGINNING + 90 * SPAN_MINUTE);
    job(store, "j", ",'cron':'30 * * * *','zone':'Asia/Kathmandu'");
    CHECK(of_schedule(store, "next_at") == BEGINNING + 45 * SPAN_MINUTE);
    job(store, "j", ",'cron':'30 * * * *','enabled':false");
    CHECK(ask_i64(store, "SELECT COUNT(*) FROM schedule WHERE next_at IS NULL") == 1);
    clock_pass(&store->clock, 2 * SPAN_HOUR);
    job(store, "j", ",'cron':'30 * * * *'");
    turn(&rig);
    CHECK(runs(store) == 0 && of_schedule(store, "missed") == 0);
    job(store, "j", "");
    CHECK(of_schedule(store, "COUNT(*)") == 0);
}

// apply_lose has the schedule of the first rule name a version that is not there.
static Err apply_lose(Tx *tx, void *with, Error *error)
{
    static const Statement lose = { .name = "lose",
                                    .params = "",
                                    .sql = "UPDATE schedule SET version = 7 WHERE rule = 1" };
    (void) with;
    db_send(tx->db, &tx->arena, &lose, NULL, NULL);
    return tx_sync(tx, error);
}

static Err apply_find(Tx *tx, void *with, Error *error)
{
    static const Statement find = { .name = "find",
                                    .params = "",
                                    .sql = "UPDATE schedule SET version = 1 WHERE rule = 1" };
    (void) with;
    db_send(tx->db, &tx->arena, &find, NULL, NULL);
    return tx_sync(tx, error);
}

static void one_that_can_be_read_again_fires_again(void)
{
    RIG(rig);
    handler(&rig, 200);
    job(&rig.store, "bad", ",'cron':'* * * * *'");
    MUST(&rig.store, writer_run(rig.store.writer, apply_lose, NULL, &rig.store.error));
    spend(&rig, 2 * SPAN_MINUTE + SPAN_SECOND);
    CHECK(runs(&rig.store) == 0);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM schedule WHERE fault IS NOT NULL") == 1);
    MUST(&rig.store, writer_run(rig.store.writer, apply_find, NULL, &rig.store.error));
    spend(&rig, 2 * SPAN_MINUTE);
    CHECK(runs(&rig.store) == 2);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM schedule WHERE fault IS NOT NULL") == 0);
}

static void one_that_cannot_be_read_stops_nobody(void)
{
    RIG(rig);
    handler(&rig, 200);
    job(&rig.store, "bad", ",'cron':'* * * * *'");
    job(&rig.store, "good", ",'cron':'* * * * *'");
    MUST(&rig.store, writer_run(rig.store.writer, apply_lose, NULL, &rig.store.error));
    spend(&rig, 3 * SPAN_MINUTE + SPAN_SECOND);
    CHECK(runs(&rig.store) == 3);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM schedule WHERE fault IS NOT NULL") == 1);
    job(&rig.store, "bad", ",'cron':'* * * * *','payload':{}");
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM schedule WHERE fault IS NOT NULL") == 0);
    spend(&rig, 2 * SPAN_SECOND);
    CHECK(runs(&rig.store) == 4);
    CHECK(ask_i64(&rig.store, "SELECT missed FROM schedule WHERE rule = 1") == 2);
}

// What the store refuses is looked for by taking fewer; here it refuses all of them for a while.
static void a_store_that_refuses_runs_is_tried_again(void)
{
    RIG(rig);
    handler(&rig, 200);
    for (int i = 0; i < 20; i++)
        job(&rig.store, str_format(&rig.store.arena, "j%d", i).at, ",'cron':'* * * * *'");
    rig.broken = "schedule_settle";
    spend(&rig, SPAN_MINUTE + 10 * SPAN_SECOND);
    CHECK(runs(&rig.store) == 0);
    rig.broken = NULL;
    spend(&rig, 10 * SPAN_SECOND);
    CHECK(runs(&rig.store) >= 19);
    spend(&rig, 2 * SPAN_MINUTE);
    CHECK(ask_i64(&rig.store, "SELECT COUNT(*) FROM schedule WHERE fault IS NOT NULL") == 0);
}

static Err apply_take(Tx *tx, void *with, Error *error)
{
    int64_t *ret = with;
    SchedulesTaken taken;
    TRY(schedules_take(tx, 10, &taken, error));
    for (size_t i = 0; i < taken.count; i++)
        ret[taken.rows[i].tenant > TENANT]++;
    ret[2] = taken.is_cut;
    return ERR_OK;
}

static void one_tenant_does_not_hold_up_another(void)
{
    STORE(store);
    int64_t taken[3] = { 0 }, other = tenant_new(&store, "other");
    for (int i = 0; i < 40; i++)
        job(&store, str_format(&store.arena, "greedy%d", i).at, ",'cron':'* * * * *'");
    for (int i = 0; i < 3; i++)
        job_of(&store, other, str_format(&store.arena, "one%d", i).at, ",'cron':'* * * * *'");
    pass(&store, SPAN_MINUTE);
    MUST(&store, writer_run(store.writer, apply_take, taken, &store.error));
    CHECK(taken[0] == 5 && taken[1] == 3 && taken[2] == 1);
}

static const Test tests[] = {
    TEST(an_occurrence_becomes_a_run_when_it_is_due),
    TEST(a_tick_costs_what_is_due),
    TEST(what_is_missed_goes_by_its_policy),
    TEST(a_run_that_goes_on_holds_the_next_one_back),
    TEST(what_is_queued_is_the_latest),
    TEST(a_run_that_nobody_has_claimed_counts_as_running),
    TEST(a_run_by_hand_holds_the_next_one_back),
    TEST(the_clock_of_the_machine_fires_nothing_twice),
    TEST(a_clock_that_ran_ahead_silences_nobody),
    TEST(an_hour_that_is_skipped_is_missed),
    TEST(a_schedule_follows_its_definition),
    TEST(one_that_cannot_be_read_stops_nobody),
    TEST(one_that_can_be_read_again_fires_again),
    TEST(a_store_that_refuses_runs_is_tried_again),
    TEST(one_tenant_does_not_hold_up_another),
};

PART(schedule_part, tests);
