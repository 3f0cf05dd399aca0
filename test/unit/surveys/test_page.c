#include "surveys/page.h"

#include "../domain/documents.h"

static const char *const asked =
    "{'id':'csi','languages':['en','ar'],'title':{'en':'<b>Visit</b>','ar':'زيارة'},"
    "'questions':[{'id':'rate','type':'rating','min':1,'max':3,'required':true,"
    "'text':{'en':'How?','ar':'كيف؟'}},"
    "{'id':'one','type':'single','text':{'en':'Which <i>?'},"
    "'choices':[{'value':'&amp;','text':{'en':'\\u0022x'}},{'value':'No'}]},"
    "{'id':'t','type':'text','max':5,'text':{'en':'Say'},"
    "'show':{'questionId':'one','op':'==','value':'No'}}]}";

// written is the page for answers, in a language.
static Str written(Arena *arena, const char *text, const char *given, Str language, Form form)
{
    Survey *survey = ARENA_NEW(arena, Survey);
    CHECK(survey_compile(arena, document(arena, text), survey, NULL) == ERR_OK);
    form.answers = given ? document(arena, given) : NULL;
    Answers answers = answers_check(arena, survey, form.answers, ANSWERS_FORM);
    Page page = { .survey = survey,
                  .public_id = S("q7"),
                  .language = language,
                  .root = given ? S("../") : S(""),
                  .given = form.answers,
                  .answers = &answers,
                  .turn =
                      given ? turn_next(survey, &form, &answers) : turn_first(survey, &answers) };
    Buf out = buf_new(arena, BUF_WHOLE);
    page_write(&out, &page);
    return buf_str(&out);
}

static void check_has(Str page, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_AT(parts[i], str_contains(page, str_from(parts[i])));
}

static void texts_stand_as_text(void)
{
    static const char *const parts[] = {
        "<title>&lt;b&gt;Visit&lt;/b&gt;</title>",
        "Which &lt;i&gt;?",
        "value=\"&amp;amp;\"> <span dir=\"auto\">&quot;x</span>",
        "action=\"q7/responses?lang=",
        "href=\"page.css\"",
        "<div class=\"question\" data-question=\"t\" data-off>",
        "data-shown=\"q7/shown\"",
        "<html lang=\"en\" dir=\"ltr\">",
    };
    DEFER(arena_done) Arena arena = { 0 };
    Str page = written(&arena, asked, NULL, S("en"), (Form){ 0 });
    check_has(page, parts, ARRAY_LEN(parts));
    CHECK(!str_contains(page, S("checked")) && !str_contains(page, S("<i>")));
    CHECK(!str_contains(page, S("role=\"alert\"")));
}

static void what_is_wrong_stands_first_and_answers_stay(void)
{
    static const char *const parts[] = {
        "<title>Error: ",
        "<li><a href=\"#q0\">",
        "<li><a href=\"#q2\">",
        "aria-describedby=\"h0 e0\"",
        "aria-describedby=\"e2\" aria-invalid=\"true\"",
        "value=\"No\" checked>",
        "\n&lt;/textarea&gt;</textarea>",
        "action=\"../q7/responses?lang=",
    };
    DEFER(arena_done) Arena arena = { 0 };
    Str page = written(&arena, asked, "{'one':'No','t':'</textarea>'}", S("en"), (Form){ 0 });
    check_has(page, parts, ARRAY_LEN(parts));
}

static void a_page_is_written_from_right_to_left(void)
{
    static const char *const parts[] = {
        "<html lang=\"ar\" dir=\"rtl\">",
        "<title>زيارة</title>",
        "<span dir=\"auto\">كيف؟</span>",
        "<span dir=\"auto\" lang=\"en\">Say</span>", // which is not there in Arabic
        "<span>إرسال</span>",
        "value=\"en\" lang=\"en\">English</button>",
    };
    DEFER(arena_done) Arena arena = { 0 };
    check_has(written(&arena, asked, NULL, S("ar"), (Form){ 0 }), parts, ARRAY_LEN(parts));
}

// Peal's own words are in English on the page of a language that it does not know.
static void words_say_in_which_language_they_are(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str page = written(&arena, "{'id':'x','languages':['ckb'],'questions':[]}", NULL, S("ckb"),
                       (Form){ 0 });
    CHECK(str_contains(page, S("<html lang=\"ckb\" dir=\"rtl\">")));
    CHECK(str_contains(page, S("<span lang=\"en\" dir=\"ltr\">Send</span>")));
    CHECK(!str_contains(page, S("<nav")));
}

static void answers_of_other_pages_travel_along(void)
{
    static const char *const each =
        "{'id':'x','languages':['en'],'paging':'one','questions':["
        "{'id':'m','type':'multiple','choices':[{'value':'\\u0022'},{'value':'b'}]},"
        "{'id':'n','type':'number'},{'id':'o','type':'date'}]}";
    static const char *const parts[] = {
        "<input type=\"hidden\" name=\"a.m\" value=\"&quot;\">\n"
        "<input type=\"hidden\" name=\"a.m\" value=\"b\">\n",
        "<input type=\"hidden\" name=\"at\" value=\"n\">",
        "Question 2 of 3",
        "inputmode=\"decimal\"",
        "value=\"back\"",
        "<span>Next</span>",
    };
    DEFER(arena_done) Arena arena = { 0 };
    Str page =
        written(&arena, each, "{'m':['\\u0022','b'],'x':'1'}", S("en"), (Form){ .at = S("m") });
    check_has(page, parts, ARRAY_LEN(parts));
    CHECK(!str_contains(page, S("data-shown")) && !str_contains(page, S("data-off")));
    CHECK(!str_contains(page, S("a.x")) && !str_contains(page, S("type=\"date\"")));
}

static void pages_that_ask_nothing(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey;
    CHECK(survey_compile(&arena, document(&arena, asked), &survey, NULL) == ERR_OK);
    Buf out = buf_new(&arena, BUF_WHOLE);
    page_write_note(&out, &(NotePage){ PAGE_THANKS, &survey, S("q7"), S("ar"), S("../") });
    CHECK(str_contains(buf_str(&out), S("شكرًا لك")) && !str_contains(buf_str(&out), S("<form")));
    CHECK(str_contains(buf_str(&out), S("<a href=\"../q7?lang=en\" lang=\"en\">English</a>")));
    out = buf_new(&arena, BUF_WHOLE);
    page_write_note(&out, &(NotePage){ .note = PAGE_NOBODY, .language = S("de") });
    CHECK(str_contains(buf_str(&out), S("<h1><span>Unter dieser Adresse")));
}

static const Test tests[] = {
    TEST(texts_stand_as_text),
    TEST(what_is_wrong_stands_first_and_answers_stay),
    TEST(a_page_is_written_from_right_to_left),
    TEST(words_say_in_which_language_they_are),
    TEST(answers_of_other_pages_travel_along),
    TEST(pages_that_ask_nothing),
};

TEST_MAIN(tests)
