#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 32 << 20, DEPTH_MAX = 28 };

static void break_text(Text *text, int problem)
{
    if (!text->is_broken)
        errno = problem;
    text->is_broken = true;
}

void peal_text_add(Text *text, const char *more, size_t len)
{
    if (text->is_broken)
        return;
    if (len > TEXT_MAX - text->len) {
        break_text(text, E2BIG);
        return;
    }
    if (text->len + len + 1 > text->room) {
        size_t room = (text->len + len + 1) * 2;
        char *at = realloc(text->at, room);
        if (!at) {
            break_text(text, ENOMEM);
            return;
        }
        text->at = at;
        text->room = room;
    }
    memcpy(text->at + text->len, more, len);
    text->len += len;
    text->at[text->len] = '\0';
}

void peal_text_put(Text *text, const char *more)
{
    peal_text_add(text, more, strlen(more));
}

void peal_text_free(Text *text)
{
    int kept = errno;
    free(text->at);
    *text = (Text){ 0 };
    errno = kept;
}

/* utf8_len is the length of the character that text begins with; 0: it is none. Overlong forms,
 * surrogates and what lies past Unicode are none. */
static size_t utf8_len(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } rows[] = {
        { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 }
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        if ((text[0] & rows[row].mask) != rows[row].lead)
            continue;
        uint32_t code = text[0] & (unsigned char) ~rows[row].mask;
        for (size_t i = 1; i <= row; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (text[i] & 0x3f);
        }
        bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
        return code < rows[row].least || code > 0x10ffff || is_surrogate ? 0 : row + 1;
    }
    return 0;
}

void peal_text_quote(Text *text, const char *value)
{
    peal_text_put(text, "\"");
    for (const unsigned char *at = (const unsigned char *) value; *at;) {
        size_t len = utf8_len(at);
        if (len == 0) {
            break_text(text, EILSEQ);
            return;
        }
        char escaped[8];
        if (*at == '"' || *at == '\\')
            peal_text_add(text, (const char[]){ '\\', (char) *at }, 2);
        else if (*at < 0x20)
            peal_text_add(text, escaped,
                          (size_t) snprintf(escaped, sizeof escaped, "\\u%04x", *at));
        else
            peal_text_add(text, (const char *) at, len);
        at += len;
    }
    peal_text_put(text, "\"");
}

static void begin_member(Text *text, const char *name)
{
    if (text->len > 0 && text->at[text->len - 1] != '{')
        peal_text_put(text, ",");
    peal_text_quote(text, name);
    peal_text_put(text, ":");
}

void peal_text_member(Text *text, const char *name, const char *value)
{
    if (!value)
        return;
    begin_member(text, name);
    peal_text_quote(text, value);
}

