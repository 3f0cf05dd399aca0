#include "domain/cause.h"
#include "test.h"

static void what_differs_is_taken_out(void)
{
    static const struct {
        const char *detail, *sample;
    } rows[] = {
        { "", NULL },
        { NULL, NULL },
        { "connection refused", "connection refused" },
        // The status of an answer stays, the rest of its numbers go.
        { "535 5.7.8 Authentication failed (id 88213)", "535 5.7.8 Authentication failed (id #)" },
        { "535", "535" },
        { "550 no such user <bob.smith+x@mail.example>", "550 no such user <<address>>" },
        { "5350 times", "# times" },
        { "after 535 tries", "after # tries" },
        // Times, telephone numbers, amounts and addresses of machines are numbers.
        { "quota over at 2026-11-15T21:31:10.123Z", "quota over at #" },
        { "+964 770 000 0001 is barred", "+# is barred" },
        { "+1 555-0100 is barred", "+# is barred" },
        { "no route to 10.0.0.1:443", "no route to #" },
        { "no route to [2001:db8::17]:443", "no route to [<address>]:#" },
        { "no route to ::1", "no route to <address>" },
        { "it is 21:31:10 now", "it is # now" },
        { "12.50 EUR, 3 items", "# EUR, # items" },
        // What a machine made up is an id; names are not.
        { "job 0197e0a1-7a4b-7000-8000-2c9d3f5b1a60 is gone", "job <id> is gone" },
        { "trace deadbeef01", "trace <id>" },
        { "deadbeef and facade01x", "deadbeef and facade#x" },
        { "request req_8Zk29xP1q failed", "request <id> failed" },
        { "{\"requestId\":\"a81bc81b-dead-4e5d-abff-90865d1e13b1\",\"error\":\"no funds\"}",
          "{\"requestId\":\"<id>\",\"error\":\"no funds\"}" },
        { "worker-7 of mail2.example", "worker-# of mail#.example" },
        { "unauthorized-client", "unauthorized-client" },
        // Blanks of all kinds are one.
        { "  two\n\n lines\tand \r\n more ", "two lines and more" },
        { "bad \xff byte, good \xc3\xa9", "bad byte, good \xc3\xa9" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str sample = cause_sample(&arena, str_from(rows[i].detail));
        CHECK_AT(rows[i].detail ? rows[i].detail : "none",
                 str_eq(sample, str_from(rows[i].sample)) ||
                     (printf("# got %.*s\n", STR_ARG(sample)), false));
    }
}

static void a_sample_has_an_end_and_is_whole_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf text = buf_new(&arena, 5000);
    for (size_t i = 0; i < 1000; i++)
        buf_add(&text, S("h\xc3\xa9"));
    Str sample = cause_sample(&arena, buf_str(&text));
    CHECK(sample.len > CAUSE_SAMPLE_MAX - 10 && sample.len <= CAUSE_SAMPLE_MAX);
    CHECK(str_is_utf8(sample));
}

static void each_part_makes_another_cause(void)
{
    int64_t one = cause_of(1, REASON_GAVE_UP, 500, S("x"));
    CHECK(one > 0);
    CHECK(one == cause_of(1, REASON_GAVE_UP, 500, S("x")));
    CHECK(one != cause_of(2, REASON_GAVE_UP, 500, S("x")));
    CHECK(one != cause_of(1, REASON_TOO_LATE, 500, S("x")));
    CHECK(one != cause_of(1, REASON_GAVE_UP, 501, S("x")));
    CHECK(one != cause_of(1, REASON_GAVE_UP, 500, S("y")));
    CHECK(one != cause_of(1, REASON_GAVE_UP, 500, STR_NONE));
}

static void its_text_is_read_back(void)
{
    static const char *const bad[] = { "",
                                       "0",
                                       "0000000000000000",
                                       "000000000000000g",
                                       "00000000000000001",
                                       "8000000000000000",
                                       "ffffffffffffffff" };
    char text[CAUSE_TEXT_LEN + 1];
    int64_t causes[] = { 1, 255, INT64_MAX, cause_of(3, REASON_GONE, 410, S("gone")) }, back = 0;
    for (size_t i = 0; i < ARRAY_LEN(causes); i++)
        CHECK(cause_parse(cause_text(causes[i], text), &back) && back == causes[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i], !cause_parse(str_from(bad[i]), &back));
}

static const Test tests[] = {
    TEST(what_differs_is_taken_out),
    TEST(a_sample_has_an_end_and_is_whole_characters),
    TEST(each_part_makes_another_cause),
    TEST(its_text_is_read_back),
};

TEST_MAIN(tests)
