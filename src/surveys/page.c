#include "surveys/page.h"

#include "base/html.h"
#include "surveys/language.h"

// Writing is a page on its way out.
typedef struct Writing {
    Buf *out;
    const Page *page;     // NULL: it is
    const NotePage *note; // this one
    Str language;
} Writing;

static void put(const Writing *to, const char *html)
{
    buf_add(to->out, str_from(html));
}

// put_language says in which language an element is, where it is not the page's.
static void put_language(const Writing *to, Str language)
{
    if (language_is_same(language, to->language))
        return;
    put(to, " lang=\"");
    html_add(to->out, language);
    put(to, language_is_rtl(language) ? "\" dir=\"rtl\"" : "\" dir=\"ltr\"");
}

static Str word_of(const Writing *to, SurveyWord word, double min, double max)
{
    return survey_word_text(to->out->arena, word, to->language, min, max);
}

// put_word puts a sentence of Peal's own.
static void put_word_of(const Writing *to, SurveyWord word, double min, double max)
{
    put(to, "<span");
    put_language(to, survey_word_language(to->language));
    put(to, ">");
    html_add(to->out, word_of(to, word, min, max));
    put(to, "</span>");
}

static void put_word(const Writing *to, SurveyWord word)
{
    put_word_of(to, word, 0, 0);
}

// put_text puts a text of the survey's.
static void put_text(const Writing *to, const SurveyText *text)
{
    put(to, "<span dir=\"auto\"");
    Str language = survey_text_language(text, to->language);
    if (!language_is_same(language, to->language)) {
        put(to, " lang=\"");
        html_add(to->out, language);
        put(to, "\"");
    }
    put(to, ">");
    html_add(to->out, survey_text(text, to->language));
    put(to, "</span>");
}

static void put_attribute(const Writing *to, const char *name, Str value)
{
    buf_add_char(to->out, ' ');
    put(to, name);
    put(to, "=\"");
    html_add(to->out, value);
    put(to, "\"");
}

static void put_hidden(const Writing *to, Str name, Str value)
{
    put(to, "<input type=\"hidden\"");
    put_attribute(to, "name", name);
    put_attribute(to, "value", value);
    put(to, ">\n");
}

static void put_head(const Writing *to, Str root, Str title, bool is_wrong, bool is_asked)
{
    put(to, "<!doctype html>\n<html");
    put_attribute(to, "lang", to->language);
    put(to, language_is_rtl(to->language) ? " dir=\"rtl\">\n" : " dir=\"ltr\">\n");
    put(to, "<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"robots\" content=\"noindex\">\n<title>");
    if (is_wrong) {
        html_add(to->out, word_of(to, SURVEY_WORD_ERROR, 0, 0));
        put(to, ": ");
    }
    html_add(to->out, title);
    put(to, "</title>\n<link rel=\"stylesheet\" href=\"");
    html_add(to->out, root);
    put(to, "page.css\">\n");
    if (is_asked) {
        put(to, "<script defer src=\"");
        html_add(to->out, root);
        put(to, "page.js\"></script>\n");
    }
    put(to, "</head>\n<body>\n<main>\n");
}

static void put_foot(const Writing *to)
{
    put(to, "</main>\n</body>\n</html>\n");
}

static const AnswerProblem *problem_of(const Page *page, const Question *question)
{
    const Answers *answers = page->answers;
    for (size_t i = 0; page->turn.kind == TURN_WRONG && i < answers->problem_count; i++)
        if (answers->problems[i].of == question)
            return &answers->problems[i];
    return NULL;
}

static bool is_each(const Page *page)
{
    return page->survey->paging == SURVEY_ONE_EACH;
}

// is_asked: what a rule hides stands on a page with all the others, for the answer that decides may
// be given there. It is told to be passed over unless it applies.
static bool is_asked(const Page *page, size_t at)
{
    return !is_each(page) || (at == page->turn.at && !page->turn.is_end);
}

