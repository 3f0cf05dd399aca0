#include "base/str.h"
#include "lib/text.h"
#include "test.h"

static void texts_are_quoted_as_json_asks(void)
{
    static const struct {
        const char *given, *written; // NULL: it is refused
    } rows[] = {
        { "", "\"\"" },
        { "It is hot", "\"It is hot\"" },
        { "a\"b\\c\n\x1f", "\"a\\\"b\\\\c\\u000a\\u001f\"" },
        { "\xd8\xad\xd8\xa7\xd8\xb1", "\"\xd8\xad\xd8\xa7\xd8\xb1\"" },
        { "\xf0\x9f\x94\xa5", "\"\xf0\x9f\x94\xa5\"" },
        { "\x1e PL1", "\"\\u001e PL1\"" }, // the spool's mark cannot stand in a text
        { "\xff", NULL },
        { "\xc0\x80", NULL },         // overlong
        { "\xed\xa0\x80", NULL },     // a surrogate
        { "\xf4\x90\x80\x80", NULL }, // past Unicode
        { "cut\xe2\x82", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Text text = { 0 };
        peal_text_quote(&text, rows[i].given);
        CHECK_AT(rows[i].given, text.is_broken == !rows[i].written);
        if (rows[i].written)
            CHECK_AT(rows[i].given, strcmp(text.at, rows[i].written) == 0);
        peal_text_free(&text);
    }
}

// What the library takes for an object, the site must be able to read: a record is not sent back.
static void objects_are_told_from_what_only_looks_like_one(void)
{
    static const char *const good[] = {
        "{}",
        " { } ",
        "{\"a\":1}",
        "{\"a\":[1,-2.5e+3,{\"b\":null}],\"c\":\"\\u00e4\\n\"}",
        "{\"a\":true,\"b\":false}",
    };
    static const char *const bad[] = {
        "",
        "[]",
        "7",
        "{",
        "}",
        "{a}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":01}",
        "{\"a\":tru}",
        "{\"a\":1}}",
        "{\"a\":1} x",
        "{\"a\":\"\x01\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":1.}",
        "{\"a\":[1,]}",
        "{\"a\":\"b}",
        "{\"a\":- }",
    };
    char deep[200] = "{\"a\":";
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK_AT(good[i], peal_json_is_object(good[i], strlen(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i], !peal_json_is_object(bad[i], strlen(bad[i])));
    memset(deep + 5, '[', 40);
    memset(deep + 45, ']', 40);
    deep[85] = '}';
    CHECK(!peal_json_is_object(deep, 86));
}

static void members_are_found_by_name(void)
{
    static const char json[] =
        "{\"x\":{\"id\":\"no\"},\"id\":\"7\\n\\u00e4\",\"n\":12,\"last\":true}";
    size_t len;
    char text[8], cut[3];
    const char *value = peal_json_member(json, strlen(json), "id", &len);
    peal_json_text(value, len, text, sizeof text);
    CHECK(strcmp(text, "7\n?") == 0);
    peal_json_text("\"a\xc3\xa4\"", 5, cut, sizeof cut); // between characters
    CHECK(strcmp(cut, "a") == 0);
    CHECK(peal_json_member(json, strlen(json), "last", &len) && len == 4);
    CHECK(!peal_json_member(json, strlen(json), "i", &len));
    CHECK(!peal_json_member("[1]", 3, "id", &len));
}

static const Test tests[] = {
    TEST(texts_are_quoted_as_json_asks),
    TEST(objects_are_told_from_what_only_looks_like_one),
    TEST(members_are_found_by_name),
};
TEST_MAIN(tests)
