// pages.h - the pages of surveys (surveys/page.h) as answers: with the headers that keep them to
// themselves, and each refusal that a person may meet as a page of its own.
#pragma once

#include "api/api.h"
#include "store/invitation.h"
#include "surveys/page.h"

extern const Param page_get_params[];
Err page_get(Call *call, Db *db, Error *error);
// survey_page_preview shows a survey to who may read it, as people will see it.
extern const Param survey_page_params[];
Err survey_page_preview(Call *call, Db *db, Error *error);
void page_css_get(Call *call);
void page_js_get(Call *call);

// survey_page_language is the language for whoever asks; of an invitation that was not found, NULL.
Str survey_page_language(const Call *call, const Invitation *invitation, Str asked);

// survey_page_tell makes HTML the answer.
void survey_page_tell(Call *call, int status, Str html, Str language);

// survey_page_problem has a person who came for a page read what is wrong in words, in his own
// language as far as it is known; all else stays the problem+json that it is.
void survey_page_problem(const Call *call, Reply *reply);

// survey_page_refuse answers what invitation_find() or invitation_may() refused with a page, and
// what was just answered (ERR_OK) with thanks; false where it is nothing that a person is told.
bool survey_page_refuse(Call *call, const Invitation *invitation, Err err, Str language);
