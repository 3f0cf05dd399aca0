#include "net/smtp.h"

#include "test.h"

static const Str two[] = { S("ada@example.net"), S("bob@example.net") };
static const SmtpEnvelope to_two = { S("peal@example.org"), two, ARRAY_LEN(two) };
static const SmtpOffer pipelining = { .has_pipelining = true };

static bool is_next(Smtp *smtp, const char *text)
{
    Str next = smtp_next(smtp);
    return str_eq(next, str_from(text));
}

static void hear(Smtp *smtp, const char *text)
{
    smtp_hear(smtp, str_from(text));
}

static void a_message_is_asked_about_step_by_step(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Smtp smtp;
    smtp_begin(&smtp, &arena, &to_two, S("hi\r\n.\r\n"), (SmtpOffer){ .has_size = true }, false);
    CHECK(is_next(&smtp, "MAIL FROM:<peal@example.org> SIZE=7\r\n") && is_next(&smtp, NULL));
    hear(&smtp, "250 ok\r\n");
    CHECK(is_next(&smtp, "RCPT TO:<ada@example.net>\r\n"));
    hear(&smtp, "250 ok\r\n");
    CHECK(is_next(&smtp, "RCPT TO:<bob@example.net>\r\n"));
    hear(&smtp, "550-no\r\n550 such user\r\n");
    CHECK(is_next(&smtp, "DATA\r\n"));
    hear(&smtp, "354 go on\r\n");
    CHECK(is_next(&smtp, "hi\r\n.\r\n") && is_next(&smtp, NULL) && !smtp_is_over(&smtp));
    hear(&smtp, "250 queued as 7\r\n");
    CHECK(smtp_is_over(&smtp) && smtp_may_go_on(&smtp) && !smtp.needs_reset);
    CHECK(smtp_reply(&smtp, 0).code == 250 &&
          str_eq(smtp_reply(&smtp, 0).text, S("250 queued as 7")));
    CHECK(smtp_reply(&smtp, 1).code == 550 &&
          str_eq(smtp_reply(&smtp, 1).text, S("550 no such user")));
}

static void where_it_is_offered_all_is_asked_at_once(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Smtp smtp;
    smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), pipelining, true);
    CHECK(is_next(&smtp, "RSET\r\nMAIL FROM:<peal@example.org>\r\nRCPT TO:<ada@example.net>\r\n"
                         "RCPT TO:<bob@example.net>\r\nDATA\r\n"));
    hear(&smtp, "250 ok\r\n250 ok\r\n450 la");
    hear(&smtp, "ter\r\n250 ok\r\n354 go on\r");
    CHECK(is_next(&smtp, NULL));
    hear(&smtp, "\n");
    CHECK(is_next(&smtp, ".\r\n"));
    hear(&smtp, "250 ok\r\n");
    CHECK(smtp_reply(&smtp, 0).code == 450 && smtp_reply(&smtp, 1).code == 250);
}

