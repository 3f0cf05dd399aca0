#include "surveys/language.h"

#include "domain/survey_words.h"

typedef struct LanguageRow {
    const char *tag, *name;
    bool is_rtl;
} LanguageRow;

static const LanguageRow languages[] = {
    { "ar", "العربية", true },  { "bg", "Български" },   { "bn", "বাংলা" },
    { "ckb", "کوردی", true },   { "cs", "Čeština" },     { "da", "Dansk" },
    { "de", "Deutsch" },        { "dv", "ދިވެހި", true },   { "el", "Ελληνικά" },
    { "en", "English" },        { "es", "Español" },     { "fa", "فارسی", true },
    { "fi", "Suomi" },          { "fr", "Français" },    { "he", "עברית", true },
    { "hi", "हिन्दी" },          { "hu", "Magyar" },      { "id", "Bahasa Indonesia" },
    { "it", "Italiano" },       { "ja", "日本語" },      { "ko", "한국어" },
    { "ku", "Kurdî" },          { "nl", "Nederlands" },  { "no", "Norsk" },
    { "pl", "Polski" },         { "ps", "پښتو", true },  { "pt", "Português" },
    { "ro", "Română" },         { "ru", "Русский" },     { "sd", "سنڌي", true },
    { "sv", "Svenska" },        { "th", "ไทย" },         { "tr", "Türkçe" },
    { "ug", "ئۇيغۇرچە", true }, { "uk", "Українська" },  { "ur", "اردو", true },
    { "vi", "Tiếng Việt" },     { "yi", "ייִדיש", true }, { "zh", "中文" },
};

// head_of is the language itself, without script and region.
static Str head_of(Str tag)
{
    size_t len = 0;
    while (len < tag.len && tag.at[len] != '-' && tag.at[len] != '_')
        len++;
    return (Str){ tag.at, len };
}

static const LanguageRow *find(Str tag)
{
    for (size_t i = 0; i < ARRAY_LEN(languages); i++)
        if (str_eq_nocase(head_of(tag), str_from(languages[i].tag)))
            return &languages[i];
    return NULL;
}

bool language_is_same(Str a, Str b)
{
    return str_eq_nocase(head_of(a), head_of(b));
}

// A script that is named says more than the language: Kurdish is written in two.
bool language_is_rtl(Str tag)
{
    static const char *const rtl[] = { "arab", "hebr", "thaa", "syrc", "nkoo" };
    const LanguageRow *row = find(tag);
    Str script = str_skip(tag, head_of(tag).len);
    script = head_of(str_skip(script, script.len > 0));
    for (size_t i = 0; i < ARRAY_LEN(rtl); i++)
        if (str_eq_nocase(script, str_from(rtl[i])))
            return true;
    return script.len != 4 && row && row->is_rtl;
}

Str language_name(Arena *arena, Str tag)
{
    const LanguageRow *row = find(tag);
    Str region = str_skip(tag, head_of(tag).len);
    if (!row)
        return tag;
    if (region.len < 2)
        return str_from(row->name);
    return STR_JOIN(arena, str_from(row->name), S(" ("), str_skip(region, 1), S(")"));
}

// speaks: without a survey Peal speaks for itself.
static bool speaks(const Survey *survey, Str tag)
{
    if (tag.len == 0)
        return false;
    return survey ? survey_speaks(survey, tag) : language_is_same(survey_word_language(tag), tag);
}

// weight_of is how much a language is liked, in thousandths: all where nothing is said of it, and
// not at all what cannot be read.
static int weight_of(Str params)
{
    params = str_trim(params);
    if (params.len == 0)
        return 1000;
    if (!str_starts(params, S("q=0")) && !str_starts(params, S("q=1")))
        return 0;
    Str digits = str_skip(params, S("q=0.").len);
    int weight = params.at[2] == '1' ? 1000 : 0;
    for (size_t i = 0, worth = 100; i < digits.len && worth > 0; i++, worth /= 10)
        if (digits.at[i] >= '0' && digits.at[i] <= '9')
            weight += (int) worth * (digits.at[i] - '0');
    return weight;
}

// liked is the language that a browser likes best of those that are spoken; the first of equals.
static Str liked(const Survey *survey, Str accepted)
{
    Str best = STR_NONE;
    int most = 0;
    while (accepted.at) {
        Str params = str_cut(&accepted, ','), tag = str_trim(str_cut(&params, ';'));
        int weight = weight_of(params);
        if (weight <= most || !speaks(survey, tag))
            continue;
        best = tag;
        most = weight;
    }
    return best;
}

Str language_for(const Survey *survey, const LanguageWish *wish)
{
    Str found = liked(survey, wish->accepted);
    if (speaks(survey, wish->asked))
        found = wish->asked;
    else if (speaks(survey, wish->locale))
        found = wish->locale;
    return survey ? survey_language(survey, found) : survey_word_language(found);
}
