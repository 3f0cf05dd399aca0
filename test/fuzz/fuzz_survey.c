// The input is a survey's draft. What compiles and lacks nothing makes rules that can be read.
#include "domain/survey.h"

#include "fuzz.h"

static void check_rules(Arena *arena, const Survey *survey)
{
    SurveyRule *rules;
    size_t count = survey_rules(arena, survey, 7, &rules);
    for (size_t i = 0; i < count; i++) {
        Trigger trigger;
        Error error = { .arena = arena };
        Err err = rule_parse(rules[i].kind, arena, rules[i].body, &trigger, &error);
        assert(err == ERR_OK && str_eq(trigger.rule.id, rules[i].id));
        assert(str_eq(trigger.survey, survey->id) && trigger.survey_version == 7);
    }
}

static void check_questions(const Survey *survey)
{
    for (size_t i = 0; i < survey->question_count; i++) {
        const Question *question = &survey->questions[i];
        assert(survey_question(survey, question->id) == i);
        assert(survey_text(&question->text, S("xx")).len > 0);
        for (size_t k = 0; k < question->choice_count; k++)
            assert(survey_text(&question->choices[k].text, S("ar-SA")).at);
        for (size_t k = 0; k < question->go_to_count; k++)
            assert(question->go_to[k].at > i && question->go_to[k].at <= survey->question_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Survey survey;
    if (survey_parse(&arena, (Str){ (const char *) data, size }, &survey, &error) != ERR_OK) {
        assert(error.detail[0]);
        return 0;
    }
    assert(error.count == 0 && survey_language(&survey, S("de-AT")).len > 0);
    if (survey_check(&arena, &survey, &error) != ERR_OK) {
        assert(error.count > 0);
        return 0;
    }
    check_questions(&survey);
    check_rules(&arena, &survey);
    return 0;
}
