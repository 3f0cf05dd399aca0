#include "surveys/form.h"

#include "domain/answer.h"

#include "../domain/documents.h"

static void fields_become_answers(void)
{
    static const struct {
        const char *body, *answers;
    } rows[] = {
        { "", "{}" },
        { "a.rate=9&go=next&lang=en", "{'rate':'9'}" },
        { "a.x=1&a.y=&a.x=2&a.x=2", "{'x':['1','2','2'],'y':''}" },
        { "a.t=a%0D%0Ab%0Ac%0Dd%0D", "{'t':'a\\nb\\nc\\rd\\r'}" },
        { "a.t=%3Cb%3E+%22%D9%86", "{'t':'<b> \\u0022ن'}" },
        { "rate=9&b.rate=1&a=2&=3&&&", "{}" },
        { "a.=1&a.lang=2&a.at=3", "{'':'1','lang':'2','at':'3'}" },
        { "a.novalue", "{'novalue':''}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Form form;
        CHECK_AT(rows[i].body, form_read(&arena, str_from(rows[i].body), &form, NULL) == ERR_OK);
        Str wanted = json_text(&arena, document(&arena, rows[i].answers));
        CHECK_AT(rows[i].body, str_eq(json_text(&arena, form.answers), wanted));
    }
}

static void buttons_say_where_it_goes(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Form form;
    CHECK(form_read(&arena, S("lang=en&at=rate&go=back"), &form, NULL) == ERR_OK);
    CHECK(str_eq(form.language, S("en")) && str_eq(form.at, S("rate")) && form.is_back);
    CHECK(!form.is_switched);
    CHECK(form_read(&arena, S("switch=ar&lang=en&go=next"), &form, NULL) == ERR_OK);
    CHECK(str_eq(form.language, S("ar")) && form.is_switched && !form.is_back && !form.at.at);
}

static void what_no_page_sends_is_refused(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Form form;
    Error error = { .arena = &arena };
    static const char *const bad[] = { "a.x=%", "a.x=%ff", "%00=1", "a.x=%zz" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i], form_read(&arena, str_from(bad[i]), &form, &error) == ERR_MALFORMED);
    Buf many = buf_new(&arena, BUF_WHOLE), names = buf_new(&arena, BUF_WHOLE);
    for (int i = 0; i < FORM_FIELDS_MAX; i++)
        buf_add(&many, S("a.x=1&"));
    for (int i = 0; i < ANSWERS_MAX; i++)
        buf_add_format(&names, "a.%d=1&", i);
    CHECK(form_read(&arena, buf_str(&many), &form, &error) == ERR_OK);
    CHECK(form_read(&arena, buf_str(&names), &form, &error) == ERR_OK);
    buf_add(&many, S("x"));
    buf_add(&names, S("a.x"));
    CHECK(form_read(&arena, buf_str(&many), &form, &error) == ERR_ANSWERS_INVALID);
    CHECK(form_read(&arena, buf_str(&names), &form, &error) == ERR_ANSWERS_INVALID);
}

static const Test tests[] = {
    TEST(fields_become_answers),
    TEST(buttons_say_where_it_goes),
    TEST(what_no_page_sends_is_refused),
};

TEST_MAIN(tests)
