// The input is a survey in the first line, and a form of its page in the rest.
#include "surveys/page.h"

#include "surveys/language.h"

#include "fuzz.h"

// count is how often a part stands in a text.
static size_t count(Str text, Str part)
{
    size_t found = 0;
    for (; text.len >= part.len; text = str_skip(text, 1))
        found += str_starts(text, part);
    return found;
}

// check_page: it is text, and what strangers wrote made no tag: there is one script, one form, and
// as many areas as were begun.
static void check_page(Str page)
{
    assert(str_is_utf8(page));
    assert(count(page, S("<script")) == 1 && count(page, S("<form")) == 1);
    assert(count(page, S("<textarea")) == count(page, S("</textarea>")));
    assert(count(page, S("<fieldset")) == count(page, S("</fieldset>")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Str body = { (const char *) data, size };
    Str text = str_cut(&body, '\n');
    Survey survey;
    Form form;
    if (!str_is_utf8(text) || survey_parse(&arena, text, &survey, &error) != ERR_OK ||
        survey_check(&arena, &survey, &error) != ERR_OK ||
        form_read(&arena, body, &form, &error) != ERR_OK)
        return 0;
    Answers answers = answers_check(&arena, &survey, form.answers, ANSWERS_FORM);
    Page page = { .survey = &survey,
                  .public_id = S("q7"),
                  .language = language_for(&survey, &(LanguageWish){ .asked = form.language }),
                  .root = S("../"),
                  .given = form.answers,
                  .answers = &answers,
                  .turn = turn_next(&survey, &form, &answers) };
    assert(page.turn.kind != TURN_TAKE || answers.problem_count == 0);
    if (page.turn.kind == TURN_TAKE)
        return 0;
    Buf out = buf_new(&arena, BUF_WHOLE);
    page_write(&out, &page);
    check_page(buf_str(&out));
    return 0;
}