static void each_row_of_replies_has_its_meaning(void)
{
    static const struct {
        const char *about, *replies;
        bool is_pipelined;
        int first, second;
        bool is_over, may_go_on, needs_reset;
    } rows[] = {
        { "the sender is refused", "550 no\r\n", false, 550, 550, true, true, true },
        { "so, at once", "550 no\r\n503 no\r\n503 no\r\n503 no\r\n", true, 550, 550, true, true,
          true },
        { "nobody is taken", "250 a\r\n551 b\r\n451 c\r\n", false, 551, 451, true, true, true },
        { "so, at once", "250 a\r\n551 b\r\n451 c\r\n503 d\r\n", true, 551, 451, true, true, true },
        { "go on all the same", "250 a\r\n551 b\r\n451 c\r\n354 d\r\n554 none\r\n", true, 551, 451,
          true, true, false },
        { "not now", "250 a\r\n250 b\r\n250 c\r\n451 d\r\n", false, 451, 451, true, true, true },
        { "not this", "250 a\r\n250 b\r\n552 c\r\n354 d\r\n554 e\r\n", false, 554, 552, true, true,
          false },
        { "it closes", "421 a\r\n", false, 421, 421, true, false, true },
        { "half-way", "250 a\r\n550 b\r\n421 c\r\n", false, 550, 421, true, false, true },
        { "at the end", "250 a\r\n250 b\r\n250 c\r\n354 d\r\n421 e\r\n", false, 421, 421, true,
          false, false },
        { "nothing more came", "250 a\r\n250 b\r\n550 c\r\n354 d\r\n", false, 0, 550, false, false,
          true },
        { "nonsense", "250 a\r\nhello\r\n", false, 0, 0, true, false, true },
        { "two codes", "250-a\r\n251 b\r\n", false, 0, 0, true, false, false },
        { "no code", "999 a\r\n", false, 0, 0, true, false, false },
        { "a code alone", "250\r\n250\r\n250\r\n354\r\n250\r\n", false, 250, 250, true, true,
          false },
        { "without CR", "250 a\n250 b\n250 c\n354 d\n250 e\n", false, 250, 250, true, true, false },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Smtp smtp;
        smtp_begin(&smtp, &arena, &to_two, S(".\r\n"),
                   rows[i].is_pipelined ? pipelining : (SmtpOffer){ 0 }, false);
        for (Str rest = str_from(rows[i].replies); rest.len > 0;) {
            Str line = str_cut(&rest, '\n');
            (void) smtp_next(&smtp);
            smtp_hear(&smtp, (Str){ line.at, line.len + 1 });
        }
        CHECK_AT(rows[i].about, smtp_reply(&smtp, 0).code == rows[i].first);
        CHECK_AT(rows[i].about, smtp_reply(&smtp, 1).code == rows[i].second);
        CHECK_AT(rows[i].about, smtp_is_over(&smtp) == rows[i].is_over);
        CHECK_AT(rows[i].about, smtp_may_go_on(&smtp) == rows[i].may_go_on);
        CHECK_AT(rows[i].about, smtp.needs_reset == rows[i].needs_reset);
    }
}

static void what_nobody_asked_for_breaks_the_dialogue(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Smtp smtp;
    smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), (SmtpOffer){ 0 }, false);
    (void) smtp_next(&smtp);
    hear(&smtp, "250 a\r\n250 b\r\n");
    CHECK(smtp_is_over(&smtp) && !smtp_may_go_on(&smtp) && smtp_reply(&smtp, 0).code == 0);
}

static void a_message_does_not_go_out_for_a_sender_that_was_refused(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Smtp smtp;
    smtp_begin(&smtp, &arena, &to_two, S("secret\r\n.\r\n"), (SmtpOffer){ .has_pipelining = true },
               false);
    (void) smtp_next(&smtp);
    hear(&smtp, "550 not you\r\n250 b\r\n250 c\r\n354 go on\r\n");
    CHECK(str_eq(smtp_next(&smtp), S(".\r\n")));
    hear(&smtp, "250 taken\r\n");
    CHECK(smtp_is_over(&smtp) && smtp_reply(&smtp, 0).code == 550);
}

static void what_closes_has_not_begun(void)
{
    static const struct {
        const char *said;
        bool was_begun;
    } rows[] = {
        { "421 closing\r\n", false }, { "250 ok\r\n", true }, { "451 no\r\n", true }, { "", false }
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Smtp smtp;
        smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), (SmtpOffer){ 0 }, false);
        (void) smtp_next(&smtp);
        hear(&smtp, rows[i].said);
        CHECK_AT(rows[i].said, smtp_was_begun(&smtp) == rows[i].was_begun);
    }
}

static void only_a_reply_to_the_dot_is_a_success(void)
{
    static const char *const to_data[] = { "250 ok\r\n", "334 \r\n", "220 hi\r\n", "399 no\r\n" };
    for (size_t i = 0; i < ARRAY_LEN(to_data); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Smtp smtp;
        smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), (SmtpOffer){ .has_pipelining = true },
                   false);
        (void) smtp_next(&smtp);
        hear(&smtp, "250 a\r\n250 b\r\n250 c\r\n");
        hear(&smtp, to_data[i]);
        CHECK_AT(to_data[i], smtp_is_over(&smtp) && !smtp_may_go_on(&smtp));
        CHECK_AT(to_data[i], smtp_reply(&smtp, 0).code == 0 && smtp_reply(&smtp, 1).code == 0);
    }
}

