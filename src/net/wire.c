#include "net/wire.h"

// The life of an exchange's memory: it is made, or taken from those that were kept, and when nobody
// holds it any more it is kept for the next request, or freed.

enum {
    SPARE_MAX = 256, // exchanges kept for reuse
    SPARE_ARENA_BYTES_MAX = 64 * 1024,
};

ExchangeWire *wire_new(Server *server)
{
    ExchangeWire *wire = server->spares;
    if (wire) {
        server->spares = wire->next;
        server->spare_count--;
    } else {
        wire = memory_new(sizeof *wire);
    }
    wire->next = NULL;
    wire->exchange.wire = wire;
    wire->server = server;
    wire->stream_late = INSTANT_NONE;
    atomic_store(&wire->holders, 1);
    return wire;
}

bool wire_let_go(ExchangeWire *wire)
{
    int holders = atomic_fetch_sub(&wire->holders, 1);
    assert(holders > 0);
    return holders == 1;
}

// forget_answer: it has been taken, or nobody will.
static void forget_answer(ExchangeWire *wire)
{
    if (wire->answer_bytes == 0)
        return;
    size_t before = atomic_fetch_sub(&wire->server->answer_bytes, wire->answer_bytes);
    assert(before >= wire->answer_bytes);
    wire->answer_bytes = 0;
}

void wire_end(ExchangeWire *wire)
{
    forget_answer(wire);
    stream_free(wire->stream);
    free(wire->body);
    arena_done(&wire->exchange.arena);
    free(wire);
}

void wire_keep(ExchangeWire *wire)
{
    Server *server = wire->server;
    if (server->spare_count == SPARE_MAX) {
        wire_end(wire);
        return;
    }
    Arena arena = wire->exchange.arena;
    forget_answer(wire);
    stream_free(wire->stream);
    free(wire->body);
    if (arena.bytes > SPARE_ARENA_BYTES_MAX)
        arena_done(&arena);
    else
        arena_reset(&arena);
    *wire = (ExchangeWire){ .exchange.arena = arena, .next = server->spares };
    server->spares = wire;
    server->spare_count++;
}
