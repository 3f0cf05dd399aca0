#include "store/writer.h"

#include "base/clock.h"
#include "base/log.h"

#include <pthread.h>
#include <unistd.h>

enum {
    LANES_MAX = 4,
    BATCH_OPS_MAX = 1024,
    BATCH_WEIGHT_MAX = 20000,
    WAITING_MAX = 20000,
    REPLAYS_MAX = 20,
};

#define PATIENCE_DEFAULT ((Span) 5 * SPAN_SECOND)
#define RECONNECT_EVERY ((Span) 200 * SPAN_MILLISECOND)

typedef struct Lane {
    Writer *writer;
    int index;
    pthread_t thread;
    Db *db; // NULL while the store is away
    Tx tx;
    Op *batch[BATCH_OPS_MAX];
    Op *sorted[BATCH_OPS_MAX];
} Lane;

struct Writer {
    WriterOptions options;
    _Atomic int64_t node;
    _Atomic int64_t tickets; // given out; begins anywhere, so that no two processes share one
    Versions *versions;
    Lane lanes[LANES_MAX];
    _Atomic bool is_up;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    Op *first, **last; // guarded by lock
    size_t waiting;    // guarded by lock
    int idle;          // guarded by lock: lanes asleep
    bool is_closing;   // guarded by lock

    pthread_mutex_t registry_lock;
    Registry *registry; // guarded by registry_lock
};

static void *lane_main(void *with);
static size_t take_batch(Lane *lane);
static void run_batch(Lane *lane, Op **ops, size_t count);
static Err try_batch(Lane *lane, Op **ops, size_t count, Error *error);
static bool connect_lane(Lane *lane, Error *error);

Registry *writer_registry(Writer *writer)
{
    pthread_mutex_lock(&writer->registry_lock);
    Registry *registry = writer->registry ? registry_hold(writer->registry) : NULL;
    pthread_mutex_unlock(&writer->registry_lock);
    return registry;
}

Versions *writer_versions(Writer *writer)
{
    return writer->versions;
}

// publish puts a snapshot in place unless a newer one is there.
static void publish(Writer *writer, Registry *registry)
{
    pthread_mutex_lock(&writer->registry_lock);
    Registry *old = writer->registry;
    if (!old || old->generation < registry->generation)
        writer->registry = registry;
    else
        old = registry;
    pthread_mutex_unlock(&writer->registry_lock);
    registry_drop(old);
}

static const Statement generation_now = {
    .name = "generation_now",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT n FROM generation WHERE one = 1",
};

Err writer_refresh(Writer *writer, Db *db, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Rows rows;
    TRY(db_query(db, &arena, &generation_now, NULL, &rows, error));
    pthread_mutex_lock(&writer->registry_lock);
    bool is_current = writer->registry && rows.count == 1 &&
                      writer->registry->generation == value_to_i64(&rows.values[0]);
    pthread_mutex_unlock(&writer->registry_lock);
    if (is_current)
        return ERR_OK;
    Registry *registry;
    TRY(registry_load(db, writer->options.ring, &registry, error));
    publish(writer, registry);
    return ERR_OK;
}

bool writer_is_up(const Writer *writer)
{
    return writer->is_up;
}

bool writer_is_shared(const Writer *writer)
{
    return db_driver_for(writer->options.url) == &postgres_driver;
}

size_t writer_waiting(const Writer *writer)
{
    return writer->waiting;
}

Err writer_open(const WriterOptions *options, Writer **ret, Error *error)
{
    Writer *writer = memory_new(sizeof *writer);
    writer->options = *options;
    writer->versions = versions_new();
    writer->tickets = (int64_t) (random_u64(options->random) >> 2);
    writer->last = &writer->first;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_mutex_init(&writer->registry_lock, NULL);
    pthread_cond_init(&writer->wake, NULL);
    for (int i = 0; i < LANES_MAX; i++) {
        writer->lanes[i].writer = writer;
        writer->lanes[i].index = i;
    }
    if (!connect_lane(&writer->lanes[0], error)) {
        Err err = error->err;
        writer_close(writer);
        return err;
    }
    for (int i = 0; i < options->lane_count; i++)
        if (pthread_create(&writer->lanes[i].thread, NULL, lane_main, &writer->lanes[i]) != 0)
            abort();
    *ret = writer;
    return ERR_OK;
}

