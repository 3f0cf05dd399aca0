#include "base/str.h"

#include <stdarg.h>

Str str_from(const char *text)
{
    return text ? (Str){ text, strlen(text) } : STR_NONE;
}

Str str_dup(Arena *arena, Str s)
{
    char *at = arena_grow(arena, NULL, 0, s.len + 1);
    if (s.len > 0)
        memcpy(at, s.at, s.len);
    at[s.len] = '\0';
    return (Str){ at, s.len };
}

const char *str_z(Arena *arena, Str s)
{
    return str_dup(arena, s).at;
}

Str str_format(Arena *arena, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    assert(len >= 0);
    if ((size_t) len < sizeof small)
        return str_dup(arena, (Str){ small, (size_t) len });
    char *at = arena_grow(arena, NULL, 0, (size_t) len + 1);
    va_start(args, format);
    vsnprintf(at, (size_t) len + 1, format, args);
    va_end(args);
    return (Str){ at, (size_t) len };
}

Str str_join(Arena *arena, const Str *parts, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += parts[i].len;
    char *at = arena_grow(arena, NULL, 0, len + 1), *end = at;
    for (size_t i = 0; i < count; i++)
        if (parts[i].len > 0)
            end = mempcpy(end, parts[i].at, parts[i].len);
    *end = '\0';
    return (Str){ at, len };
}

bool str_eq(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

char str_lower_char(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c + ('a' - 'A')) : c;
}

bool str_eq_nocase(Str a, Str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (str_lower_char(a.at[i]) != str_lower_char(b.at[i]))
            return false;
    return true;
}

int str_cmp(Str a, Str b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared > 0 ? memcmp(a.at, b.at, shared) : 0;
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool str_starts(Str s, Str prefix)
{
    return s.len >= prefix.len && str_eq((Str){ s.at, prefix.len }, prefix);
}

bool str_ends(Str s, Str suffix)
{
    return s.len >= suffix.len && str_eq(str_skip(s, s.len - suffix.len), suffix);
}

bool str_contains(Str s, Str part)
{
    if (part.len == 0)
        return true;
    return s.len >= part.len && memmem(s.at, s.len, part.at, part.len) != NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

Str str_trim(Str s)
{
    while (s.len > 0 && is_blank(s.at[0]))
        s = str_skip(s, 1);
    while (s.len > 0 && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

Str str_skip(Str s, size_t count)
{
    size_t skipped = count < s.len ? count : s.len;
    return skipped > 0 ? (Str){ s.at + skipped, s.len - skipped } : s;
}

Str str_cut(Str *rest, char separator)
{
    Str whole = *rest;
    const char *found = whole.len > 0 ? memchr(whole.at, separator, whole.len) : NULL;
    if (!found) {
        *rest = STR_NONE;
        return whole;
    }
    size_t len = (size_t) (found - whole.at);
    *rest = str_skip(whole, len + 1);
    return (Str){ whole.at, len };
}

bool str_to_i64(Str s, int64_t min, int64_t max, int64_t *ret)
{
    bool is_negative = s.len > 0 && s.at[0] == '-';
    Str digits = str_skip(s, is_negative ? 1 : 0);
    if (digits.len == 0)
        return false;
    int64_t n = 0;
    for (size_t i = 0; i < digits.len; i++) {
        int digit = digits.at[i] - '0';
        if (digit < 0 || digit > 9)
            return false;
        // Adding with the final sign reaches INT64_MIN, which has no positive twin.
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, is_negative ? -digit : digit, &n))
            return false;
    }
    if (n < min || n > max)
        return false;
    *ret = n;
    return true;
}

size_t str_distance(Str a, Str b)
{
    uint8_t d[STR_DISTANCE_MAX + 1][STR_DISTANCE_MAX + 1];
    if (a.len > STR_DISTANCE_MAX || b.len > STR_DISTANCE_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i <= a.len; i++) {
        for (size_t j = 0; j <= b.len; j++) {
            size_t best = i + j; // where one of the words has not begun
            if (i > 0 && j > 0) {
                best = d[i - 1][j - 1] + (size_t) (a.at[i - 1] != b.at[j - 1]);
                best = d[i - 1][j] + 1u < best ? d[i - 1][j] + 1u : best;
                best = d[i][j - 1] + 1u < best ? d[i][j - 1] + 1u : best;
            }
            bool is_swapped =
                i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1];
            if (is_swapped && d[i - 2][j - 2] + 1u < best)
                best = d[i - 2][j - 2] + 1u;
            d[i][j] = (uint8_t) best;
        }
    }
    return d[a.len][b.len];
}

const char *str_nearest(Str word, const char *const *known, size_t known_count)
{
    const char *closest = NULL;
    size_t closest_distance = 3;
    for (size_t i = 0; i < known_count; i++) {
        size_t letters = str_distance(word, str_from(known[i]));
        if (letters < closest_distance && letters * 2 <= word.len) {
            closest = known[i];
            closest_distance = letters;
        }
    }
    return closest;
}

int str_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool str_eq_tag(Str a, Str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        char x = a.at[i] == '_' ? '-' : str_lower_char(a.at[i]);
        char y = b.at[i] == '_' ? '-' : str_lower_char(b.at[i]);
        if (x != y)
            return false;
    }
    return true;
}

