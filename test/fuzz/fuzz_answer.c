// The input is a survey in the first line, and answers to it in the rest.
#include "domain/answer.h"

#include "fuzz.h"

static void check_problems(Arena *arena, const Answers *answers)
{
    for (size_t i = 0; i < answers->problem_count; i++) {
        Str text = answer_problem_text(arena, &answers->problems[i], S("ar"));
        assert(answers->problems[i].question.at && text.len > 0 && str_is_utf8(text));
    }
}

// check_again: what is clean is taken again as it is.
static void check_again(Arena *arena, const Survey *survey, Str clean)
{
    const Json *json = NULL;
    Error error = { 0 };
    Err err = json_parse(arena, clean, &json, &error);
    assert(err == ERR_OK);
    Answers again = answers_check(arena, survey, json, ANSWERS_JSON);
    assert(again.problem_count == 0 && str_eq(answers_text(arena, survey, &again), clean));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Str rest = { (const char *) data, size };
    Str text = str_cut(&rest, '\n');
    Survey survey;
    const Json *given = NULL;
    if (survey_parse(&arena, text, &survey, &error) != ERR_OK ||
        survey_check(&arena, &survey, &error) != ERR_OK ||
        json_parse(&arena, rest, &given, &error) != ERR_OK || json_type(given) != JSON_OBJECT ||
        json_count(given) > ANSWERS_MAX)
        return 0;
    static const AnswersFrom ways[] = { ANSWERS_JSON, ANSWERS_FORM };
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        Answers answers = answers_check(&arena, &survey, given, ways[i]);
        check_problems(&arena, &answers);
        if (answers.problem_count == 0)
            check_again(&arena, &survey, answers_text(&arena, &survey, &answers));
    }
    return 0;
}
