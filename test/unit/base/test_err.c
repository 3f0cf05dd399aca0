#include "base/err.h"
#include "test.h"

static void each_row_has_its_own_code(void)
{
    for (int i = 0; i < TABLE_ROWS(ERR_TABLE); i++) {
        Err found = ERR_OK;
        CHECK_AT(err_code((Err) i), err_from_code(str_from(err_code((Err) i)), &found));
        CHECK_AT(err_code((Err) i), found == (Err) i);
        CHECK_AT(err_code((Err) i), err_title((Err) i)[0] != '\0');
        CHECK_AT(err_code((Err) i), (err_exit((Err) i) == 0) == (i == ERR_OK));
    }
    Err untouched = ERR_STALE;
    CHECK(!err_from_code(S("no-such-code"), &untouched) && untouched == ERR_STALE);
    CHECK(!err_from_code(S(""), &untouched));
}

static void columns_belong_to_their_row(void)
{
    CHECK(err_http(ERR_OK) == 200 && err_exit(ERR_OK) == 0);
    CHECK(err_http(ERR_NOT_FOUND) == 404 && err_exit(ERR_NOT_FOUND) == 3);
    CHECK(err_http(ERR_DISK_FULL) == 507 && err_exit(ERR_DISK_FULL) == 6);
    CHECK(strcmp(err_code(ERR_UNAVAILABLE), "store-unavailable") == 0);
    CHECK(strcmp(err_title(ERR_EXISTS), "The id is taken") == 0);
}

static void fail_fills_the_error_and_returns_it(void)
{
    Error error = { 0 };
    CHECK(fail(&error, ERR_CONFLICT, "row %d is %s", 4, "gone") == ERR_CONFLICT);
    CHECK(error.err == ERR_CONFLICT && strcmp(error.detail, "row 4 is gone") == 0);
    CHECK(fail(NULL, ERR_BUSY, "nobody listens") == ERR_BUSY);
}

static void the_old_detail_may_be_an_argument(void)
{
    Error error = { 0 };
    fail(&error, ERR_INVALID, "inner");
    fail(&error, ERR_INTERNAL, "outer: %s", error.detail);
    CHECK(error.err == ERR_INTERNAL && strcmp(error.detail, "outer: inner") == 0);
}

static void a_long_detail_is_cut_between_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    for (int blanks = 390; blanks < 402; blanks++) {
        Error error = { .arena = &arena };
        fail(&error, ERR_INVALID, "%*s\xf0\x9f\x94\x94\xf0\x9f\x94\x94", blanks, "");
        size_t len = strlen(error.detail);
        CHECK(str_is_utf8(str_from(error.detail)));
        CHECK(len >= ERROR_DETAIL_MAX - 4 || len == (size_t) blanks + 8);
        error_add(&error, S("/a"), "long", "%*s\xf0\x9f\x94\x94\xf0\x9f\x94\x94", blanks, "");
        CHECK(str_eq(error.problems[0].message, str_from(error.detail)));
    }
}

static void no_problem_is_ok(void)
{
    Error error = { 0 };
    CHECK(error_close(&error, ERR_INVALID) == ERR_OK);
    CHECK(error.err == ERR_OK && error.detail[0] == '\0');
}

static void problems_are_copied_and_counted(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    char path[] = "/filter/0";
    error_add(&error, str_from(path), "unknown-op", "there is no \"%s\"", "like");
    memset(path, 'x', sizeof path - 1);
    CHECK(error_close(&error, ERR_TRIGGER_INVALID) == ERR_TRIGGER_INVALID);
    CHECK(error.err == ERR_TRIGGER_INVALID);
    CHECK(strcmp(error.detail, "there is no \"like\"") == 0);
    CHECK(error.count == 1 && str_eq(error.problems[0].path, S("/filter/0")));
    CHECK(strcmp(error.problems[0].code, "unknown-op") == 0);
    CHECK(str_eq(error.problems[0].message, S("there is no \"like\"")));
    error_add(&error, S("/plan"), "missing", "it is needed");
    CHECK(error_close(&error, ERR_TRIGGER_INVALID) == ERR_TRIGGER_INVALID);
    CHECK(strcmp(error.detail, "2 problems") == 0);
    CHECK(str_eq(error.problems[1].path, S("/plan")));
}

static void problems_beyond_the_last_place_are_only_counted(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    for (int i = 0; i < ERROR_PROBLEMS_MAX + 5; i++)
        error_add(&error, S("/"), "many", "number %d", i);
    CHECK(error.count == ERROR_PROBLEMS_MAX + 5);
    CHECK(str_eq(error.problems[ERROR_PROBLEMS_MAX - 1].message, S("number 19")));
    CHECK(error_close(&error, ERR_INVALID) == ERR_INVALID);
    CHECK(strcmp(error.detail, "25 problems") == 0);
}

static void without_an_arena_problems_are_only_counted(void)
{
    Error error = { 0 };
    error_add(&error, S("/a"), "missing", "it is needed");
    CHECK(error.count == 1 && !error.problems[0].code);
    CHECK(error_close(&error, ERR_INVALID) == ERR_INVALID);
    CHECK(strcmp(error.detail, "1 problem") == 0);
}

static Err try_it(Err err, bool *went_on)
{
    TRY(err);
    *went_on = true;
    return ERR_OK;
}

static void try_returns_what_failed(void)
{
    bool went_on = false;
    CHECK(try_it(ERR_STALE, &went_on) == ERR_STALE && !went_on);
    CHECK(try_it(ERR_OK, &went_on) == ERR_OK && went_on);
}

static const Test tests[] = {
    TEST(each_row_has_its_own_code),
    TEST(columns_belong_to_their_row),
    TEST(fail_fills_the_error_and_returns_it),
    TEST(the_old_detail_may_be_an_argument),
    TEST(a_long_detail_is_cut_between_characters),
    TEST(no_problem_is_ok),
    TEST(problems_are_copied_and_counted),
    TEST(problems_beyond_the_last_place_are_only_counted),
    TEST(without_an_arena_problems_are_only_counted),
    TEST(try_returns_what_failed),
};
TEST_MAIN(tests)