void writer_close(Writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->is_closing = true;
    pthread_cond_broadcast(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    for (int i = 0; i < LANES_MAX; i++) {
        Lane *lane = &writer->lanes[i];
        if (lane->thread)
            pthread_join(lane->thread, NULL);
        db_close(lane->db);
        arena_done(&lane->tx.arena);
    }
    registry_drop(writer->registry);
    versions_free(writer->versions);
    pthread_mutex_destroy(&writer->lock);
    pthread_mutex_destroy(&writer->registry_lock);
    pthread_cond_destroy(&writer->wake);
    free(writer);
}

void writer_submit(Writer *writer, Op *op)
{
    op->next = NULL;
    op->waits_until =
        clock_monotonic(writer->options.clock) + (op->patience ? op->patience : PATIENCE_DEFAULT);
    if (writer->options.lane_count == 0 && !writer->options.is_stepped) {
        run_batch(&writer->lanes[0], &op, 1);
        return;
    }
    pthread_mutex_lock(&writer->lock);
    bool is_full = writer->waiting >= WAITING_MAX && op->patience == 0;
    bool wake = false;
    if (!is_full) {
        *writer->last = op;
        writer->last = &op->next;
        writer->waiting++;
        wake = writer->idle > 0;
    }
    pthread_mutex_unlock(&writer->lock);
    if (wake)
        pthread_cond_signal(&writer->wake);
    if (is_full) {
        Error error = { 0 };
        op->done(op, fail(&error, ERR_BUSY, "%d requests are waiting already", WAITING_MAX),
                 &error);
    }
}

bool writer_step(Writer *writer)
{
    assert(writer->options.is_stepped);
    if (!writer->first)
        return false;
    run_batch(&writer->lanes[0], writer->lanes[0].batch, take_batch(&writer->lanes[0]));
    return true;
}

void writer_set_node(Writer *writer, int64_t node)
{
    writer->node = node;
}

// Errand is an operation whose submitter waits for it.
typedef struct Errand {
    Op op;
    Err (*work)(Tx *tx, void *with, Error *error);
    void *with;
    Err err;
    Error *error;
    bool is_done; // guarded by lock
    pthread_mutex_t lock;
    pthread_cond_t finished;
} Errand;

static Err errand_apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        Errand *errand = (Errand *) ops[i];
        TRY(errand->work(tx, errand->with, error));
    }
    return ERR_OK;
}

static void errand_done(Op *op, Err err, const Error *error)
{
    Errand *errand = (Errand *) op;
    pthread_mutex_lock(&errand->lock);
    errand->err = err;
    if (err != ERR_OK)
        fail(errand->error, err, "%s", error->detail);
    errand->is_done = true;
    pthread_cond_signal(&errand->finished);
    pthread_mutex_unlock(&errand->lock);
}

Err writer_run(Writer *writer, Err (*work)(Tx *tx, void *with, Error *error), void *with,
               Error *error)
{
    static const OpKind kind = { .name = "errand", .apply = errand_apply };
    Errand errand = {
        .op = { .kind = &kind, .done = errand_done }, .work = work, .with = with, .error = error
    };
    pthread_mutex_init(&errand.lock, NULL);
    pthread_cond_init(&errand.finished, NULL);
    writer_submit(writer, &errand.op);
    while (writer->options.is_stepped && !errand.is_done)
        if (!writer_step(writer))
            return fail(error, ERR_UNAVAILABLE, "the program was stopped");
    pthread_mutex_lock(&errand.lock);
    while (!errand.is_done)
        pthread_cond_wait(&errand.finished, &errand.lock);
    pthread_mutex_unlock(&errand.lock);
    pthread_mutex_destroy(&errand.lock);
    pthread_cond_destroy(&errand.finished);
    return errand.err;
}

