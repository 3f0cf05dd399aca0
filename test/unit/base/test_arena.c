#include "base/arena.h"
#include "test.h"

static const size_t sizes[] = {
    0, 1, 15, 16, 17, 100, 4000, 4096, 5000, 70000, 300000, 1000000, 3
};

static bool is_all(const void *at, size_t size, int byte)
{
    const unsigned char *bytes = at;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

static void pieces_are_zeroed_aligned_and_apart(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    // The second and third rounds reuse memory that the one before has dirtied.
    for (int round = 0; round < 3; round++) {
        void *pieces[ARRAY_LEN(sizes)];
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            pieces[i] = arena_alloc(&arena, sizes[i]);
            CHECK((uintptr_t) pieces[i] % _Alignof(max_align_t) == 0);
            CHECK(is_all(pieces[i], sizes[i], 0));
            memset(pieces[i], 0x11 + (int) i, sizes[i]);
        }
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
            CHECK(is_all(pieces[i], sizes[i], 0x11 + (int) i));
        arena_reset(&arena);
    }
}

static void pieces_of_no_bytes_have_their_own_address(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(arena_alloc(&arena, 0) != arena_alloc(&arena, 0));
}

static void a_copy_is_independent(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    char text[] = "abc";
    char *copy = arena_copy(&arena, text, sizeof text);
    text[0] = 'x';
    CHECK(strcmp(copy, "abc") == 0);
    CHECK(arena_copy(&arena, NULL, 0) != NULL);
}

static void small_pieces_share_a_block(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    for (int i = 0; i < 20; i++)
        arena_alloc(&arena, 64);
    CHECK(arena.bytes == 4096);
}

static void blocks_double_up_to_256_kib(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    size_t largest = 0;
    for (int i = 0; i < 1000; i++) {
        size_t before = arena.bytes;
        arena_alloc(&arena, 2000);
        if (arena.bytes - before > largest)
            largest = arena.bytes - before;
    }
    CHECK(largest == 256 * 1024);
}

static void a_giant_leaves_the_room_of_the_newest_block_in_use(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    arena_alloc(&arena, 16);
    arena_alloc(&arena, 1000000);
    size_t before = arena.bytes;
    arena_alloc(&arena, 1000);
    CHECK(arena.bytes == before);
}

static void reset_keeps_one_block_and_no_giant(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    for (int i = 0; i < 100; i++)
        arena_alloc(&arena, 1000);
    arena_alloc(&arena, 1000000);
    arena_reset(&arena);
    CHECK(arena.bytes > 0 && arena.bytes <= 256 * 1024);
    size_t kept = arena.bytes;
    for (int i = 0; i < 20; i++)
        arena_alloc(&arena, 1000);
    CHECK(arena.bytes == kept);
    arena_done(&arena);
    CHECK(arena.bytes == 0 && !arena.blocks);
    arena_alloc(&arena, 1000000);
    arena_reset(&arena);
    CHECK(arena.bytes == 0);
    CHECK(arena_alloc(&arena, 8) != NULL);
}

static void the_newest_piece_grows_in_place(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    char *piece = arena_grow(&arena, NULL, 0, 100);
    memset(piece, 'a', 100);
    CHECK(arena_grow(&arena, piece, 100, 500) == piece);
    CHECK((char *) arena.at >= piece + 500);
    CHECK(arena_grow(&arena, piece, 500, 1000) == piece);
    CHECK(arena_grow(&arena, piece, 1000, 10) == piece);
    char *after = arena_alloc(&arena, 16);
    char *moved = arena_grow(&arena, piece, 10, 200);
    CHECK(moved != piece && is_all(moved, 10, 'a'));
    CHECK(is_all(after, 16, 0));
    char *large = arena_grow(&arena, moved, 200, 500000);
    CHECK(is_all(large, 10, 'a'));
    memset(large, 'b', 500000);
    CHECK(is_all(after, 16, 0));
}

static void a_wipe_gives_everything_back(void)
{
    Arena arena = { 0 };
    memset(arena_alloc(&arena, 100), 's', 100);
    memset(arena_alloc(&arena, 500000), 's', 500000); // a block of its own
    arena_wipe(&arena);
    CHECK(arena.bytes == 0 && !arena.blocks);
    arena_wipe(&arena); // of nothing
}

static void heap_memory_is_zeroed_and_grows(void)
{
    char *at = memory_new(100);
    CHECK(is_all(at, 100, 0));
    at[99] = 'x';
    at = memory_grow(at, 100000);
    CHECK(at[99] == 'x');
    free(at);
}

static const Test tests[] = {
    TEST(pieces_are_zeroed_aligned_and_apart),
    TEST(pieces_of_no_bytes_have_their_own_address),
    TEST(a_copy_is_independent),
    TEST(small_pieces_share_a_block),
    TEST(blocks_double_up_to_256_kib),
    TEST(a_giant_leaves_the_room_of_the_newest_block_in_use),
    TEST(reset_keeps_one_block_and_no_giant),
    TEST(the_newest_piece_grows_in_place),
    TEST(a_wipe_gives_everything_back),
    TEST(heap_memory_is_zeroed_and_grows),
};
TEST_MAIN(tests)
