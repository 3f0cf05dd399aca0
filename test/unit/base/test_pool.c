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

static const Test tests[] = {
    TEST(tasks_run_in_order_and_a_seat_outlives_them),
    TEST(as_many_run_at_once_as_there_are_threads),
    TEST(the_line_is_bounded),
};
TEST_MAIN(tests)
