#include "store/writer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/thread.h"
#include "store/curve.h"
#include "store/generation.h"
#include "store/surveys.h"
#include "store/waiting.h"

#include <pthread.h>
#include <unistd.h>

enum { REPLAYS_MAX = 20, PENS_OF_A_NODE = 16 };
_Static_assert(PENS_MAX <= (int) PENS_OF_A_NODE, "pens of two nodes share no number");

#define RECONNECT_EVERY ((Span) 200 * SPAN_MILLISECOND)

// Pen is a thread with a connection: it takes a batch, writes it down, and takes the next.
typedef struct Pen {
    Writer *writer;
    int index;
    pthread_t thread;
    Db *db;         // NULL while the store is away
    int64_t number; // of the writer that it is in the journal; 0: none yet
    int64_t last_n; // of its transactions
    Tx tx;
    bool is_stuck; // writer->waiting.stuck names the kind
    bool is_open;  // what became of its last COMMIT is not known: to be found out before the next
    Op *batch[BATCH_OPS_MAX];
    Op *sorted[BATCH_OPS_MAX];
} Pen;

struct Writer {
    WriterOptions options;
    _Atomic int64_t node;
    Versions *versions;
    Surveys *surveys;
    Curves *curves;
    Pen pens[PENS_MAX];
    _Atomic bool is_up;

    pthread_mutex_t lock;
    pthread_cond_t wake, wake_slow; // of the pen for what takes long
    Waiting waiting;                // guarded by lock
    int idle;                       // guarded by lock: pens asleep, but for that one
    bool is_closing;                // guarded by lock
    WriterFollower *follower;       // guarded by lock
    void *follower_with;            // guarded by lock
    void (*taker)(void *);          // guarded by lock
    void *taker_with;               // guarded by lock

    pthread_mutex_t load_lock;  // of whoever reads definitions; taken before registry_lock
    _Atomic bool has_been_away; // the store, since definitions were read
    pthread_mutex_t registry_lock;
    Registry *registry; // guarded by registry_lock; set under both
};

static void *pen_main(void *with);
static size_t take_batch(Pen *pen);
static void come_free(Pen *pen);
static void run_batch(Pen *pen, Op **ops, size_t count);
static void log_outage(Writer *writer, bool is_up, const Error *error);
static bool connect_pen(Pen *pen, Error *error);
static Err try_batch(Pen *pen, Op **ops, size_t count, Error *error);
static void tell(Pen *pen);

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

Surveys *writer_surveys(Writer *writer)
{
    return writer->surveys;
}

Curves *writer_curves(Writer *writer)
{
    return writer->curves;
}

// publish puts a snapshot in place of the one before. Needs the load lock.
static void publish(Writer *writer, Registry *registry)
{
    pthread_mutex_lock(&writer->registry_lock);
    Registry *old = writer->registry;
    writer->registry = registry;
    pthread_mutex_unlock(&writer->registry_lock);
    registry_drop(old);
}

// renew makes the snapshot current, by what has changed since it was made. Needs the load lock. A
// store that is behind it was put back, and so may be any that was away: then everything is read.
static Err renew(Writer *writer, Db *db, Error *error)
{
    Registry *known = writer->registry, *registry;
    int64_t generation;
    TRY(generation_read(db, &generation, error));
    bool is_doubtful = writer->has_been_away || !known || generation < known->generation;
    if (!is_doubtful && generation == known->generation)
        return ERR_OK;
    if (is_doubtful)
        TRY(registry_load(db, writer->options.ring, &registry, error));
    else
        TRY(registry_renew(db, known, &registry, error));
    writer->has_been_away = false;
    publish(writer, registry);
    return ERR_OK;
}

static bool is_current(Writer *writer, int64_t generation)
{
    pthread_mutex_lock(&writer->registry_lock);
    bool is = writer->registry && writer->registry->generation == generation;
    pthread_mutex_unlock(&writer->registry_lock);
    return is && !writer->has_been_away;
}