static void *lane_main(void *with)
{
    Lane *lane = with;
    size_t count;
    while ((count = take_batch(lane)) > 0)
        run_batch(lane, lane->batch, count);
    return NULL;
}

// take_batch waits for work and takes as much as one transaction should hold; none means: stop.
static size_t take_batch(Lane *lane)
{
    Writer *writer = lane->writer;
    pthread_mutex_lock(&writer->lock);
    while (!writer->first && !writer->is_closing) {
        writer->idle++;
        pthread_cond_wait(&writer->wake, &writer->lock);
        writer->idle--;
    }
    size_t count = 0, weight = 0;
    while (writer->first && count < BATCH_OPS_MAX && weight < BATCH_WEIGHT_MAX) {
        Op *op = writer->first;
        writer->first = op->next;
        weight += op->weight ? op->weight : 1;
        lane->batch[count++] = op;
    }
    if (!writer->first)
        writer->last = &writer->first;
    writer->waiting -= count;
    pthread_mutex_unlock(&writer->lock);
    return count;
}

static void finish(Op **ops, size_t count, Err err, const Error *error)
{
    for (size_t i = 0; i < count; i++)
        ops[i]->done(ops[i], err, error);
}

// drop_impatient fails the operations that have waited long enough and keeps the rest.
static size_t drop_impatient(const Lane *lane, Op **ops, size_t count, Err err, const Error *error)
{
    Instant now = clock_monotonic(lane->writer->options.clock);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->waits_until <= now)
            ops[i]->done(ops[i], err, error);
        else
            ops[kept++] = ops[i];
    }
    return kept;
}

static void log_outage(Writer *writer, bool is_up, const Error *error)
{
    if (atomic_exchange(&writer->is_up, is_up) == is_up)
        return;
    if (is_up)
        log_info("store.up", "url=%s", db_driver_for(writer->options.url)->name);
    else
        log_error("store.away", "detail=%s", log_quote(str_from(error->detail)));
}

static bool connect_lane(Lane *lane, Error *error)
{
    Writer *writer = lane->writer;
    DbOptions options = { .url = writer->options.url,
                          .name = writer->options.name,
                          .is_weak = writer->options.is_weak };
    Db *db = NULL;
    bool ok = db_open(&options, &db, error) == ERR_OK;
    if (ok) {
        db->fault = writer->options.fault;
        db->fault_with = writer->options.fault_with;
        ok = writer_refresh(writer, db, error) == ERR_OK;
    }
    if (!ok) {
        db_close(db);
        log_outage(writer, false, error);
        return false;
    }
    lane->db = db;
    log_outage(writer, true, error);
    return true;
}

// stops ends the program where the disk broke its promise: what is in memory and what is on disk
// may differ, and only recovery can tell. It returns true only in a simulation.
static bool stops(const Lane *lane, const Error *error)
{
    const WriterSeams *seams = &lane->writer->options.seams;
    if (!lane->db || !lane->db->is_fatal)
        return false;
    log_error("store.fatal", "detail=%s", log_quote(str_from(error->detail)));
    if (!seams->stop)
        _exit(1);
    seams->stop(seams->with);
    return true;
}

static void pause_lane(const Lane *lane)
{
    const WriterSeams *seams = &lane->writer->options.seams;
    if (seams->pause)
        seams->pause(seams->with, RECONNECT_EVERY);
    else
        usleep((useconds_t) RECONNECT_EVERY);
}

// resolve finds out what became of a COMMIT whose reply was lost.
static bool resolve(Lane *lane, bool *ret_committed, Error *error)
{
    const Tx *tx = &lane->tx;
    if (tx_was_committed(lane->db, tx->writer, tx->ticket, ret_committed, error) != ERR_OK)
        return false;
    // It may have changed a definition, after the snapshot of this connection was taken.
    return !*ret_committed || writer_refresh(lane->writer, lane->db, error) == ERR_OK;
}

