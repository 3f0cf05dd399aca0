#include "net/wire.h"

// The life of an exchange's memory: it is made, or taken from those that were kept; its body grows
// with what comes, within what all bodies may have; and when nobody holds it any more it is kept
// for the next request, or freed.

enum {
    SPARE_MAX = 256, // exchanges kept for reuse
    SPARE_ARENA_BYTES_MAX = 64 * 1024,
    BODY_FIRST_BYTES = 64 * 1024, // taken at once for a body that announces its length
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

bool server_has_room(const Server *server, size_t more)
{
    return more <= server->options.bodies_bytes_max - server->body_bytes;
}

// room_for is the room to take next. It grows with what came, not with what was announced.
static size_t room_for(const ExchangeWire *wire, size_t len)
{
    size_t announced = (size_t) wire->framing.length;
    size_t room = wire->body_room > 0 ? wire->body_room * 2 : BODY_FIRST_BYTES;
    if (announced >= len && announced < room)
        room = announced;
    if (wire->framing.is_chunked && wire->body_room == 0)
        room = 4096;
    if (room > wire->body_max)
        room = wire->body_max;
    return room < len ? len : room;
}

bool wire_add_body(ExchangeWire *wire, Str piece)
{
    Server *server = wire->server;
    size_t old_len = wire->exchange.body.len, new_len = old_len + piece.len;
    if (new_len > wire->body_room) {
        size_t room = room_for(wire, new_len);
        if (!server_has_room(server, room - wire->body_room))
            return false;
        wire->body = memory_grow(wire->body, room);
        server->body_bytes += room - wire->body_room;
        wire->body_room = room;
    }
    memcpy(wire->body + old_len, piece.at, piece.len);
    wire->exchange.body = (Str){ wire->body, new_len };
    return true;
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
