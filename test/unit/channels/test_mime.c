#include "channels/mime.h"

#include "test.h"

#include <string.h>

static MimeMail usual(void)
{
    static const Mailbox to = { .address = S("ada@example.net") };
    return (MimeMail){ .id = S("1.1@example.org"),
                       .date = 1778735554 * SPAN_SECOND,
                       .from = { S("Peal"), S("peal@example.org") },
                       .to = &to,
                       .to_count = 1,
                       .subject = S("Boiler 7"),
                       .text = S("Too hot.") };
}

// has_only_fit_lines: each ends in CR and LF, is ASCII, not too long, and begins with no dot.
static bool has_only_fit_lines(Str bytes)
{
    while (bytes.len > 0) {
        const char *end = memchr(bytes.at, '\n', bytes.len);
        size_t len = end ? (size_t) (end - bytes.at) : 0;
        if (!end || len == 0 || len > 998 || bytes.at[len - 1] != '\r' || bytes.at[0] == '.')
            return false;
        for (size_t i = 0; i + 1 < len; i++)
            if (bytes.at[i] == '\r' || bytes.at[i] == '\0' || (unsigned char) bytes.at[i] >= 0x80)
                return false;
        bytes = str_skip(bytes, len + 1);
    }
    return true;
}

static Str bytes_of(Arena *arena, const MimeMail *mail)
{
    Str bytes = mime_bytes(arena, mail);
    CHECK(has_only_fit_lines(bytes));
    return bytes;
}

static void a_mail_of_text_alone_is_one_part(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    MimeMail mail = usual();
    CHECK(str_eq(bytes_of(&arena, &mail), S("Date: Thu, 14 May 2026 05:12:34 +0000\r\n"
                                            "From: Peal\r\n <peal@example.org>\r\n"
                                            "To: ada@example.net\r\n"
                                            "Subject: Boiler 7\r\n"
                                            "Message-ID: <1.1@example.org>\r\n"
                                            "Auto-Submitted: auto-generated\r\n"
                                            "MIME-Version: 1.0\r\n"
                                            "Content-Type: text/plain; charset=utf-8\r\n"
                                            "Content-Transfer-Encoding: quoted-printable\r\n"
                                            "\r\n"
                                            "Too hot.\r\n")));
}

static void text_and_html_are_alternatives(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    MimeMail mail = usual();
    mail.html = S("<p>Too hot.</p>");
    Str bytes = bytes_of(&arena, &mail);
    const char *text = str_z(&arena, bytes);
    const char *plain = strstr(text, "text/plain"), *html = strstr(text, "text/html");
    CHECK(str_contains(bytes, S("multipart/alternative; boundary=\"=_peal_alternative\"")));
    CHECK(plain && html && plain < html);
    CHECK(str_ends(bytes, S("\r\n--=_peal_alternative--\r\n")));
}

static void no_text_makes_a_header_of_its_own(void)
{
    static const char *const texts[] = {
        "a\r\nBcc: eve@example.org",
        "a\nBcc: eve@example.org",
        "a\rBcc: eve@example.org",
        "a\r\n\r\n<script>",
        "a\xe2\x80\xa8"
        "Bcc: eve@example.org",
        "ä\r\nBcc: eve@example.org",
        "a\x0b\x0c\x01\x7f",
        "=?UTF-8?Q?a=0ABcc:_eve?=",
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        Mailbox to = { .name = str_from(texts[i]), .address = S("ada@example.net") };
        MimeMail mail = usual();
        mail.subject = mail.from.name = mail.reply_to.name = str_from(texts[i]);
        mail.reply_to.address = S("reply@example.org");
        mail.to = &to;
        Str bytes = bytes_of(&arena, &mail);
        CHECK_AT(texts[i], !str_contains(bytes, S("\nBcc")) && !str_contains(bytes, S("\n Bcc")));
        CHECK_AT(texts[i], !str_contains(bytes, S("Q?a=0A")));
        mail.group = str_from(texts[i]);
        CHECK_AT(texts[i], !str_contains(bytes_of(&arena, &mail), S("\nBcc")));
    }
}

