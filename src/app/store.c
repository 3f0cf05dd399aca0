#include "app/store.h"

#include "base/log.h"
#include "base/version.h"
#include "store/curve.h"
#include "store/inbox.h"
#include "store/meta.h"
#include "store/migrate.h"
#include "store/node.h"
#include "store/seal.h"

typedef struct Start {
    Arena *arena;
    const Config *config;
    KeyRing *ring;
    Clock *clock, *real;
    StoreUp *up;
    Instant clock_stood_at;
} Start;

static Err migrate(const Config *config, Error *error)
{
    Db *db;
    int applied;
    TRY(db_open(&(DbOptions){ .url = config->store, .is_weak = config->is_private }, &db, error));
    Err err = migrate_run(db, &applied, error);
    db_close(db);
    return err;
}

// check_key sees that all nodes seal with one key. A node whose key does not fit starts all the
// same: it takes events in and sends what it can, for an intake that stops loses more than channels
// that wait. But it seals nothing, and no key is made for it. Runs under the lock on definitions,
// so that of two first starts one makes the key.
static Err check_key(Tx *tx, Start *start, Error *error)
{
    SealFit fit;
    const Config *config = start->config;
    TRY(seal_fit(tx->db, &tx->arena, start->ring, tx->registry, &fit, error));
    bool is_taken = fit == SEAL_UNMARKED || (fit == SEAL_FOREIGN && config->has_new_key);
    if (is_taken && start->ring->count == 0)
        TRY(config_make_key(start->arena, config, start->ring, error));
    if (is_taken || fit == SEAL_OUTDATED)
        seal_mark(tx, start->ring);
    start->up->is_key_foreign = fit == SEAL_FOREIGN && !is_taken;
    return ERR_OK;
}

static Err begin(Tx *tx, void *with, Error *error)
{
    Start *start = with;
    Str stood_at, doubt;
    int64_t others;
    TRY(tx_sync(tx, error));
    TRY(meta_get(tx->db, &tx->arena, META_DOUBT, &doubt, error));
    start->up->was_held = doubt.at != NULL;
    TRY(key_bootstrap(tx, start->arena, start->config->admin_key, &start->up->keys, error));
    TRY(check_key(tx, start, error));
    TRY(node_others(tx->db, 0, clock_now(start->real), &others, error));
    if (start->clock->is_manual && others > 0)
        return fail(error, ERR_CONFLICT,
                    "a manual clock needs the store to itself: another node lives");
    TRY(node_join(tx, start->config->node_name, S(PEAL_VERSION), start->clock->is_manual,
                  clock_now(start->real), &start->up->node, error));
    TRY(meta_get(tx->db, &tx->arena, META_CLOCK, &stood_at, error));
    if (!stood_at.at || !str_to_i64(stood_at, 0, INT64_MAX, &start->clock_stood_at))
        start->clock_stood_at = INSTANT_NONE;
    return ERR_OK;
}

static void set_clock(const Start *start)
{
    if (!start->clock->is_manual)
        return;
    if (start->config->manual_from == INSTANT_NONE && start->clock_stood_at != INSTANT_NONE)
        clock_set(start->clock, start->clock_stood_at);
}

// open_inbox tells the functions in schema peal what holds while this node runs.
static Err open_inbox(Tx *tx, void *with, Error *error)
{
    const Start *start = with;
    TRY(tx_sync(tx, error));
    inbox_open(tx, start->clock->is_manual ? clock_now(start->clock) : INSTANT_NONE,
               start->config->payload_max);
    return tx_sync(tx, error);
}

static Err measure_offset(Tx *tx, void *with, Error *error)
{
    Start *start = with;
    ClockOffset offset; // however long it took: a rough one is better than none
    TRY(tx_sync(tx, error));
    TRY(node_offset(tx->db, start->real, &offset, error));
    clock_set_offset(start->real, start->real->offset + offset.span);
    if (!start->clock->is_manual)
        clock_set_offset(start->clock, start->real->offset);
    return ERR_OK;
}

Err store_up(Arena *arena, const Config *config, KeyRing *ring, Clock *clock, Clock *real,
             Random *random, StoreUp *ret, Error *error)
{
    bool is_postgres = db_driver_for(config->store) == &postgres_driver;
    TRY(migrate(config, error));
    WriterOptions options = { .url = config->store,
                              .name = config->node_name,
                              .pen_count = is_postgres ? STORE_PENS : 1,
                              .clock = clock,
                              .random = random,
                              .ring = ring,
                              .guard = &config->guard,
                              .is_weak = config->is_private };
    StoreUp up = { 0 };
    TRY(writer_open(&options, &up.writer, error));
    Start start = {
        .arena = arena, .config = config, .ring = ring, .clock = clock, .real = real, .up = &up
    };
    Err err = writer_run(up.writer, measure_offset, &start, error);
    if (err == ERR_OK)
        err = writer_run(up.writer, begin, &start, error);
    if (err == ERR_OK)
        set_clock(&start);
    if (err == ERR_OK)
        err = writer_run(up.writer, open_inbox, &start, error);
    if (err != ERR_OK) {
        writer_close(up.writer);
        return err;
    }
    if (up.keys.replaced > 0)
        log_warn("key.replaced", "count=%lld detail=%s", (long long) up.keys.replaced,
                 log_quote(S("PEAL_ADMIN_KEY has changed: the key given before it is removed")));
    if (up.is_key_foreign)
        log_error("key.foreign", "detail=%s",
                  log_quote(S("the master key is not this database's: no secret can be sealed")));
    writer_set_node(up.writer, up.node);
    up.reader = reader_open(up.writer, config->store, is_postgres ? STORE_QUICK_READERS : 1,
                            STORE_SLOW_READERS);
    up.watcher = reader_open(up.writer, config->store, STORE_WATCHERS, 0);
    up.streamer = reader_open(up.writer, config->store, 0, STORE_STREAMERS);
    up.guard = &config->guard;
    up.keeper = keeper_start(up.writer, up.guard);
    *ret = up;
    return ERR_OK;
}

typedef struct Leave {
    int64_t node;
    Instant now;
    Curves *curves;
} Leave;

static Err leave(Tx *tx, void *with, Error *error)
{
    const Leave *node = with;
    int64_t written;
    node_leave(tx, node->node, node->now);
    return curves_write(tx, node->curves, &written, error);
}

void store_down(StoreUp *store, Clock *real)
{
    Error error = { 0 };
    Leave node = { store->node, clock_now(real), writer_curves(store->writer) };
    keeper_stop(store->keeper);
    reader_close(store->reader);
    reader_close(store->watcher);
    reader_close(store->streamer);
    // The epoch is raised a last time, so that a copy made while this node ran is known for one.
    if (writer_is_up(store->writer) &&
        keeper_raise(store->writer, store->guard, leave, &node, &error) != ERR_OK)
        log_warn("node.leave", "detail=%s", log_quote(str_from(error.detail)));
    writer_close(store->writer);
}
