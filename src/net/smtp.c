#include "net/smtp.h"

#include <string.h>

// Codes that mean something here beyond their first digit.
enum { CODE_READY = 220, CODE_DONE = 250, CODE_GO_ON = 354, CODE_CLOSING = 421 };

static bool is_good(int code)
{
    return code >= 200 && code <= 299;
}

const char *smtp_address_problem(Str address)
{
    if (address.len == 0)
        return "an address is empty";
    for (size_t i = 0; i < address.len; i++) {
        unsigned char c = (unsigned char) address.at[i];
        if (c <= ' ' || c == 0x7f || c == '<' || c == '>')
            return "an address has characters that may not stand there";
    }
    return NULL;
}

Str smtp_wire(Arena *arena, Str message)
{
    Buf wire = buf_new(arena, BUF_WHOLE);
    for (Str rest = message; rest.len > 0;) {
        const char *end = memchr(rest.at, '\n', rest.len);
        size_t len = end ? (size_t) (end - rest.at) + 1 : 0;
        bool is_line = len >= 2 && !memchr(rest.at, '\r', len - 2) && end[-1] == '\r';
        if (!is_line || memchr(rest.at, '\0', len))
            return STR_NONE;
        if (rest.at[0] == '.')
            buf_add_char(&wire, '.');
        buf_add_bytes(&wire, rest.at, len);
        rest = str_skip(rest, len);
    }
    buf_add(&wire, S(".\r\n"));
    return buf_str(&wire);
}

static void reader_begin(SmtpReader *reader, Arena *arena)
{
    reader->line_len = 0;
    reader->heard = 0;
    reader->code = 0;
    reader->text = buf_new(arena, SMTP_TEXT_MAX);
}

// code_of is the code that a line of a reply begins with; 0 where it is no such line.
static int code_of(Str line)
{
    int code = 0;
    if (line.len < 3 || (line.len > 3 && line.at[3] != ' ' && line.at[3] != '-'))
        return 0;
    for (size_t i = 0; i < 3; i++) {
        if (line.at[i] < '0' || line.at[i] > '9')
            return 0;
        code = code * 10 + (line.at[i] - '0');
    }
    return code >= 200 && code <= 599 ? code : 0;
}

// read_line takes bytes up to the end of a line; true where one is whole. What is too long is cut.
static bool read_line(SmtpReader *reader, Str *bytes, Str *ret)
{
    const char *end = memchr(bytes->at, '\n', bytes->len);
    size_t len = end ? (size_t) (end - bytes->at) : bytes->len;
    size_t room = sizeof reader->line - reader->line_len;
    memcpy(reader->line + reader->line_len, bytes->at, len < room ? len : room);
    reader->line_len += len < room ? len : room;
    *bytes = str_skip(*bytes, end ? len + 1 : len);
    reader->heard += len;
    if (!end)
        return false;
    *ret = (Str){ reader->line, reader->line_len };
    if (ret->len > 0 && ret->at[ret->len - 1] == '\r')
        ret->len--;
    reader->line_len = 0;
    return true;
}

// add_text keeps what a line says, on one line, as far as there is room.
static void add_text(Buf *text, Str line)
{
    Str said = str_trim(str_skip(line, 4));
    if (text->len == 0)
        buf_add(text, (Str){ line.at, 3 });
    size_t room = text->max - text->len;
    if (said.len == 0 || room < 2)
        return;
    buf_add_char(text, ' ');
    buf_add(text, (Str){ said.at, said.len < room - 1 ? said.len : room - 1 });
}

typedef enum Heard { HEARD_PART, HEARD_REPLY, HEARD_NONSENSE } Heard;

// read_reply makes a reply of its lines.
static Heard read_reply(SmtpReader *reader, Arena *arena, Str line, SmtpReply *ret)
{
    int code = code_of(line);
    if (!code || (reader->code && reader->code != code))
        return HEARD_NONSENSE;
    reader->code = code;
    add_text(&reader->text, line);
    if (line.len > 3 && line.at[3] == '-')
        return HEARD_PART;
    *ret = (SmtpReply){ code, buf_str(&reader->text) };
    reader->code = 0;
    reader->heard = 0;
    reader->text = buf_new(arena, SMTP_TEXT_MAX);
    return HEARD_REPLY;
}

static bool is_endless(const SmtpReader *reader)
{
    return reader->heard > SMTP_HEARD_MAX;
}

