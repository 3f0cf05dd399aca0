#include "base/log.h"
#include "base/time.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static char printed[200000];

// capture runs write with standard error in a file and keeps what was printed.
static Str capture(void (*write_lines)(void))
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    CHECK(file && saved >= 0);
    dup2(fileno(file), STDERR_FILENO);
    write_lines();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    size_t len = fread(printed, 1, sizeof printed, file);
    fclose(file);
    return (Str){ printed, len };
}

// without_time checks the time at the start of a line and returns the rest.
static Str without_time(Str line)
{
    Instant at;
    Str time = str_cut(&line, ' ');
    CHECK(time.len == 24 && time_parse(time, &at));
    return line;
}

static void write_one(void)
{
    log_info("delivery.parked", "delivery=%d reason=%s", 7, "gone");
}

static void a_line_is_logfmt(void)
{
    log_level(LOG_INFO);
    Str line = capture(write_one);
    CHECK(
        str_eq(without_time(line), S("level=info event=delivery.parked delivery=7 reason=gone\n")));
}

static void write_bare(void)
{
    log_warn("started", "%s", "");
}

static void a_line_without_fields_has_no_blank_at_its_end(void)
{
    CHECK(str_eq(without_time(capture(write_bare)), S("level=warn event=started\n")));
}

static void write_hostile(void)
{
    log_error("x", "v=%s", "a\nb\r\tc\x1b[0m");
}

static void a_value_cannot_begin_a_line(void)
{
    CHECK(str_eq(without_time(capture(write_hostile)), S("level=error event=x v=a b  c [0m\n")));
}

static void write_long(void)
{
    log_error("x", "v=%0*d", 100000, 1);
    log_error("x", "v=%*s", -100000, "y");
}

static void a_long_line_is_cut_and_ended(void)
{
    Str rest = capture(write_long);
    // With its newline a line stays below what a pipe takes in one piece.
    CHECK(str_cut(&rest, '\n').len == 4094);
    CHECK(str_ends(str_cut(&rest, '\n'), S("v=y")));
    CHECK(rest.at && rest.len == 0);
}

static void write_all(void)
{
    log_debug("d", "n=%d", 0);
    log_info("i", "n=%d", 1);
    log_warn("w", "n=%d", 2);
    log_error("e", "n=%d", 3);
}

static void lines_below_the_level_are_dropped(void)
{
    static const char *const names[] = { "debug", "info", "warn", "error", "off" };
    for (int lowest = 0; lowest < 5; lowest++) {
        LogLevel level = LOG_OFF;
        CHECK_AT(names[lowest], log_level_parse(str_from(names[lowest]), &level));
        CHECK_AT(names[lowest], level == (LogLevel) lowest);
        log_level(level);
        Str rest = capture(write_all);
        for (int i = lowest; i < 4; i++) {
            Str line = without_time(str_cut(&rest, '\n'));
            str_cut(&line, '=');
            CHECK_AT(names[lowest], str_eq(str_cut(&line, ' '), str_from(names[i])));
        }
        CHECK_AT(names[lowest], rest.len == 0);
    }
    LogLevel untouched = LOG_WARN;
    CHECK(!log_level_parse(S("loud"), &untouched) && untouched == LOG_WARN);
    CHECK(!log_level_parse(S("INFO"), &untouched));
    log_level(LOG_INFO);
}

static void write_with_errno(void)
{
    errno = ENOENT;
    log_info("x", "n=%d", 1);
    CHECK(errno == ENOENT);
    int saved = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    log_info("x", "n=%d", 1);
    CHECK(errno == ENOENT);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

static void logging_leaves_errno_alone(void)
{
    capture(write_with_errno);
}

enum { THREADS = 4, LINES_EACH = 200 };

static void *write_many(void *unused)
{
    (void) unused;
    for (int i = 0; i < LINES_EACH; i++)
        log_info("thread", "v=%s end=1", log_quote(S("some text that makes the line longer")));
    return NULL;
}

static void write_from_threads(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, write_many, NULL) == 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void lines_of_threads_do_not_mix(void)
{
    Str rest = capture(write_from_threads);
    for (int i = 0; i < THREADS * LINES_EACH; i++)
        CHECK(
            str_eq(without_time(str_cut(&rest, '\n')),
                   S("level=info event=thread v=\"some text that makes the line longer\" end=1")));
    CHECK(rest.at && rest.len == 0);
}

static void values_are_quoted(void)
{
    static const struct {
        Str value;
        const char *quoted;
    } rows[] = {
        { { "plain", 5 }, "\"plain\"" },
        { { NULL, 0 }, "\"\"" },
        { { "a\"b\\c", 5 }, "\"a\\\"b\\\\c\"" },
        { { "a\nb\0c\x7f", 6 }, "\"a\\x0ab\\x00c\\x7f\"" },
        { { "\xc3\xa9\xf0\x9f\x94\x94", 6 }, "\"\xc3\xa9\xf0\x9f\x94\x94\"" },
        { { "\xc3(\xff", 3 }, "\"\\xc3(\\xff\"" },
        { { "\xc2\x9b", 2 }, "\"\\xc2\\x9b\"" },
        { { "\xc2\xa0", 2 }, "\"\xc2\xa0\"" },
    };
    // Every place of the ring has held a longer text before.
    for (int i = 0; i < 8; i++)
        log_quote(S("a text longer than any of the rows"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_AT(rows[i].quoted, strcmp(log_quote(rows[i].value), rows[i].quoted) == 0);
}

static void long_values_are_cut_between_characters(void)
{
    static char text[300];
    memset(text, 'a', sizeof text);
    CHECK(strlen(log_quote((Str){ text, 200 })) == 202);
    CHECK(str_ends(str_from(log_quote((Str){ text, 201 })), S("a…\"")));
    memcpy(text + 199, "\xc3\xa9", 2);
    Str quoted = str_from(log_quote((Str){ text, 300 }));
    CHECK(quoted.len == 199 + 2 + 3 && str_is_utf8(quoted));
    memset(text, '\x01', sizeof text);
    CHECK(strlen(log_quote((Str){ text, 300 })) == 4 * 200 + 2 + 3);
}

static void eight_quotes_stand_side_by_side(void)
{
    const char *quotes[8];
    for (size_t i = 0; i < 8; i++) {
        char text[] = { (char) ('a' + i) };
        quotes[i] = log_quote((Str){ text, 1 });
    }
    for (size_t i = 0; i < 8; i++)
        CHECK(quotes[i][1] == (char) ('a' + i));
}

static const Test tests[] = {
    TEST(a_line_is_logfmt),
    TEST(a_line_without_fields_has_no_blank_at_its_end),
    TEST(a_value_cannot_begin_a_line),
    TEST(a_long_line_is_cut_and_ended),
    TEST(lines_below_the_level_are_dropped),
    TEST(logging_leaves_errno_alone),
    TEST(lines_of_threads_do_not_mix),
    TEST(values_are_quoted),
    TEST(long_values_are_cut_between_characters),
    TEST(eight_quotes_stand_side_by_side),
};
TEST_MAIN(tests)
