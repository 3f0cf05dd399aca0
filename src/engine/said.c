#include "engine/state.h"

#include "base/log.h"

// What commands say while they run goes to the store with the next round, so that it can be seen
// meanwhile (store/progress.h). One round at a time has some of it, so that lines keep their order;
// what a round that fails had goes with the next one.
//
// Nothing depends on a line: where they come faster than they are written, or the store refuses
// them by their own fault, they are let go rather than keep anything else from happening.

enum { SAID_ROUND = 500, SAID_ROOM_MIN = 64 };

static Progress progress_of(const Flight *flight, Str message)
{
    return (Progress){ .tenant = flight->claimed.promise.tenant,
                       .delivery = flight->claimed.promise.id,
                       .attempt = flight->claimed.live.attempt,
                       .at = clock_now(flight->engine->options.clock),
                       .message = { text_keep(message), message.len } };
}

void said_add(Flight *flight, Str message)
{
    Said *said = &flight->engine->said;
    if (flight->lines >= PROGRESS_LINES_MAX || said->count >= SAID_LINES_MAX)
        return;
    if (said->count == said->room) {
        said->room = said->room ? said->room * 2 : SAID_ROOM_MIN;
        said->rows = memory_grow(said->rows, said->room * sizeof *said->rows);
    }
    flight->lines++;
    said->rows[said->count++] = progress_of(flight, message);
    transport_wake(flight->engine->options.transport);
}

bool said_ask(Engine *engine, Round *round)
{
    Said *said = &engine->said;
    if (said->count == 0 || said->is_out)
        return false;
    said->is_out = true;
    round->said_count = said->count < SAID_ROUND ? said->count : SAID_ROUND;
    round->said = arena_copy(&round->arena, said->rows, round->said_count * sizeof *said->rows);
    return true;
}

void said_apply(Tx *tx, const Round *round)
{
    if (round->said_count > 0)
        progress_add(tx, round->said, round->said_count);
}

// let_go forgets the oldest lines.
static void let_go(Said *said, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((char *) (uintptr_t) said->rows[i].message.at);
    said->count -= count;
    if (said->count > 0)
        memmove(said->rows, said->rows + count, said->count * sizeof *said->rows);
}

void said_take(Engine *engine, const Round *round)
{
    if (round->said_count == 0)
        return;
    engine->said.is_out = false;
    let_go(&engine->said, round->said_count);
}

void said_failed(Engine *engine, const Round *round)
{
    if (round->said_count == 0)
        return;
    engine->said.is_out = false;
    if (!round->is_narrow)
        return;
    log_warn("progress.refused", "lines=%zu", round->said_count);
    let_go(&engine->said, round->said_count);
}

void said_free(Said *said)
{
    let_go(said, said->count);
    free(said->rows);
}
