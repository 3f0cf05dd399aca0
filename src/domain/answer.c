#include "domain/answer.h"

#include "base/time.h"

#include <math.h>

// Taking is one answer on its way in.
typedef struct Taking {
    Arena *arena;
    const Question *of;
    AnswersFrom from;
    const Json *given;
    const Json *taken; // its clean form; NULL: it is none
} Taking;

// parsed is text that was made here, or that must prove to be JSON; NULL where it is none.
static const Json *parsed(Arena *arena, Str text)
{
    const Json *json;
    Error error = { 0 };
    return json_parse(arena, text, &json, &error) == ERR_OK ? json : NULL;
}

// text_given is a text, or a number as its text: a choice may be called 1.
static Str text_given(const Json *given)
{
    return json_type(given) == JSON_NUMBER ? json_number_text(given) : json_str(given);
}

// find_choice is the place of a choice; their count where it is none.
static size_t find_choice(const Question *of, const Json *given)
{
    Str value = text_given(given);
    size_t i = 0;
    while (i < of->choice_count && !(value.at && str_eq(of->choices[i].value, value)))
        i++;
    return i;
}

static SurveyWord take_single(Taking *taking)
{
    const Question *of = taking->of;
    size_t choice = find_choice(of, taking->given);
    if (choice == of->choice_count)
        return SURVEY_WORD_ONE;
    Buf text = buf_new(taking->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    if (json_type(taking->given) != JSON_STRING)
        json_add_str(&out, of->choices[choice].value);
    taking->taken = text.len ? parsed(taking->arena, buf_str(&text)) : taking->given;
    return SURVEY_WORD_NONE;
}

// take_choices writes those that were chosen, in the survey's order.
static void take_choices(Taking *taking, const bool *is_chosen)
{
    Buf text = buf_new(taking->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '[');
    for (size_t i = 0; i < taking->of->choice_count; i++)
        if (is_chosen[i])
            json_add_str(&out, taking->of->choices[i].value);
    json_close(&out, ']');
    taking->taken = parsed(taking->arena, buf_str(&text));
}

static SurveyWord take_multiple(Taking *taking)
{
    const Question *of = taking->of;
    bool *is_chosen = ARENA_ARRAY(taking->arena, bool, of->choice_count + 1);
    bool is_list = json_type(taking->given) == JSON_ARRAY;
    size_t choice = find_choice(of, taking->given);
    if (!is_list && (taking->from == ANSWERS_JSON || choice == of->choice_count))
        return SURVEY_WORD_SOME;
    is_chosen[choice] = !is_list;
    for (JsonIter it = json_each(is_list ? taking->given : NULL); json_next(&it);) {
        choice = find_choice(of, it.value);
        if (choice == of->choice_count)
            return SURVEY_WORD_SOME;
        if (is_chosen[choice])
            return SURVEY_WORD_TWICE;
        is_chosen[choice] = true;
    }
    take_choices(taking, is_chosen);
    return SURVEY_WORD_NONE;
}

// with_plain_digits is text with 0 to 9 for the digits that Arabic and Persian keyboards type.
static Str with_plain_digits(Arena *arena, Str text)
{
    Buf out = buf_new(arena, BUF_WHOLE);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char first = (unsigned char) text.at[i];
        unsigned char second = (unsigned char) (i + 1 < text.len ? text.at[i + 1] : 0);
        bool is_arabic = first == 0xd9 && second >= 0xa0 && second <= 0xa9;
        bool is_persian = first == 0xdb && second >= 0xb0 && second <= 0xb9;
        buf_add_char(&out, is_arabic || is_persian ? (char) ('0' + (second & 0xf)) : text.at[i]);
        i += is_arabic || is_persian;
    }
    return buf_str(&out);
}

// number_given is a number; in a form, a text that is one. NULL: it is none.
static const Json *number_given(const Taking *taking)
{
    const Json *number = taking->given;
    if (taking->from == ANSWERS_FORM && json_type(number) == JSON_STRING)
        number =
            parsed(taking->arena, with_plain_digits(taking->arena, str_trim(json_str(number))));
    return json_type(number) == JSON_NUMBER ? number : NULL;
}

static SurveyWord take_whole(Taking *taking)
{
    const Json *number = number_given(taking);
    int64_t value;
    if (!number || !json_i64(number, &value) || (double) value < taking->of->min ||
        (double) value > taking->of->max)
        return SURVEY_WORD_WHOLE;
    taking->taken = number;
    return SURVEY_WORD_NONE;
}

static SurveyWord take_number(Taking *taking)
{
    const Question *of = taking->of;
    const Json *number = number_given(taking);
    double value = json_double(number);
    if (!number || !isfinite(value))
        return SURVEY_WORD_NUMBER;
    bool is_small = of->has_min && value < of->min, is_great = of->has_max && value > of->max;
    if (is_small || is_great)
        return of->has_min && of->has_max ? SURVEY_WORD_RANGE
               : is_small                 ? SURVEY_WORD_LEAST
                                          : SURVEY_WORD_MOST;
    taking->taken = number;
    return SURVEY_WORD_NONE;
}

static size_t characters(Str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char) text.at[i] & 0xc0) != 0x80;
    return count;
}

static SurveyWord take_text(Taking *taking)
{
    if (json_type(taking->given) != JSON_STRING)
        return SURVEY_WORD_TEXT;
    if ((double) characters(json_str(taking->given)) > taking->of->max)
        return SURVEY_WORD_LONG;
    taking->taken = taking->given;
    return SURVEY_WORD_NONE;
}

