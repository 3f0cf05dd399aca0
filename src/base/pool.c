#include "base/pool.h"

#include "base/arena.h"

#include <pthread.h>

struct Pool {
    PoolOptions options;
    pthread_t threads[POOL_THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    Task *first, **last; // guarded by lock
    size_t waiting;      // guarded by lock
    int asleep;          // guarded by lock: threads
    bool is_waking;      // guarded by lock: one of them was woken and does not run yet
    bool is_closing;     // guarded by lock
};

// wake_one wakes a thread unless one is on its way. With the lock.
static void wake_one(Pool *pool)
{
    if (pool->asleep == 0 || pool->is_waking)
        return;
    pool->is_waking = true;
    pthread_cond_signal(&pool->wake);
}

static void fall_asleep(Pool *pool)
{
    pool->asleep++;
    pthread_cond_wait(&pool->wake, &pool->lock);
    pool->asleep--;
    pool->is_waking = false;
}

// cut takes up to max tasks off the line. With the lock.
static Task *cut(Pool *pool, size_t max)
{
    Task *first = pool->first, **last = &pool->first;
    for (size_t i = 0; i < max && *last; i++, pool->waiting--)
        last = &(*last)->next;
    pool->first = *last;
    *last = NULL;
    if (!pool->first)
        pool->last = &pool->first;
    return first;
}

// take waits for tasks; none means: stop.
static Task *take(Pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!pool->first && !pool->is_closing)
        fall_asleep(pool);
    Task *tasks = pool->first ? cut(pool, pool->options.take_max) : NULL;
    if (pool->first)
        wake_one(pool);
    pthread_mutex_unlock(&pool->lock);
    return tasks;
}

static void *pool_main(void *with)
{
    Pool *pool = with;
    void *seat = memory_new(pool->options.seat_size + 1);
    for (Task *tasks; (tasks = take(pool)) != NULL;) {
        for (Task *task = tasks, *next; task; task = next) {
            next = task->next; // run, it may be another's
            task->run(task, seat);
        }
    }
    if (pool->options.leave)
        pool->options.leave(seat);
    free(seat);
    return NULL;
}

Pool *pool_open(const PoolOptions *options)
{
    assert(options->threads > 0 && options->threads <= POOL_THREADS_MAX);
    Pool *pool = memory_new(sizeof *pool);
    pool->options = *options;
    pool->options.take_max = options->take_max ? options->take_max : 1;
    pool->last = &pool->first;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (int i = 0; i < options->threads; i++)
        if (pthread_create(&pool->threads[i], NULL, pool_main, pool) != 0)
            abort();
    return pool;
}

void pool_close(Pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->options.threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    free(pool);
}

Task *pool_submit_all(Pool *pool, Task *tasks)
{
    pthread_mutex_lock(&pool->lock);
    while (tasks && pool->waiting < pool->options.waiting_max) {
        Task *next = tasks->next;
        tasks->next = NULL;
        *pool->last = tasks;
        pool->last = &tasks->next;
        pool->waiting++;
        tasks = next;
    }
    if (pool->first)
        wake_one(pool);
    pthread_mutex_unlock(&pool->lock);
    return tasks;
}

bool pool_submit(Pool *pool, Task *task)
{
    task->next = NULL;
    return pool_submit_all(pool, task) == NULL;
}