static void subjects_are_folded_or_encoded(void)
{
    static const struct {
        const char *subject, *shown;
    } rows[] = {
        { "Größe", "Subject: =?UTF-8?B?R3LDtsOfZQ==?=\r\n" },
        { "a =?b", "Subject: =?UTF-8?B?YSA9P2I=?=\r\n" },
        { "  a b  ", "Subject: a b\r\n" },
        { "one two three four five six seven eight nine ten eleven twelve thirteen",
          "Subject: one two three four five six seven eight nine ten eleven twelve\r\n "
          "thirteen\r\n" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        MimeMail mail = usual();
        mail.subject = str_from(rows[i].subject);
        CHECK_AT(rows[i].subject, str_contains(bytes_of(&arena, &mail), str_from(rows[i].shown)));
    }
    MimeMail silent = usual();
    silent.subject = STR_NONE;
    CHECK(!str_contains(bytes_of(&arena, &silent), S("Subject")));
}

static void a_long_subject_is_several_words_of_whole_characters(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf subject = buf_new(&arena, 4000);
    MimeMail mail = usual();
    for (int i = 0; i < 300; i++)
        buf_add(&subject, S("ض"));
    mail.subject = buf_str(&subject);
    Str bytes = bytes_of(&arena, &mail);
    for (Str rest = bytes; rest.at;) {
        Str line = str_cut(&rest, '\n');
        CHECK(line.len <= 79);
    }
    CHECK(str_contains(bytes, S("?=\r\n =?UTF-8?B?")));
}

static void names_are_as_they_are_quoted_or_encoded(void)
{
    static const struct {
        const char *name, *shown;
    } rows[] = {
        { "Peal at work", "From: Peal at work\r\n <peal@example.org>" },
        { "Peal, Inc.", "From: \"Peal, Inc.\"\r\n <peal@example.org>" },
        { "a \"b\" \\c", "From: \"a \\\"b\\\" \\\\c\"\r\n <peal@example.org>" },
        { "Größe", "From: =?UTF-8?B?R3LDtsOfZQ==?=\r\n <peal@example.org>" },
        { "", "From: peal@example.org" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        MimeMail mail = usual();
        mail.from.name = str_from(rows[i].name);
        CHECK_AT(rows[i].name, str_contains(bytes_of(&arena, &mail), str_from(rows[i].shown)));
    }
}

static void who_is_shown_is_the_lists_to_say(void)
{
    static const Mailbox two[] = { { S("Ada"), S("ada@example.net") },
                                   { .address = S("bob@example.net") } };
    DEFER(arena_done) Arena arena = { 0 };
    MimeMail mail = usual();
    mail.to = two;
    mail.to_count = 2;
    CHECK(str_contains(bytes_of(&arena, &mail),
                       S("To: Ada\r\n <ada@example.net>,\r\n bob@example.net\r\n")));
    mail.to_count = 0;
    CHECK(str_contains(bytes_of(&arena, &mail), S("To: undisclosed-recipients:;\r\n")));
    mail.group = S("Operations");
    CHECK(str_contains(bytes_of(&arena, &mail), S("To: Operations:;\r\n")));
    mail.group = S("Größe: alle");
    CHECK(str_contains(bytes_of(&arena, &mail), S("To: =?UTF-8?B?R3LDtsOfZTogYWxsZQ==?=:;\r\n")));
}

static void bodies_survive_the_way(void)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        { "a\nb", "\r\n\r\na\r\nb\r\n" },
        { "a\r\nb\rc", "\r\n\r\na\r\nb\r\nc\r\n" },
        { ".\r\n.a", "\r\n\r\n=2E\r\n=2Ea\r\n" },
        { "From me", "\r\n\r\n=46rom me\r\n" },
        { "--=_peal_alternative--", "\r\n\r\n=2D-=3D_peal_alternative--\r\n" },
        { "a \nb\t", "\r\n\r\na=20\r\nb=09\r\n" },
        { "1+1=2", "\r\n\r\n1+1=3D2\r\n" },
        { "caf\xc3\xa9 au lait", "\r\n\r\ncaf=C3=A9 au lait\r\n" },
        { "ضضض", "Content-Transfer-Encoding: base64\r\n\r\n2LbYtti2\r\n" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        MimeMail mail = usual();
        mail.text = str_from(rows[i].text);
        CHECK_AT(rows[i].text, str_ends(bytes_of(&arena, &mail), str_from(rows[i].shown)));
    }
}

static void lines_of_any_length_are_cut(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf text = buf_new(&arena, 100000);
    MimeMail mail = usual();
    for (int i = 0; i < 50000; i++)
        buf_add_char(&text, i % 7 ? 'a' : '=');
    mail.text = mail.html = buf_str(&text);
    for (Str rest = bytes_of(&arena, &mail); rest.at;)
        CHECK(str_cut(&rest, '\n').len <= 79);
}

static const Test tests[] = {
    TEST(a_mail_of_text_alone_is_one_part),
    TEST(text_and_html_are_alternatives),
    TEST(no_text_makes_a_header_of_its_own),
    TEST(subjects_are_folded_or_encoded),
    TEST(a_long_subject_is_several_words_of_whole_characters),
    TEST(names_are_as_they_are_quoted_or_encoded),
    TEST(who_is_shown_is_the_lists_to_say),
    TEST(bodies_survive_the_way),
    TEST(lines_of_any_length_are_cut),
};

TEST_MAIN(tests)
