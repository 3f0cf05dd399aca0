#include "channels/mime.h"

#include "base/crypto.h"
#include "base/time.h"

#include <string.h>

enum {
    LINE_MAX_SOFT = 76,   // of an encoded line
    HEADER_LINE_MAX = 78, // of a header, where it can be folded
    WORD_BYTES_MAX = 42,  // of text in an encoded word: 56 characters in base64, 12 around them
    NAME_BYTES_MAX = 200,
    SUBJECT_BYTES_MAX = 2000,
};

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f;
}

static bool is_all_plain(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_plain((unsigned char) text.at[i]))
            return false;
    return true;
}

// cut_at is text of at most max bytes, cut between two characters.
static Str cut_at(Str text, size_t max)
{
    size_t len = 0, step;
    while (len < text.len && (step = str_utf8_len(str_skip(text, len))) > 0 && len + step <= max)
        len += step;
    return (Str){ text.at, len };
}

// one_line is UTF-8 text without control characters, and nothing at its ends.
static Str one_line(Arena *arena, Str text, size_t max)
{
    Buf line = buf_new(arena, BUF_WHOLE);
    while (text.len > 0) {
        size_t len = str_utf8_len(text);
        unsigned char c = (unsigned char) text.at[0];
        if (len == 0 || c < 0x20 || c == 0x7f)
            buf_add_char(&line, ' ');
        else
            buf_add_bytes(&line, text.at, len);
        text = str_skip(text, len ? len : 1);
    }
    return cut_at(str_trim(buf_str(&line)), max);
}

// add_encoded adds text as encoded words (RFC 2047), each on a line of its own.
static void add_encoded(Buf *out, Arena *arena, Str text)
{
    while (text.len > 0) {
        Str piece = cut_at(text, WORD_BYTES_MAX);
        assert(piece.len > 0); // it is UTF-8
        buf_add(out, S("=?UTF-8?B?"));
        buf_add(out, base64_text(arena, piece));
        buf_add(out, S("?="));
        text = str_skip(text, piece.len);
        if (text.len > 0)
            buf_add(out, S("\r\n "));
    }
}

// add_folded adds words of ASCII with a new line wherever one would be too long.
static void add_folded(Buf *out, Str text, size_t column)
{
    for (Str rest = text; rest.at;) {
        Str word = str_cut(&rest, ' ');
        bool is_first = word.at == text.at;
        if (!is_first && word.len > 0 && column + 1 + word.len > HEADER_LINE_MAX) {
            buf_add(out, S("\r\n "));
            column = 1;
        } else if (!is_first) {
            buf_add_char(out, ' ');
            column++;
        }
        buf_add(out, word);
        column += word.len;
    }
}

// can_fold: it is ASCII that nobody takes for an encoded word, and no word is too long for a line.
static bool can_fold(Str text)
{
    if (!is_all_plain(text) || str_contains(text, S("=?")) || str_contains(text, S("  ")))
        return false;
    for (Str rest = text; rest.at;)
        if (str_cut(&rest, ' ').len > HEADER_LINE_MAX - 12)
            return false;
    return true;
}

static void add_text_header(Buf *out, Arena *arena, Str name, Str text)
{
    Str line = one_line(arena, text, SUBJECT_BYTES_MAX);
    if (line.len == 0)
        return;
    buf_add(out, name);
    buf_add(out, S(": "));
    if (can_fold(line))
        add_folded(out, line, name.len + 2);
    else
        add_encoded(out, arena, line);
    buf_add(out, S("\r\n"));
}

static bool is_phrase(Str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!strchr(" !#$%&'*+-/=?^_`{|}~", name.at[i]) &&
            !(name.at[i] >= '0' && name.at[i] <= '9') &&
            !(name.at[i] >= 'a' && name.at[i] <= 'z') && !(name.at[i] >= 'A' && name.at[i] <= 'Z'))
            return false;
    return true;
}

static void add_quoted(Buf *out, Str name)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == '"' || name.at[i] == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, name.at[i]);
    }
    buf_add_char(out, '"');
}

// add_name adds what a mailbox or a group is called: as it is, in quotes or encoded.
static void add_name(Buf *out, Arena *arena, Str name)
{
    bool looks_encoded = str_contains(name, S("=?"));
    if (!is_all_plain(name) || looks_encoded || name.len > HEADER_LINE_MAX - 12)
        add_encoded(out, arena, name);
    else if (is_phrase(name))
        buf_add(out, name);
    else
        add_quoted(out, name);
}

static void add_mailbox(Buf *out, Arena *arena, const Mailbox *mailbox)
{
    Str name = one_line(arena, mailbox->name, NAME_BYTES_MAX);
    if (name.len > 0) {
        add_name(out, arena, name);
        buf_add(out, S("\r\n "));
    }
    buf_add_format(out, name.len > 0 ? "<%.*s>" : "%.*s", STR_ARG(mailbox->address));
}

static void add_mailbox_header(Buf *out, Arena *arena, Str name, const Mailbox *mailbox)
{
    buf_add(out, name);
    buf_add(out, S(": "));
    add_mailbox(out, arena, mailbox);
    buf_add(out, S("\r\n"));
}

