#include "domain/trace.h"

#include "test.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static void what_is_not_a_trace_is_dropped(void)
{
    static const struct {
        const char *text, *kept; // NULL: dropped
    } cases[] = {
        { "00-" ID "-" SPAN "-01", "00-" ID "-" SPAN "-01" },
        { "00-" ID "-" SPAN "-00", "00-" ID "-" SPAN "-00" },
        { "00-" ID "-" SPAN "-03", "00-" ID "-" SPAN "-01" },
        { "00-" ID "-" SPAN "-fe", "00-" ID "-" SPAN "-00" },
        { "01-" ID "-" SPAN "-01", "00-" ID "-" SPAN "-01" },
        { "cc-" ID "-" SPAN "-01-more", "00-" ID "-" SPAN "-01" },
        { "cc-" ID "-" SPAN "-01.more", NULL },
        { "00-" ID "-" SPAN "-01-more", NULL },
        { "00-" ID "-" SPAN "-01 ", NULL },
        { "ff-" ID "-" SPAN "-01", NULL },
        { "0x-" ID "-" SPAN "-01", NULL },
        { "00-" ID "-" SPAN "-0g", NULL },
        { "00-" ID "-" SPAN "-1", NULL },
        { "00-" ID "_" SPAN "-01", NULL },
        { "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", NULL },
        { "00-" ID "-00F067AA0BA902B7-01", NULL },
        { "00-00000000000000000000000000000000-" SPAN "-01", NULL },
        { "00-" ID "-0000000000000000-01", NULL },
        { "00-" ID "-" SPAN "-01, 00-" ID "-" SPAN "-01", NULL },
        { "00-1-2-01", NULL },
        { "", NULL },
    };
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(!trace_read(&arena, STR_NONE).at);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Str kept = trace_read(&arena, str_from(cases[i].text));
        CHECK_AT(cases[i].text, cases[i].kept ? str_eq(kept, str_from(cases[i].kept)) : !kept.at);
    }
}

static void each_attempt_has_a_span_in_the_trace_of_the_event(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Uuid event = { { 1, [15] = 0xee } }, delivery = { { [8] = 0x80, [15] = 1 } };
    Str kept = S("00-" ID "-" SPAN "-00");
    CHECK(str_eq(trace_next(&arena, STR_NONE, event, delivery, 2),
                 S("00-010000000000000000000000000000ee-8000000000000003-01")));
    CHECK(str_eq(trace_next(&arena, kept, event, delivery, 2), S("00-" ID "-8000000000000003-00")));
    CHECK(str_eq(trace_next(&arena, kept, event, delivery, 3), S("00-" ID "-8000000000000002-00")));
    CHECK(trace_read(&arena, trace_next(&arena, STR_NONE, event, delivery, 1)).at != NULL);
}

static const Test tests[] = {
    TEST(what_is_not_a_trace_is_dropped),
    TEST(each_attempt_has_a_span_in_the_trace_of_the_event),
};

TEST_MAIN(tests)
