// str.h - text: slices, numbers read with a maximum, buffers with a ceiling.
//
// A Str is borrowed bytes with a length; it is not NUL-terminated unless str_dup() made it (which
// adds a NUL behind the slice). A Buf grows up to its ceiling and then remembers that it
// overflowed: append freely, ask once.
#pragma once

#include "base/arena.h"
#include "base/base.h"

typedef struct Str {
    const char *at;
    size_t len;
} Str;

#define S(literal) ((Str){ (literal), sizeof(literal) - 1 })
#define STR_NONE ((Str){ NULL, 0 })
#define STR_ARG(s) (int) (s).len, ((s).at ? (s).at : "")

Str str_from(const char *text);         // of a NUL-terminated string; NULL gives none
Str str_dup(Arena *arena, Str s);       // a copy, with a NUL behind it
const char *str_z(Arena *arena, Str s); // a NUL-terminated copy for a library call
Str str_format(Arena *arena, const char *format, ...) PRINTF(2, 3);

// STR_JOIN returns texts one behind the other: a tenth of what a format costs, for what is made
// with every message. A NUL follows them.
#define STR_JOIN(arena, ...)                                                                       \
    str_join((arena), (const Str[]){ __VA_ARGS__ },                                                \
             sizeof((const Str[]){ __VA_ARGS__ }) / sizeof(Str))
Str str_join(Arena *arena, const Str *parts, size_t count);
Str str_i64(Arena *arena, int64_t n);
bool str_eq(Str a, Str b);
bool str_eq_nocase(Str a, Str b); // ASCII only
char str_lower_char(char c);      // ASCII only
int str_cmp(Str a, Str b);        // as bytes
bool str_starts(Str s, Str prefix);
bool str_ends(Str s, Str suffix);
bool str_contains(Str s, Str part);
Str str_trim(Str s);               // blanks and tabs at both ends
Str str_skip(Str s, size_t count); // without its first bytes

// str_cut returns what stands before the first separator and moves rest behind it. Without one it
// returns everything, and rest becomes none: while (rest.at) visits an empty last part as well.
Str str_cut(Str *rest, char separator);

// str_to_i64 reads the whole of s as a decimal number from min to max; false otherwise.
bool str_to_i64(Str s, int64_t min, int64_t max, int64_t *ret);

// str_distance counts the edits (a letter more, less, other, or two swapped) from one word to
// another, for "did you mean". Words over STR_DISTANCE_MAX bytes are too far from anything.
enum { STR_DISTANCE_MAX = 64 };
size_t str_distance(Str a, Str b);

// str_nearest returns the known word that a typo was perhaps meant to be: at most two letters away,
// and at least half of the letters right, so that short words do not attract everything; or NULL.
const char *str_nearest(Str word, const char *const *known, size_t known_count);

// str_hex_value returns what a hexadecimal digit of either case stands for; -1 for anything else.
int str_hex_value(char c);

// str_is_utf8 is true for well-formed UTF-8 without NUL bytes.
bool str_is_utf8(Str s);

// str_eq_tag says whether two tags name one language: en-US, en_us.
bool str_eq_tag(Str a, Str b);

// str_utf8_len returns the bytes of the well-formed character that s begins with; 0 for none.
size_t str_utf8_len(Str s);

// str_head returns the first bytes, max at most, without a character that would be cut.
Str str_head(Str s, size_t max);

// str_is_printable is true where no byte is a control character (so it may stand in a header).
bool str_is_printable(Str s);

uint64_t str_hash(Str s); // for tables in memory; not for anything stored

typedef struct Buf {
    Arena *arena; // NULL: heap memory, given back by buf_done()
    char *at;
    size_t len, room, max;
    bool overflowed;
} Buf;

// BUF_WHOLE is the ceiling of a text that is made of parts which were limited at the door, and that
// must be whole or not be at all: cut off it would be another text.
#define BUF_WHOLE (SIZE_MAX / 4)

Buf buf_new(Arena *arena, size_t max);
void buf_done(Buf *buf); // for heap buffers; harmless for the others
void buf_add(Buf *buf, Str s);
void buf_add_bytes(Buf *buf, const void *at, size_t len);
static inline void buf_add_char(Buf *buf, char c)
{
    if (buf->len < buf->room && !buf->overflowed)
        buf->at[buf->len++] = c;
    else
        buf_add_bytes(buf, &c, 1);
}
void buf_add_i64(Buf *buf, int64_t n);
void buf_add_format(Buf *buf, const char *format, ...) PRINTF(2, 3);
void buf_add_percent(Buf *buf, Str s); // as one part of a URL, or of a form
static inline Str buf_str(const Buf *buf)
{
    return (Str){ buf->at, buf->len };
}