static size_t place_of(const Page *page, const Question *question)
{
    return (size_t) (question - page->survey->questions);
}

static void put_problem_text(const Writing *to, const AnswerProblem *problem)
{
    put_word_of(to, problem->word, problem->of->min, problem->of->max);
}

// put_problems lists what is wrong; each leads to its question.
static void put_problems(const Writing *to)
{
    const Page *page = to->page;
    if (page->turn.kind != TURN_WRONG)
        return;
    put(to, "<div class=\"problems\" role=\"alert\" tabindex=\"-1\" autofocus>\n<h2>");
    put_word(to, SURVEY_WORD_PROBLEM);
    put(to, "</h2>\n<ul>\n");
    for (size_t i = 0; i < page->survey->question_count; i++) {
        const Question *question = &page->survey->questions[i];
        const AnswerProblem *problem = is_asked(page, i) ? problem_of(page, question) : NULL;
        if (!problem)
            continue;
        buf_add_format(to->out, "<li><a href=\"#q%zu\">", i);
        put_text(to, &question->text);
        put(to, "</a>: ");
        put_problem_text(to, problem);
        put(to, "</li>\n");
    }
    put(to, "</ul>\n</div>\n");
}

static void put_title(const Writing *to, const Question *question)
{
    put_text(to, &question->text);
    if (!question->required) {
        put(to, " <small>");
        put_word(to, SURVEY_WORD_OPTIONAL);
        put(to, "</small>");
    }
}

// is_hidden: a rule says so, of the answers so far. Only a script can hide it.
static bool is_hidden(const Page *page, const Question *question)
{
    return !is_each(page) && !page->answers->is_shown[place_of(page, question)];
}

// hint_of is a sentence that helps to answer; SURVEY_WORD_NONE: none is needed.
static SurveyWord hint_of(const Page *page, const Question *question)
{
    if (is_hidden(page, question))
        return SURVEY_WORD_IF_IT_APPLIES;
    if (question->type == QUESTION_NPS)
        return SURVEY_WORD_LIKELY;
    return question->type == QUESTION_RATING ? SURVEY_WORD_SCALE : SURVEY_WORD_NONE;
}

// put_notes puts the hint and what is wrong, which describe the question.
static void put_notes(const Writing *to, const Question *question)
{
    size_t at = place_of(to->page, question);
    SurveyWord hint = hint_of(to->page, question);
    const AnswerProblem *problem = problem_of(to->page, question);
    if (hint != SURVEY_WORD_NONE) {
        buf_add_format(to->out, "<p class=\"hint%s\" id=\"h%zu\">",
                       hint == SURVEY_WORD_IF_IT_APPLIES ? " if" : "", at);
        put_word_of(to, hint, question->min, question->max);
        put(to, "</p>\n");
    }
    if (problem) {
        buf_add_format(to->out, "<p class=\"error\" id=\"e%zu\">", at);
        put_problem_text(to, problem);
        put(to, "</p>\n");
    }
}

static void put_described(const Writing *to, const Question *question)
{
    size_t at = place_of(to->page, question);
    bool has_hint = hint_of(to->page, question) != SURVEY_WORD_NONE;
    bool is_wrong = problem_of(to->page, question) != NULL;
    if (has_hint && is_wrong)
        buf_add_format(to->out, " aria-describedby=\"h%zu e%zu\"", at, at);
    else if (has_hint || is_wrong)
        buf_add_format(to->out, " aria-describedby=\"%c%zu\"", has_hint ? 'h' : 'e', at);
}

static const Json *given_to(const Page *page, const Question *question)
{
    return json_get(page->given, question->id);
}

static bool is_given(const Page *page, const Question *question, Str value)
{
    const Json *given = given_to(page, question);
    if (json_type(given) == JSON_STRING)
        return str_eq(json_str(given), value);
    for (JsonIter it = json_each(given); json_next(&it);)
        if (str_eq(json_str(it.value), value))
            return true;
    return false;
}

