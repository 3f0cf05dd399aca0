#include "base/gzip.h"

#include "test.h"

#define ZLIB_CONST // it only reads what it is given
#include <zlib.h>

// pack compresses text into one member.
static Str pack(Arena *arena, Str text)
{
    z_stream stream = { .next_in = (const Bytef *) text.at, .avail_in = (uInt) text.len };
    deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    size_t room = deflateBound(&stream, text.len);
    char *at = arena_alloc(arena, room);
    stream.next_out = (Bytef *) at;
    stream.avail_out = (uInt) room;
    CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    Str ret = { at, stream.total_out };
    deflateEnd(&stream);
    return ret;
}

static Str zeros(Arena *arena, size_t len)
{
    return (Str){ arena_alloc(arena, len), len };
}

static void what_was_packed_comes_back(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Str texts[] = { S(""), S("a"), zeros(&arena, 16 * 1024), zeros(&arena, 100000) };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        Str opened;
        Error error = { 0 };
        CHECK(gzip_open(&arena, pack(&arena, texts[i]), 100000, &opened, &error) == ERR_OK);
        CHECK(str_eq(opened, texts[i]));
    }
}

static void members_follow_each_other(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str opened;
    Error error = { 0 };
    Str first = pack(&arena, S("{\"a\":")), second = pack(&arena, S("1}"));
    Buf joined = buf_new(&arena, 1000);
    buf_add(&joined, first);
    buf_add(&joined, second);
    CHECK(gzip_open(&arena, buf_str(&joined), 100, &opened, &error) == ERR_OK);
    CHECK(str_eq(opened, S("{\"a\":1}")));
}

// A bomb costs its ceiling, not what it holds.
static void a_bomb_stops_at_the_ceiling(void)
{
    enum { MAX = 1 << 20 };
    DEFER(arena_done) Arena source = { 0 };
    DEFER(arena_done) Arena arena = { 0 };
    Str opened, bomb = pack(&source, zeros(&source, 64 << 20));
    Error error = { 0 };
    CHECK(bomb.len < 100000);
    CHECK(gzip_open(&arena, bomb, MAX, &opened, &error) == ERR_TOO_LARGE);
    CHECK(arena.bytes <= 4 * MAX);
    CHECK(gzip_open(&arena, pack(&source, zeros(&source, MAX)), MAX, &opened, &error) == ERR_OK);
    CHECK(gzip_open(&arena, pack(&source, zeros(&source, MAX + 1)), MAX, &opened, &error) ==
          ERR_TOO_LARGE);
}

static void what_is_cut_altered_or_none_is_refused(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str opened, whole = pack(&arena, S("{\"action\":\"opened\",\"number\":17}"));
    Error error = { 0 };
    for (size_t len = 0; len < whole.len; len++)
        CHECK(gzip_open(&arena, (Str){ whole.at, len }, 100, &opened, &error) == ERR_MALFORMED);
    char *altered = arena_copy(&arena, whole.at, whole.len);
    altered[whole.len - 8] ^= 1; // of its check sum
    CHECK(gzip_open(&arena, (Str){ altered, whole.len }, 100, &opened, &error) == ERR_MALFORMED);
    CHECK(gzip_open(&arena, S("{\"a\":1}"), 100, &opened, &error) == ERR_MALFORMED);
    Buf joined = buf_new(&arena, 1000);
    buf_add(&joined, whole);
    buf_add(&joined, S("x"));
    CHECK(gzip_open(&arena, buf_str(&joined), 100, &opened, &error) == ERR_MALFORMED);
}

static const Test tests[] = {
    TEST(what_was_packed_comes_back),
    TEST(members_follow_each_other),
    TEST(a_bomb_stops_at_the_ceiling),
    TEST(what_is_cut_altered_or_none_is_refused),
};

TEST_MAIN(tests)
