#include "domain/cause.h"

#include "base/crypto.h"

#include <inttypes.h>

enum { ID_LEN_MIN = 8, ID_DIGITS_MIN = 3 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_digit(c) || is_letter(c) || c == '_' || c == '-';
}

// at is the character at a place; NUL behind the end.
static char at(Str text, size_t place)
{
    return place < text.len ? text.at[place] : '\0';
}

// email_len is the length of an e-mail address at the beginning of text; 0 for none.
static size_t email_len(Str text)
{
    size_t len = 0, domain;
    while (is_word(at(text, len)) || (at(text, len) && strchr(".%+", at(text, len))))
        len++;
    if (len == 0 || at(text, len) != '@')
        return 0;
    for (domain = ++len; is_word(at(text, len)) || at(text, len) == '.';)
        len++;
    return len > domain ? len : 0;
}

// ipv6_len is the length of an IPv6 address; 0 for none. A time has colons too, but no letters.
static size_t ipv6_len(Str text)
{
    size_t len = 0, colons = 0;
    bool is_told = false;
    for (; str_hex_value(at(text, len)) >= 0 || at(text, len) == ':'; len++) {
        colons += at(text, len) == ':';
        is_told |= is_letter(at(text, len)) || (at(text, len) == ':' && at(text, len + 1) == ':');
    }
    return colons >= 2 && is_told && !is_word(at(text, len)) ? len : 0;
}

// id_len is the length of a word that a machine made: long, and with digits, or all of it hex.
static size_t id_len(Str text)
{
    size_t len = 0, digits = 0, hex = 0;
    for (; is_word(at(text, len)); len++) {
        digits += is_digit(at(text, len));
        hex += str_hex_value(at(text, len)) >= 0 || at(text, len) == '-';
    }
    bool is_made = digits >= ID_DIGITS_MIN || (digits > 0 && hex == len);
    return len >= ID_LEN_MIN && digits < len && is_made ? len : 0;
}

// number_len is the length of digits, and of what is made of them with marks between.
static size_t number_len(Str text)
{
    size_t len = 0;
    for (;; len++) {
        if (is_digit(at(text, len)))
            continue;
        bool joins = len > 0 && at(text, len) && strchr(".,:/ -T", at(text, len)) &&
                     is_digit(at(text, len - 1)) && is_digit(at(text, len + 1));
        if (!joins)
            return len;
    }
}

// whole_number_len is the same for one that is no part of a word; a Z ends a time.
static size_t whole_number_len(Str text)
{
    size_t len = number_len(text);
    if (len > 0 && at(text, len) == 'Z')
        len++;
    return is_word(at(text, len)) ? 0 : len;
}

// status_len is the length of the status that an answer begins with: 535, or 550 5.1.1.
static size_t status_len(Str text)
{
    if (!is_digit(at(text, 0)) || !is_digit(at(text, 1)) || !is_digit(at(text, 2)) ||
        (at(text, 3) != ' ' && at(text, 3) != '-' && text.len > 3))
        return 0;
    Str rest = str_skip(text, 4);
    bool is_enhanced = is_digit(at(rest, 0)) && at(rest, 1) == '.' && is_digit(at(rest, 2)) &&
                       at(rest, 3) == '.' && is_digit(at(rest, 4));
    return is_enhanced ? 9 : 3;
}

typedef struct Pattern {
    size_t (*len)(Str text);
    const char *stands; // for what was found
} Pattern;

// In the order in which they are tried, where a word begins.
static const Pattern patterns[] = {
    { email_len, "<address>" },
    { ipv6_len, "<address>" },
    { whole_number_len, "#" },
    { id_len, "<id>" },
};

// skip_pattern finds what stands at the beginning of text and says what to write for it.
static size_t skip_pattern(Str text, bool begins_word, const char **ret)
{
    for (size_t i = 0; i < ARRAY_LEN(patterns) && begins_word; i++) {
        size_t len = patterns[i].len(text);
        *ret = patterns[i].stands;
        if (len > 0)
            return len;
    }
    *ret = "#";
    return number_len(text);
}

// is_blank takes control characters for blanks.
static bool is_blank(char c)
{
    return (unsigned char) c <= ' ' || c == 0x7f;
}

Str cause_sample(Arena *arena, Str detail)
{
    Buf out = buf_new(arena, CAUSE_SAMPLE_MAX);
    bool begins_word = true;
    size_t kept = status_len(detail);
    buf_add(&out, (Str){ detail.at, kept });
    for (Str rest = str_skip(detail, kept); rest.len > 0 && !out.overflowed;) {
        const char *stands = NULL;
        size_t skipped = skip_pattern(rest, begins_word, &stands), len = str_utf8_len(rest);
        if (skipped > 0) {
            buf_add(&out, str_from(stands));
        } else if (is_blank(rest.at[0])) {
            skipped = 1;
            if (out.len > 0 && out.at[out.len - 1] != ' ')
                buf_add_char(&out, ' ');
        } else {
            skipped = len ? len : 1; // what is no character is left out
            buf_add(&out, (Str){ rest.at, len });
        }
        begins_word = !is_word(rest.at[skipped - 1]);
        rest = str_skip(rest, skipped);
    }
    return out.len ? str_trim(buf_str(&out)) : STR_NONE;
}

int64_t cause_of(int64_t lane, DeliveryReason reason, int code, Str sample)
{
    DEFER(arena_done) Arena arena = { 0 };
    int64_t number = 0;
    Sha256 hash = sha256(str_format(&arena, "%" PRId64 " %s %d %.*s", lane, reason_code(reason),
                                    code, STR_ARG(sample)));
    for (size_t i = 0; i < sizeof number; i++)
        number = (int64_t) ((uint64_t) number << 8 | hash.b[i]);
    number &= INT64_MAX;
    return number ? number : 1;
}

Str cause_text(int64_t cause, char buffer[CAUSE_TEXT_LEN + 1])
{
    snprintf(buffer, CAUSE_TEXT_LEN + 1, "%016" PRIx64, (uint64_t) cause);
    return (Str){ buffer, CAUSE_TEXT_LEN };
}

bool cause_parse(Str text, int64_t *ret)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len && i <= CAUSE_TEXT_LEN; i++) {
        int digit = str_hex_value(text.at[i]);
        if (digit < 0)
            return false;
        number = number << 4 | (uint64_t) digit;
    }
    if (text.len != CAUSE_TEXT_LEN || number == 0 || number > INT64_MAX)
        return false;
    *ret = (int64_t) number;
    return true;
}
