#include "app/keeper.h"

#include "base/log.h"
#include "store/audit_outside.h"

#include <pthread.h>

struct Keeper {
    Writer *writer;
    const EpochGuard *guard;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_stopping; // guarded by lock
};

typedef struct Raise {
    const EpochGuard *guard;
    Err (*work)(Tx *tx, void *with, Error *error);
    void *with;
    Arena arena;
    EpochRaise raised;
    AuditKeep audit;
} Raise;

static Err raise_inside(Tx *tx, void *with, Error *error)
{
    Raise *raise = with;
    TRY(epoch_raise(tx, raise->guard, &raise->arena, &raise->raised, error));
    TRY(audit_outside_read(tx->db, &raise->arena, raise->guard, &raise->audit, error));
    return raise->work ? raise->work(tx, raise->with, error) : ERR_OK;
}

Err keeper_raise(Writer *writer, const EpochGuard *guard,
                 Err (*work)(Tx *tx, void *with, Error *error), void *with, Error *error)
{
    Raise raise = { .guard = guard, .work = work, .with = with };
    Err err = writer_run(writer, raise_inside, &raise, error);
    if (err == ERR_OK) {
        epoch_keep(&raise.raised);
        audit_outside_keep(&raise.audit);
    }
    arena_done(&raise.arena);
    return err;
}

// pauses waits until the next raise is due; false when it is to stop instead.
static bool pauses(Keeper *keeper)
{
    Instant due = clock_machine_monotonic() + EPOCH_EVERY;
    struct timespec until = { .tv_sec = due / SPAN_SECOND,
                              .tv_nsec = (long) (due % SPAN_SECOND * 1000) };
    pthread_mutex_lock(&keeper->lock);
    int waited = 0;
    while (!keeper->is_stopping && waited == 0)
        waited = pthread_cond_timedwait(&keeper->wake, &keeper->lock, &until);
    bool goes_on = !keeper->is_stopping;
    pthread_mutex_unlock(&keeper->lock);
    return goes_on;
}

static void *keeper_main(void *with)
{
    Keeper *keeper = with;
    while (pauses(keeper)) {
        Error error = { 0 };
        if (keeper_raise(keeper->writer, keeper->guard, NULL, NULL, &error) != ERR_OK)
            log_warn("epoch.unraised", "detail=%s", log_quote(str_from(error.detail)));
    }
    return NULL;
}

Keeper *keeper_start(Writer *writer, const EpochGuard *guard)
{
    Keeper *keeper = memory_new(sizeof *keeper);
    keeper->writer = writer;
    keeper->guard = guard;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_cond_init(&keeper->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&keeper->thread, NULL, keeper_main, keeper) != 0)
        abort();
    return keeper;
}

void keeper_stop(Keeper *keeper)
{
    if (!keeper)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->is_stopping = true;
    pthread_cond_signal(&keeper->wake);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    pthread_mutex_destroy(&keeper->lock);
    pthread_cond_destroy(&keeper->wake);
    free(keeper);
}
