#include "intake/intake.h"

#include "base/log.h"
#include "store/source.h"

#include <pthread.h>

#define LOOK_EVERY (SPAN_SECOND / 10)

struct Intake {
    TableOptions options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_stopping; // guarded by lock
    int64_t seen;     // the registry's stamp
    Table *tables[INTAKE_SOURCES_MAX];
    size_t count;
};

// Load is the sources as they are stored, copied out of the transaction.
typedef struct Load {
    Arena *arena;
    SourceRow *rows;
    size_t count;
} Load;

static Err load(Tx *tx, void *with, Error *error)
{
    Load *load = with;
    SourceRow *rows;
    TRY(tx_sync(tx, error));
    TRY(source_rows(tx, &rows, &load->count, error));
    load->rows = ARENA_ARRAY(load->arena, SourceRow, load->count + 1);
    for (size_t i = 0; i < load->count; i++) {
        load->rows[i] = rows[i];
        load->rows[i].id = str_dup(load->arena, rows[i].id);
        load->rows[i].body = str_dup(load->arena, rows[i].body);
    }
    return ERR_OK;
}

static bool is_wanted(const Load *loaded, const Table *table)
{
    for (size_t i = 0; i < loaded->count; i++)
        if (table_is(table, loaded->rows[i].tenant, loaded->rows[i].id, loaded->rows[i].version))
            return true;
    return false;
}

static bool is_running(const Intake *intake, const SourceRow *row)
{
    for (size_t i = 0; i < intake->count; i++)
        if (table_is(intake->tables[i], row->tenant, row->id, row->version))
            return true;
    return false;
}

// part_from ends those that changed or are gone. All are told before one is waited for.
static void part_from(Intake *intake, const Load *loaded)
{
    size_t kept = 0;
    for (size_t i = 0; i < intake->count; i++)
        if (!is_wanted(loaded, intake->tables[i]))
            table_stop(intake->tables[i]);
    for (size_t i = 0; i < intake->count; i++) {
        if (is_wanted(loaded, intake->tables[i]))
            intake->tables[kept++] = intake->tables[i];
        else
            table_free(intake->tables[i]);
    }
    intake->count = kept;
}

static void begin(Intake *intake, const Load *loaded)
{
    for (size_t i = 0; i < loaded->count; i++) {
        const SourceRow *row = &loaded->rows[i];
        if (is_running(intake, row))
            continue;
        if (intake->count == INTAKE_SOURCES_MAX) {
            log_error("source.waits", "source=%s detail=\"there are too many\"",
                      log_quote(row->id));
            continue;
        }
        intake->tables[intake->count++] =
            table_start(&intake->options, row->tenant, row->id, row->version, row->body);
    }
}

// look starts and stops what has changed since the last time.
static void look(Intake *intake)
{
    Registry *registry = writer_registry(intake->options.writer);
    int64_t stamp = registry->stamp;
    registry_drop(registry);
    if (stamp == intake->seen)
        return;
    DEFER(arena_wipe) Arena arena = { 0 };
    Load loaded = { .arena = &arena };
    Error error = { 0 };
    if (writer_run(intake->options.writer, load, &loaded, &error) != ERR_OK)
        return; // the store is away: it is tried again
    part_from(intake, &loaded);
    begin(intake, &loaded);
    intake->seen = stamp;
}

static bool pauses(Intake *intake)
{
    Instant due = clock_machine_monotonic() + LOOK_EVERY;
    struct timespec until = { .tv_sec = due / SPAN_SECOND,
                              .tv_nsec = (long) (due % SPAN_SECOND * 1000) };
    pthread_mutex_lock(&intake->lock);
    if (!intake->is_stopping)
        (void) pthread_cond_timedwait(&intake->wake, &intake->lock, &until);
    bool goes_on = !intake->is_stopping;
    pthread_mutex_unlock(&intake->lock);
    return goes_on;
}

static void *intake_main(void *with)
{
    Intake *intake = with;
    do
        look(intake);
    while (pauses(intake));
    part_from(intake, &(Load){ 0 });
    return NULL;
}

Intake *intake_start(const TableOptions *options)
{
    Intake *intake = memory_new(sizeof *intake);
    intake->options = *options;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&intake->lock, NULL);
    pthread_cond_init(&intake->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&intake->thread, NULL, intake_main, intake) != 0)
        abort();
    return intake;
}

void intake_stop(Intake *intake)
{
    if (!intake)
        return;
    pthread_mutex_lock(&intake->lock);
    intake->is_stopping = true;
    pthread_cond_signal(&intake->wake);
    pthread_mutex_unlock(&intake->lock);
    pthread_join(intake->thread, NULL);
    pthread_mutex_destroy(&intake->lock);
    pthread_cond_destroy(&intake->wake);
    free(intake);
}