static void put_name(const Writing *to, const Question *question)
{
    put(to, " name=\"");
    html_add(to->out, FORM_ANSWER);
    html_add(to->out, question->id);
    put(to, "\"");
}

// put_box puts what is chosen by a tap; the first has the id that problems lead to.
static void put_box(const Writing *to, const Question *question, Str value, bool is_first)
{
    put(to, "<label><input type=\"");
    put(to, question->type == QUESTION_MULTIPLE ? "checkbox\"" : "radio\"");
    if (is_first)
        buf_add_format(to->out, " id=\"q%zu\"", place_of(to->page, question));
    put_name(to, question);
    put_attribute(to, "value", value);
    put(to, is_given(to->page, question, value) ? " checked> " : "> ");
}

static void put_choices(const Writing *to, const Question *question)
{
    put(to, "<div class=\"choices\">\n");
    for (size_t i = 0; i < question->choice_count; i++) {
        put_box(to, question, question->choices[i].value, i == 0);
        put_text(to, &question->choices[i].text);
        put(to, "</label>\n");
    }
    put(to, "</div>\n");
}

static void put_scale(const Writing *to, const Question *question)
{
    put(to, "<div class=\"scale\">\n");
    for (int64_t i = (int64_t) question->min; i <= (int64_t) question->max; i++) {
        Str value = str_i64(to->out->arena, i);
        put_box(to, question, value, i == (int64_t) question->min);
        put(to, "<span>");
        buf_add(to->out, value);
        put(to, "</span></label>\n");
    }
    put(to, "</div>\n");
}

// put_field_head begins an element that is written into.
static void put_field_head(const Writing *to, const Question *question, const char *element)
{
    put(to, element);
    buf_add_format(to->out, " id=\"q%zu\"", place_of(to->page, question));
    put_name(to, question);
    put_described(to, question);
    if (problem_of(to->page, question))
        put(to, " aria-invalid=\"true\"");
}

static void put_line(const Writing *to, const Question *question)
{
    bool is_date = question->type == QUESTION_DATE;
    put_field_head(to, question,
                   is_date ? "<input type=\"date\""
                           : "<input type=\"text\" inputmode=\"decimal\" dir=\"ltr\"");
    Str given = json_str(given_to(to->page, question));
    if (given.len > 0)
        put_attribute(to, "value", given);
    put(to, ">\n");
}

// A line end behind the tag is not the text's, whose own first one would be lost without it.
static void put_area(const Writing *to, const Question *question)
{
    put_field_head(to, question, "<textarea rows=\"4\" dir=\"auto\"");
    put(to, ">\n");
    html_add(to->out, json_str(given_to(to->page, question)));
    put(to, "</textarea>\n");
}

// How each type is put, and whether what is put has parts, with a legend above them.
static const struct {
    void (*put)(const Writing *to, const Question *question);
    bool is_group;
} controls[] = {
    [QUESTION_SINGLE] = { put_choices, true },
    [QUESTION_MULTIPLE] = { put_choices, true },
    [QUESTION_RATING] = { put_scale, true },
    [QUESTION_NPS] = { put_scale, true },
    [QUESTION_NUMBER] = { put_line },
    [QUESTION_TEXT] = { put_area },
    [QUESTION_DATE] = { put_line },
};

static void put_question(const Writing *to, const Question *question)
{
    bool is_group = controls[question->type].is_group;
    put(to, is_group ? "<fieldset" : "<div");
    put(to, problem_of(to->page, question) ? " class=\"question wrong\"" : " class=\"question\"");
    put_attribute(to, "data-question", question->id);
    if (is_hidden(to->page, question))
        put(to, " data-off");
    if (is_group)
        put_described(to, question);
    put(to, ">\n");
    if (is_group)
        put(to, "<legend>");
    else
        buf_add_format(to->out, "<label class=\"title\" for=\"q%zu\">",
                       place_of(to->page, question));
    put_title(to, question);
    put(to, is_group ? "</legend>\n" : "</label>\n");
    put_notes(to, question);
    controls[question->type].put(to, question);
    put(to, is_group ? "</fieldset>\n" : "</div>\n");
}