Err writer_refresh(Writer *writer, Db *db, Error *error)
{
    int64_t generation;
    TRY(generation_read(db, &generation, error));
    if (is_current(writer, generation))
        return ERR_OK;
    // One reads for all: the others wait, and find it done.
    pthread_mutex_lock(&writer->load_lock);
    Err err = renew(writer, db, error);
    pthread_mutex_unlock(&writer->load_lock);
    return err;
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
    return writer->waiting.count;
}

static void wake_all(Writer *writer)
{
    pthread_cond_broadcast(&writer->wake);
    pthread_cond_broadcast(&writer->wake_slow);
}

Err writer_open(const WriterOptions *options, Writer **ret, Error *error)
{
    Writer *writer = memory_new(sizeof *writer);
    writer->options = *options;
    writer->versions = versions_new();
    writer->surveys = surveys_new();
    writer->curves = curves_new();
    waiting_init(&writer->waiting, options->pen_count);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_mutex_init(&writer->registry_lock, NULL);
    pthread_mutex_init(&writer->load_lock, NULL);
    pthread_cond_init(&writer->wake, NULL);
    pthread_cond_init(&writer->wake_slow, NULL);
    for (int i = 0; i < PENS_MAX; i++) {
        writer->pens[i].writer = writer;
        writer->pens[i].index = i;
    }
    if (!connect_pen(&writer->pens[0], error)) {
        Err err = error->err;
        writer_close(writer);
        return err;
    }
    for (int i = 0; i < options->pen_count && !options->is_stepped; i++)
        if (pthread_create(&writer->pens[i].thread, NULL, pen_main, &writer->pens[i]) != 0)
            abort();
    *ret = writer;
    return ERR_OK;
}

void writer_close(Writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->is_closing = true;
    wake_all(writer);
    pthread_mutex_unlock(&writer->lock);
    for (int i = 0; i < PENS_MAX; i++) {
        Pen *pen = &writer->pens[i];
        if (pen->thread)
            pthread_join(pen->thread, NULL);
        db_close(pen->db);
        arena_done(&pen->tx.arena);
    }
    registry_drop(writer->registry);
    versions_free(writer->versions);
    surveys_free(writer->surveys);
    curves_free(writer->curves);
    pthread_mutex_destroy(&writer->lock);
    pthread_mutex_destroy(&writer->registry_lock);
    pthread_mutex_destroy(&writer->load_lock);
    pthread_cond_destroy(&writer->wake);
    pthread_cond_destroy(&writer->wake_slow);
    free(writer);
}

void writer_follow(Writer *writer, WriterFollower *follower, void *with)
{
    pthread_mutex_lock(&writer->lock);
    writer->follower = follower;
    writer->follower_with = with;
    pthread_mutex_unlock(&writer->lock);
}

void writer_follow_events(Writer *writer, void (*took)(void *with), void *with)
{
    pthread_mutex_lock(&writer->lock);
    writer->taker = took;
    writer->taker_with = with;
    pthread_mutex_unlock(&writer->lock);
}

void writer_set_node(Writer *writer, int64_t node)
{
    writer->node = node;
}

void writer_submit(Writer *writer, Op *op)
{
    op->waits_until =
        clock_monotonic(writer->options.clock) + (op->patience ? op->patience : OP_PATIENCE);
    if (writer->options.pen_count == 0 && !writer->options.is_stepped) {
        run_batch(&writer->pens[0], &op, 1);
        come_free(&writer->pens[0]);
        return;
    }
    pthread_mutex_lock(&writer->lock);
    bool is_refused = !op->is_urgent && waiting_is_full(&writer->waiting);
    if (!is_refused)
        waiting_add(&writer->waiting, op);
    bool is_slow = op->is_long && writer->waiting.slow_pen >= 0;
    bool wake = !is_refused && (is_slow || writer->idle > 0);
    pthread_mutex_unlock(&writer->lock);
    if (wake)
        pthread_cond_signal(is_slow ? &writer->wake_slow : &writer->wake);
    if (is_refused) {
        Error error = { 0 };
        op->done(op, fail(&error, ERR_BUSY, "too many requests are waiting already"), &error);
    }
}

