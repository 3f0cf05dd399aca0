#include "surveys/language.h"

#include "../domain/documents.h"

static void languages_are_written_from_one_side(void)
{
    static const char *const rtl[] = { "ar", "ar-SA", "AR_eg",   "fa",        "he",
                                       "ur", "ckb",   "ku-Arab", "az-Arab-IR" };
    static const char *const ltr[] = { "en", "", "ku", "tr", "ar-Latn", "xx", "arx" };
    for (size_t i = 0; i < ARRAY_LEN(rtl); i++)
        CHECK_AT(rtl[i], language_is_rtl(str_from(rtl[i])));
    for (size_t i = 0; i < ARRAY_LEN(ltr); i++)
        CHECK_AT(ltr[i], !language_is_rtl(str_from(ltr[i])));
}

static void languages_name_themselves(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(is_text(language_name(&arena, S("ar")), "العربية"));
    CHECK(is_text(language_name(&arena, S("en-GB")), "English (GB)"));
    CHECK(is_text(language_name(&arena, S("x<b>")), "x<b>"));
}

static void who_asks_is_spoken_to_as_well_as_can_be(void)
{
    static const struct {
        LanguageWish wish;
        const char *language, *without; // the latter where there is no survey
    } rows[] = {
        { { .locale = S("") }, "en", "en" },
        { { .asked = S("ar") }, "ar", "ar" },
        { { .asked = S("AR-eg"), .locale = S("en") }, "ar", "ar" },
        { { .asked = S("xx"), .locale = S("ar-SA") }, "ar", "ar" },
        { { .locale = S("de"), .accepted = S("fr, ar;q=0.8, en") }, "en", "de" },
        { { .accepted = S("en;q=0.5,ar;q=0.75 , ckb;q=0.7") }, "ar", "ar" },
        { { .accepted = S("ar;q=0,ckb ; q=0.001, fr;q=1.000") }, "ckb", "fr" },
        { { .accepted = S("ar;q=,ckb;q=x,ar;q=-1,ar;q=2,ar;q") }, "en", "en" },
        { { .accepted = S("ckb;q=1.0, ar") }, "ckb", "ar" },
        { { .locale = S("de"), .accepted = S("*, ,;q=1,fi") }, "en", "de" },
        { { .accepted = S("sv,ckb-IQ") }, "ckb", "en" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    Survey survey;
    CHECK(survey_compile(&arena,
                         document(&arena, "{'id':'csi','languages':['en','ar','ckb'],"
                                          "'questions':[]}"),
                         &survey, NULL) == ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_AT(rows[i].language, is_text(language_for(&survey, &rows[i].wish), rows[i].language));
        CHECK_AT(rows[i].without, is_text(language_for(NULL, &rows[i].wish), rows[i].without));
    }
}

static const Test tests[] = {
    TEST(languages_are_written_from_one_side),
    TEST(languages_name_themselves),
    TEST(who_asks_is_spoken_to_as_well_as_can_be),
};

TEST_MAIN(tests)
