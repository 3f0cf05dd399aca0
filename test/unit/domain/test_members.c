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

static void a_reader_notes_its_problem_and_leaves_the_default(void)
{
    static const struct {
        const char *source;
        const char *code; // NULL: it is read
    } cases[] = {
        { "{'text':'ab','key':'a.B_1:-','bool':true,'int':3,'span':'2m','path':'a.b',"
          "'time':'2026-05-14T05:12:34Z','either':7}",
          NULL },
        { "{'text':''}", "bad-value" },
        { "{'text':'abcdefghijk'}", "too-large" },
        { "{'text':'a\\nb'}", "bad-value" },
        { "{'text':5}", "bad-type" },
        { "{'key':'a b'}", "bad-value" },
        { "{'key':'\\u00e4'}", "bad-value" },
        { "{'bool':'true'}", "bad-type" },
        { "{'bool':1}", "bad-type" },
        { "{'int':11}", "bad-value" },
        { "{'int':-1}", "bad-value" },
        { "{'int':1.5}", "bad-value" },
        { "{'int':'3'}", "bad-type" },
        { "{'int':99999999999999999999}", "bad-value" },
        { "{'span':'soon'}", "bad-duration" },
        { "{'span':'0s'}", "bad-duration" },
        { "{'span':'2h'}", "bad-duration" },
        { "{'span':60}", "bad-type" },
        { "{'time':'yesterday'}", "bad-time" },
        { "{'time':5}", "bad-type" },
        { "{'path':'a..b'}", "bad-path" },
        { "{'path':'.a'}", "bad-path" },
        { "{'path':'a.'}", "bad-path" },
        { "{'path':''}", "bad-path" },
        { "{'path':['a']}", "bad-type" },
        { "{'either':true}", "bad-type" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Error error = { .arena = &arena };
        Members members = members_open(document(&arena, cases[i].source), S(""), &error);
        Str text = S("-"), key = S("-"), path = S("-"), either = S("-");
        bool truth = false;
        int number = 5;
        Span span = SPAN_HOUR;
        Instant at = INSTANT_NONE;
        members_text(&members, "text", 10, &text);
        members_key(&members, "key", 10, &key);
        members_bool(&members, "bool", &truth);
        members_int(&members, "int", 0, 10, &number);
        members_span(&members, "span", SPAN_SECOND, SPAN_HOUR, &span);
        members_time(&members, "time", &at);
        members_path(&members, "path", &path);
        members_text_or_number(&members, "either", 10, &either);

        if (cases[i].code) {
            CHECK_AT(cases[i].source, error.count == 1);
            CHECK_AT(cases[i].source, strcmp(error.problems[0].code, cases[i].code) == 0);
            CHECK_AT(cases[i].source, is_text(text, "-") && is_text(key, "-") && !truth);
            CHECK_AT(cases[i].source, number == 5 && span == SPAN_HOUR && at == INSTANT_NONE);
            CHECK_AT(cases[i].source, is_text(path, "-") && is_text(either, "-"));
        } else {
            CHECK(error.count == 0);
            CHECK(is_text(text, "ab") && is_text(key, "a.B_1:-") && truth && number == 3);
            CHECK(span == 2 * SPAN_MINUTE && at == (Instant) 1778735554 * SPAN_SECOND);
            CHECK(is_text(path, "a.b") && is_text(either, "7"));
        }
    }
}

static void limits_are_included(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    const Json *source = document(&arena, "{'text':'0123456789','key':'azAZ09._:-','low':0,"
                                          "'high':10,'short':'1s','long':'1h'}");
    Members members = members_open(source, S(""), &error);
    Str text = STR_NONE, key = STR_NONE;
    int low = 5, high = 5;
    Span shortest = 0, longest = 0;
    members_text(&members, "text", 10, &text);
    members_key(&members, "key", 10, &key);
    members_int(&members, "low", 0, 10, &low);
    members_int(&members, "high", 0, 10, &high);
    members_span(&members, "short", SPAN_SECOND, SPAN_HOUR, &shortest);
    members_span(&members, "long", SPAN_SECOND, SPAN_HOUR, &longest);
    CHECK(error.count == 0 && text.len == 10 && key.len == 10 && low == 0 && high == 10);
    CHECK(shortest == SPAN_SECOND && longest == SPAN_HOUR);
}

static void null_is_as_good_as_absent(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Members members = members_open(document(&arena, "{'int':null,'id':null}"), S(""), &error);
    int number = 5;
    members_int(&members, "int", 0, 10, &number);
    CHECK(number == 5 && error.count == 0);
    members_need(&members, "id");
    CHECK(has_problem(&error, "/id", "missing-member"));
}

static void a_list_is_read_element_by_element(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    const Json *source =
        document(&arena, "{'good':['a','b.c'],'bad':['a','',7],'none':[],'text':'a'}");
    Members members = members_open(source, S("/x"), &error);
    Str paths[3];
    CHECK(members_paths(&members, "good", 1, 3, paths) == 2);
    CHECK(is_text(paths[0], "a") && is_text(paths[1], "b.c") && error.count == 0);
    CHECK(members_paths(&members, "absent", 1, 3, paths) == 0 && error.count == 0);
    members_paths(&members, "bad", 1, 3, paths);
    CHECK(has_problem(&error, "/x/bad/1", "bad-path") &&
          has_problem(&error, "/x/bad/2", "bad-type"));
    CHECK(members_paths(&members, "none", 1, 3, paths) == 0);
    CHECK(has_problem(&error, "/x/none", "bad-value"));
    CHECK(members_paths(&members, "good", 1, 1, paths) == 0);
    CHECK(has_problem(&error, "/x/good", "bad-value"));
    CHECK(members_paths(&members, "text", 1, 3, paths) == 0);
    CHECK(has_problem(&error, "/x/text", "bad-type"));
    Span spans[3];
    CHECK(members_spans(&members, "none", 3, spans) == 0);
    members_spans(&members, "good", 3, spans);
    CHECK(has_problem(&error, "/x/good/0", "bad-duration"));
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
    members_need(&members, "id");
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
    TEST(a_reader_notes_its_problem_and_leaves_the_default),
    TEST(limits_are_included),
    TEST(null_is_as_good_as_absent),
    TEST(a_list_is_read_element_by_element),
    TEST(a_path_has_at_most_200_bytes),
    TEST(a_long_text_is_cut_between_characters),
    TEST(problems_are_counted_without_an_arena),
    TEST(only_problems_of_its_own_count),
};
TEST_MAIN(tests)
