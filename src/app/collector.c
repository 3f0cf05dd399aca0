#include "app/collector.h"

#include "base/log.h"
#include "domain/forward.h"
#include "lib/spool.h"
#include "store/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    BATCH_ROWS = 1000,
    BATCH_BYTES = 4 << 20,
    LOOK_EVERY_MS = 1000, // also where nobody told of a change
};

struct Collector {
    CollectorOptions options;
    Arena arena; // of the path
    const char *path;
    SpoolReader reader;
    int changes, stop; // descriptors: inotify, and an eventfd that is written to stop
    pthread_t thread;
};

// Batch is what one transaction takes in.
typedef struct Batch {
    Arena arena;
    Accept accept;
    size_t bytes;
    bool is_last; // the spool ends behind it
} Batch;

// set_aside keeps a record that is no row.
static bool set_aside(const Collector *collector, Str record, const Error *why)
{
    DEFER(arena_done) Arena scratch = { 0 };
    const char *path = str_format(&scratch, "%s.refused", collector->path).at;
    log_error("spool.refused", "file=%s detail=%s", log_quote(str_from(path)),
              log_quote(str_from(why->detail)));
    return peal_spool_append(path, record.at, record.len) == 0;
}

// add_record makes an item of a record; false where it is none and cannot be set aside either.
static bool add_record(const Collector *collector, Batch *batch, Str record)
{
    Error error = { .arena = &batch->arena };
    AcceptItem *item = &batch->accept.items[batch->accept.count];
    Str text = str_dup(&batch->arena, record);
    batch->bytes += record.len;
    *item = (AcceptItem){ 0 };
    if (forward_keep(&batch->arena, text, &item->event, &error) != ERR_OK)
        return set_aside(collector, record, &error);
    site_take(collector->options.site, item);
    item->event.received_at = batch->accept.now;
    batch->accept.count++;
    return true;
}

// read_batch reads up to a batch; false where the spool cannot be read.
static bool read_batch(Collector *collector, Batch *batch, bool is_locked)
{
    batch->accept = (Accept){ .arena = &batch->arena,
                              .tenant = collector->options.site->local.tenant,
                              .items = ARENA_ARRAY(&batch->arena, AcceptItem, BATCH_ROWS),
                              .now = clock_now(collector->options.clock) };
    while (batch->accept.count < BATCH_ROWS && batch->bytes < BATCH_BYTES) {
        Str record;
        int got = peal_spool_next(&collector->reader, is_locked, &record.at, &record.len);
        if (got < 0 || (got > 0 && !add_record(collector, batch, record)))
            return false;
        if (got == 0) {
            batch->is_last = true;
            break;
        }
    }
    return true;
}

static Err write_batch(Tx *tx, void *with, Error *error)
{
    Batch *batch = with;
    Accept *accept = &batch->accept;
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    return accept_write(tx, &accept, 1, error);
}

static Err take_batch(Collector *collector, bool is_locked, bool *ret_is_last, Error *error)
{
    Batch batch = { 0 };
    Err err = ERR_OK;
    if (!read_batch(collector, &batch, is_locked))
        err = fail(error, ERR_UNAVAILABLE, "the spool %s cannot be read: %m", collector->path);
    else if (batch.accept.count > 0)
        err = writer_run(collector->options.writer, write_batch, &batch, error);
    *ret_is_last = batch.is_last;
    arena_done(&batch.arena);
    return err;
}

// finish takes in what is left with appenders kept out, and cuts the spool.
static Err finish(Collector *collector, Error *error)
{
    bool is_last = false;
    Err err = ERR_OK;
    if (peal_spool_lock(&collector->reader) != 0)
        return fail(error, ERR_UNAVAILABLE, "the spool %s cannot be locked: %m", collector->path);
    while (err == ERR_OK && !is_last)
        err = take_batch(collector, true, &is_last, error);
    if (err == ERR_OK && peal_spool_cut(&collector->reader) != 0)
        err = fail(error, ERR_UNAVAILABLE, "the spool %s cannot be cut: %m", collector->path);
    peal_spool_unlock(&collector->reader);
    if (collector->reader.skipped > 0)
        log_warn("spool.torn", "bytes=%llu detail=%s",
                 (unsigned long long) collector->reader.skipped,
                 log_quote(S("half a record, of a process that died while it wrote it")));
    collector->reader.skipped = 0;
    return err;
}

// take_all begins at the beginning: after a failure some of it comes again, which is known by its
// ids.
static Err take_all(Collector *collector, Error *error)
{
    bool is_last = false;
    if (!peal_spool_waits(collector->path))
        return ERR_OK;
    peal_spool_close(&collector->reader);
    if (peal_spool_open(&collector->reader, collector->path) != 0)
        return fail(error, ERR_UNAVAILABLE, "the spool %s cannot be opened: %s", collector->path,
                    peal_spool_problem(errno));
    while (!is_last)
        TRY(take_batch(collector, false, &is_last, error));
    return finish(collector, error);
}

// await waits for a change, or a while; false when it is to stop.
static bool await(Collector *collector)
{
    char changes[4096];
    struct pollfd ready[] = { { .fd = collector->stop, .events = POLLIN },
                              { .fd = collector->changes, .events = POLLIN } };
    poll(ready, ARRAY_LEN(ready), LOOK_EVERY_MS);
    while (read(collector->changes, changes, sizeof changes) > 0)
        continue;
    return !(ready[0].revents & POLLIN);
}

static void *collector_main(void *with)
{
    Collector *collector = with;
    while (await(collector)) {
        Error error = { 0 };
        if (take_all(collector, &error) != ERR_OK)
            log_warn("spool.waits", "detail=%s", log_quote(str_from(error.detail)));
    }
    return NULL;
}

static void collector_free(Collector *collector)
{
    peal_spool_close(&collector->reader);
    if (collector->changes >= 0)
        close(collector->changes);
    if (collector->stop >= 0)
        close(collector->stop);
    arena_done(&collector->arena);
    free(collector);
}

static Err begin(Collector *collector, Error *error)
{
    if (peal_spool_open(&collector->reader, collector->path) != 0)
        return fail(error, ERR_SETUP, "the spool %s cannot be opened: %s", collector->path,
                    peal_spool_problem(errno));
    collector->changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    collector->stop = eventfd(0, EFD_CLOEXEC);
    if (collector->changes < 0 || collector->stop < 0 ||
        inotify_add_watch(collector->changes, collector->path, IN_CLOSE_WRITE) < 0)
        return fail(error, ERR_SETUP, "the spool %s cannot be watched: %m", collector->path);
    return take_all(collector, error);
}

Err collector_open(const CollectorOptions *options, Collector **ret, Error *error)
{
    Collector *collector = memory_new(sizeof *collector);
    collector->options = *options;
    collector->path = str_z(&collector->arena, options->path);
    collector->reader.fd = collector->changes = collector->stop = -1;
    Err err = begin(collector, error);
    if (err != ERR_OK) {
        collector_free(collector);
        return err;
    }
    if (pthread_create(&collector->thread, NULL, collector_main, collector) != 0)
        abort();
    *ret = collector;
    return ERR_OK;
}

void collector_close(Collector *collector)
{
    uint64_t one = 1;
    if (!collector)
        return;
    if (write(collector->stop, &one, sizeof one) != (ssize_t) sizeof one)
        abort();
    pthread_join(collector->thread, NULL);
    collector_free(collector);
}