bool writer_step(Writer *writer)
{
    assert(writer->options.is_stepped);
    bool has_worked = false;
    for (int i = 0; i < writer->options.pen_count; i++) {
        Pen *pen = &writer->pens[i];
        size_t count = waiting_take(&writer->waiting, i, pen->batch);
        if (count == 0)
            continue;
        run_batch(pen, pen->batch, count);
        come_free(pen);
        has_worked = true;
    }
    return has_worked;
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

static void *pen_main(void *with)
{
    Pen *pen = with;
    size_t count;
    thread_become(THREAD_PEN);
    while ((count = take_batch(pen)) > 0) {
        run_batch(pen, pen->batch, count);
        come_free(pen);
    }
    return NULL;
}

// take_batch waits for work and takes as much as one transaction should hold; none means: stop.
static size_t take_batch(Pen *pen)
{
    Writer *writer = pen->writer;
    bool is_slow = pen->index == writer->waiting.slow_pen;
    size_t count;
    pthread_mutex_lock(&writer->lock);
    while ((count = waiting_take(&writer->waiting, pen->index, pen->batch)) == 0 &&
           !writer->is_closing) {
        writer->idle += !is_slow;
        pthread_cond_wait(is_slow ? &writer->wake_slow : &writer->wake, &writer->lock);
        writer->idle -= !is_slow;
    }
    pthread_mutex_unlock(&writer->lock);
    return count;
}

// come_free lets the other pens have the kind again that this one was stuck on.
static void come_free(Pen *pen)
{
    Writer *writer = pen->writer;
    if (!pen->is_stuck)
        return;
    pthread_mutex_lock(&writer->lock);
    pen->is_stuck = false;
    writer->waiting.stuck[pen->index] = NULL;
    wake_all(writer);
    pthread_mutex_unlock(&writer->lock);
}

static void finish(Op **ops, size_t count, Err err, const Error *error)
{
    for (size_t i = 0; i < count; i++)
        ops[i]->done(ops[i], err, error);
}

// stops ends the program where the disk broke its promise: what is in memory and what is on disk
// may differ, and only recovery can tell. It returns true only in a simulation.
static bool stops(const Pen *pen, const Error *error)
{
    const WriterSeams *seams = &pen->writer->options.seams;
    if (!pen->db || !pen->db->is_fatal)
        return false;
    log_error("store.fatal", "detail=%s", log_quote(str_from(error->detail)));
    if (!seams->stop)
        _exit(1);
    seams->stop(seams->with);
    return true;
}

// Run is a batch on its way: the operations that are not done yet, and what the last try left.
typedef struct Run {
    Pen *pen;
    Op **ops;
    size_t count;
    Err err;
    Error error;
    bool is_open; // the pen's open COMMIT is of this batch
    int replays;
} Run;

static bool reach(Run *run, bool *ret_committed);
static void part(Run *run);
static bool wants_replay(Run *run);
static void give_up(Run *run);

static void run_batch(Pen *pen, Op **ops, size_t count)
{
    Run run = { .pen = pen, .ops = ops, .count = count };
    pen->tx.is_careful = false;
    while (run.count > 0) {
        bool is_committed = false;
        if (!reach(&run, &is_committed))
            continue;
        if (!is_committed)
            run.err = try_batch(pen, run.ops, run.count, &run.error);
        if (is_committed || run.err == ERR_OK) {
            tell(pen);
            finish(run.ops, run.count, ERR_OK, NULL);
            (void) stops(pen, &run.error); // told first: what was committed is on disk
            return;
        }
        if (stops(pen, &run.error))
            return;
        run.is_open = pen->is_open = pen->db->commit_unknown;
        if (pen->db->is_broken) {
            db_close(pen->db);
            pen->db = NULL;
            pen->writer->has_been_away = true;
            log_outage(pen->writer, false, &run.error);
        } else if (pen->db->has_timed_out) {
            part(&run);
        } else if (!wants_replay(&run)) {
            give_up(&run);
        }
    }
}

// drop_impatient fails the operations that have waited long enough and keeps the rest.
static size_t drop_impatient(const Pen *pen, Op **ops, size_t count, Err err, const Error *error)
{
    Instant now = clock_monotonic(pen->writer->options.clock);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->waits_until <= now)
            ops[i]->done(ops[i], err, error);
        else
            ops[kept++] = ops[i];
    }
    return kept;
}

