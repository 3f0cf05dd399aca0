#include "net/smtp.h"

#include "fuzz.h"

#include <string.h>

// The first byte says what the server offers and in what pieces its words come; the rest is what it
// says. Whatever that is, the dialogue ends or waits, and its replies can be kept and shown.

enum { OFFERS_PIPELINING = 1, OFFERS_UTF8 = 2, RESETS = 4, PIECE_SHIFT = 3 };

static void check_reply(SmtpReply reply)
{
    assert(reply.code == 0 || (reply.code >= 200 && reply.code <= 599));
    assert(reply.text.len <= SMTP_TEXT_MAX && (reply.code || reply.text.len == 0));
    assert(!reply.text.len || !memchr(reply.text.at, '\n', reply.text.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const Str recipients[] = { S("ada@example.net"), S("josé@example.net"),
                                      S("bob@example.net") };
    static const SmtpEnvelope envelope = { S("peal@example.org"), recipients,
                                           ARRAY_LEN(recipients) };
    DEFER(arena_done) Arena arena = { 0 };
    unsigned flags = size > 0 ? data[0] : 0;
    Str said = { (const char *) data + (size > 0), size - (size > 0) };
    size_t piece = 1 + (flags >> PIECE_SHIFT);
    SmtpOffer offer = { .has_pipelining = flags & OFFERS_PIPELINING,
                        .has_utf8 = flags & OFFERS_UTF8 };
    SmtpOpening opening;
    Smtp smtp;
    smtp_overhear_begin(&opening, &arena);
    smtp_begin(&smtp, &arena, &envelope, smtp_wire(&arena, S(".\r\n")), offer, flags & RESETS);
    while (said.len > 0) {
        Str heard = { said.at, piece < said.len ? piece : said.len };
        while (smtp_next(&smtp).len > 0)
            assert(!smtp_is_over(&smtp));
        smtp_hear(&smtp, heard);
        (void) smtp_overhear(&opening, &arena, heard);
        assert(smtp.told <= smtp.asked && smtp.asked <= smtp.ask_count + 1);
        said = str_skip(said, heard.len);
    }
    for (size_t i = 0; i < envelope.count; i++)
        check_reply(smtp_reply(&smtp, i));
    check_reply(opening.last);
    assert(!smtp_may_go_on(&smtp) || smtp_is_over(&smtp));
    return 0;
}
