// json.h - reading and writing JSON; json.c is the only file that knows the JSON library.
//
// Reading: json_parse() checks syntax, UTF-8, depth and duplicate keys, and keeps the document in
// the arena. A Json is a value of such a document; NULL means "not there", and every accessor
// accepts NULL. Numbers keep their text (json_number_text), so that 9007199254740993 stays exact.
//
// Writing: a JsonOut appends to a Buf and puts the commas. Keys and strings are escaped.
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

typedef struct yyjson_val Json;

enum { JSON_DEPTH_MAX = 32, JSON_NUMBER_MAX = 64 }; // the latter in characters

typedef enum JsonType {
    JSON_ABSENT, // the value is not there at all
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
} JsonType;

// json_parse reads text; on failure the error says what and where (byte offset, and the line of a
// text that has several).
Err json_parse(Arena *arena, Str text, const Json **ret, Error *error) MUST_USE;

// json_lines tells of a text that was read the line, from 1, of each of its values, in the order in
// which they stand.
uint32_t *json_lines(Arena *arena, Str text, size_t *ret_count);

// json_mend gives text with U+FFFD in place of what no string may hold: \u0000, half of a surrogate
// pair, bytes that are not UTF-8. False: there is nothing of that kind.
bool json_mend(Arena *arena, Str text, Str *ret);

// json_below is the JSON Pointer (RFC 6901) of a member, or of an element by its number, of what
// lies at another.
Str json_below(Arena *arena, Str pointer, Str name);

JsonType json_type(const Json *value);
const char *json_type_name(JsonType type);         // "a string", "an object", "nothing" …
const Json *json_get(const Json *object, Str key); // NULL when absent or not an object
const Json *json_at(const Json *array, size_t index);
size_t json_count(const Json *value); // elements or members; 0 for anything else
Str json_str(const Json *value);      // none when not a string
bool json_bool(const Json *value);    // false when not true
double json_double(const Json *value);
bool json_i64(const Json *value, int64_t *ret); // false unless a whole number that fits
Str json_number_text(const Json *value);        // the number as it was written

typedef struct JsonIter {
    const Json *container;
    const void *next;    // private
    size_t index, count; // index: of the current one, counted from 1
    Str key;             // of the current member, when the container is an object
    const Json *value;   // of the current member or element
} JsonIter;

// for (JsonIter it = json_each(value); json_next(&it);) visits members or elements in order.
JsonIter json_each(const Json *container);
bool json_next(JsonIter *iter);

// json_write appends the value as compact JSON; sorted orders the keys of objects by bytes.
// Numbers are written as they were read.
void json_write(Buf *buf, const Json *value, bool sorted);
Str json_text(Arena *arena, const Json *value); // compact, in the order read

typedef struct JsonOut {
    Buf *buf;
    bool more; // a value stands before this place, so a comma is due
} JsonOut;

JsonOut json_out(Buf *buf);
void json_open(JsonOut *out, char bracket);  // '{' or '['
void json_close(JsonOut *out, char bracket); // '}' or ']'
void json_key(JsonOut *out, Str key);
void json_add_str(JsonOut *out, Str s); // STR_NONE (at == NULL) writes null
void json_add_i64(JsonOut *out, int64_t n);
void json_add_bool(JsonOut *out, bool b);
void json_add_null(JsonOut *out);
void json_add_raw(JsonOut *out, Str json);    // text that is JSON already; none writes null
void json_add_time(JsonOut *out, Instant at); // RFC 3339, milliseconds; INSTANT_NONE writes null

// Members in one line: the key, then the value.
void json_put_str(JsonOut *out, Str key, Str value);
void json_put_i64(JsonOut *out, Str key, int64_t n);
void json_put_bool(JsonOut *out, Str key, bool b);
void json_put_null(JsonOut *out, Str key);
void json_put_raw(JsonOut *out, Str key, Str json);
void json_put_stored(JsonOut *out, Str key, Str json); // what should be JSON; null where it is not
void json_put_time(JsonOut *out, Str key, Instant at);
void json_put_id(JsonOut *out, Str key, Uuid id); // null where it is none

// json_merge writes what a merge patch (RFC 7396) makes of target, which may be NULL: a member of
// the patch stands for the target's, null takes it away, and an object is merged with an object.
void json_merge(JsonOut *out, const Json *target, const Json *patch);