static void drop_impatient_of(Run *run, Err err)
{
    run->count = drop_impatient(run->pen, run->ops, run->count, err, &run->error);
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

// check_epoch asks whether this is the database that it was, before anything is done to it. Only
// the one that the program starts with may be vouched for by an option.
static Err check_epoch(Writer *writer, Db *db, Error *error)
{
    if (!writer->options.guard)
        return ERR_OK;
    Registry *known = writer_registry(writer);
    bool is_first = known == NULL;
    registry_drop(known);
    return epoch_check(db, writer->options.guard, is_first, clock_now(writer->options.clock),
                       error);
}

static bool connect_pen(Pen *pen, Error *error)
{
    Writer *writer = pen->writer;
    DbOptions options = { .url = writer->options.url,
                          .name = writer->options.name,
                          .is_weak = writer->options.is_weak };
    Db *db = NULL;
    bool ok = db_open(&options, &db, error) == ERR_OK;
    if (ok) {
        db->fault = writer->options.fault;
        db->fault_with = writer->options.fault_with;
        ok =
            check_epoch(writer, db, error) == ERR_OK && writer_refresh(writer, db, error) == ERR_OK;
    }
    if (!ok) {
        db_close(db);
        log_outage(writer, false, error);
        return false;
    }
    pen->db = db;
    log_outage(writer, true, error);
    return true;
}

// resolve finds out what became of a COMMIT whose reply was lost.
static bool resolve(Pen *pen, bool *ret_committed, Error *error)
{
    const Tx *tx = &pen->tx;
    if (journal_resolve(pen->db, tx->writer, tx->n, ret_committed, error) != ERR_OK)
        return false;
    // It may have changed a definition, after the snapshot of this connection was taken.
    return !*ret_committed || writer_refresh(pen->writer, pen->db, error) == ERR_OK;
}

static void pause_pen(const Pen *pen)
{
    const WriterSeams *seams = &pen->writer->options.seams;
    if (seams->pause)
        seams->pause(seams->with, RECONNECT_EVERY);
    else
        usleep((useconds_t) RECONNECT_EVERY);
}

// reach connects where that is needed and finds out about a lost COMMIT, be it of a batch before:
// none is begun while one is undecided. Where it cannot, whoever is out of patience is told, and it
// is to be tried again.
static bool reach(Run *run, bool *ret_committed)
{
    Pen *pen = run->pen;
    bool is_committed = false;
    bool ok = pen->db || connect_pen(pen, &run->error);
    if (ok && pen->is_open && !resolve(pen, &is_committed, &run->error)) {
        db_close(pen->db);
        pen->db = NULL;
        ok = false;
    }
    if (ok) {
        *ret_committed = is_committed && run->is_open;
        if (is_committed && !run->is_open)
            tell(pen); // those who wanted it have been turned away meanwhile
        pen->is_open = run->is_open = false;
    }
    if (!ok) {
        drop_impatient_of(run, ERR_UNAVAILABLE);
        pause_pen(pen);
    }
    return ok;
}

// take_number makes sure that the pen has a number of its own in the journal: a stranger's until
// the node is known.
static Err take_number(Pen *pen, Error *error)
{
    Writer *writer = pen->writer;
    int64_t node = writer->node, number = node * PENS_OF_A_NODE + pen->index;
    if (node == 0 ? pen->number < 0 : pen->number == number)
        return ERR_OK;
    if (node == 0)
        number = journal_stranger(writer->options.random);
    DEFER(arena_done) Arena arena = { 0 };
    TRY(journal_last(pen->db, &arena, number, &pen->last_n, error));
    pen->number = number;
    return ERR_OK;
}

// apply_by_kind applies the batch kind by kind, in the order in which kinds first appear.
static Err apply_by_kind(Pen *pen, Op **ops, size_t count, Error *error)
{
    Op *group[BATCH_OPS_MAX];
    for (size_t i = 0; i < count; i++)
        pen->sorted[i] = ops[i];
    for (size_t left = count; left > 0;) {
        const OpKind *kind = pen->sorted[0]->kind;
        size_t taken = 0, kept = 0;
        for (size_t i = 0; i < left; i++) {
            if (pen->sorted[i]->kind == kind)
                group[taken++] = pen->sorted[i];
            else
                pen->sorted[kept++] = pen->sorted[i];
        }
        left = kept;
        TRY(kind->apply(&pen->tx, group, taken, error));
    }
    return ERR_OK;
}

static Err try_batch(Pen *pen, Op **ops, size_t count, Error *error)
{
    Writer *writer = pen->writer;
    Tx *tx = &pen->tx;
    tx->db = pen->db;
    tx->now = clock_now(writer->options.clock);
    TRY(take_number(pen, error));
    tx->writer = pen->number;
    tx->n = ++pen->last_n;
    tx->registry = writer_registry(writer);
    tx->versions = writer->versions;
    tx->surveys = writer->surveys;
    tx->random = writer->options.random;
    Instant begun_at = clock_monotonic(writer->options.clock);
    tx_begin(tx);
    Err err = apply_by_kind(pen, ops, count, error);
    if (err == ERR_OK)
        err = tx_finish(tx, error);
    if (err == ERR_OK) {
        metric_observe(METRIC_COMMIT, METRIC_ALONE,
                       clock_monotonic(writer->options.clock) - begun_at);
        metric_observe(METRIC_COMMIT_OPERATIONS, METRIC_ALONE, (int64_t) count);
    }
    if (err != ERR_OK)
        db_rollback(tx->db);
    registry_drop(tx->registry);
    tx->registry = NULL;
    // The snapshot is renewed before anyone is answered: a publish is seen by what comes next.
    Error ignored = { 0 };
    if (err == ERR_OK && tx->changes_definitions &&
        writer_refresh(writer, pen->db, &ignored) != ERR_OK)
        log_warn("registry.refresh", "detail=%s", log_quote(str_from(ignored.detail)));
    return err;
}

static void count_made(const Tx *tx)
{
    int64_t created = 0;
    for (size_t i = 0; i < tx->move_count; i++)
        created += tx->moves[i].from == MOVE_NOWHERE;
    metric_count(METRIC_EVENTS, METRIC_ALONE, tx->event_count);
    metric_count(METRIC_HANDOFF_FAILURES, METRIC_ALONE, tx->handoff_failures);
    metric_count(METRIC_CREATED, METRIC_ALONE, created);
    metric_count(METRIC_DEDUP_HITS, METRIC_ALONE, tx->dedup_hits);
}

// tell counts what the transaction made and lets the follower know what it did.
static void tell(Pen *pen)
{
    Writer *writer = pen->writer;
    const Tx *tx = &pen->tx;
    count_made(tx);
    curves_gather(writer->curves, tx);
    bool took = tx->event_count > 0;
    bool did_more = tx->facts.count > tx->move_count + (size_t) tx->event_count ||
                    tx->changes_definitions || tx->wakes;
    pthread_mutex_lock(&writer->lock);
    WriterFollower *follower = writer->follower;
    void *with = writer->follower_with;
    void (*taker)(void *) = writer->taker;
    void *taker_with = writer->taker_with;
    pthread_mutex_unlock(&writer->lock);
    if (follower && tx->move_count > 0)
        follower(with, tx->moves, tx->move_count);
    if (follower && did_more)
        follower(with, NULL, 0);
    if (taker && took && tx->move_count == 0 && !did_more)
        taker(taker_with);
}

// split_kind moves the operations of one kind to the front and returns how many they are.
static size_t split_kind(Op **ops, size_t count, const OpKind *kind)
{
    Op *others[BATCH_OPS_MAX];
    size_t kept = 0, left = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i]->kind == kind)
            ops[kept++] = ops[i];
        else
            others[left++] = ops[i];
    }
    if (left)
        memcpy(ops + kept, others, left * sizeof *ops);
    return kept;
}

