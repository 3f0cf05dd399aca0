#include "surveys/turn.h"

#include "../domain/documents.h"

static const char *const questions =
    "'questions':[{'id':'a','type':'number','required':true},"
    "{'id':'b','type':'single','choices':[{'value':'Yes'},{'value':'No'}],"
    "'goTo':[{'when':{'questionId':'b','op':'==','value':'No'},'to':'end'}]},"
    "{'id':'c','type':'text','show':{'questionId':'b','op':'==','value':'Yes'}},"
    "{'id':'d','type':'text','max':3}]}";

typedef struct Row {
    const char *answers;
    Form form;
    Turn turn;
} Row;

static void check_rows(const char *paging, const Row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Survey survey;
        Str text = str_format(&arena, "{'id':'csi','paging':'%s',%s", paging, questions);
        CHECK(survey_compile(&arena, document(&arena, text.at), &survey, NULL) == ERR_OK);
        Answers answers =
            answers_check(&arena, &survey, document(&arena, rows[i].answers), ANSWERS_FORM);
        Turn turn = turn_next(&survey, &rows[i].form, &answers);
        CHECK_AT(rows[i].answers, turn.kind == rows[i].turn.kind && turn.at == rows[i].turn.at &&
                                      turn.is_end == rows[i].turn.is_end);
    }
}

static void where_each_has_its_page_only_that_can_be_wrong(void)
{
    static const Row rows[] = {
        { "{}", { .at = S("a") }, { TURN_WRONG, 0 } },
        { "{}", { .at = S("a"), .is_switched = true }, { TURN_ASK, 0 } },
        { "{}", { .at = S("a"), .is_back = true }, { TURN_ASK, 0 } },
        { "{'a':'1'}", { .at = S("a") }, { TURN_ASK, 1 } },
        { "{'a':'1'}", { .at = S("b") }, { TURN_ASK, 3 } },
        { "{'a':'1','b':'Yes'}", { .at = S("b") }, { TURN_ASK, 2 } },
        // The survey ends here, which its button did not say.
        { "{'a':'1','b':'No'}", { .at = S("b") }, { TURN_ASK, 1, true } },
        { "{'a':'1','b':'No'}", { .at = S("b"), .is_end = true }, { TURN_TAKE, 4 } },
        { "{'a':'1','b':'No'}",
          { .at = S("b"), .is_end = true, .is_switched = true },
          { TURN_ASK, 1, true } },
        { "{'a':'1','b':'No'}",
          { .at = S("b"), .is_end = true, .is_back = true },
          { TURN_ASK, 1 } },
        { "{'a':'1','b':'Yes'}", { .at = S("b"), .is_end = true }, { TURN_ASK, 2 } },
        { "{'a':'x','b':'No'}", { .at = S("b"), .is_end = true }, { TURN_WRONG, 0 } },
        { "{'a':'1','b':'Yes'}", { .at = S("d"), .is_back = true }, { TURN_ASK, 2 } },
        { "{'a':'1'}", { .at = S("d"), .is_back = true }, { TURN_ASK, 1 } },
        { "{'a':'1','d':'long'}", { .at = S("d") }, { TURN_WRONG, 3 } },
        { "{'a':'1','d':'long'}", { .at = S("d"), .is_back = true }, { TURN_ASK, 1 } },
        { "{'a':'x','d':'ok'}", { .at = S("d") }, { TURN_WRONG, 0 } },
        { "{'a':'1','d':'ok'}", { .at = S("d") }, { TURN_TAKE, 4 } },
        // What no page sends leads to the beginning.
        { "{'a':'1'}", { 0 }, { TURN_ASK, 0 } },
        { "{'a':'1'}", { .at = S("x") }, { TURN_ASK, 0 } },
        { "{'a':'1'}", { .at = S("c") }, { TURN_ASK, 0 } },
    };
    check_rows("one", rows, ARRAY_LEN(rows));
}

static void all_on_one_page_are_whole_or_wrong(void)
{
    static const Row rows[] = {
        { "{}", { 0 }, { TURN_WRONG, 0 } },
        { "{'a':'1','d':'long'}", { 0 }, { TURN_WRONG, 3 } },
        { "{'a':'1','c':'not asked'}", { 0 }, { TURN_TAKE, 4 } },
        { "{}", { .is_switched = true }, { TURN_ASK, 0 } },
    };
    check_rows("all", rows, ARRAY_LEN(rows));
}

static const Test tests[] = {
    TEST(where_each_has_its_page_only_that_can_be_wrong),
    TEST(all_on_one_page_are_whole_or_wrong),
};

TEST_MAIN(tests)