size_t str_utf8_len(Str s)
{
    if (s.len == 0)
        return 0;
    const unsigned char *at = (const unsigned char *) s.at;
    if (at[0] < 0x80)
        return 1;
    // The second byte carries the rules against overlong forms, surrogates and what lies above
    // U+10FFFF; the rest only continue.
    unsigned char low = 0x80, high = 0xbf;
    size_t len;
    if (at[0] >= 0xc2 && at[0] <= 0xdf) {
        len = 2;
    } else if (at[0] >= 0xe0 && at[0] <= 0xef) {
        len = 3;
        low = at[0] == 0xe0 ? 0xa0 : 0x80;
        high = at[0] == 0xed ? 0x9f : 0xbf;
    } else if (at[0] >= 0xf0 && at[0] <= 0xf4) {
        len = 4;
        low = at[0] == 0xf0 ? 0x90 : 0x80;
        high = at[0] == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    if (s.len < len || at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

// plain_len returns how many whole words at the start of s hold only bytes 0x01 to 0x7f, in bytes.
static size_t plain_len(Str s)
{
    size_t len = 0;
    for (uint64_t word; s.len - len >= sizeof word; len += sizeof word) {
        memcpy(&word, s.at + len, sizeof word);
        uint64_t has_zero = (word - 0x0101010101010101) & ~word;
        if ((has_zero | word) & 0x8080808080808080)
            break;
    }
    return len;
}

bool str_is_utf8(Str s)
{
    while (s.len > 0) {
        s = str_skip(s, plain_len(s));
        if (s.len == 0)
            break;
        size_t len = str_utf8_len(s);
        if (len == 0 || s.at[0] == '\0')
            return false;
        s = str_skip(s, len);
    }
    return true;
}

Str str_head(Str s, size_t max)
{
    size_t len = s.len < max ? s.len : max;
    while (len > 0 && len < s.len && ((unsigned char) s.at[len] & 0xc0) == 0x80)
        len--;
    return (Str){ s.at, len };
}

bool str_is_printable(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char) s.at[i] < 0x20 || s.at[i] == 0x7f)
            return false;
    return true;
}

uint64_t str_hash(Str s)
{
    // FNV-1a, then a mix so that the low bits may index a table.
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char) s.at[i]) * 0x100000001b3;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93;
    return hash ^ (hash >> 32);
}

enum { BUF_ROOM_MIN = 256 };

// nothing is where an empty Buf points, so that its text is empty rather than none.
static char nothing[1];

Buf buf_new(Arena *arena, size_t max)
{
    return (Buf){ .arena = arena, .at = nothing, .max = max };
}

void buf_done(Buf *buf)
{
    if (!buf->arena && buf->room > 0)
        free(buf->at);
    *buf = buf_new(buf->arena, buf->max);
}

// has_room makes room for len more bytes and a NUL behind them. Once it could not, it never can:
// what is in the Buf is then the beginning of the text, without holes.
static bool has_room(Buf *buf, size_t len)
{
    if (len <= buf->room - buf->len && !buf->overflowed)
        return true;
    if (buf->overflowed || len > buf->max - buf->len) {
        buf->overflowed = true;
        return false;
    }
    size_t room = buf->room > 0 ? buf->room : BUF_ROOM_MIN;
    while (room < buf->len + len)
        room *= 2;
    if (room > buf->max)
        room = buf->max;
    char *old = buf->room > 0 ? buf->at : NULL;
    size_t old_size = buf->room > 0 ? buf->room + 1 : 0;
    buf->at =
        buf->arena ? arena_grow(buf->arena, old, old_size, room + 1) : memory_grow(old, room + 1);
    buf->room = room;
    return true;
}

void buf_add_bytes(Buf *buf, const void *at, size_t len)
{
    if (!has_room(buf, len) || len == 0)
        return;
    memcpy(buf->at + buf->len, at, len);
    buf->len += len;
}

void buf_add(Buf *buf, Str s)
{
    buf_add_bytes(buf, s.at, s.len);
}

void buf_add_percent(Buf *buf, Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char) s.at[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || (c && strchr("-._~", c));
        if (is_plain)
            buf_add_char(buf, s.at[i]);
        else
            buf_add_format(buf, "%%%02X", c);
    }
}

void buf_add_i64(Buf *buf, int64_t n)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = n < 0 ? -(uint64_t) n : (uint64_t) n;
    do {
        digits[--at] = (char) ('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (n < 0)
        digits[--at] = '-';
    buf_add_bytes(buf, digits + at, sizeof digits - at);
}

Str str_i64(Arena *arena, int64_t n)
{
    Buf text = buf_new(arena, 20);
    buf_add_i64(&text, n);
    return buf_str(&text);
}

void buf_add_format(Buf *buf, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    assert(len >= 0);
    if ((size_t) len < sizeof small) {
        buf_add_bytes(buf, small, (size_t) len);
        return;
    }
    if (!has_room(buf, (size_t) len))
        return;
    va_start(args, format);
    vsnprintf(buf->at + buf->len, (size_t) len + 1, format, args);
    va_end(args);
    buf->len += (size_t) len;
}