// is_date: 2026-05-14, of a day that there is.
static bool is_date(Str text)
{
    int64_t year, month, day;
    return text.len == 10 && text.at[4] == '-' && text.at[7] == '-' &&
           str_to_i64((Str){ text.at, 4 }, 1, 9999, &year) &&
           str_to_i64((Str){ text.at + 5, 2 }, 1, 12, &month) &&
           str_to_i64((Str){ text.at + 8, 2 }, 1, time_days_in_month((int) year, (int) month),
                      &day);
}

static SurveyWord take_date(Taking *taking)
{
    if (!is_date(json_str(taking->given)))
        return SURVEY_WORD_DATE;
    taking->taken = taking->given;
    return SURVEY_WORD_NONE;
}

static SurveyWord (*const takers[])(Taking *taking) = {
    [QUESTION_SINGLE] = take_single, [QUESTION_MULTIPLE] = take_multiple,
    [QUESTION_RATING] = take_whole,  [QUESTION_NPS] = take_whole,
    [QUESTION_NUMBER] = take_number, [QUESTION_TEXT] = take_text,
    [QUESTION_DATE] = take_date,
};

static bool is_blank(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.at[i]))
            return false;
    return true;
}

static bool is_answered(const Json *given)
{
    switch (json_type(given)) {
    case JSON_ABSENT:
    case JSON_NULL:
        return false;
    case JSON_STRING:
        return !is_blank(json_str(given));
    case JSON_ARRAY:
        return json_count(given) > 0;
    case JSON_BOOL:
    case JSON_NUMBER:
    case JSON_OBJECT:
        break;
    }
    return true;
}

// Asking goes through a survey, question by question.
typedef struct Asking {
    Arena *arena;
    const Survey *survey;
    const Json *given;
    AnswersFrom from;
    bool *is_shown;
    const Json **values;
    EventAnswer *so_far; // what rules are asked over
    size_t so_far_count;
    AnswerProblem *problems;
    size_t problem_count;
    size_t next; // the question that goTo leads to: those before it are passed over
} Asking;

static void note(Asking *asking, Str id, const Question *of, SurveyWord word)
{
    asking->problems[asking->problem_count++] = (AnswerProblem){ id, of, word };
}

static bool holds(const Asking *asking, const Filter *filter)
{
    FilterMiss miss;
    Event event = { .answers = asking->so_far,
                    .answer_count = asking->so_far_count,
                    .is_answering = true,
                    .occurred_at = INSTANT_NONE };
    return filter_matches(filter, &event, STR_NONE, &miss);
}

static void take(Asking *asking, size_t at)
{
    const Question *of = &asking->survey->questions[at];
    Taking taking = { asking->arena, of, asking->from, json_get(asking->given, of->id), NULL };
    SurveyWord wrong = SURVEY_WORD_NONE;
    if (is_answered(taking.given))
        wrong = takers[of->type](&taking);
    else if (of->required)
        wrong = SURVEY_WORD_REQUIRED;
    if (wrong != SURVEY_WORD_NONE) {
        note(asking, of->id, of, wrong);
    } else if (taking.taken) {
        asking->values[at] = taking.taken;
        asking->so_far[asking->so_far_count++] = (EventAnswer){ of->id, taking.taken };
    }
}

static void lead_on(Asking *asking, const Question *from)
{
    for (size_t i = 0; i < from->go_to_count; i++) {
        if (!holds(asking, from->go_to[i].when))
            continue;
        asking->next = from->go_to[i].at;
        return;
    }
}

static void ask(Asking *asking, size_t at)
{
    const Question *of = &asking->survey->questions[at];
    asking->is_shown[at] = at >= asking->next && holds(asking, of->show);
    if (asking->is_shown[at]) {
        take(asking, at);
        lead_on(asking, of);
    } else if (asking->from == ANSWERS_JSON && is_answered(json_get(asking->given, of->id))) {
        note(asking, of->id, of, SURVEY_WORD_NOT_SHOWN);
    }
}

Answers answers_check(Arena *arena, const Survey *survey, const Json *given, AnswersFrom from)
{
    size_t count = survey->question_count;
    assert(json_count(given) <= ANSWERS_MAX);
    Asking asking = { .arena = arena, .survey = survey, .given = given, .from = from };
    asking.is_shown = ARENA_ARRAY(arena, bool, count + 1);
    asking.values = ARENA_ARRAY(arena, const Json *, count + 1);
    asking.so_far = ARENA_ARRAY(arena, EventAnswer, count + 1);
    asking.problems = ARENA_ARRAY(arena, AnswerProblem, count + json_count(given) + 1);
    for (size_t i = 0; i < count; i++)
        ask(&asking, i);
    for (JsonIter it = json_each(from == ANSWERS_JSON ? given : NULL); json_next(&it);)
        if (survey_question(survey, it.key) == count)
            note(&asking, it.key, NULL, SURVEY_WORD_UNKNOWN);
    return (Answers){ asking.is_shown, asking.values, asking.problems, asking.problem_count };
}

Str answers_text(Arena *arena, const Survey *survey, const Answers *answers)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    for (size_t i = 0; i < survey->question_count; i++)
        if (answers->values[i])
            json_put_raw(&out, survey->questions[i].id, json_text(arena, answers->values[i]));
    json_close(&out, '}');
    return buf_str(&text);
}

Str answer_problem_text(Arena *arena, const AnswerProblem *problem, Str language)
{
    const Question *of = problem->of;
    return survey_word_text(arena, problem->word, language, of ? of->min : 0, of ? of->max : 0);
}