void smtp_overhear_begin(SmtpOpening *opening, Arena *arena)
{
    opening->offer = (SmtpOffer){ 0 };
    opening->last = (SmtpReply){ 0 };
    reader_begin(&opening->reader, arena);
}

static void note_offer(SmtpOffer *offer, Str line)
{
    Str rest = str_skip(line, 4), word = str_cut(&rest, ' ');
    offer->has_pipelining |= str_eq_nocase(word, S("PIPELINING"));
    offer->has_utf8 |= str_eq_nocase(word, S("SMTPUTF8"));
    offer->has_size |= str_eq_nocase(word, S("SIZE"));
}

bool smtp_overhear(SmtpOpening *opening, Arena *arena, Str bytes)
{
    Str line;
    while (bytes.len > 0 && !is_endless(&opening->reader)) {
        if (!read_line(&opening->reader, &bytes, &line))
            continue;
        // What was offered before STARTTLS was said yes to does not count.
        if (code_of(line) == CODE_READY)
            opening->offer = (SmtpOffer){ 0 };
        if (code_of(line) == CODE_DONE)
            note_offer(&opening->offer, line);
        (void) read_reply(&opening->reader, arena, line, &opening->last);
    }
    return !is_endless(&opening->reader);
}

static bool is_ascii(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char) s.at[i] >= 0x80)
            return false;
    return true;
}

// beyond_ascii answers for a server that cannot be asked about such an address.
static const SmtpReply beyond_ascii = {
    553, S("553 the address is not ASCII, and the server does not offer SMTPUTF8")
};

static Str ask_mail(Arena *arena, const SmtpEnvelope *envelope, size_t size, SmtpOffer offer)
{
    Buf ask = buf_new(arena, BUF_WHOLE);
    bool needs_utf8 = !is_ascii(envelope->sender);
    for (size_t i = 0; i < envelope->count; i++)
        needs_utf8 |= !is_ascii(envelope->recipients[i]);
    buf_add_format(&ask, "MAIL FROM:<%.*s>", STR_ARG(envelope->sender));
    if (offer.has_size)
        buf_add_format(&ask, " SIZE=%zu", size);
    if (needs_utf8 && offer.has_utf8)
        buf_add(&ask, S(" SMTPUTF8"));
    buf_add(&ask, S("\r\n"));
    return buf_str(&ask);
}

// plan_asks lists what is asked, and where each recipient stands among it.
static void plan_asks(Smtp *smtp, const SmtpEnvelope *envelope, bool resets)
{
    Arena *arena = smtp->arena;
    Str *asks = ARENA_ARRAY(arena, Str, envelope->count + 3);
    size_t *places = ARENA_ARRAY(arena, size_t, envelope->count), at = 0;
    bool may_ask = smtp->offer.has_utf8 || is_ascii(envelope->sender);
    if (resets)
        asks[at++] = S("RSET\r\n");
    smtp->sender_at = at;
    asks[at++] = ask_mail(arena, envelope, smtp->wire.len, smtp->offer);
    for (size_t i = 0; i < envelope->count; i++) {
        Str recipient = envelope->recipients[i];
        if (!may_ask || (!smtp->offer.has_utf8 && !is_ascii(recipient)))
            continue;
        places[i] = at;
        asks[at++] = str_format(arena, "RCPT TO:<%.*s>\r\n", STR_ARG(recipient));
    }
    smtp->is_over = at == smtp->sender_at + 1; // there is nobody to ask about
    asks[at++] = S("DATA\r\n");
    smtp->asks = asks;
    smtp->ask_count = at;
    smtp->places = places;
}

void smtp_begin(Smtp *smtp, Arena *arena, const SmtpEnvelope *envelope, Str wire, SmtpOffer offer,
                bool resets)
{
    *smtp = (Smtp){ .arena = arena, .offer = offer, .wire = wire, .needs_reset = resets };
    plan_asks(smtp, envelope, resets);
    smtp->replies = ARENA_ARRAY(arena, SmtpReply, smtp->ask_count + 1);
    reader_begin(&smtp->reader, arena);
}

static const SmtpReply *to_data(const Smtp *smtp)
{
    return &smtp->replies[smtp->ask_count - 1];
}

static bool anybody_is_taken(const Smtp *smtp)
{
    for (size_t i = smtp->sender_at + 1; i + 1 < smtp->ask_count; i++)
        if (is_good(smtp->replies[i].code))
            return is_good(smtp->replies[smtp->sender_at].code);
    return false;
}

