#include "domain/members.h"

#include "documents.h"

static const char *const known[] = { "id", "eventKind", "channel", "enabled" };

static void a_typo_is_answered_with_the_name_that_was_meant(void)
{
    static const struct {
        const char *source;
        const char *path;
        const char *message;
    } cases[] = {
        { "{'chanel':1}", "/chanel", "\"chanel\" is not known here; did you mean \"channel\"?" },
        { "{'eventkind':1}", "/eventkind",
          "\"eventkind\" is not known here; did you mean \"eventKind\"?" },
        { "{'enalbed':1}", "/enalbed", "\"enalbed\" is not known here; did you mean \"enabled\"?" },
        { "{'chael':1}", "/chael", "\"chael\" is not known here; did you mean \"channel\"?" },
        { "{'channnnel':1}", "/channnnel",
          "\"channnnel\" is not known here; did you mean \"channel\"?" },
        { "{'cannels':1}", "/cannels", "\"cannels\" is not known here; did you mean \"channel\"?" },
        { "{'ix':1}", "/ix", "\"ix\" is not known here; did you mean \"id\"?" },
        { "{'chal':1}", "/chal", "\"chal\" is not known here" },
        { "{'channnnnel':1}", "/channnnnel", "\"channnnnel\" is not known here" },
        { "{'color':1}", "/color", "\"color\" is not known here" },
        { "{'to':1}", "/to", "\"to\" is not known here" },
        { "{'a-name-much-longer-than-any-that-is-known-here':1}",
          "/a-name-much-longer-than-any-that-is-known-here",
          "\"a-name-much-longer-than-any-that-is-known-here\" is not known here" },
        { "{'a/b~c':1}", "/a~1b~0c", "\"a/b~c\" is not known here" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Members members = members_open(document(&arena, cases[i].source), S(""), &error);
        CHECK_AT(cases[i].source, members_check(&members, known, ARRAY_LEN(known)));
        CHECK_AT(cases[i].source, error.count == 1);
        CHECK_AT(cases[i].source, has_problem(&error, cases[i].path, "unknown-member"));
        CHECK_AT(cases[i].source, is_text(error.problems[0].message, cases[i].message));
    }
}

static void what_is_not_an_object_is_refused_where_it_lies(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Members members = members_open(document(&arena, "[1]"), S("/rate"), &error);
    CHECK(!members_check(&members, known, ARRAY_LEN(known)));
    CHECK(has_problem(&error, "/rate", "bad-type"));
    CHECK(members_close(&members, ERR_INVALID) == ERR_INVALID);
}

static void a_path_has_at_most_200_bytes(void)
{
    char path[MEMBERS_PATH_MAX + 1];
    memset(path, 'a', sizeof(path));
    CHECK(!members_path_problem((Str){ path, MEMBERS_PATH_MAX }));
    CHECK(members_path_problem((Str){ path, MEMBERS_PATH_MAX + 1 }));
    CHECK(members_path_problem(S("a\tb")));
}

static void a_long_text_is_cut_between_characters(void)
{
    char text[61] = { 0 };
    memset(text, 'a', 59);
    CHECK(str_eq(members_shown(str_from(text)), str_from(text)));
    char umlauts[100];
    for (size_t i = 0; i < sizeof(umlauts); i += 2)
        memcpy(umlauts + i, "\xc3\xa4", 2);
    CHECK(members_shown((Str){ umlauts, 100 }).len == 60);
    CHECK(members_shown((Str){ umlauts + 1, 99 }).len == 59);
}

static void problems_are_counted_without_an_arena(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    Members members = members_open(document(&arena, "{'x':1}"), S(""), &error);
    members_check(&members, known, ARRAY_LEN(known));
    members_missing(&members, "id");
    CHECK(error.count == 2 && members_close(&members, ERR_INVALID) == ERR_INVALID);
}

static void only_problems_of_its_own_count(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    error_add(&error, S("/other"), "bad-value", "noted by somebody else");
    Members members = members_open(document(&arena, "{'id':1}"), S(""), &error);
    members_check(&members, known, ARRAY_LEN(known));
    CHECK(members_close(&members, ERR_INVALID) == ERR_OK);
}

static const Test tests[] = {
    TEST(a_typo_is_answered_with_the_name_that_was_meant),
    TEST(what_is_not_an_object_is_refused_where_it_lies),
    TEST(a_path_has_at_most_200_bytes),
    TEST(a_long_text_is_cut_between_characters),
    TEST(problems_are_counted_without_an_arena),
    TEST(only_problems_of_its_own_count),
};
TEST_MAIN(tests)
