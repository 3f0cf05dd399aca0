// pool.h - a few threads and a bounded line of work for them.
//
// A task is plain data with a run(), and lies in whatever it is a task of. Tasks begin in the order
// in which they came; two may run at once. A thread that is being woken is not woken again:
// whatever comes until it runs is served by the one wake-up, and who finds more in the line than it
// takes wakes the next. Where tasks are short, a thread takes several at a time (take_max). Each
// thread has a seat: memory of its own that starts zeroed and outlives its tasks (a connection,
// say), given back by leave() when the pool closes.
#pragma once

#include "base/base.h"

enum { POOL_THREADS_MAX = 8 };

typedef struct Pool Pool;
typedef struct Task Task;

struct Task {
    void (*run)(Task *task, void *seat);
    Task *next; // the pool's own, once it is submitted
};

typedef struct PoolOptions {
    int threads;
    size_t waiting_max;
    size_t take_max; // tasks that a thread takes at a time; 0: one, for tasks may be long
    size_t seat_size;
    void (*leave)(void *seat); // may be NULL
} PoolOptions;

Pool *pool_open(const PoolOptions *options);
void pool_close(Pool *pool); // finishes what is in the line

// pool_submit hands the task over; false when waiting_max wait already, and nothing was done.
bool pool_submit(Pool *pool, Task *task) MUST_USE;

// pool_submit_all hands over a list of tasks, linked by next, for one wake-up. It returns those for
// which there was no room.
Task *pool_submit_all(Pool *pool, Task *tasks) MUST_USE;
