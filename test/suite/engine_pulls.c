#include "rig.h"

// What engine/pull.c promises: who waits for work costs nothing and is called when there may be
// some, one for one.

typedef struct Worker {
    Puller puller; // first: a Puller * is a Worker *
    int looks, ends;
    bool has_left;
} Worker;

enum { MANY = 1000 };

static void called(Puller *puller, bool is_over)
{
    Worker *worker = (Worker *) puller;
    worker->looks += !is_over;
    worker->ends += is_over;
}

static bool has_left(const Puller *puller)
{
    return ((const Worker *) puller)->has_left;
}

// open_pulled has a worker's channel, and a trigger that listens to x.
static int64_t open_pulled(Rig *rig, const char *trigger_members)
{
    const char *trigger =
        str_format(&rig->store.arena, "{'id':'x','eventKind':'x','channel':'worker:x'%s}",
                   trigger_members)
            .at;
    channel_of(&rig->store, TENANT, "{'key':'worker:x','type':'worker'}");
    publish(&rig->store, TENANT, trigger);
    turn(rig);
    return lane_of(&rig->store, TENANT, "worker:x");
}

static void wait_for(Rig *rig, int64_t lane, Worker *worker, int max, Span span)
{
    worker->puller = (Puller){ .lane = lane,
                               .max = max,
                               .until = clock_monotonic(&rig->store.clock) + span,
                               .until_clock = INSTANT_NONE,
                               .is_gone = has_left,
                               .call = called };
    engine_pull(rig->engine, &worker->puller);
}

static int looks_of(const Worker *workers, int count)
{
    int looks = 0;
    for (int i = 0; i < count; i++)
        looks += workers[i].looks;
    return looks;
}

static void one_delivery_wakes_one_of_a_thousand(void)
{
    RIG(rig);
    static Worker workers[MANY];
    int64_t lane = open_pulled(&rig, "");
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < MANY; i++)
        wait_for(&rig, lane, &workers[i], 1, SPAN_HOUR);
    turn(&rig);
    CHECK(looks_of(workers, MANY) == 0 && engine_pullers(rig.engine) == MANY);
    visits(&rig, "x", 1);
    turn(&rig);
    CHECK(looks_of(workers, MANY) == 1 && workers[0].looks == 1); // who came first
    CHECK(engine_pullers(rig.engine) == MANY - 1);
    visits(&rig, "x", 20);
    turn(&rig);
    CHECK(looks_of(workers, MANY) == 21);

    // Who finds more than it takes calls others.
    Pulled more = { .lane = lane,
                    .lease_until = now(&rig.store) + SPAN_HOUR,
                    .due_at = now(&rig.store),
                    .count = 2 };
    engine_pulled(rig.engine, &more);
    turn(&rig);
    CHECK(looks_of(workers, MANY) == 23);
    Pulled none = { .lane = lane, .lease_until = INSTANT_NONE, .due_at = INSTANT_NONE };
    engine_pulled(rig.engine, &none);
    turn(&rig);
    CHECK(looks_of(workers, MANY) == 23);
}

static void as_many_are_called_as_it_takes(void)
{
    RIG(rig);
    Worker workers[10] = { 0 };
    int64_t lane = open_pulled(&rig, "");
    for (int i = 0; i < 10; i++)
        wait_for(&rig, lane, &workers[i], 5, SPAN_HOUR);
    turn(&rig);
    visits(&rig, "x", 12);
    turn(&rig);
    CHECK(looks_of(workers, 10) == 3);
}

static void what_came_before_calls_who_comes(void)
{
    RIG(rig);
    Worker worker = { 0 }, other = { 0 };
    int64_t lane = open_pulled(&rig, "");
    visits(&rig, "x", 500);
    turn(&rig);
    CHECK(in_state(&rig, DELIVERY_PENDING) == 500); // no node claims it
    wait_for(&rig, lane, &worker, 1, SPAN_HOUR);
    turn(&rig);
    CHECK(worker.looks == 1);
    wait_for(&rig, lane, &other, 1, SPAN_HOUR); // the first has not told yet
    turn(&rig);
    CHECK(other.looks == 0);
}

