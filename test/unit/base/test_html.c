#include "base/html.h"

#include "test.h"

static void text_stands_as_text_between_tags_and_in_attributes(void)
{
    static const struct {
        Str text, html;
    } rows[] = {
        { S(""), S("") },
        { S("plain نعم"), S("plain نعم") },
        { S("<b>&amp;\"'"), S("&lt;b&gt;&amp;amp;&quot;&#39;") },
        { S("a<"), S("a&lt;") },
        { S("\0&"), S("\0&amp;") },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Buf out = buf_new(&arena, BUF_WHOLE);
        html_add(&out, rows[i].text);
        CHECK_AT(rows[i].text.at, str_eq(buf_str(&out), rows[i].html));
    }
}

static const Test tests[] = { TEST(text_stands_as_text_between_tags_and_in_attributes) };

TEST_MAIN(tests)
