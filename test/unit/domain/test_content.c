#include "test.h"

#include "domain/content.h"

static Arena arena;

static Content content_of(const char *payload, Str url)
{
    const Json *json = NULL;
    CHECK(json_parse(&arena, str_from(payload), &json, NULL) == ERR_OK);
    return content_of_payload(&arena, json, url);
}

static void an_event_speaks_for_itself(void)
{
    Content content = content_of("{\"subject\":\"Two\\r\\nlines\",\"body\":\"a\\nb\",\"typeData\":"
                                 "{\"html\":\"<p>\",\"template\":\"ok\",\"params\":[\"x\",7]}}",
                                 S("https://link"));
    CHECK(str_eq(content.subject, S("Two  lines")));
    CHECK(str_eq(content.text, S("a\nb")) && str_eq(content.html, S("<p>")));
    CHECK(str_eq(content.template, S("ok")) && content.param_count == 2);
    CHECK(str_eq(content.params[0].value, S("x")) && !content.params[0].name.len);
    CHECK(str_eq(content.params[1].value, S("7")));
    arena_done(&arena);
}

static void params_may_have_names(void)
{
    Content content =
        content_of("{\"body\":\"b\",\"typeData\":{\"params\":{\"who\":\"Ada\"}}}", S(""));
    CHECK(content.param_count == 1 && str_eq(content.params[0].name, S("who")));
    CHECK(str_eq(content.params[0].value, S("Ada")));
    arena_done(&arena);
}

static void without_a_body_the_link_is_what_is_said(void)
{
    Content content = content_of("{\"wip\":\"40956\"}", S("https://link"));
    CHECK(str_eq(content.text, S("https://link")) && !content_is_empty(&content));
    content = content_of("[]", STR_NONE);
    CHECK(content_is_empty(&content));
    arena_done(&arena);
}

static const Test tests[] = {
    TEST(an_event_speaks_for_itself),
    TEST(params_may_have_names),
    TEST(without_a_body_the_link_is_what_is_said),
};

TEST_MAIN(tests)
