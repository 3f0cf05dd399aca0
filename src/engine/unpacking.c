#include "engine/unpacking.h"

#include "base/log.h"
#include "engine/state.h"

void unpacking_empty(Unpacking *unpacking)
{
    arena_done(&unpacking->arena);
    unpacking->row = (InboxRow){ 0 };
    unpacking->unpacked = (Unpacked){ 0 };
    unpacking->place = (UnpackingPlace){ 0 };
    unpacking->has_run = unpacking->runs = false;
    atomic_store(&unpacking->stage, UNPACKING_FREE);
}

void unpacking_begin(Unpacking *unpacking)
{
    if (unpacking_stage(unpacking) == UNPACKING_ASKED)
        unpacking_empty(unpacking);
    unpacking->after = unpacking->place;
    unpacking->is_over = false;
}

static Str keep(Arena *arena, Str text)
{
    return text.at ? str_dup(arena, text) : STR_NONE;
}

void unpacking_ask(Unpacking *unpacking, const InboxRow *row)
{
    Arena *arena = &unpacking->arena;
    InboxRow *own = &unpacking->row;
    assert(unpacking_stage(unpacking) == UNPACKING_FREE);
    *own = *row;
    own->source = keep(arena, row->source);
    own->external_id = keep(arena, row->external_id);
    own->provider = keep(arena, row->provider);
    own->headers = keep(arena, row->headers);
    own->body = keep(arena, row->body);
    own->event_kind = own->entity = own->topic = own->correlation_id = own->error = STR_NONE;
    unpacking->is_again = row->processed_at != INSTANT_NONE;
    atomic_store(&unpacking->stage, UNPACKING_ASKED);
}

void unpacking_came(Unpacking *unpacking, size_t next, const InboxRow *row)
{
    unpacking->after = (UnpackingPlace){ .next = next,
                                         .status = row->status,
                                         .reason = row->reason,
                                         .error = keep(&unpacking->arena, row->error) };
}

static void read_hook(Unpacking *unpacking)
{
    const EngineOptions *options = &unpacking->engine->options;
    Unpack with = { .providers = options->providers,
                    .clock = options->clock,
                    .time = UNPACK_TIME,
                    .opened_max = UNPACK_OPENED_MAX,
                    .payload_max = options->payload_max };
    unpacking->unpacked = unpack_whole(&unpacking->arena, &unpacking->row, &with);
    atomic_store(&unpacking->stage, UNPACKING_READ);
}

static void read_task(Task *task, void *seat)
{
    (void) seat;
    Unpacking *unpacking = (Unpacking *) (void *) ((char *) task - offsetof(Unpacking, task));
    const Transport *transport = unpacking->engine->options.transport;
    read_hook(unpacking);
    transport_wake(transport);
}

static void start(Unpacking *unpacking)
{
    Pool *readers = unpacking->engine->options.readers;
    unpacking->began_at = engine_monotonic(unpacking->engine);
    unpacking->task = (Task){ .run = read_task };
    atomic_store(&unpacking->stage, UNPACKING_READING);
    if (!readers || !pool_submit(readers, &unpacking->task))
        read_hook(unpacking);
}

void unpacking_go_on(Engine *engine)
{
    Unpacking *unpacking = &engine->unpacking;
    switch (unpacking_stage(unpacking)) {
    case UNPACKING_ASKED:
        start(unpacking);
        break;
    case UNPACKING_READ:
        unpacking->has_run = unpacking->runs;
        unpacking->place = unpacking->after;
        if (unpacking->is_over)
            unpacking_empty(unpacking);
        break;
    case UNPACKING_FREE:
    case UNPACKING_READING:
        break;
    }
}

static void end_if_hung(const Engine *engine, Instant since, const char *where)
{
    if (engine_monotonic(engine) - since < UNPACK_TIME + UNPACK_TIME_GRACE)
        return;
    log_error("hook.hung", "where=%s detail=\"its parser came to no end: Peal ends itself\"",
              where);
    if (engine->options.hung)
        engine->options.hung(engine->options.hung_with);
    else
        abort();
}

// excuse begins the time anew where nobody ran, the engine's own thread no more than a parser: the
// process was stopped, or its machine.
static void excuse(Unpacking *unpacking, Instant monotonic)
{
    Instant here_since = atomic_load(&unpacking->here_since);
    bool stood_still = monotonic - unpacking->looked_at > UNPACK_LOOKS_WITHIN;
    unpacking->looked_at = monotonic;
    if (!stood_still)
        return;
    unpacking->began_at = monotonic;
    if (here_since)
        atomic_compare_exchange_strong(&unpacking->here_since, &here_since, monotonic);
}

void unpacking_watch(Engine *engine)
{
    Unpacking *unpacking = &engine->unpacking;
    excuse(unpacking, engine_monotonic(engine));
    Instant here_since = atomic_load(&unpacking->here_since);
    UnpackingStage stage = unpacking_stage(unpacking);
    if (here_since)
        end_if_hung(engine, here_since, "writer");
    if (stage == UNPACKING_READING)
        end_if_hung(engine, unpacking->began_at, "thread");
    if (stage == UNPACKING_READ)
        engine->duties[DUTY_DRAIN].is_wanted = true;
}
