#include "base/pool.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

// Job is a task that may wait at a gate, and notes what it saw.
typedef struct Job {
    Task task; // first: a Task * is a Job *
    pthread_barrier_t *gate;
    int seen; // what the seat held when it ran
    int order;
} Job;

static _Atomic int ran, left;

static void run(Task *task, void *seat)
{
    Job *job = (Job *) task;
    if (job->gate)
        pthread_barrier_wait(job->gate);
    job->seen = (*(int *) seat)++;
    job->order = ran++;
}

static void leave(void *seat)
{
    left += *(int *) seat;
}

static Pool *pool_of(int threads, size_t waiting_max)
{
    ran = left = 0;
    return pool_open(&(PoolOptions){
        .threads = threads, .waiting_max = waiting_max, .seat_size = sizeof(int), .leave = leave });
}

static void tasks_run_in_order_and_a_seat_outlives_them(void)
{
    Job jobs[5] = { 0 };
    Pool *pool = pool_of(1, 100);
    for (int i = 0; i < 5; i++) {
        jobs[i].task.run = run;
        CHECK(pool_submit(pool, &jobs[i].task));
    }
    pool_close(pool); // finishes them
    for (int i = 0; i < 5; i++)
        CHECK(jobs[i].order == i && jobs[i].seen == i);
    CHECK(left == 5);
}

static void as_many_run_at_once_as_there_are_threads(void)
{
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, 3); // none would pass it alone
    Job jobs[3] = { 0 };
    Pool *pool = pool_of(3, 100);
    for (int i = 0; i < 3; i++) {
        jobs[i] = (Job){ .task = { .run = run }, .gate = &gate };
        CHECK(pool_submit(pool, &jobs[i].task));
    }
    pool_close(pool);
    CHECK(ran == 3 && left == 3);
    for (int i = 0; i < 3; i++)
        CHECK(jobs[i].seen == 0);
    pthread_barrier_destroy(&gate);
}

static void the_line_is_bounded(void)
{
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, 2);
    Job first = { .task = { .run = run }, .gate = &gate }, more[4] = { 0 };
    Pool *pool = pool_of(1, 2);
    int taken = 0;
    CHECK(pool_submit(pool, &first.task)); // it may still be in the line, or with the thread
    for (int i = 0; i < 4; i++) {
        more[i].task.run = run;
        taken += pool_submit(pool, &more[i].task);
    }
    CHECK(taken == 1 || taken == 2);
    pthread_barrier_wait(&gate);
    pool_close(pool);
    CHECK(ran == 1 + taken);
    pthread_barrier_destroy(&gate);
}

// tasks_of links the jobs as they are to be handed over.
static Task *tasks_of(Job *jobs, int count)
{
    for (int i = 0; i < count; i++)
        jobs[i].task = (Task){ .run = run, .next = i + 1 < count ? &jobs[i + 1].task : NULL };
    return &jobs[0].task;
}

static void many_are_handed_over_at_once_in_their_order(void)
{
    Job jobs[50] = { 0 };
    ran = left = 0;
    Pool *pool = pool_open(&(PoolOptions){
        .threads = 1, .waiting_max = 100, .take_max = 16, .seat_size = sizeof(int) });
    CHECK(!pool_submit_all(pool, tasks_of(jobs, 50)));
    pool_close(pool);
    for (int i = 0; i < 50; i++)
        CHECK(jobs[i].order == i);
}

static void those_without_room_come_back(void)
{
    Job jobs[5] = { 0 };
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, 2);
    Job first = { .task = { .run = run }, .gate = &gate };
    Pool *pool = pool_of(1, 3);
    CHECK(pool_submit(pool, &first.task));
    int left_over = 0;
    for (Task *task = pool_submit_all(pool, tasks_of(jobs, 5)); task; task = task->next)
        left_over++;
    CHECK(left_over == 2 || left_over == 3); // the first may still be in the line
    pthread_barrier_wait(&gate);
    pool_close(pool);
    CHECK(ran == 6 - left_over);
    pthread_barrier_destroy(&gate);
}

// A thread that finds more than it takes wakes the next: nobody waits for the first one's batch.
static void who_finds_more_than_it_takes_wakes_the_next(void)
{
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, 2); // none of the two would pass it alone
    Job jobs[2] = { 0 };
    ran = left = 0;
    Pool *pool = pool_open(
        &(PoolOptions){ .threads = 2, .waiting_max = 10, .take_max = 1, .seat_size = sizeof(int) });
    Task *tasks = tasks_of(jobs, 2);
    jobs[0].gate = jobs[1].gate = &gate;
    CHECK(!pool_submit_all(pool, tasks));
    pool_close(pool);
    CHECK(ran == 2);
    pthread_barrier_destroy(&gate);
}

static const Test tests[] = {
    TEST(tasks_run_in_order_and_a_seat_outlives_them),
    TEST(as_many_run_at_once_as_there_are_threads),
    TEST(the_line_is_bounded),
    TEST(many_are_handed_over_at_once_in_their_order),
    TEST(those_without_room_come_back),
    TEST(who_finds_more_than_it_takes_wakes_the_next),
};
TEST_MAIN(tests)
