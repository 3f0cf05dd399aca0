#include "api/served.h"

#include <stdatomic.h>

// A long answer is poured: read and written piece by piece while its client takes it
// (net/stream.h), in the memory of one piece. Each piece is a read of its own at the back of the
// streamer's line, so that answers share its one thread by turns. While a client does not take what
// it was given its answer has no read there: it holds up nobody.
//
// The streamer has one thread, and an answer one read: what a piece leaves behind is seen by the
// next, whoever asked for it. Its line is longer than there may be connections, so that no read is
// ever turned away.

struct Pour {
    Arena arena;            // of the piece, but for the first, whose refusal may be the answer
    Stream *stream;         // NULL until the first piece is there
    Str piece;              // that the stream has not taken yet; none
    bool is_last;           // nothing comes after the piece
    atomic_bool is_waiting; // for the stream; whoever clears it has the read
};

static Served *served_of(Read *read)
{
    return (Served *) ((char *) read - offsetof(Call, read));
}

static Err pour_piece(Served *served, Db *db, Error *error)
{
    Call *call = &served->call;
    Pour *pour = served->pour;
    Buf text = buf_new(call->arena, BUF_WHOLE);
    bool is_last = false;
    Registry *newest = writer_registry(api_writer(call->api));
    Err err = rights_readmit(served, newest, clock_now(call->api->clock), error);
    registry_drop(newest);
    if (err == ERR_OK && !pour->stream && exchange_is_crowded(call->exchange))
        err = fail(error, ERR_BUSY,
                   "answers that their clients do not take fill the memory set aside for them");
    if (err == ERR_OK)
        err = call->route->run.pour(call, db, &text, &is_last, error);
    if (err != ERR_OK)
        return err;
    pour->piece = buf_str(&text);
    pour->is_last = is_last;
    return ERR_OK;
}

static Err run_piece(Read *read, Db *db, Error *error)
{
    Served *served = served_of(read);
    Pour *pour = served->pour;
    if (pour->stream && (pour->piece.len > 0 || pour->is_last))
        return ERR_OK; // what was poured is still to be taken
    if (pour->stream) {
        arena_reset(&pour->arena);
        served->call.arena = &pour->arena;
    }
    reply_anew(served);
    return reply_conclude(served, pour_piece(served, db, &served->error), error);
}

static void end(Served *served, bool is_whole)
{
    Stream *stream = served->pour->stream;
    arena_done(&served->pour->arena);
    reply_let_go(&served->call);
    if (is_whole)
        stream_end(stream);
    else
        stream_break(stream);
}

static void told(void *with)
{
    Served *served = with;
    if (atomic_exchange(&served->pour->is_waiting, false))
        reader_submit(served->call.api->streamer, &served->call.read);
}

static void begin(Served *served)
{
    const Route *route = served->call.route;
    Reply head = { .status = route->status, .type = str_from(route->type) };
    metrics_request(route, head.status);
    served->pour->stream =
        exchange_stream(served->call.exchange, &head, (StreamWatch){ told, served });
}

// write_on gives the stream its piece. Where it has no room, told() goes on; where the stream is
// lost meanwhile, too, and then the read is no longer ours.
static void write_on(Served *served)
{
    Pour *pour = served->pour;
    atomic_store(&pour->is_waiting, true);
    StreamFit fit = stream_write(pour->stream, pour->piece);
    if (fit == STREAM_TAKEN)
        pour->piece = STR_NONE;
    if (fit == STREAM_FULL || !atomic_exchange(&pour->is_waiting, false))
        return;
    if (fit == STREAM_TAKEN && !pour->is_last)
        reader_submit(served->call.api->streamer, &served->call.read);
    else
        end(served, fit == STREAM_TAKEN);
}

static void piece_done(Read *read, Err err, const Error *error)
{
    Served *served = served_of(read);
    bool is_refused = err != ERR_OK || served->refused != ERR_OK;
    if (is_refused && !served->pour->stream) {
        reply_finish(&served->call, err, error);
        return;
    }
    if (is_refused) {
        reply_log(&served->call, err != ERR_OK ? err : served->refused,
                  err != ERR_OK ? error : &served->error);
        end(served, false); // the client sees that it is cut off
        return;
    }
    if (!served->pour->stream)
        begin(served);
    write_on(served);
}

void pour_start(Served *served)
{
    Call *call = &served->call;
    served->pour = ARENA_NEW(call->arena, Pour);
    call->read = (Read){ .pace = READ_SLOW, .run = run_piece, .done = piece_done };
    reader_submit(call->api->streamer, &call->read);
}