static void add_to(Buf *out, Arena *arena, const MimeMail *mail)
{
    Str group = one_line(arena, mail->group, NAME_BYTES_MAX);
    buf_add(out, S("To: "));
    if (group.len > 0)
        add_name(out, arena, group);
    else if (mail->to_count == 0)
        buf_add(out, S("undisclosed-recipients"));
    if (group.len > 0 || mail->to_count == 0)
        buf_add(out, S(":;"));
    for (size_t i = 0; group.len == 0 && i < mail->to_count; i++) {
        if (i > 0)
            buf_add(out, S(",\r\n "));
        add_mailbox(out, arena, &mail->to[i]);
    }
    buf_add(out, S("\r\n"));
}

// line_end is how many bytes of a text end a line: CR and LF in any mixture are one end each.
static size_t line_end(Str text)
{
    if (str_starts(text, S("\r\n")))
        return 2;
    return text.len > 0 && (text.at[0] == '\r' || text.at[0] == '\n');
}

// is_safe tells what quoted-printable has as it is: not what a server may take for something else
// where it begins a line, nor a blank that ends one.
static bool is_safe(Str rest, size_t column)
{
    unsigned char c = (unsigned char) rest.at[0];
    bool is_blank = c == ' ' || c == '\t';
    if (is_blank)
        return rest.len > 1 && !line_end(str_skip(rest, 1));
    return is_plain(c) && c != '=' && !(column == 0 && (c == '.' || c == 'F' || c == '-'));
}

static void add_quoted_printable(Buf *out, Str text)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t column = 0;
    while (text.len > 0) {
        size_t ends = line_end(text);
        unsigned char c = (unsigned char) text.at[0];
        if (ends > 0) {
            buf_add(out, S("\r\n"));
            column = 0;
            text = str_skip(text, ends);
            continue;
        }
        if (column + 3 > LINE_MAX_SOFT - 1) {
            buf_add(out, S("=\r\n"));
            column = 0;
        }
        bool is_as_is = is_safe(text, column);
        if (is_as_is)
            buf_add_char(out, (char) c);
        else
            buf_add_bytes(out, (char[]){ '=', digits[c >> 4], digits[c & 15] }, 3);
        column += is_as_is ? 1 : 3;
        text = str_skip(text, 1);
    }
    buf_add(out, S("\r\n"));
}

static void add_base64(Buf *out, Arena *arena, Str text)
{
    for (Str rest = base64_text(arena, text); rest.len > 0;) {
        Str line = { rest.at, rest.len < LINE_MAX_SOFT ? rest.len : LINE_MAX_SOFT };
        buf_add(out, line);
        buf_add(out, S("\r\n"));
        rest = str_skip(rest, line.len);
    }
}

// is_mostly_foreign: base64 is shorter, and no less readable.
static bool is_mostly_foreign(Str text)
{
    size_t foreign = 0;
    for (size_t i = 0; i < text.len; i++)
        foreign += (unsigned char) text.at[i] >= 0x80;
    return foreign > text.len / 3;
}

// add_part adds a text with its headers. In base64 the ends of lines are made the usual ones first.
static void add_part(Buf *out, Arena *arena, Str type, Str text)
{
    bool is_base64 = is_mostly_foreign(text);
    buf_add_format(out, "Content-Type: text/%.*s; charset=utf-8\r\n", STR_ARG(type));
    buf_add_format(out, "Content-Transfer-Encoding: %s\r\n\r\n",
                   is_base64 ? "base64" : "quoted-printable");
    if (is_base64)
        add_base64(out, arena, text);
    else
        add_quoted_printable(out, text);
}

// add_body: what is only text or only HTML is one part; both are alternatives, the better one last.
// The boundary stands in no part: "=_" is in neither of the encodings.
static void add_body(Buf *out, Arena *arena, const MimeMail *mail)
{
    static const char boundary[] = "=_peal_alternative";
    if (!mail->html.len || !mail->text.len) {
        bool is_html = mail->html.len > 0;
        add_part(out, arena, is_html ? S("html") : S("plain"), is_html ? mail->html : mail->text);
        return;
    }
    buf_add_format(out, "Content-Type: multipart/alternative; boundary=\"%s\"\r\n\r\n", boundary);
    buf_add_format(out, "--%s\r\n", boundary);
    add_part(out, arena, S("plain"), mail->text);
    buf_add_format(out, "--%s\r\n", boundary);
    add_part(out, arena, S("html"), mail->html);
    buf_add_format(out, "--%s--\r\n", boundary);
}

Str mime_bytes(Arena *arena, const MimeMail *mail)
{
    char date[TIME_TEXT_MAX];
    Buf out = buf_new(arena, BUF_WHOLE);
    buf_add_format(&out, "Date: %.*s\r\n", STR_ARG(time_mail_text(mail->date, date)));
    add_mailbox_header(&out, arena, S("From"), &mail->from);
    if (mail->reply_to.address.len > 0)
        add_mailbox_header(&out, arena, S("Reply-To"), &mail->reply_to);
    add_to(&out, arena, mail);
    add_text_header(&out, arena, S("Subject"), mail->subject);
    buf_add_format(&out, "Message-ID: <%.*s>\r\n", STR_ARG(mail->id));
    if (mail->unsubscribe.len > 0)
        buf_add_format(&out, "List-Unsubscribe: %.*s\r\n", STR_ARG(mail->unsubscribe));
    buf_add(&out, S("Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"));
    add_body(&out, arena, mail);
    return buf_str(&out);
}
