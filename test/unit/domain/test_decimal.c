#include "domain/decimal.h"

#include "test.h"

static void texts_are_numbers_by_the_grammar_of_json(void)
{
    static const struct {
        const char *text;
        bool is_number;
    } cases[] = {
        { "0", true },      { "-0", true },   { "7", true },     { "120.5", true },
        { "1e3", true },    { "1E+3", true }, { "2e-3", true },  { "-1.50", true },
        { "", false },      { "-", false },   { "007", false },  { "+1", false },
        { "1.", false },    { ".5", false },  { "1e", false },   { "1e+", false },
        { " 1", false },    { "1 ", false },  { "0x10", false }, { "1.2.3", false },
        { "1,000", false }, { "NaN", false }, { "--1", false },  { "1e5e5", false },
        { "1.x5", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Decimal decimal;
        CHECK_AT(cases[i].text,
                 decimal_parse(str_from(cases[i].text), &decimal) == cases[i].is_number);
    }
}

static void numbers_compare_exactly(void)
{
    // Each is below the next, but for those in one row, which are equal.
    static const char *const rising[][4] = {
        { "-1e999999999999999999" },
        { "-9007199254740993" },
        { "-9007199254740992" },
        { "-10", "-1e1", "-10.0", "-0.1e2" },
        { "-9.5" },
        { "-1e-400" },
        { "0", "-0", "0.000", "0e50" },
        { "1e-400" },
        { "0.00012", "1.2e-4", "12e-5", "0.000120" },
        { "0.1", "1e-1", "100e-3" },
        { "0.10000000000000000001" },
        { "9.5" },
        { "10", "1e1", "10.0", "1000e-2" },
        { "9007199254740992", "9007199254740992.0", "9.007199254740992e15" },
        { "9007199254740993" },
        { "1e400" },
        { "1e999999999999999999" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rising); i++) {
        for (size_t j = 0; j < ARRAY_LEN(rising); j++) {
            for (size_t k = 0; k < 4 * 4; k++) {
                const char *left = rising[i][k / 4], *right = rising[j][k % 4];
                Decimal a, b;
                if (!left || !right)
                    continue;
                CHECK_AT(left, decimal_parse(str_from(left), &a));
                CHECK_AT(right, decimal_parse(str_from(right), &b));
                int order = decimal_cmp(&a, &b);
                CHECK_AT(left, (order < 0) == (i < j) && (order == 0) == (i == j));
            }
        }
    }
}

static const Test tests[] = {
    TEST(texts_are_numbers_by_the_grammar_of_json),
    TEST(numbers_compare_exactly),
};
TEST_MAIN(tests)