// keep_kind keeps the operations of the first one's kind and gives the rest back to the line. Where
// another pen is stuck on that kind already, everything goes back: one pen is enough to wait, and
// the others are needed for what can be done.
static void keep_kind(Run *run, const OpKind *kind)
{
    Pen *pen = run->pen;
    Writer *writer = pen->writer;
    size_t kept = split_kind(run->ops, run->count, kind);
    pthread_mutex_lock(&writer->lock);
    pen->is_stuck = !waiting_is_left_alone(&writer->waiting, pen->index, kind);
    if (pen->is_stuck)
        writer->waiting.stuck[pen->index] = kind;
    else
        kept = 0;
    waiting_return(&writer->waiting, run->ops + kept, run->count - kept);
    wake_all(writer);
    pthread_mutex_unlock(&writer->lock);
    run->count = kept;
}

// drop_impatient_waiting fails those that would only come to wait for the same lock.
static void drop_impatient_waiting(const Run *run, const OpKind *kind)
{
    Writer *writer = run->pen->writer;
    Instant now = clock_monotonic(writer->options.clock);
    pthread_mutex_lock(&writer->lock);
    Op *op = waiting_take_impatient(&writer->waiting, kind, now);
    pthread_mutex_unlock(&writer->lock);
    while (op) {
        Op *next = op->next;
        op->done(op, run->err, &run->error);
        op = next;
    }
}