// put_kept keeps what was answered on other pages.
static void put_kept(const Writing *to, const Question *question)
{
    const Json *given = given_to(to->page, question);
    Str name = STR_JOIN(to->out->arena, FORM_ANSWER, question->id);
    if (json_type(given) == JSON_STRING)
        put_hidden(to, name, json_str(given));
    for (JsonIter it = json_each(given); json_next(&it);)
        put_hidden(to, name, json_str(it.value));
}

static void put_progress(const Writing *to)
{
    const Page *page = to->page;
    size_t place = 0, all = 0;
    for (size_t i = 0; i < page->survey->question_count; i++) {
        all += page->answers->is_shown[i];
        place += page->answers->is_shown[i] && i <= page->turn.at;
    }
    if (!is_each(page) || all == 0)
        return;
    if (page->turn.is_end) {
        put(to, "<p role=\"status\">");
        put_word(to, SURVEY_WORD_LAST);
        put(to, "</p>\n");
        return;
    }
    put(to, "<p class=\"progress\">");
    put_word_of(to, SURVEY_WORD_PLACE, (double) place, (double) all);
    put(to, "</p>\n");
}

// is_last: no question stands behind it, whatever is answered, or none is left to ask.
static bool is_last(const Page *page)
{
    return !is_each(page) || page->turn.is_end || page->turn.at + 1 >= page->survey->question_count;
}

static bool has_before(const Page *page)
{
    for (size_t i = 0; is_each(page) && i < page->turn.at; i++)
        if (page->answers->is_shown[i])
            return true;
    return page->turn.is_end;
}

// put_buttons has the way on first: it is what the enter key means.
static void put_buttons(const Writing *to)
{
    put(to, "<div class=\"buttons\">\n<button class=\"on\" name=\"go\" value=\"next\">");
    put_word(to, is_last(to->page) ? SURVEY_WORD_SEND : SURVEY_WORD_NEXT);
    put(to, "</button>\n");
    if (has_before(to->page)) {
        put(to, "<button name=\"go\" value=\"back\">");
        put_word(to, SURVEY_WORD_BACK);
        put(to, "</button>\n");
    }
    put(to, "</div>\n");
}

static bool has_rules(const Survey *survey)
{
    for (size_t i = 0; i < survey->question_count; i++)
        if (survey->questions[i].show || survey->questions[i].go_to_count > 0)
            return true;
    return false;
}

// put_form_head names the form's own address, the one that is told when somebody looks, and the one
// that says which questions the answers so far lead to.
static void put_form_head(const Writing *to)
{
    const Page *page = to->page;
    Arena *arena = to->out->arena;
    put(to, "<form id=\"form\" method=\"post\" novalidate");
    put_attribute(
        to, "action",
        STR_JOIN(arena, page->root, page->public_id, S("/responses?lang="), page->language));
    put_attribute(to, "data-opened", STR_JOIN(arena, page->root, page->public_id, S("/opened")));
    if (!is_each(page) && has_rules(page->survey))
        put_attribute(to, "data-shown", STR_JOIN(arena, page->root, page->public_id, S("/shown")));
    put(to, ">\n");
    put_hidden(to, FORM_LANG, page->language);
    if (is_each(page) && page->turn.at < page->survey->question_count)
        put_hidden(to, FORM_AT, page->survey->questions[page->turn.at].id);
    if (page->turn.is_end)
        put_hidden(to, FORM_END, S("1"));
}