static void long_replies_are_cut(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Smtp smtp;
    Buf line = buf_new(&arena, 10000);
    buf_add(&line, S("550-"));
    for (int i = 0; i < 5000; i++)
        buf_add_char(&line, 'x');
    buf_add(&line, S("\r\n"));
    smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), (SmtpOffer){ 0 }, false);
    (void) smtp_next(&smtp);
    for (int i = 0; i < 10; i++)
        smtp_hear(&smtp, buf_str(&line));
    hear(&smtp, "550 end\r\n");
    CHECK(smtp_reply(&smtp, 0).code == 550 && smtp_reply(&smtp, 0).text.len <= SMTP_TEXT_MAX);
}

// hear_on says the same until the dialogue is over; how often.
static int hear_on(Smtp *smtp, const char *text)
{
    int times = 0;
    for (; times < 100000 && !smtp_is_over(smtp); times++)
        hear(smtp, text);
    return times;
}

static void a_reply_without_an_end_breaks_the_dialogue(void)
{
    static const char *const words[] = { "250-and so on\r\n", "2", "250 ok, \0" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Smtp smtp;
        smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), (SmtpOffer){ 0 }, false);
        (void) smtp_next(&smtp);
        int times = hear_on(&smtp, words[i]);
        CHECK((size_t) times <= SMTP_HEARD_MAX + 1 && smtp_reply(&smtp, 0).code == 0);
        CHECK(!smtp_may_go_on(&smtp));
    }
}

static void each_reply_may_be_long(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str many[20];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = S("ada@example.org");
    SmtpEnvelope envelope = { S("peal@example.org"), many, ARRAY_LEN(many) };
    Smtp smtp;
    smtp_begin(&smtp, &arena, &envelope, S(".\r\n"), (SmtpOffer){ 0 }, false);
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        (void) smtp_next(&smtp);
        for (int line = 0; line < 400; line++)
            hear(&smtp, "250-a line of a long reply\r\n");
        hear(&smtp, "250 end\r\n");
    }
    CHECK(!smtp_is_over(&smtp) && smtp.told == ARRAY_LEN(many));
}

static void a_server_that_goes_down_may_say_so_at_any_time(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Smtp smtp;
    smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), (SmtpOffer){ .has_pipelining = true }, false);
    (void) smtp_next(&smtp);
    hear(&smtp, "250 a\r\n250 b\r\n250 c\r\n354 go on\r\n421 4.3.2 going down\r\n");
    CHECK(smtp_is_over(&smtp) && !smtp_may_go_on(&smtp));
    CHECK(smtp_reply(&smtp, 0).code == 421 && smtp_reply(&smtp, 1).code == 421);
}

static void addresses_beyond_ascii_need_the_servers_word(void)
{
    static const Str some[] = { S("josé@example.net"), S("bob@example.net") };
    static const SmtpEnvelope to = { S("peal@example.org"), some, 2 };
    static const SmtpEnvelope from = { S("josé@example.org"), two, 2 };
    DEFER(arena_done) Arena arena = { 0 };
    Smtp smtp;
    smtp_begin(&smtp, &arena, &to, S(".\r\n"), (SmtpOffer){ .has_utf8 = true }, false);
    CHECK(is_next(&smtp, "MAIL FROM:<peal@example.org> SMTPUTF8\r\n"));
    smtp_begin(&smtp, &arena, &to_two, S(".\r\n"), (SmtpOffer){ .has_utf8 = true }, false);
    CHECK(is_next(&smtp, "MAIL FROM:<peal@example.org>\r\n"));
    smtp_begin(&smtp, &arena, &to, S(".\r\n"), pipelining, false);
    CHECK(is_next(&smtp, "MAIL FROM:<peal@example.org>\r\nRCPT TO:<bob@example.net>\r\nDATA\r\n"));
    hear(&smtp, "250 a\r\n250 b\r\n354 c\r\n");
    CHECK(is_next(&smtp, ".\r\n"));
    hear(&smtp, "250 d\r\n");
    CHECK(smtp_reply(&smtp, 0).code == 553 && smtp_reply(&smtp, 1).code == 250);
    smtp_begin(&smtp, &arena, &from, S(".\r\n"), pipelining, false);
    CHECK(smtp_is_over(&smtp) && is_next(&smtp, NULL) && smtp_reply(&smtp, 1).code == 553);
}

