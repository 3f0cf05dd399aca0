// stream.h - an answer that is written while its client reads it.
//
// exchange_stream() (net/server.h) begins one. From then on the exchange is still its handler's,
// with its arena, until stream_end() or stream_break(), one of which must follow, whatever became
// of the client. One thread at a time writes; it may be any.
//
// A stream holds little: a piece is taken whole as long as fewer than STREAM_ROOM_BYTES wait, and
// not at all otherwise. The writer that was turned away is told when it may go on. A client that
// reads more slowly than the server allows (ServerOptions) is cut, and a stream is gone when its
// client has closed its end, or when the server closes.
#pragma once

#include "base/str.h"

typedef struct Stream Stream;

enum { STREAM_ROOM_BYTES = 64 * 1024 };

// StreamWatch is told when a stream that was full has room again, and once when it is gone. told
// runs on a thread of the server's that must not wait, and calls no function of the stream: it
// wakes whoever does. It is not called any more when stream_end() has returned.
typedef struct StreamWatch {
    void (*told)(void *with); // NULL: nobody is told
    void *with;
} StreamWatch;

typedef enum StreamFit {
    STREAM_TAKEN,
    STREAM_FULL, // nothing of it was taken: again when told
    STREAM_GONE, // nobody will read it: end the stream
} StreamFit;

StreamFit stream_write(Stream *stream, Str piece) MUST_USE;

// stream_end says that the answer is whole; stream_break that it is not, and the client sees that
// it is cut off. The stream and its exchange are not the caller's afterwards.
// stream_end_with ends it with a last piece, which is taken however much waits.
void stream_end(Stream *stream);
void stream_end_with(Stream *stream, Str last);
void stream_break(Stream *stream);
