#include "net/wire.h"

#include "base/arena.h"

// Locks are taken in this order: the server's or the deadlines', the stream's, the library's.

struct Stream {
    ExchangeWire *wire;
    Stream *prev, *next;  // of its server's; guarded by the server's lock
    pthread_mutex_t lock; // guards what follows
    StreamWatch watch;
    char *bytes;
    size_t room, at, len; // what waits is len bytes from at on
    bool sleeps;          // its connection does, until there is something to send
    bool is_full;         // the writer was turned away
    bool is_gone, is_ended, is_whole;
};

Stream *exchange_stream(Exchange *exchange, const Reply *head, StreamWatch watch)
{
    ExchangeWire *wire = exchange->wire;
    Server *server = wire->server;
    assert(head->body.len == 0);
    Stream *stream = memory_new(sizeof *stream);
    stream->wire = wire;
    stream->watch = watch;
    pthread_mutex_init(&stream->lock, NULL);
    wire->stream = stream;
    atomic_fetch_add(&wire->holders, 1);
    atomic_fetch_add(&server->owed, 1);

    pthread_mutex_lock(&server->lock);
    stream->next = server->streams;
    if (stream->next)
        stream->next->prev = stream;
    server->streams = stream;
    stream->is_gone = atomic_load(&server->is_closing);
    pthread_mutex_unlock(&server->lock);
    wire_reply(wire, head);
    return stream;
}

static void tell(const Stream *stream)
{
    if (stream->watch.told && !stream->is_ended)
        stream->watch.told(stream->watch.with);
}

// rouse returns whether the connection sleeps, and that it does no more. With the lock; wire_wake()
// comes after it, for a connection that sleeps stays.
static bool rouse(Stream *stream)
{
    bool sleeps = stream->sleeps;
    stream->sleeps = false;
    return sleeps;
}

// append takes a piece in, behind what waits.
static void append(Stream *stream, Str piece)
{
    if (stream->at + stream->len + piece.len > stream->room && stream->at > 0) {
        memmove(stream->bytes, stream->bytes + stream->at, stream->len);
        stream->at = 0;
    }
    if (stream->len + piece.len > stream->room) {
        size_t least = stream->len + piece.len;
        stream->room = least > STREAM_ROOM_BYTES ? least : STREAM_ROOM_BYTES;
        stream->bytes = memory_grow(stream->bytes, stream->room);
    }
    memcpy(stream->bytes + stream->at + stream->len, piece.at, piece.len);
    stream->len += piece.len;
}

StreamFit stream_write(Stream *stream, Str piece)
{
    StreamFit fit = STREAM_TAKEN;
    bool wakes = false;
    pthread_mutex_lock(&stream->lock);
    assert(!stream->is_ended);
    if (stream->is_gone) {
        fit = STREAM_GONE;
    } else if (stream->len >= STREAM_ROOM_BYTES) {
        fit = STREAM_FULL;
        stream->is_full = true;
    } else if (piece.len > 0) {
        append(stream, piece);
        wakes = rouse(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    if (wakes)
        wire_wake(stream->wire->server, stream->wire->mhd);
    return fit;
}

// take copies what waits, and keeps no more room than a stream should.
static size_t take(Stream *stream, char *to, size_t max)
{
    size_t len = stream->len < max ? stream->len : max;
    memcpy(to, stream->bytes + stream->at, len);
    stream->at += len;
    stream->len -= len;
    if (stream->len > 0)
        return len;
    stream->at = 0;
    if (stream->room > STREAM_ROOM_BYTES) {
        free(stream->bytes);
        stream->bytes = NULL;
        stream->room = 0;
    }
    return len;
}

ssize_t stream_take(Stream *stream, char *to, size_t max)
{
    ssize_t taken = STREAM_SLEEPS;
    pthread_mutex_lock(&stream->lock);
    assert(!stream->sleeps);
    if (stream->is_gone) {
        taken = STREAM_CUT;
    } else if (stream->len > 0) {
        taken = (ssize_t) take(stream, to, max);
    } else if (stream->is_ended) {
        taken = stream->is_whole ? STREAM_WHOLE : STREAM_CUT;
    } else {
        stream->sleeps = true;
        wire_sleep(stream->wire);
    }
    // Only when half of it is read, lest the writer be woken for every piece.
    if (stream->is_full && stream->len < STREAM_ROOM_BYTES / 2) {
        stream->is_full = false;
        tell(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    return taken;
}

void stream_lose(Stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool is_news = !stream->is_gone;
    stream->is_gone = true;
    bool wakes = rouse(stream);
    if (is_news)
        tell(stream);
    pthread_mutex_unlock(&stream->lock);
    if (wakes)
        wire_wake(stream->wire->server, stream->wire->mhd);
}

void streams_lose(Stream *first)
{
    for (Stream *each = first; each; each = each->next)
        stream_lose(each);
}

void stream_free(Stream *stream)
{
    if (!stream)
        return;
    pthread_mutex_destroy(&stream->lock);
    free(stream->bytes);
    free(stream);
}

static void unlist(Stream *stream)
{
    Server *server = stream->wire->server;
    pthread_mutex_lock(&server->lock);
    if (stream->prev)
        stream->prev->next = stream->next;
    else
        server->streams = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    pthread_mutex_unlock(&server->lock);
}

static void finish(Stream *stream, bool is_whole, Str last)
{
    ExchangeWire *wire = stream->wire;
    Server *server = wire->server;
    unlist(stream);
    pthread_mutex_lock(&stream->lock);
    assert(!stream->is_ended);
    stream->is_ended = true;
    stream->is_whole = is_whole;
    if (last.len > 0 && !stream->is_gone)
        append(stream, last);
    bool wakes = rouse(stream);
    pthread_mutex_unlock(&stream->lock);
    if (wakes)
        wire_wake(wire->server, wire->mhd);
    if (wire_let_go(wire))
        wire_end(wire);
    server_count_down(server, &server->owed); // the last word: the server may be gone after it
}

void stream_end(Stream *stream)
{
    finish(stream, true, STR_NONE);
}

void stream_end_with(Stream *stream, Str last)
{
    finish(stream, true, last);
}

void stream_break(Stream *stream)
{
    finish(stream, false, STR_NONE);
}
