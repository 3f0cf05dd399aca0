#include "channels/channel.h"
#include "channels/exec.h"

#include "test.h"

// What an end means; which commands there are is for the end-to-end tests, in a real folder.

typedef struct Judged {
    Target target;
    Message message;
    Parcel parcel;
} Judged;

static Outcome judge(Arena *arena, ProcessResult result)
{
    Judged judged = { .target = { .outcome = { .verdict = VERDICT_UNKNOWN } } };
    judged.message = (Message){ .targets = &judged.target, .target_count = 1 };
    judged.parcel =
        (Parcel){ .type = &channel_exec, .messages = &judged.message, .count = 1, .arena = arena };
    if (!result.output_max)
        result.output_max = 1000;
    channel_exec.judge_end(&judged.parcel, &result);
    return judged.target.outcome;
}

static void every_end_means_something(void)
{
    static const struct {
        ProcessEnd end;
        int status;
        Verdict verdict;
        DeliveryReason reason;
    } rows[] = {
        { PROCESS_EXITED, 0, VERDICT_DELIVERED, REASON_ACCEPTED },
        { PROCESS_EXITED, 1, VERDICT_TRANSIENT, REASON_UNWELL },
        { PROCESS_EXITED, 99, VERDICT_TRANSIENT, REASON_UNWELL },
        { PROCESS_EXITED, 100, VERDICT_PERMANENT, REASON_REFUSED },
        { PROCESS_EXITED, 101, VERDICT_TRANSIENT, REASON_UNWELL },
        { PROCESS_EXITED, 127, VERDICT_TRANSIENT, REASON_UNWELL },
        { PROCESS_SIGNALLED, 0, VERDICT_TRANSIENT, REASON_UNWELL },
        { PROCESS_TIMED_OUT, 0, VERDICT_TRANSIENT, REASON_NO_ANSWER },
        { PROCESS_STOPPED, 0, VERDICT_TRANSIENT, REASON_NO_ANSWER },
        { PROCESS_REFUSED, 0, VERDICT_PERMANENT, REASON_BAD_REQUEST },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Outcome outcome = judge(&arena, (ProcessResult){ .end = rows[i].end,
                                                         .status = rows[i].status,
                                                         .problem_text = S("a sentence") });
        CHECK(outcome.verdict == rows[i].verdict && outcome.reason == rows[i].reason);
        CHECK(outcome.code == rows[i].status);
        CHECK(outcome.detail.at || outcome.verdict == VERDICT_DELIVERED);
    }
}

static void what_it_wrote_is_kept_as_clean_text(void)
{
    static const struct {
        const char *output, *errors, *detail;
        size_t max;
    } rows[] = {
        { "", "", NULL, 0 },
        { "\n\n", "\n", NULL, 0 },
        { "done\n", "", "done", 0 },
        { "done", "bad\n", "done\nbad", 0 },
        { "a\n\n  b\tc\r\n", "", "a\n\n  b\tc", 0 },
        { "progress: 1 of 2\ndone\nprogress: 2 of 2\n", "", "done", 0 },
        { "progress:1\n", "progress: said elsewhere\n", NULL, 0 },
        { "a progress: b\n", "", "a progress: b", 0 },
        { "\x1b[31mred\x1b[0m \xff\n", "", "[31mred [0m \xef\xbf\xbd", 0 },
        { "one\ntwo\n", "three\n", "wo\nthree", 8 },
        { "\xc3\xa9\xc3\xa9", "", "\xc3\xa9", 3 },
        { "\xff\xff\xff\xff", "", "\xef\xbf\xbd", 4 },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Outcome outcome = judge(&arena, (ProcessResult){ .end = PROCESS_EXITED,
                                                         .output = str_from(rows[i].output),
                                                         .errors = str_from(rows[i].errors),
                                                         .output_max = rows[i].max });
        Str expected = rows[i].detail ? str_from(rows[i].detail) : STR_NONE;
        CHECK_AT(rows[i].output, str_eq(outcome.detail, expected));
        CHECK_AT(rows[i].output, !outcome.detail.at == !expected.at);
    }
}

static void of_what_was_cut_whole_lines_are_kept(void)
{
    static const struct {
        const char *output, *detail;
    } rows[] = {
        { "gress: 1\nend", "end" },
        { "one long line", "one long line" },
        { "no more here\n", "no more here" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str output = str_from(rows[i].output);
        Outcome outcome = judge(&arena, (ProcessResult){ .end = PROCESS_EXITED,
                                                         .output = output,
                                                         .was_cut = true,
                                                         .output_max = output.len });
        CHECK_AT(rows[i].output, str_eq(outcome.detail, str_from(rows[i].detail)));
    }
}

static void a_failure_says_how_it_ended_first(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Outcome outcome =
        judge(&arena, (ProcessResult){ .end = PROCESS_EXITED, .status = 3, .errors = S("no") });
    CHECK(str_eq(outcome.detail, S("it exited with 3\nno")));
    outcome = judge(&arena, (ProcessResult){ .end = PROCESS_TIMED_OUT,
                                             .problem_text = S("it did not end within 1s"),
                                             .output = S("half\n") });
    CHECK(str_eq(outcome.detail, S("it did not end within 1s\nhalf")));
}

static void a_command_without_a_folder_is_told(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { .arena = &arena };
    Str path = STR_NONE;
    CHECK(exec_find(&arena, STR_NONE, S("true"), &path, &error) == ERR_CHANNEL_INVALID);
    CHECK(!path.at && strstr(error.detail, "--exec-dir"));
}

static const Test tests[] = {
    TEST(every_end_means_something),
    TEST(what_it_wrote_is_kept_as_clean_text),
    TEST(of_what_was_cut_whole_lines_are_kept),
    TEST(a_failure_says_how_it_ended_first),
    TEST(a_command_without_a_folder_is_told),
};

TEST_MAIN(tests)
