#include "domain/difference.h"

#include "test.h"

static void differences_are_told_member_by_member(void)
{
    static const struct {
        const char *from, *to, *told;
    } rows[] = {
        { "{\"a\":1,\"b\":{\"c\":2}}", "{\"b\":{\"c\":2},\"a\":1}", "[]" },
        { "{\"a\":1}", "{\"a\":2}", "[{\"path\":\"/a\",\"old\":1,\"new\":2}]" },
        { "{\"a\":1}", "{\"b\":1}", "[{\"path\":\"/a\",\"old\":1},{\"path\":\"/b\",\"new\":1}]" },
        { "{\"a\":{\"x/y~\":1}}", "{\"a\":{\"x/y~\":null}}",
          "[{\"path\":\"/a/x~1y~0\",\"old\":1,\"new\":null}]" },
        { "{\"a\":[1,2,3]}", "{\"a\":[1,9,3]}", "[{\"path\":\"/a/1\",\"old\":2,\"new\":9}]" },
        { "{\"a\":[1,2,3]}", "{\"a\":[1,3]}", "[{\"path\":\"/a/1\",\"old\":2}]" },
        { "{\"a\":[1,3]}", "{\"a\":[1,2,3]}", "[{\"path\":\"/a/1\",\"new\":2}]" },
        { "{\"a\":[{\"b\":1},2]}", "{\"a\":[{\"b\":2},2]}",
          "[{\"path\":\"/a/0/b\",\"old\":1,\"new\":2}]" },
        { "{\"s\":{\"$sealed\":\"x\",\"rotatedAt\":\"1\"}}",
          "{\"s\":{\"$sealed\":\"x\",\"rotatedAt\":\"2\"}}", "[]" },
        { "{\"s\":{\"$sealed\":\"x\"}}", "{\"s\":{\"$sealed\":\"y\"}}",
          "[{\"path\":\"/s\",\"secret\":true}]" },
        { "{\"s\":{\"$sealed\":\"x\"}}", "{}", "[{\"path\":\"/s\",\"secret\":true}]" },
        { "{}", "{\"h\":{\"k\":{\"$sealed\":\"x\"}}}",
          "[{\"path\":\"/h\",\"new\":{\"k\":\"(secret)\"}}]" },
        { "{\"u\":\"https://x/y?sig=1\"}", "{\"u\":\"https://x/y?sig=2\"}",
          "[{\"path\":\"/u\",\"old\":\"https://x/y?…\",\"new\":\"https://x/y?…\"}]" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        const Json *from, *to;
        Buf text = buf_new(&arena, BUF_WHOLE);
        JsonOut out = json_out(&text);
        CHECK(json_parse(&arena, str_from(rows[i].from), &from, NULL) == ERR_OK);
        CHECK(json_parse(&arena, str_from(rows[i].to), &to, NULL) == ERR_OK);
        Difference found = difference_find(&arena, from, to);
        difference_write(&out, &found);
        CHECK_AT(rows[i].to, str_eq(buf_str(&text), str_from(rows[i].told)));
    }
}

static void what_is_much_is_cut(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    const Json *from, *to;
    Buf text = buf_new(&arena, BUF_WHOLE);
    buf_add(&text, S("{\"long\":\""));
    for (int i = 0; i < 1000; i++)
        buf_add(&text, S("é"));
    buf_add_char(&text, '"');
    for (int i = 0; i < 1000; i++)
        buf_add_format(&text, ",\"m%d\":%d", i, i);
    buf_add_char(&text, '}');
    CHECK(json_parse(&arena, S("{}"), &from, NULL) == ERR_OK);
    CHECK(json_parse(&arena, buf_str(&text), &to, NULL) == ERR_OK);
    Difference found = difference_find(&arena, from, to);
    CHECK(found.count == 1001);
    CHECK(found.rows[0].now.len < DIFFERENCE_VALUE_MAX + 10 && str_is_utf8(found.rows[0].now));
}

static const Test tests[] = {
    TEST(differences_are_told_member_by_member),
    TEST(what_is_much_is_cut),
};
TEST_MAIN(tests)