static void dots_are_doubled_and_stray_line_ends_refused(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(str_eq(smtp_wire(&arena, S("a\r\n.\r\n..b\r\n")), S("a\r\n..\r\n...b\r\n.\r\n")));
    CHECK(str_eq(smtp_wire(&arena, STR_NONE), S(".\r\n")));
    static const Str bad[] = { S("a"),        S("a\n"),           S("a\r"),
                               S("\n.\n"),    S("a\r\n.\nb\r\n"), S("a\rb\r\n"),
                               S("a\0b\r\n"), S("\r\r\n") };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i].at, !smtp_wire(&arena, bad[i]).at);
}

static void addresses_cannot_be_two_commands(void)
{
    static const Str bad[] = { S(""), S("a b@c"), S("a>\r\nRCPT TO:<b"), S("a\0b"), S("a\x7f") };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i].at, smtp_address_problem(bad[i]));
    CHECK(!smtp_address_problem(S("josé+x@example.org")));
}

static void the_opening_is_overheard(void)
{
    static const struct {
        const char *about, *text;
        bool has_pipelining;
        int last;
    } rows[] = {
        { "usual", "220 hi\r\n250-me\r\n250-PIPELINING\r\n250 SMTPUTF8\r\n", true, 250 },
        { "another case", "220 hi\r\n250-me\r\n250 pipelining\r\n", true, 250 },
        { "no such thing", "220 hi\r\n250-me\r\n250 PIPELININGS\r\n", false, 250 },
        { "before TLS", "220 hi\r\n250-PIPELINING\r\n250 STARTTLS\r\n220 go\r\n250 me\r\n", false,
          250 },
        { "after TLS", "220 hi\r\n250 STARTTLS\r\n220 go\r\n250-me\r\n250 PIPELINING\r\n", true,
          250 },
        { "refused", "554-no\r\n554 way\r\n", false, 554 },
        { "login", "220 hi\r\n250 AUTH PLAIN\r\n334 \r\n535 no\r\n", false, 535 },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        SmtpOpening opening;
        smtp_overhear_begin(&opening, &arena);
        CHECK_AT(rows[i].about, smtp_overhear(&opening, &arena, str_from(rows[i].text)));
        CHECK_AT(rows[i].about, opening.offer.has_pipelining == rows[i].has_pipelining);
        CHECK_AT(rows[i].about, opening.last.code == rows[i].last);
    }
}

static void an_opening_without_an_end_is_told(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    SmtpOpening opening;
    Str line = S("220-welcome\r\n");
    size_t heard = 0;
    smtp_overhear_begin(&opening, &arena);
    while (smtp_overhear(&opening, &arena, line) && heard < (size_t) 10 * SMTP_HEARD_MAX)
        heard += line.len;
    CHECK(heard > SMTP_HEARD_MAX / 2 && heard < (size_t) 2 * SMTP_HEARD_MAX);
}

static const Test tests[] = {
    TEST(a_message_is_asked_about_step_by_step),
    TEST(where_it_is_offered_all_is_asked_at_once),
    TEST(each_row_of_replies_has_its_meaning),
    TEST(what_nobody_asked_for_breaks_the_dialogue),
    TEST(a_message_does_not_go_out_for_a_sender_that_was_refused),
    TEST(what_closes_has_not_begun),
    TEST(only_a_reply_to_the_dot_is_a_success),
    TEST(long_replies_are_cut),
    TEST(a_reply_without_an_end_breaks_the_dialogue),
    TEST(each_reply_may_be_long),
    TEST(a_server_that_goes_down_may_say_so_at_any_time),
    TEST(addresses_beyond_ascii_need_the_servers_word),
    TEST(dots_are_doubled_and_stray_line_ends_refused),
    TEST(addresses_cannot_be_two_commands),
    TEST(the_opening_is_overheard),
    TEST(an_opening_without_an_end_is_told),
};

TEST_MAIN(tests)