// part comes after a time-out. The server has waited already, so nobody is made to wait 20 times;
// halves find the one that is stuck without letting all the others wait for each other.
static void part(Run *run)
{
    const OpKind *kind = run->ops[0]->kind;
    keep_kind(run, kind);
    drop_impatient_of(run, run->err);
    drop_impatient_waiting(run, kind);
    size_t half = run->count / 2;
    if (half == 0)
        return;
    run_batch(run->pen, run->ops, half);
    run->ops += half;
    run->count -= half;
    drop_impatient_of(run, run->err);
}

// wants_replay says whether the same batch may succeed when it is simply done again.
static bool wants_replay(Run *run)
{
    Pen *pen = run->pen;
    Tx *tx = &pen->tx;
    tx->was_too_trusting |= pen->db->has_clashed;
    bool again = tx->is_outdated || tx->was_too_trusting || run->err == ERR_BUSY;
    if (tx->is_outdated && writer_refresh(pen->writer, pen->db, &run->error) != ERR_OK)
        pen->db->is_broken = true;
    tx->is_careful |= tx->was_too_trusting;
    if (!again || ++run->replays >= REPLAYS_MAX)
        return false;
    if (run->replays > 1) // the first is nobody's fault and costs no time
        drop_impatient_of(run, run->err);
    return true;
}

// give_up fails the batch, or finds out who of it is to blame.
static void give_up(Run *run)
{
    if (run->count > 1 && run->err != ERR_DISK_FULL)
        for (size_t i = 0; i < run->count; i++)
            run_batch(run->pen, &run->ops[i], 1);
    else
        finish(run->ops, run->count, run->err, &run->error);
    run->count = 0;
}
