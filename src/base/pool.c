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
    bool is_closing;     // guarded by lock
};

// take waits for a task; none means: stop.
static Task *take(Pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!pool->first && !pool->is_closing)
        pthread_cond_wait(&pool->wake, &pool->lock);
    Task *task = pool->first;
    if (task) {
        pool->first = task->next;
        pool->waiting--;
        if (!pool->first)
            pool->last = &pool->first;
    }
    pthread_mutex_unlock(&pool->lock);
    return task;
}

static void *pool_main(void *with)
{
    Pool *pool = with;
    void *seat = memory_new(pool->options.seat_size + 1);
    for (Task *task; (task = take(pool)) != NULL;)
        task->run(task, seat);
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

bool pool_submit(Pool *pool, Task *task)
{
    task->next = NULL;
    pthread_mutex_lock(&pool->lock);
    bool is_full = pool->waiting >= pool->options.waiting_max;
    if (!is_full) {
        *pool->last = task;
        pool->last = &task->next;
        pool->waiting++;
        pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
    return !is_full;
}
