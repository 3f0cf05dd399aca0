#include "net/cookie.h"
#include "base/arena.h"
#include "test.h"

static void one_is_found_or_none(void)
{
    static const struct {
        const char *header, *value; // value NULL: none
    } cases[] = {
        { "", NULL },         { "s=1", "1" },       { " s = 1 ", "1" }, { "a=1; s=2; b=3", "2" },
        { "a=1;s=2", "2" },   { "s=a=b", "a=b" },   { "s=", "" },       { "s", NULL },
        { "S=1", NULL },      { "xs=1", NULL },     { "a=s=1", NULL },  { ";;=;=x; s=1;", "1" },
        { "s=1; s=1", NULL }, { "s=1; s=2", NULL }, { "s; s=1", "1" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Str found = cookie_find(str_from(cases[i].header), S("s"));
        CHECK_AT(cases[i].header, !found.at == !cases[i].value);
        CHECK_AT(cases[i].header, !found.at || str_eq(found, str_from(cases[i].value)));
    }
    CHECK(!cookie_find(STR_NONE, S("s")).at);
}

static void many_are_not_believed(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf most = buf_new(&arena, 1 << 20), more = buf_new(&arena, 1 << 20);
    for (int i = 0; i < COOKIE_PAIRS_MAX; i++) {
        buf_add(&more, S("a=1;"));
        buf_add(&most, i ? S("a=1;") : S(""));
    }
    buf_add(&more, S("s=1"));
    buf_add(&most, S("s=1"));
    CHECK(str_eq(cookie_find(buf_str(&most), S("s")), S("1")));
    CHECK(!cookie_find(buf_str(&more), S("s")).at);
}

static const Test tests[] = {
    TEST(one_is_found_or_none),
    TEST(many_are_not_believed),
};

TEST_MAIN(tests)
