#include "fixture.h"

#include "base/clock.h"
#include "store/meta.h"
#include "store/reader.h"

#include <pthread.h>

// What reader.h and db_until() promise: lists hold nothing up, and a read has an end.

// Gate is what slow reads wait at; the test opens it.
typedef struct Gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_open;
    int inside, ended; // reads that are at the gate, and that are over
} Gate;

typedef struct GateRead {
    Read read; // first: a Read * is a GateRead *
    Gate *gate;
    bool is_done;
} GateRead;

static void wait_until(Gate *gate, const int *count, int wanted)
{
    while (*count < wanted)
        pthread_cond_wait(&gate->moved, &gate->lock);
}

static Err stand_at_gate(Read *read, Db *db, Error *error)
{
    Gate *gate = ((GateRead *) read)->gate;
    (void) db, (void) error;
    pthread_mutex_lock(&gate->lock);
    gate->inside++;
    pthread_cond_broadcast(&gate->moved);
    while (!gate->is_open)
        pthread_cond_wait(&gate->moved, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    return ERR_OK;
}

static Err pass_by(Read *read, Db *db, Error *error)
{
    (void) read, (void) db, (void) error;
    return ERR_OK;
}

static void note_end(Read *read, Err err, const Error *error)
{
    GateRead *self = (GateRead *) read;
    (void) error;
    pthread_mutex_lock(&self->gate->lock);
    self->is_done = err == ERR_OK;
    self->gate->ended++;
    pthread_cond_broadcast(&self->gate->moved);
    pthread_mutex_unlock(&self->gate->lock);
}

// Both threads for lists stand at the gate, a third list waits: what is quick is done meanwhile.
static void lists_hold_no_quick_read_up(void)
{
    STORE(store);
    Gate gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };
    Reader *reader = reader_open(store.writer, store.url, 1, 2);
    GateRead lists[3], quick = { .gate = &gate };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        lists[i] = (GateRead){ .gate = &gate };
        lists[i].read = (Read){ .pace = READ_SLOW, .run = stand_at_gate, .done = note_end };
        reader_submit(reader, &lists[i].read);
    }
    quick.read = (Read){ .pace = READ_QUICK, .run = pass_by, .done = note_end };
    pthread_mutex_lock(&gate.lock);
    wait_until(&gate, &gate.inside, 2);
    pthread_mutex_unlock(&gate.lock);
    reader_submit(reader, &quick.read);
    pthread_mutex_lock(&gate.lock);
    wait_until(&gate, &gate.ended, 1);
    CHECK(quick.is_done && gate.inside == 2);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.moved);
    wait_until(&gate, &gate.ended, 4);
    pthread_mutex_unlock(&gate.lock);
    reader_close(reader);
    CHECK(lists[0].is_done && lists[1].is_done && lists[2].is_done);
}

static void a_read_has_an_end_as_a_whole(void)
{
    STORE(store);
    Str value;
    Err err = meta_get(store.db, &store.arena, S("nobody"), &value, &store.error);
    CHECK(err == ERR_OK || err == ERR_NOT_FOUND);
    db_until(store.db, clock_machine_monotonic() - 1);
    CHECK(meta_get(store.db, &store.arena, S("nobody"), &value, &store.error) == ERR_BUSY);
    db_until(store.db, INSTANT_NONE);
    CHECK(meta_get(store.db, &store.arena, S("nobody"), &value, &store.error) == err);
}

static const Test tests[] = {
    TEST(lists_hold_no_quick_read_up),
    TEST(a_read_has_an_end_as_a_whole),
};
PART(reader_part, tests);
