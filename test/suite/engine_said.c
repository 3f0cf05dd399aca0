#include "parcel_types.h"
#include "rig.h"

#include "store/definition.h"
#include "store/lane.h"
#include "store/progress.h"
#include "store/run.h"

// What engine/said.c promises, with real programs: what a run says is in the store while it runs,
// in its order, survives a store that is away, and never keeps anything else from happening.

#define COUNT_SAID "SELECT COUNT(*) FROM progress"

static Err apply_job(Tx *tx, void *with, Error *error)
{
    Definition made;
    (void) with;
    TRY(lane_ensure(tx, TENANT, S("shell:one"), error));
    return definition_create(tx, TENANT, DEFINITION_JOB, S("talk"),
                             S("{\"name\":\"talk\",\"handler\":\"shell:one\"}"), &made, error);
}

// job makes one whose handler is a script.
static void job(Rig *rig, const char *script)
{
    Store *store = &rig->store;
    rig->types = parcel_types;
    restart(rig);
    channel_of(store, TENANT,
               str_format(&store->arena,
                          "{'key':'shell:one','type':'shell','config':{'script':'%s'}}", script)
                   .at);
    MUST(store, writer_run(store->writer, apply_job, NULL, &store->error));
}

static Err apply_run(Tx *tx, void *with, Error *error)
{
    AcceptItem item;
    const Trigger *rule;
    Arena *arena = &((Store *) with)->arena;
    TRY(run_rule(tx, arena, TENANT, RULE_JOB, S("talk"), &rule, error));
    TRY(run_item(arena, rule, &(Run){ .source = RUN_MANUAL, .due_at = tx->now }, &item, error));
    Accept accept = {
        .arena = arena, .tenant = TENANT, .items = &item, .count = 1, .now = tx->now
    };
    Accept *accepts[] = { &accept };
    TRY(accept_decide(&accept, tx->registry, tx->random, error));
    return accept_write(tx, accepts, 1, error);
}

// run makes a run and has it started.
static void run(Rig *rig)
{
    MUST(&rig->store, writer_run(rig->store.writer, apply_run, &rig->store, &rig->store.error));
    turn(rig);
}

// hear waits until the programs have said so much that the engine was woken for it.
static void hear(Rig *rig, int count)
{
    int before = rig->woken;
    while (rig->woken < before + count && processes_running(rig->carriers.processes) > 0)
        loop_wait(rig->carriers.loop, 10 * SPAN_MILLISECOND);
}

static void what_a_run_says_is_there_while_it_runs(void)
{
    RIG(rig);
    job(&rig, "echo progress: one; echo other; echo progress: two; kill -STOP $$");
    run(&rig);
    hear(&rig, 2);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_SENDING) == 1);
    CHECK(ask_i64(&rig.store, COUNT_SAID) == 2);
    CHECK(ask_i64(&rig.store, COUNT_SAID " WHERE n = 1 AND message = 'one' AND attempt = 1") == 1);
    CHECK(ask_i64(&rig.store, COUNT_SAID " WHERE n = 2 AND message = 'two'") == 1);
}

static void what_no_run_says_is_not_kept(void)
{
    RIG(rig);
    job(&rig, "echo progress: one");
    publish(&rig.store, TENANT, "{'id':'t','eventKind':'visit','channel':'shell:one'}");
    visits(&rig, "visit", 1);
    turn(&rig);
    wait_for_programs(&rig);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && ask_i64(&rig.store, COUNT_SAID) == 0);
}

static void it_is_kept_while_the_store_is_away(void)
{
    RIG(rig);
    job(&rig, "echo progress: one; echo progress: two");
    run(&rig);
    rig.is_away = true;
    wait_for_programs(&rig);
    lapse(&rig, 2 * SPAN_SECOND);
    rig.is_away = false;
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && ask_i64(&rig.store, COUNT_SAID) == 2);
    CHECK(engine_is_idle(rig.engine));
}

// On PostgreSQL what is broken looks like a store that is away: the lines are kept.
static void lines_that_the_store_refuses_stop_nobody(void)
{
    RIG(rig);
    bool are_let_go = !suite_is_postgres();
    job(&rig, "echo progress: one; echo progress: two");
    run(&rig);
    rig.broken = "progress_insert";
    wait_for_programs(&rig);
    lapse(&rig, 10 * SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1 && ask_i64(&rig.store, COUNT_SAID) == 0);
    CHECK(engine_is_idle(rig.engine) == are_let_go);
    rig.broken = NULL;
    lapse(&rig, SPAN_MINUTE);
    run(&rig);
    wait_for_programs(&rig);
    turn(&rig);
    CHECK(ask_i64(&rig.store, COUNT_SAID) == (are_let_go ? 2 : 4));
}

static void many_lines_are_kept_in_their_order_up_to_a_limit(void)
{
    RIG(rig);
    job(&rig, "i=0; while [ $i -lt 1200 ]; do i=$((i+1)); echo progress: $i; done");
    run(&rig);
    wait_for_programs(&rig);
    lapse(&rig, SPAN_SECOND);
    CHECK(in_state(&rig, DELIVERY_DELIVERED) == 1);
    CHECK(ask_i64(&rig.store, COUNT_SAID) == PROGRESS_LINES_MAX);
    CHECK(ask_i64(&rig.store, COUNT_SAID " WHERE message = CAST(n AS TEXT)") == PROGRESS_LINES_MAX);
}

static const Test tests[] = {
    TEST(what_a_run_says_is_there_while_it_runs),
    TEST(what_no_run_says_is_not_kept),
    TEST(it_is_kept_while_the_store_is_away),
    TEST(lines_that_the_store_refuses_stop_nobody),
    TEST(many_lines_are_kept_in_their_order_up_to_a_limit),
};

PART(said_part, tests);