static void put_form(const Writing *to)
{
    const Page *page = to->page;
    put_form_head(to);
    put_progress(to);
    for (size_t i = 0; i < page->survey->question_count; i++)
        if (is_asked(page, i))
            put_question(to, &page->survey->questions[i]);
        else
            put_kept(to, &page->survey->questions[i]);
    put_buttons(to);
    put(to, "</form>\n");
}

// put_language_button lets one change the language without losing an answer.
static void put_language_button(const Writing *to, Str language)
{
    put(to, "<button form=\"form\" name=\"switch\"");
    put_attribute(to, "value", language);
    put_attribute(to, "lang", language);
    put(to, ">");
    html_add(to->out, language_name(to->out->arena, language));
    put(to, "</button>\n");
}

// put_language_link leads to the same page, where there is nothing to lose.
static void put_language_link(const Writing *to, Str language)
{
    const NotePage *note = to->note;
    put(to, "<a");
    put_attribute(to, "href",
                  STR_JOIN(to->out->arena, note->root, note->public_id, S("?lang="), language));
    put_attribute(to, "lang", language);
    put(to, ">");
    html_add(to->out, language_name(to->out->arena, language));
    put(to, "</a>\n");
}

static void put_languages(const Writing *to, const Survey *survey)
{
    if (survey->language_count < 2)
        return;
    put(to, "<nav");
    put_attribute(to, "aria-label", word_of(to, SURVEY_WORD_LANGUAGE, 0, 0));
    put(to, ">\n");
    for (size_t i = 0; i < survey->language_count; i++) {
        Str language = survey->languages[i];
        if (str_eq(language, to->language))
            continue;
        if (to->page)
            put_language_button(to, language);
        else
            put_language_link(to, language);
    }
    put(to, "</nav>\n");
}

void page_write(Buf *out, const Page *page)
{
    Writing to = { .out = out, .page = page, .language = page->language };
    const SurveyText *title = &page->survey->title;
    assert(page->turn.kind != TURN_TAKE);
    put_head(&to, page->root, survey_text(title, page->language), page->turn.kind == TURN_WRONG,
             true);
    put(&to, "<h1>");
    put_text(&to, title);
    put(&to, "</h1>\n");
    put_problems(&to);
    put_form(&to);
    put_languages(&to, page->survey);
    put_foot(&to);
}

// put_note says it: the survey's author in his own words, where he has any.
static void put_note(const Writing *to, SurveyWord word)
{
    const Survey *survey = to->note->survey;
    bool is_own =
        to->note->note == PAGE_THANKS && survey_text(&survey->thanks, to->language).len > 0;
    put(to, "<p class=\"note\" role=\"status\">");
    if (is_own)
        put_text(to, &survey->thanks);
    else
        put_word(to, word);
    put(to, "</p>\n");
}

void page_write_note(Buf *out, const NotePage *page)
{
    static const SurveyWord words[] = {
        [PAGE_THANKS] = SURVEY_WORD_THANKS,     [PAGE_OVER] = SURVEY_WORD_OVER,
        [PAGE_NOBODY] = SURVEY_WORD_NOBODY,     [PAGE_MISREAD] = SURVEY_WORD_MISREAD,
        [PAGE_TOO_MUCH] = SURVEY_WORD_TOO_MUCH, [PAGE_CROWDED] = SURVEY_WORD_CROWDED,
        [PAGE_DOWN] = SURVEY_WORD_DOWN,
    };
    const Survey *survey = page->survey;
    Writing to = { .out = out, .note = page, .language = page->language };
    SurveyWord word = words[page->note];
    Str title = survey ? survey_text(&survey->title, page->language) : word_of(&to, word, 0, 0);
    put_head(&to, page->root, title, false, false);
    put(&to, "<h1>");
    if (survey)
        put_text(&to, &survey->title);
    else
        put_word(&to, word);
    put(&to, "</h1>\n");
    if (survey) {
        put_note(&to, word);
        put_languages(&to, survey);
    }
    put_foot(&to);
}
