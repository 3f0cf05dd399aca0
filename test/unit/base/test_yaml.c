#include "base/yaml.h"

#include "test.h"

typedef struct Case {
    const char *yaml, *json; // of all documents, one behind the other; NULL: it is refused …
    const char *why;         // … with this
} Case;

static Str read_all(Arena *arena, const char *yaml, Error *error)
{
    YamlDocument *documents;
    size_t count;
    if (yaml_read(arena, str_from(yaml), YAML_CORE, &documents, &count, error) != ERR_OK)
        return STR_NONE;
    Buf text = buf_new(arena, BUF_WHOLE);
    for (size_t i = 0; i < count; i++)
        buf_add(&text, json_text(arena, documents[i].json));
    return text.len ? buf_str(&text) : S("");
}

static void check(const Case *row)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Str json = read_all(&arena, row->yaml, &error);
    CHECK_AT(row->yaml, json.at ? row->json && str_eq(json, str_from(row->json)) : !row->json);
    if (!row->json)
        CHECK_AT(error.detail, error.err == ERR_MALFORMED && strcmp(error.detail, row->why) == 0);
}

static void words_are_those_of_the_core_schema(void)
{
    static const Case cases[] = {
        { "[true, True, FALSE, yes, no, on, off, y]",
          "[true,true,false,\"yes\",\"no\",\"on\",\"off\",\"y\"]" },
        { "[null, ~, NULL, '', \"null\", nil]", "[null,null,null,\"\",\"null\",\"nil\"]" },
        { "[1, -1, +1, 1.50, .5, 5., 1e3, -2.5E-3]", "[1,-1,1,1.50,0.5,5,1e3,-2.5E-3]" },
        { "[1_000, 1:30, 2026-05-14, 1.2.3, -, e3, 1e, 12h]",
          "[\"1_000\",\"1:30\",\"2026-05-14\",\"1.2.3\",\"-\",\"e3\",\"1e\",\"12h\"]" },
        { "[0, -0, 0.5, '007', !!str 7]", "[0,-0,0.5,\"007\",\"7\"]" },
        { "a: 007", NULL, "line 1: a number has no leading zero; put a text in quotes" },
        { "a: 0x1f", NULL, "line 1: write the number in decimal, or a text in quotes" },
        { "a: 0o17", NULL, "line 1: write the number in decimal, or a text in quotes" },
        { "a:\n  - .inf", NULL, "line 2: JSON has no such number; put a text in quotes" },
        { "9007199254740993", "9007199254740993" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

static void documents_are_told_apart(void)
{
    static const Case cases[] = {
        { "", "" },
        { "# nothing\n", "" },
        { "a: 1\n---\n# nothing\n---\nb: 2\n...\n---\n[c]", "{\"a\":1}{\"b\":2}[\"c\"]" },
        { "a: |\n  one\n  two\nb: >-\n  one\n  two", "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\"}" },
        { "{\"a\": [1, {\"b\": null}]}", "{\"a\":[1,{\"b\":null}]}" },
        { "1: a\ntrue: b\n~: c", "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\"}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

static void what_does_not_say_what_it_seems_to_is_refused(void)
{
    static const Case cases[] = {
        { "a: 1\nb: 2\na: 3", NULL, "line 3: \"a\" stands on line 1 already" },
        { "x:\n  - {a: 1, a: 2}", NULL, "line 2: \"a\" stands on line 2 already" },
        { "? [a]\n: b", NULL, "line 1: a key is a word or a text" },
        { "a: &x {b: 1}\nc:\n  <<: *x", NULL,
          "line 3: YAML 1.2 has no merge key; say what is meant" },
        { "a: !!int 7", NULL, "line 1: tags are not read, but for !!str" },
        { "a: !secret x", NULL, "line 1: tags are not read, but for !!str" },
        { "a: !!map {}", NULL, "line 1: tags are not read, but for !!str" },
        { "a: \"x\\0y\"", NULL, "line 1: the text has a NUL character" },
        { "a: 1\nb: \xff", NULL, "line 2: invalid leading UTF-8 octet" },
        { "a: 1\n\nb: \x01", NULL, "line 3: control characters are not allowed" },
        { "a: *none", NULL, "line 1: there is no such anchor above" },
        { "a: &x [1, *x]", NULL, "line 1: an anchor cannot be used inside itself" },
        { "a: 'x", NULL, "line 1: found unexpected end of stream" },
        { "a: 1\n\tb: 2", NULL, "line 2: found a tab character that violates indentation" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

static void anchors_stand_for_what_they_name(void)
{
    static const Case cases[] = {
        { "a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]",
          "{\"a\":{\"b\":[1,2]},\"c\":{\"b\":[1,2]},\"d\":[{\"b\":[1,2]},{\"b\":[1,2]}]}" },
        { "- &x no\n- *x\n- &x 7\n- *x", "[\"no\",\"no\",7,7]" },
        { "a: &x 1\n---\nb: *x", NULL, "line 3: there is no such anchor above" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

// laughs are n anchors, each of ten aliases of the one before.
static const char *laughs(Arena *arena, int n)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    buf_add(&text, S("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"));
    for (int i = 1; i < n; i++) {
        buf_add_format(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            buf_add_format(&text, "%s*a%d", j ? ", " : "", i - 1);
        buf_add(&text, S("]\n"));
    }
    return str_z(arena, buf_str(&text));
}

static void what_grows_without_end_is_refused(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    CHECK(read_all(&arena, laughs(&arena, 4), &error).at);
    CHECK(!read_all(&arena, laughs(&arena, 30), &error).at);
    CHECK_AT(error.detail, str_contains(str_from(error.detail), S("too large")) ||
                               str_contains(str_from(error.detail), S("too many values")));
    Buf deep = buf_new(&arena, BUF_WHOLE);
    for (int i = 0; i < 10000; i++)
        buf_add_char(&deep, '[');
    CHECK(!read_all(&arena, str_z(&arena, buf_str(&deep)), &error).at);
    CHECK_AT(error.detail, str_contains(str_from(error.detail), S("nested too deep")));
}

static void every_place_has_its_line(void)
{
    static const char text[] = "kind: channel\n"
                               "config:\n"
                               "  url: x\n"
                               "  a/b~c: &t {d: 1}\n"
                               "list:\n"
                               "  - 1\n"
                               "  - e: *t\n"
                               "    f: 2\n";
    static const struct {
        const char *pointer;
        size_t line;
    } rows[] = {
        { "", 1 },          { "/kind", 1 },       { "/config/url", 3 }, { "/config/a~1b~0c/d", 4 },
        { "/list/0", 6 },   { "/list/1/e/d", 7 }, { "/list/1/f", 8 },   { "/list/9", 6 },
        { "/config/x", 3 }, { "/none", 1 },
    };
    DEFER(arena_done) Arena arena = { 0 };
    YamlDocument *documents;
    size_t count;
    CHECK(yaml_read(&arena, str_from(text), YAML_CORE, &documents, &count, NULL) == ERR_OK);
    CHECK(count == 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_AT(rows[i].pointer,
                 yaml_line(&documents[0], str_from(rows[i].pointer)) == rows[i].line);
}

static void what_is_written_is_read_again(void)
{
    static const char *const rows[] = {
        "{\"a\":\"no\",\"b\":\"007\",\"c\":\"\",\"d\":\"null\",\"e\":\" x \",\"f\":\"a: b # c\"}",
        "[\"one\\ntwo\\n\",\"one\\n\\ntwo\",\" \\n "
        "\",\"tab\\there\",\"\\u0001\",\"*x\",\"&x\",\"!x\"]",
        "{\"نعم\":\"لا\",\"😀\":[{},[],null,true,false,1.50,-2e5]}",
        "{\"a b\":1,\"~\":2,\"<<\":3,\"- x\":4,\"yes\":5,\"12:30\":\"12:30:45\",\"=\":\"=\"}",
        "\"\"",
        "[[[\"x\"]],{\"y\":{\"z\":[]}}]",
        "\"a\\r\\nb\"",
        "[\"---\",\"...\",\"--- x\",\"%TAG\",\"\\u2028\",\"\\u0085\",\"\\ufeff\"]",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        const Json *json;
        Buf yaml = buf_new(&arena, BUF_WHOLE);
        CHECK_AT(rows[i], json_parse(&arena, str_from(rows[i]), &json, &error) == ERR_OK);
        yaml_write(&yaml, json);
        Str again = read_all(&arena, str_z(&arena, buf_str(&yaml)), &error);
        CHECK_AT(rows[i], again.at && str_eq(again, json_text(&arena, json)));
        if (!again.at || !str_eq(again, json_text(&arena, json)))
            printf("# %s\n# %.*s\n", error.detail, STR_ARG(buf_str(&yaml)));
    }
}

static void texts_are_kept_where_nothing_else_is_wanted(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    YamlDocument *documents;
    size_t count;
    CHECK(yaml_read(&arena, S("port: 0077\non: true\nempty:"), YAML_TEXT, &documents, &count,
                    NULL) == ERR_OK);
    CHECK(str_eq(json_text(&arena, documents[0].json),
                 S("{\"port\":\"0077\",\"on\":\"true\",\"empty\":\"\"}")));
}

static const Test tests[] = {
    TEST(words_are_those_of_the_core_schema),
    TEST(documents_are_told_apart),
    TEST(what_does_not_say_what_it_seems_to_is_refused),
    TEST(anchors_stand_for_what_they_name),
    TEST(what_grows_without_end_is_refused),
    TEST(every_place_has_its_line),
    TEST(what_is_written_is_read_again),
    TEST(texts_are_kept_where_nothing_else_is_wanted),
};
TEST_MAIN(tests)
