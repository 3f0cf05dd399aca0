#include "base/gzip.h"

#include "base/patience.h"

#define ZLIB_CONST // it only reads what it is given
#include <zlib.h>

enum { PIECE = 16 * 1024, GZIP_ONLY = MAX_WBITS + 16 };

// open_piece gives the next piece, and says whether it is the last. Behind the end of a member
// another may follow.
static Err open_piece(z_stream *stream, unsigned char *piece, bool *ret_is_last, Error *error)
{
    stream->next_out = piece;
    stream->avail_out = PIECE;
    int status = inflate(stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END && stream->avail_in > 0)
        status = inflateReset(stream);
    *ret_is_last = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END)
        return fail(error, ERR_MALFORMED, "it is not gzip, or cut short");
    return ERR_OK;
}

static Err open_all(z_stream *stream, Buf *out, Error *error)
{
    unsigned char piece[PIECE];
    bool is_last = false;
    while (!is_last) {
        if (!patience_lasts(PIECE))
            return fail(error, ERR_MALFORMED, "there is no time left to open it");
        TRY(open_piece(stream, piece, &is_last, error));
        buf_add_bytes(out, piece, (size_t) (stream->next_out - piece));
        if (out->overflowed)
            return fail(error, ERR_TOO_LARGE, "it opens to more than %zu bytes", out->max);
    }
    return ERR_OK;
}

Err gzip_open(Arena *arena, Str packed, size_t max, Str *ret, Error *error)
{
    Buf out = buf_new(arena, max);
    z_stream stream = { .next_in = (const Bytef *) packed.at, .avail_in = (uInt) packed.len };
    assert(packed.len <= UINT32_MAX);
    if (inflateInit2(&stream, GZIP_ONLY) != Z_OK)
        return fail(error, ERR_INTERNAL, "there is no memory to open it");
    Err err = open_all(&stream, &out, error);
    inflateEnd(&stream);
    *ret = buf_str(&out);
    return err;
}
