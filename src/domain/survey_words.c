#include "domain/survey_words.h"

enum { LANGUAGES = 7 };

// The first is for all others.
static const char *const languages[LANGUAGES] = { "en", "ar", "de", "es", "fr", "pl", "tr" };

static const struct {
    const char *code, *texts[LANGUAGES];
} rows[] = {
#define SURVEY_WORD_ROW(name, code, ...) { code, { __VA_ARGS__ } },
    SURVEY_WORD_TABLE(SURVEY_WORD_ROW)
#undef SURVEY_WORD_ROW
};

const char *survey_word_code(SurveyWord word)
{
    return rows[word].code;
}

static size_t column_of(Str language)
{
    size_t len = 0;
    while (len < language.len && language.at[len] != '-' && language.at[len] != '_')
        len++;
    for (size_t i = 0; i < LANGUAGES; i++)
        if (str_eq_nocase((Str){ language.at, len }, str_from(languages[i])))
            return i;
    return 0;
}

Str survey_word_language(Str language)
{
    return str_from(languages[column_of(language)]);
}

Str survey_word_text(Arena *arena, SurveyWord word, Str language, double min, double max)
{
    const struct {
        Str mark;
        double value;
    } holes[] = { { S("{min}"), min }, { S("{max}"), max } };
    Str text = str_from(rows[word].texts[column_of(language)]);
    Buf out = buf_new(arena, BUF_WHOLE);
    while (text.len > 0) {
        size_t hole = 0;
        while (hole < ARRAY_LEN(holes) && !str_starts(text, holes[hole].mark))
            hole++;
        if (hole < ARRAY_LEN(holes))
            buf_add_format(&out, "%.15g", holes[hole].value);
        else
            buf_add_char(&out, text.at[0]);
        text = str_skip(text, hole < ARRAY_LEN(holes) ? holes[hole].mark.len : 1);
    }
    return buf_str(&out);
}
