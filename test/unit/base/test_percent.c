#include "base/percent.h"

#include "test.h"

static void what_was_encoded_is_decoded(void)
{
    static const struct {
        const char *text, *plain; // NULL: it is refused
        bool plus_is_blank;
    } rows[] = {
        { "", "" },
        { "a+b", "a+b" },
        { "a+b%2B", "a b+", true },
        { "%D9%86%d8%b9%D9%85", "نعم" },
        { "%4", NULL },
        { "%", NULL },
        { "%4g", NULL },
        { "%00", NULL },
        { "%ff", NULL },
        { "%41", "A" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str plain;
        bool is_read =
            percent_decode(&arena, str_from(rows[i].text), rows[i].plus_is_blank, &plain);
        CHECK_AT(rows[i].text, is_read == (rows[i].plain != NULL));
        CHECK_AT(rows[i].text, !is_read || str_eq(plain, str_from(rows[i].plain)));
    }
}

static const Test tests[] = { TEST(what_was_encoded_is_decoded) };

TEST_MAIN(tests)
