#include "net/wire.h"

#include <poll.h>

// hand_back makes the exchange the loop's again; only a sleeping connection waits for us.
static void hand_back(ExchangeWire *wire)
{
    Server *server = wire->server;
    struct MHD_Connection *mhd = wire->mhd;
    Turn turn = atomic_exchange(&wire->turn, TURN_REPLIED);
    assert(turn != TURN_REPLIED);
    if (turn == TURN_SUSPENDED)
        wire_wake(server, mhd);
}

enum { COUNTED_BYTES_MIN = 16 * 1024 }; // smaller answers are many connections' own affair

void wire_reply(ExchangeWire *wire, const Reply *reply)
{
    Arena *arena = &wire->exchange.arena;
    assert(reply->header_count <= REPLY_HEADERS_MAX);
    wire->reply = *reply;
    wire->reply.type = str_dup(arena, reply->type);
    for (size_t i = 0; i < reply->header_count; i++)
        wire->reply.headers[i] = (Header){ str_dup(arena, reply->headers[i].name),
                                           str_dup(arena, reply->headers[i].value) };
    if (reply->body.len > COUNTED_BYTES_MIN) {
        wire->answer_bytes = arena->bytes;
        atomic_fetch_add(&wire->server->answer_bytes, wire->answer_bytes);
    }
    hand_back(wire);
}

// A part is owed no answer once it was taken: server_close() does not wait for a client that may
// never send the next. Who is on the way through here keeps the server.
void exchange_more(Exchange *exchange)
{
    ExchangeWire *wire = exchange->wire;
    Server *server = wire->server;
    assert(exchange->is_part);
    wire->wants_more = true;
    atomic_fetch_add(&server->wakers, 1);
    hand_back(wire);
    server_count_down(server, &server->owed);
    atomic_fetch_sub(&server->wakers, 1);
}

bool exchange_is_crowded(const Exchange *exchange)
{
    return atomic_load(&exchange->wire->server->answer_bytes) > SERVER_ANSWERS_BYTES_MAX;
}

void exchange_reply(Exchange *exchange, const Reply *reply)
{
    wire_reply(exchange->wire, reply);
}

void exchange_wake(Exchange *exchange, void (*answer)(Exchange *exchange))
{
    exchange->wire->answer = answer;
    hand_back(exchange->wire);
}

void exchange_park(Exchange *exchange)
{
    ExchangeWire *wire = exchange->wire;
    Server *server = wire->server;
    atomic_fetch_add(&wire->holders, 1);
    atomic_store(&wire->parking, PARKING_PARKED);
    pthread_mutex_lock(&server->lock);
    wire->parked_prev = NULL;
    wire->parked_next = server->parked;
    if (wire->parked_next)
        wire->parked_next->parked_prev = wire;
    server->parked = wire;
    bool is_closing = atomic_load(&server->is_closing);
    pthread_mutex_unlock(&server->lock);
    if (is_closing)
        server_give_up(server);
}

static void unlist(ExchangeWire *wire)
{
    Server *server = wire->server;
    if (wire->parked_prev)
        wire->parked_prev->parked_next = wire->parked_next;
    else
        server->parked = wire->parked_next;
    if (wire->parked_next)
        wire->parked_next->parked_prev = wire->parked_prev;
}

bool exchange_unpark(Exchange *exchange)
{
    ExchangeWire *wire = exchange->wire;
    Parking parking = PARKING_PARKED;
    // Given up, the server may be gone: only the exchange itself may be looked at.
    if (!atomic_compare_exchange_strong(&wire->parking, &parking, PARKING_LEFT))
        return false;
    pthread_mutex_lock(&wire->server->lock);
    unlist(wire);
    pthread_mutex_unlock(&wire->server->lock);
    bool is_last = wire_let_go(wire);
    assert(!is_last); // the loop waits for the answer
    return true;
}

void exchange_drop(Exchange *exchange)
{
    assert(atomic_load(&exchange->wire->parking) == PARKING_GIVEN_UP);
    if (wire_let_go(exchange->wire))
        wire_end(exchange->wire);
}

void server_give_up(Server *server)
{
    pthread_mutex_lock(&server->lock);
    for (ExchangeWire *wire = server->parked, *next; wire; wire = next) {
        next = wire->parked_next;
        Parking parking = PARKING_PARKED;
        if (!atomic_compare_exchange_strong(&wire->parking, &parking, PARKING_GIVEN_UP))
            continue; // its owner was quicker, and will take it off the list
        unlist(wire);
        Error error = { 0 };
        fail(&error, ERR_STOPPING, "try again when it is back");
        Reply reply = problem_reply(&wire->exchange.arena, &error, wire->exchange.request_id);
        wire_reply(wire, &reply);
    }
    pthread_mutex_unlock(&server->lock);
}

// A client that has shut its own side down will not take an answer: none that asks for work does
// that.
bool exchange_is_alive(const Exchange *exchange)
{
    struct pollfd at = { .fd = exchange->wire->fd, .events = POLLRDHUP };
    return poll(&at, 1, 0) <= 0 || !(at.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

Str exchange_header(const Exchange *exchange, Str name)
{
    const ExchangeWire *wire = exchange->wire;
    Arena *arena = &exchange->wire->exchange.arena;
    Str found = STR_NONE;
    for (size_t i = 0; i < wire->header_count; i++) {
        if (!str_eq_nocase(wire->headers[i].name, name))
            continue;
        Str value = wire->headers[i].value;
        found = found.at ? str_format(arena, "%.*s, %.*s", STR_ARG(found), STR_ARG(value)) : value;
    }
    return found;
}

size_t exchange_headers(Exchange *exchange, Header **ret)
{
    *ret = exchange->wire->headers;
    return exchange->wire->header_count;
}

Str exchange_query(const Exchange *exchange, Str name)
{
    const RequestTarget *parsed = &exchange->wire->parsed;
    for (size_t i = 0; i < parsed->query_count; i++)
        if (str_eq(parsed->query[i].name, name))
            return parsed->query[i].value;
    return STR_NONE;
}

Str exchange_query_text(const Exchange *exchange)
{
    Str query = exchange->wire->target;
    (void) str_cut(&query, '?');
    return query;
}

bool exchange_query_next(const Exchange *exchange, size_t index, Header *ret)
{
    const RequestTarget *parsed = &exchange->wire->parsed;
    if (index >= parsed->query_count)
        return false;
    *ret = parsed->query[index];
    return true;
}
