// survey_words.h - what Peal itself says to whoever answers a survey, in the languages it knows.
//
// All else that they read was written by the survey's author, in the survey's languages; these are
// the sentences that no author writes. A language that is not among the columns is spoken to in
// English. {min} and {max} stand for the bounds of the question. To add a sentence, add a row; to
// add a language, a column here and its tag in survey_words.c.
#pragma once

#include "base/str.h"

// clang-format off
#define SURVEY_WORD_TABLE(X)                                                                                                                                      \
    /* name      code                 English                                                       Arabic                                                     */ \
    X(NONE,      "",                  "",                                                           "")                                                           \
    X(REQUIRED,  "required",          "Please answer this question.",                               "يرجى الإجابة عن هذا السؤال.")                                \
    X(NOT_SHOWN, "not-shown",         "This question was not asked.",                               "لم يُطرح هذا السؤال.")                                       \
    X(UNKNOWN,   "unknown-question",  "There is no such question.",                                 "لا يوجد مثل هذا السؤال.")                                    \
    X(ONE,       "bad-choice",        "Please choose one of the answers given.",                    "يرجى اختيار إجابة واحدة من الإجابات المتاحة.")               \
    X(SOME,      "bad-choices",       "Please choose from the answers given.",                      "يرجى الاختيار من الإجابات المتاحة.")                         \
    X(TWICE,     "chosen-twice",      "Please choose each answer only once.",                       "يرجى عدم اختيار الإجابة نفسها أكثر من مرة.")                 \
    X(WHOLE,     "bad-whole-number",  "Please give a whole number from {min} to {max}.",            "يرجى إدخال عدد صحيح من {min} إلى {max}.")                    \
    X(NUMBER,    "bad-number",        "Please give a number.",                                      "يرجى إدخال رقم.")                                            \
    X(RANGE,     "out-of-range",      "Please give a number from {min} to {max}.",                  "يرجى إدخال رقم من {min} إلى {max}.")                         \
    X(LEAST,     "too-small",         "Please give a number that is at least {min}.",               "يرجى إدخال رقم لا يقل عن {min}.")                            \
    X(MOST,      "too-great",         "Please give a number that is at most {max}.",                "يرجى إدخال رقم لا يزيد على {max}.")                          \
    X(TEXT,      "bad-text",          "Please answer in words.",                                    "يرجى كتابة الإجابة نصًا.")                                   \
    X(LONG,      "too-long",          "Please use no more than {max} characters.",                  "يرجى ألا تتجاوز الإجابة {max} حرفًا.")                       \
    X(DATE,      "bad-date",          "Please give a date as year, month and day: 2026-05-14.",     "يرجى إدخال تاريخ بالسنة والشهر واليوم: 2026-05-14.")
// clang-format on

typedef enum SurveyWord {
#define SURVEY_WORD_ENUM(name, code, ...) SURVEY_WORD_##name,
    SURVEY_WORD_TABLE(SURVEY_WORD_ENUM)
#undef SURVEY_WORD_ENUM
} SurveyWord;

const char *survey_word_code(SurveyWord word);

// survey_word_text is the sentence in a language (ar-SA is spoken to in ar), with its bounds put
// in.
Str survey_word_text(Arena *arena, SurveyWord word, Str language, double min, double max);