// all_asked is what is still to be asked, in one piece.
static Str all_asked(Smtp *smtp)
{
    Buf all = buf_new(smtp->arena, BUF_WHOLE);
    while (smtp->asked < smtp->ask_count)
        buf_add(&all, smtp->asks[smtp->asked++]);
    return buf_str(&all);
}

Str smtp_next(Smtp *smtp)
{
    if (smtp->is_over || smtp->is_broken || smtp->asked > smtp->ask_count)
        return STR_NONE;
    if (smtp->asked < smtp->ask_count && smtp->offer.has_pipelining)
        return all_asked(smtp);
    if (smtp->told < smtp->asked)
        return STR_NONE;
    if (smtp->asked < smtp->ask_count)
        return smtp->asks[smtp->asked++];
    smtp->asked++;
    // A server that says go on though it took nobody gets an empty message (RFC 2920).
    return anybody_is_taken(smtp) ? smtp->wire : S(".\r\n");
}

// is_pointless: the rest need not be asked.
static bool is_pointless(const Smtp *smtp)
{
    if (smtp->told <= smtp->sender_at)
        return false;
    if (!is_good(smtp->replies[smtp->sender_at].code))
        return true;
    return smtp->told == smtp->ask_count - 1 && !anybody_is_taken(smtp);
}

static bool is_refusal(int code)
{
    return code >= 400;
}

// hear_of_data: the message follows, or is refused. What says neither must not pass for a success.
static void hear_of_data(Smtp *smtp)
{
    smtp->is_over = to_data(smtp)->code != CODE_GO_ON;
    smtp->is_broken = smtp->is_over && !is_refusal(to_data(smtp)->code);
}

static void take_reply(Smtp *smtp, SmtpReply reply)
{
    bool is_asked = smtp->told < smtp->asked;
    if (!is_asked && reply.code != CODE_CLOSING) {
        smtp->is_broken = true;
        return;
    }
    smtp->last = reply;
    if (!is_asked) { // a server that goes down may say so at any time
        smtp->is_over = true;
        return;
    }
    smtp->replies[smtp->told++] = reply;
    smtp->needs_reset = smtp->told <= smtp->ask_count;
    if (reply.code == CODE_CLOSING || !smtp->needs_reset)
        smtp->is_over = true;
    else if (smtp->told == smtp->ask_count)
        hear_of_data(smtp);
    else if (smtp->told == smtp->asked)
        smtp->is_over = is_pointless(smtp);
}

void smtp_hear(Smtp *smtp, Str bytes)
{
    Str line;
    SmtpReply reply;
    while (bytes.len > 0 && !smtp->is_broken) {
        bool is_line = read_line(&smtp->reader, &bytes, &line);
        smtp->is_broken = is_endless(&smtp->reader);
        if (!is_line || smtp->is_broken)
            continue;
        switch (read_reply(&smtp->reader, smtp->arena, line, &reply)) {
        case HEARD_PART:
            break;
        case HEARD_REPLY:
            take_reply(smtp, reply);
            break;
        case HEARD_NONSENSE:
            smtp->is_broken = true;
            break;
        }
    }
}

bool smtp_is_over(const Smtp *smtp)
{
    return smtp->is_over || smtp->is_broken;
}

bool smtp_was_begun(const Smtp *smtp)
{
    int code = smtp->replies[smtp->sender_at].code;
    return code && code != CODE_CLOSING;
}

bool smtp_may_go_on(const Smtp *smtp)
{
    return smtp->is_over && !smtp->is_broken && smtp->last.code != CODE_CLOSING;
}

SmtpReply smtp_reply(const Smtp *smtp, size_t recipient)
{
    size_t place = smtp->places[recipient];
    const SmtpReply *to_sender = &smtp->replies[smtp->sender_at];
    const SmtpReply *to_recipient = &smtp->replies[place];
    SmtpReply word = to_data(smtp)[1];
    if (!place)
        return beyond_ascii;
    if (to_sender->code && !is_good(to_sender->code))
        word = *to_sender;
    else if (to_recipient->code && !is_good(to_recipient->code))
        word = *to_recipient;
    else if (is_refusal(to_data(smtp)->code))
        word = *to_data(smtp);
    return !word.code && smtp->last.code == CODE_CLOSING ? smtp->last : word;
}
