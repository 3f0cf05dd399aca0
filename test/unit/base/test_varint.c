#include "base/varint.h"

#include "test.h"

static void numbers_come_back(void)
{
    static const uint64_t numbers[] = { 0, 1, 127, 128, 300, 16383, 16384, UINT32_MAX, UINT64_MAX };
    static const int64_t signed_numbers[] = { 0, -1, 1, -64, 64, INT64_MIN, INT64_MAX };
    DEFER(arena_done) Arena arena = { 0 };
    Buf buf = buf_new(&arena, 1000);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        varint_add(&buf, numbers[i]);
    for (size_t i = 0; i < ARRAY_LEN(signed_numbers); i++)
        varint_add_signed(&buf, signed_numbers[i]);
    Str rest = buf_str(&buf);
    uint64_t n = 7;
    int64_t s = 7;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        CHECK(varint_take(&rest, &n) && n == numbers[i]);
    for (size_t i = 0; i < ARRAY_LEN(signed_numbers); i++)
        CHECK(varint_take_signed(&rest, &s) && s == signed_numbers[i]);
    CHECK(rest.len == 0 && !varint_take(&rest, &n) && !varint_take_signed(&rest, &s));
}

static void small_numbers_are_short(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf buf = buf_new(&arena, 100);
    varint_add(&buf, 127);
    varint_add_signed(&buf, -64);
    CHECK(buf.len == 2);
    varint_add(&buf, UINT64_MAX);
    CHECK(buf.len == 2 + VARINT_LEN_MAX);
}

static void what_is_cut_short_or_too_long_is_refused(void)
{
    static const char *const bad[] = { "", "\x80", "\xff\xff",
                                       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                                       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        Str rest = str_from(bad[i]), before = rest;
        uint64_t n = 7;
        CHECK_AT(bad[i], !varint_take(&rest, &n) && n == 7 && rest.len == before.len);
    }
}

static const Test tests[] = {
    TEST(numbers_come_back),
    TEST(small_numbers_are_short),
    TEST(what_is_cut_short_or_too_long_is_refused),
};
TEST_MAIN(tests)
