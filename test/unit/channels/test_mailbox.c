#include "channels/mailbox.h"

#include "test.h"

static void addresses_are_told_from_what_is_none(void)
{
    static const struct {
        const char *address;
        bool is_one;
    } rows[] = {
        { "ada@example.org", true },
        { "a@b", true },
        { "first.last+tag@mail.example.co", true },
        { "o'brien@example.org", true },
        { "josé@example.org", true },
        { "ada@münchen.example", true },
        { "", false },
        { "ada", false },
        { "@example.org", false },
        { "ada@", false },
        { "ada@@example.org", false },
        { "ada@b@example.org", false },
        { ".ada@example.org", false },
        { "ada.@example.org", false },
        { "a..b@example.org", false },
        { "ada @example.org", false },
        { "ada@exa mple.org", false },
        { "ada@-example.org", false },
        { "ada@example-.org", false },
        { "ada@example..org", false },
        { "ada@example.org.", false },
        { "ada@[127.0.0.1]", false },
        { "\"ada\"@example.org", false },
        { "ada>@example.org", false },
        { "ada@example.org>\r\nRCPT TO:<eve@example.org", false },
        { "ada\r\n@example.org", false },
        { "+964 770 000 0001", false },
        { "a\xff@example.org", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_AT(rows[i].address,
                 !mailbox_address_problem(str_from(rows[i].address)) == rows[i].is_one);
    CHECK(mailbox_address_problem((Str){ "a\0@b.org", 8 }));
}

static void addresses_have_their_limits(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf local = buf_new(&arena, 1000), host = buf_new(&arena, 1000);
    for (int i = 0; i < MAILBOX_LOCAL_MAX; i++)
        buf_add_char(&local, 'a');
    for (int i = 0; i < 63; i++)
        buf_add_char(&host, 'b');
    Str a = buf_str(&local), b = buf_str(&host);
    CHECK(!mailbox_address_problem(str_format(&arena, "%.*s@%.*s.org", STR_ARG(a), STR_ARG(b))));
    CHECK(mailbox_address_problem(str_format(&arena, "%.*sa@b.org", STR_ARG(a))));
    CHECK(mailbox_address_problem(str_format(&arena, "a@%.*sb.org", STR_ARG(b))));
    CHECK(mailbox_address_problem(str_format(&arena, "a@%.*s.%.*s.%.*s.%.*s", STR_ARG(b),
                                             STR_ARG(b), STR_ARG(b), STR_ARG(b))));
}

static void a_name_may_stand_before_the_address(void)
{
    static const struct {
        const char *text, *name, *address; // an address of NULL: it cannot be read
    } rows[] = {
        { "peal@example.org", NULL, "peal@example.org" },
        { "  peal@example.org ", NULL, "peal@example.org" },
        { "<peal@example.org>", NULL, "peal@example.org" },
        { "Peal <peal@example.org>", "Peal", "peal@example.org" },
        { "Peal at work <peal@example.org>", "Peal at work", "peal@example.org" },
        { "\"Peal, Inc.\" <peal@example.org>", "Peal, Inc.", "peal@example.org" },
        { "\"a \\\"b\\\" c\" <peal@example.org>", "a \"b\" c", "peal@example.org" },
        { "Größe <peal@example.org>", "Größe", "peal@example.org" },
        { "a < b <peal@example.org>", "a < b", "peal@example.org" },
        { "Peal peal@example.org", NULL, NULL },
        { "Peal <peal@example.org", NULL, NULL },
        { "Peal peal@example.org>", NULL, NULL },
        { "Peal \"x <peal@example.org>", NULL, NULL },
        { "\"Peal\" x <peal@example.org>", NULL, NULL },
        { "\"Peal\\\" <peal@example.org>", NULL, NULL },
        { "Peal <peal>", NULL, NULL },
        { "Peal\r\nBcc: eve@example.org <peal@example.org>", NULL, NULL },
        { "", NULL, NULL },
    };
    DEFER(arena_done) Arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Mailbox found = { 0 };
        bool is_read = mailbox_parse(&arena, str_from(rows[i].text), &found);
        CHECK_AT(rows[i].text, is_read == (rows[i].address != NULL));
        CHECK_AT(rows[i].text, !is_read || str_eq(found.name, str_from(rows[i].name)));
        CHECK_AT(rows[i].text, !is_read || str_eq(found.address, str_from(rows[i].address)));
    }
}

static void a_host_beyond_ascii_goes_by_its_name_in_dns(void)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str found = mailbox_address(&arena, S("ada@münchen.example"));
    CHECK(str_eq(found, S("ada@xn--mnchen-3ya.example")) && mailbox_is_ascii(found));
    CHECK(str_eq(mailbox_address(&arena, S("ada@Example.org")), S("ada@Example.org")));
    CHECK(!mailbox_is_ascii(mailbox_address(&arena, S("josé@example.org"))));
}

static const Test tests[] = {
    TEST(addresses_are_told_from_what_is_none),
    TEST(addresses_have_their_limits),
    TEST(a_name_may_stand_before_the_address),
    TEST(a_host_beyond_ascii_goes_by_its_name_in_dns),
};

TEST_MAIN(tests)