void peal_text_member_json(Text *text, const char *name, const char *object)
{
    if (!object)
        return;
    if (!peal_json_is_object(object, strlen(object)))
        break_text(text, EILSEQ);
    begin_member(text, name);
    peal_text_put(text, object);
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* skip_escape returns what lies behind an escape, whose letter at points to; NULL: it is none. */
static const char *skip_escape(const char *at, const char *end)
{
    if (at == end || !strchr("\"\\/bfnrtu", *at) || *at == '\0')
        return NULL;
    if (*at != 'u')
        return at + 1;
    for (int i = 1; i <= 4; i++)
        if (at + i >= end || !isxdigit((unsigned char) at[i]))
            return NULL;
    return at + 5;
}

/* skip_string returns what lies behind a string; NULL: it is none, or no UTF-8. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"';) {
        size_t len = utf8_len((const unsigned char *) at);
        if ((unsigned char) *at < 0x20 || len == 0 || at + len > end)
            return NULL;
        at = *at == '\\' ? skip_escape(at + 1, end) : at + len;
        if (!at)
            return NULL;
    }
    return at < end ? at + 1 : NULL;
}

static const char *skip_digits(const char *at, const char *end)
{
    const char *from = at;
    while (at < end && isdigit((unsigned char) *at))
        at++;
    return at > from ? at : NULL;
}

static const char *skip_number(const char *at, const char *end)
{
    at += *at == '-';
    at = at < end && *at == '0' ? at + 1 : skip_digits(at, end);
    if (at && at < end && *at == '.')
        at = skip_digits(at + 1, end);
    if (at && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = skip_digits(at, end);
    }
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    static const char *const words[] = { "true", "false", "null" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if ((size_t) (end - at) >= len && memcmp(at, words[i], len) == 0)
            return at + len;
    }
    return NULL;
}

static const char *skip_value(const char *at, const char *end, int depth);

/* skip_key returns the value that lies behind a name and its colon; NULL: there is none. */
static const char *skip_key(const char *at, const char *end)
{
    at = at < end && *at == '"' ? skip_string(at, end) : NULL;
    at = at ? skip_blank(at, end) : NULL;
    return at && at < end && *at == ':' ? skip_blank(at + 1, end) : NULL;
}

/* skip_all returns what lies behind an object or an array. */
static const char *skip_all(const char *at, const char *end, int depth)
{
    bool is_object = *at == '{';
    char closing = is_object ? '}' : ']';
    at = skip_blank(at + 1, end);
    if (at < end && *at == closing)
        return at + 1;
    for (;;) {
        if (is_object)
            at = skip_key(at, end);
        at = at ? skip_value(at, end, depth + 1) : NULL;
        at = at ? skip_blank(at, end) : NULL;
        if (!at || at == end || (*at != ',' && *at != closing))
            return NULL;
        if (*at == closing)
            return at + 1;
        at = skip_blank(at + 1, end);
    }
}

/* skip_value returns what lies behind a value; NULL: it is none. */
static const char *skip_value(const char *at, const char *end, int depth)
{
    if (at == end || depth > DEPTH_MAX)
        return NULL;
    if (*at == '{' || *at == '[')
        return skip_all(at, end, depth);
    if (*at == '"')
        return skip_string(at, end);
    return *at == '-' || isdigit((unsigned char) *at) ? skip_number(at, end) : skip_word(at, end);
}

bool peal_json_is_object(const char *json, size_t len)
{
    const char *end = json + len, *at = skip_blank(json, end);
    if (at == end || *at != '{')
        return false;
    at = skip_value(at, end, 0);
    return at && skip_blank(at, end) == end;
}

const char *peal_json_member(const char *json, size_t len, const char *name, size_t *ret_len)
{
    const char *end = json + len, *at = skip_blank(json, end);
    size_t name_len = strlen(name);
    if (at == end || *at != '{')
        return NULL;
    for (at = skip_blank(at + 1, end); at < end && *at == '"';) {
        const char *key = at + 1, *value = skip_key(at, end);
        const char *past = value ? skip_value(value, end, 0) : NULL;
        if (!past)
            return NULL;
        if (strncmp(key, name, name_len) == 0 && key[name_len] == '"') {
            *ret_len = (size_t) (past - value);
            return value;
        }
        at = skip_blank(past, end);
        if (at < end && *at == ',')
            at = skip_blank(at + 1, end);
    }
    return NULL;
}

/* unescape reads what stands behind a backslash; what is not a plain letter becomes '?'. */
static const char *unescape(const char *at, char *ret)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found = *at ? strchr(from, *at) : NULL;
    *ret = found ? to[found - from] : '?';
    return at + (*at == 'u' ? 5 : 1);
}

void peal_json_text(const char *value, size_t len, char *ret, size_t size)
{
    size_t used = 0;
    bool is_string = value && len >= 2 && *value == '"';
    const char *at = is_string ? value + 1 : "", *end = is_string ? value + len - 1 : at;
    while (at < end && used + 1 < size) {
        char letter = *at++;
        if (letter == '\\')
            at = unescape(at, &letter);
        ret[used++] = letter;
    }
    if (at < end) { /* cut: the last character may be half of one */
        while (used > 0 && ((unsigned char) ret[used - 1] & 0xc0) == 0x80)
            used--;
        used -= used > 0 && (unsigned char) ret[used - 1] >= 0xc0;
    }
    ret[used] = '\0';
}
