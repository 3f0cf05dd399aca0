// answer.h - what somebody answered, held against the survey that was asked: pure.
//
// answers_check() walks the questions in their order. One is asked unless its `show` is false over
// the answers before it, or a `goTo` led past it. What was asked is taken by its type, or has a
// problem; each question has one problem at most, and a survey with any is not answered.
//
// Clean answers have one form however they were given: a choice is its value, choices stand in the
// survey's order, numbers are numbers, a date is 2026-05-14, and what is empty or blank is no
// answer at all. Answers come as JSON, which is taken as strictly as it was written; or as the
// fields of a form, where everything is text, one choice of several is no list, and what was not
// asked (a page without scripts shows it all the same) or is no question is left out instead of
// being a problem.
//
// Answers are what a stranger wrote: whoever shows one shows it as text.
#pragma once

#include "domain/survey.h"
#include "domain/survey_words.h"

typedef enum AnswersFrom { ANSWERS_JSON, ANSWERS_FORM } AnswersFrom;

typedef struct AnswerProblem {
    Str question;       // its id, as it was given
    const Question *of; // NULL: the survey has none of that id
    SurveyWord word;
} AnswerProblem;

typedef struct Answers {
    const bool *is_shown;      // by the place of the question
    const Json *const *values; // likewise: the clean answer; NULL: there is none, or a problem
    const AnswerProblem *problems;
    size_t problem_count;
} Answers;

// answers_check takes an object by ids of questions, or NULL: nothing was answered. It has at most
// ANSWERS_MAX members.
enum { ANSWERS_MAX = SURVEY_QUESTIONS_MAX };
Answers answers_check(Arena *arena, const Survey *survey, const Json *given, AnswersFrom from);

// answers_text is the clean answers as one JSON object, in the order of the questions.
Str answers_text(Arena *arena, const Survey *survey, const Answers *answers);

// answer_problem_text is a problem as whoever answered is told of it.
Str answer_problem_text(Arena *arena, const AnswerProblem *problem, Str language);
