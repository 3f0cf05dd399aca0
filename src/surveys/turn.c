#include "surveys/turn.h"

// shown_from is the first question that is asked, at or behind a place; their count for none.
static size_t shown_from(const Survey *survey, const Answers *answers, size_t at)
{
    while (at < survey->question_count && !answers->is_shown[at])
        at++;
    return at;
}

// shown_before is the last one before a place; the place itself where there is none.
static size_t shown_before(const Answers *answers, size_t at)
{
    for (size_t i = at; i-- > 0;)
        if (answers->is_shown[i])
            return i;
    return at;
}

static bool is_wrong(const Answers *answers, const Question *question)
{
    for (size_t i = 0; i < answers->problem_count; i++)
        if (answers->problems[i].of == question)
            return true;
    return false;
}

// conclude ends with what was answered; a field that somebody changed behind the page's back is
// asked again.
static Turn conclude(const Survey *survey, const Answers *answers)
{
    if (answers->problem_count == 0)
        return (Turn){ TURN_TAKE, survey->question_count };
    return (Turn){ TURN_WRONG, (size_t) (answers->problems[0].of - survey->questions) };
}

Turn turn_first(const Survey *survey, const Answers *answers)
{
    return (Turn){ TURN_ASK, shown_from(survey, answers, 0) };
}

Turn turn_next(const Survey *survey, const Form *form, const Answers *answers)
{
    size_t count = survey->question_count, at = survey_question(survey, form->at);
    bool is_each = survey->paging == SURVEY_ONE_EACH;
    if (!is_each && form->is_switched)
        return turn_first(survey, answers);
    if (!is_each || shown_from(survey, answers, 0) == count)
        return conclude(survey, answers);
    if (at == count || !answers->is_shown[at])
        return turn_first(survey, answers);
    if (form->is_switched)
        return (Turn){ TURN_ASK, at, form->is_end };
    if (form->is_back)
        return (Turn){ TURN_ASK, form->is_end ? at : shown_before(answers, at) };
    if (is_wrong(answers, &survey->questions[at]))
        return (Turn){ TURN_WRONG, at };
    size_t next = shown_from(survey, answers, at + 1);
    if (next < count)
        return (Turn){ TURN_ASK, next };
    bool is_told = form->is_end || at + 1 == count; // its button said that it sends
    return is_told ? conclude(survey, answers) : (Turn){ TURN_ASK, at, .is_end = true };
}
