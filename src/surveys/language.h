// language.h - what a page has to know of languages: which way they are written, what they call
// themselves, and which of them to speak.
//
// To add a language that names itself, add a row in language.c.
#pragma once

#include "domain/survey.h"

bool language_is_rtl(Str tag);
bool language_is_same(Str a, Str b); // apart from their regions: en is en-GB

// language_name is what its speakers call it, with its region: العربية (SA); the tag where that is
// not known.
Str language_name(Arena *arena, Str tag);

// LanguageWish is what is known of a person's languages, the more telling first. Each may be none.
typedef struct LanguageWish {
    Str asked;    // by a link, or a button of the page
    Str locale;   // of the recipient
    Str accepted; // Accept-Language, as the browser sent it
} LanguageWish;

// language_for is the language of the survey's that such a person is spoken to in. Without a
// survey, that of Peal's own words.
Str language_for(const Survey *survey, const LanguageWish *wish);
