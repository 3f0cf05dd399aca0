#include "channels/hidden.h"
#include "channels/recipient.h"

#include "test.h"

static void a_number_is_one_after_what_people_put_into_it_is_out(void)
{
    static const struct {
        const char *given, *read; // NULL: it is none
    } cases[] = {
        { "+9647700000001", "+9647700000001" },
        { "+964 (770) 000-00 [01]", "+9647700000001" },
        { "+1234567", "+1234567" },
        { "+123456", NULL },
        { "+123456789012345", "+123456789012345" },
        { "+1234567890123456", NULL },
        { "+0123456789", NULL },
        { "9647700000001", NULL },
        { "++9647700000001", NULL },
        { "+964.770.000", NULL },
        { "+96477000\n0001", NULL },
        { "+", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str read = recipient_read(&arena, RECIPIENT_PHONE, str_from(cases[i].given));
        CHECK_AT(cases[i].given, str_eq(read, str_from(cases[i].read)));
    }
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(!recipient_read(&arena, RECIPIENT_PHONE, STR_NONE).at);
    CHECK(!recipient_read(&arena, RECIPIENT_PHONE, S("+96477\0000001")).at);
    CHECK(str_eq(recipient_read(&arena, RECIPIENT_EMAIL, S(" a@b.example ")), S("a@b.example")));
    CHECK(!recipient_read(&arena, RECIPIENT_EMAIL, S("a@b.example, c@d.example")).at);
    CHECK(!recipient_read(&arena, RECIPIENT_EMAIL, STR_NONE).at);
}

static void secrets_are_written_over(void)
{
    static const Str words[] = { S("sesame-open"), S("sesame-open-wide"), S("another1") };
    static const Hidden hidden = { words, ARRAY_LEN(words) };
    static const struct {
        const char *said, *kept;
    } cases[] = {
        { "nothing of it", "nothing of it" },
        { "it is sesame-open!", "it is ***!" },
        { "it is sesame-open-wide!", "it is ***!" },
        { "sesame-openanother1", "******" },
        { "cut off in sesame-o", "cut off in ***" },
        { "cut off in sesame", "cut off in sesame" },
        { "sesame-o is not all of it", "sesame-o is not all of it" },
        { "", "" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str kept = hidden_redact(&arena, &hidden, str_from(cases[i].said));
        CHECK_AT(cases[i].said, str_eq(kept, str_from(cases[i].kept)));
    }
}

static const Test tests[] = {
    TEST(a_number_is_one_after_what_people_put_into_it_is_out),
    TEST(secrets_are_written_over),
};
TEST_MAIN(tests)