static void what_falls_due_later_calls_then(void)
{
    RIG(rig);
    Worker worker = { 0 };
    int64_t lane = open_pulled(&rig, ",'schedule':{'initialDelay':'10s'}");
    visits(&rig, "x", 1);
    wait_for(&rig, lane, &worker, 1, SPAN_HOUR);
    lapse(&rig, 9 * SPAN_SECOND);
    CHECK(worker.looks == 0);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(worker.looks == 1 && worker.ends == 0);
}

static void who_waits_in_vain_is_told(void)
{
    RIG(rig);
    Worker early = { 0 }, late = { 0 };
    int64_t lane = open_pulled(&rig, "");
    wait_for(&rig, lane, &late, 1, 20 * SPAN_SECOND);
    wait_for(&rig, lane, &early, 1, 2 * SPAN_SECOND);
    lapse(&rig, SPAN_SECOND);
    CHECK(early.ends == 0 && engine_pullers(rig.engine) == 2);
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(early.ends == 1 && late.ends == 0 && engine_pullers(rig.engine) == 1);
    visits(&rig, "x", 1);
    turn(&rig);
    CHECK(early.looks == 0 && late.looks == 1);
}

static void who_has_left_is_let_go(void)
{
    RIG(rig);
    Worker gone = { 0 }, patient = { 0 };
    int64_t lane = open_pulled(&rig, "");
    wait_for(&rig, lane, &gone, 1, SPAN_HOUR);
    wait_for(&rig, lane, &patient, 1, SPAN_HOUR);
    lapse(&rig, 3 * SPAN_SECOND);
    CHECK(engine_pullers(rig.engine) == 2);
    gone.has_left = true;
    lapse(&rig, 2 * SPAN_SECOND);
    CHECK(gone.ends == 1 && gone.looks == 0 && engine_pullers(rig.engine) == 1);
    lapse(&rig, 5 * SPAN_SECOND);
    CHECK(patient.ends == 0 && patient.looks == 0);
}

static void who_waits_costs_no_round(void)
{
    RIG(rig);
    static Worker workers[MANY];
    int64_t lane = open_pulled(&rig, "");
    memset(workers, 0, sizeof workers);
    lapse(&rig, 2 * SPAN_MINUTE); // what follows a start is over
    int before = rig.transactions;
    lapse(&rig, SPAN_MINUTE);
    int idle = rig.transactions - before;
    for (int i = 0; i < MANY; i++)
        wait_for(&rig, lane, &workers[i], 1, SPAN_HOUR);
    before = rig.transactions;
    lapse(&rig, SPAN_MINUTE);
    CHECK(rig.transactions - before <= idle + 1);
    CHECK(looks_of(workers, MANY) == 0);
}

static void the_end_of_a_lease_is_known(void)
{
    RIG(rig);
    int64_t lane = open_pulled(&rig, "");
    Pulled taken = { .lane = lane,
                     .lease_until = now(&rig.store) + SPAN_SECOND / 2,
                     .due_at = INSTANT_NONE };
    engine_pulled(rig.engine, &taken);
    Instant wakes = engine_round(rig.engine);
    CHECK(wakes <= now(&rig.store) + SPAN_SECOND / 2);
    turn(&rig);
}

static const Test tests[] = {
    TEST(one_delivery_wakes_one_of_a_thousand),
    TEST(as_many_are_called_as_it_takes),
    TEST(what_came_before_calls_who_comes),
    TEST(what_falls_due_later_calls_then),
    TEST(who_waits_in_vain_is_told),
    TEST(who_has_left_is_let_go),
    TEST(who_waits_costs_no_round),
    TEST(the_end_of_a_lease_is_known),
};
PART(pulls_part, tests);