static void run_batch(Lane *lane, Op **ops, size_t count)
{
    Error error = { 0 };
    Err err = ERR_OK;
    bool is_open = false; // what became of the last COMMIT is not known
    int replays = 0;
    lane->tx.is_careful = false;
    while (count > 0) {
        if (!lane->db && !connect_lane(lane, &error)) {
            count = drop_impatient(lane, ops, count, ERR_UNAVAILABLE, &error);
            pause_lane(lane);
            continue;
        }
        bool is_committed = false;
        if (is_open && !resolve(lane, &is_committed, &error)) {
            db_close(lane->db);
            lane->db = NULL;
            count = drop_impatient(lane, ops, count, ERR_UNAVAILABLE, &error);
            pause_lane(lane);
            continue;
        }
        if (is_committed || (err = try_batch(lane, ops, count, &error)) == ERR_OK) {
            finish(ops, count, ERR_OK, NULL);
            (void) stops(lane, &error); // told first: what was committed is on disk
            return;
        }
        if (stops(lane, &error))
            return;
        is_open = lane->db->commit_unknown;
        if (lane->db->is_broken) {
            db_close(lane->db);
            lane->db = NULL;
            log_outage(lane->writer, false, &error);
            continue;
        }
        bool again = lane->tx.is_outdated || lane->tx.was_too_trusting || err == ERR_BUSY;
        if (lane->tx.is_outdated && writer_refresh(lane->writer, lane->db, &error) != ERR_OK)
            lane->db->is_broken = true;
        lane->tx.is_careful |= lane->tx.was_too_trusting;
        if (again && ++replays < REPLAYS_MAX)
            continue;
        if (count > 1 && err != ERR_DISK_FULL) {
            for (size_t i = 0; i < count; i++)
                run_batch(lane, &ops[i], 1);
            return;
        }
        finish(ops, count, err, &error);
        return;
    }
}

// apply_by_kind applies the batch kind by kind, in the order in which kinds first appear.
static Err apply_by_kind(Lane *lane, Op **ops, size_t count, Error *error)
{
    Op *group[BATCH_OPS_MAX];
    for (size_t i = 0; i < count; i++)
        lane->sorted[i] = ops[i];
    for (size_t left = count; left > 0;) {
        const OpKind *kind = lane->sorted[0]->kind;
        size_t taken = 0, kept = 0;
        for (size_t i = 0; i < left; i++) {
            if (lane->sorted[i]->kind == kind)
                group[taken++] = lane->sorted[i];
            else
                lane->sorted[kept++] = lane->sorted[i];
        }
        left = kept;
        TRY(kind->apply(&lane->tx, group, taken, error));
    }
    return ERR_OK;
}

static Err try_batch(Lane *lane, Op **ops, size_t count, Error *error)
{
    Writer *writer = lane->writer;
    Tx *tx = &lane->tx;
    tx->db = lane->db;
    tx->now = clock_now(writer->options.clock);
    tx->writer = writer->node * 16 + lane->index;
    tx->ticket = ++writer->tickets;
    tx->registry = writer_registry(writer);
    tx->versions = writer->versions;
    tx->random = writer->options.random;
    tx_begin(tx);
    Err err = apply_by_kind(lane, ops, count, error);
    if (err == ERR_OK)
        err = tx_finish(tx, error);
    if (err != ERR_OK)
        db_rollback(tx->db);
    registry_drop(tx->registry);
    tx->registry = NULL;
    // The snapshot is renewed before anyone is answered: a publish is seen by what comes next.
    Error ignored = { 0 };
    if (err == ERR_OK && tx->changes_definitions &&
        writer_refresh(writer, lane->db, &ignored) != ERR_OK)
        log_warn("registry.refresh", "detail=%s", log_quote(str_from(ignored.detail)));
    return err;
}
