// form.h - what comes back from a survey's page: the fields of its form (page.h), read.
//
// An answer's field is called a.<question's id>, so that no id can be taken for a field of the
// page's own. Fields that the page does not have are passed over; a field that stands several times
// is a list. Line ends become one character, as whoever wrote them counts them.
#pragma once

#include "base/err.h"
#include "base/json.h"

enum { FORM_FIELDS_MAX = 5000 };
#define FORM_ANSWER S("a.") // before the id of a question
#define FORM_LANG S("lang")
#define FORM_SWITCH S("switch")
#define FORM_AT S("at")
#define FORM_END S("end")
#define FORM_GO S("go")
#define FORM_BACK S("back") // what FORM_GO may say

typedef struct Form {
    const Json *answers; // by the ids of questions: a text, or a list of them
    Str language;        // that the page spoke, or was asked to speak; none
    bool is_switched;    // the language alone was changed
    Str at;              // the question that was asked, where each has a page; none
    bool is_end;         // that was said to be the last
    bool is_back;        // to the one before it
} Form;

// form_read reads application/x-www-form-urlencoded: ERR_MALFORMED for what is not that,
// ERR_ANSWERS_INVALID for more than a page can have.
Err form_read(Arena *arena, Str body, Form *ret, Error *error) MUST_USE;
