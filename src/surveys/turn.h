// turn.h - what follows on a form that came back: pure.
//
// Answers travel with the page, in its form: the server keeps nothing of them until the survey is
// whole. Where all questions stand on one page it is whole or wrong; where each has its own, only
// the one that was asked can be wrong, until the last has been. Nobody sends without having been
// told so: where answers end a survey before its last question, a page says that first.
#pragma once

#include "domain/answer.h"
#include "surveys/form.h"

typedef enum TurnKind {
    TURN_ASK,   // show the page, or the question at its place
    TURN_WRONG, // show it with what is wrong
    TURN_TAKE,  // the answers are whole
} TurnKind;

typedef struct Turn {
    TurnKind kind;
    size_t at;   // where each question has its page: its place; their count where none is asked
    bool is_end; // not the question itself, but the page behind it, which only sends
} Turn;

// turn_first is the page that a link leads to; turn_next is what a form leads to, whose answers
// were held against the survey.
Turn turn_first(const Survey *survey, const Answers *answers);
Turn turn_next(const Survey *survey, const Form *form, const Answers *answers);
