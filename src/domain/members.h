// members.h - reading a JSON object member by member, every mistake noted with its place.
//
// Definitions and events are read through this. An unknown member is refused, for a typo must not
// be silently ignored; null counts as not given; a reader leaves *ret as it was when the member is
// absent or wrong, so defaults are set before reading. The codes are: unknown-member,
// missing-member, bad-type, bad-value, bad-duration, bad-time, bad-path, too-large.
#pragma once

#include "base/err.h"
#include "base/json.h"

enum { MEMBERS_PATH_MAX = 200 };

typedef struct Members {
    const Json *object;
    Str pointer;   // where the object lies in its document
    Error *error;  // never NULL
    size_t before; // problems that were noted before this object was opened
} Members;

// members_open prepares to read object; error must not be NULL. members_close returns ERR_OK when
// no problem was noted since, else closes the error with err.
Members members_open(const Json *object, Str pointer, Error *error);
Err members_close(const Members *members, Err err) MUST_USE;

// members_is_object notes a value that is not an object and returns false. members_check does, and
// notes every member that is not among known, with the name that was perhaps meant.
bool members_is_object(const Members *members);
bool members_check(const Members *members, const char *const *known, size_t known_count);

// members_unknown notes a member that is not among known; members_missing one that is needed.
void members_unknown(const Members *members, Str name, const char *const *known,
                     size_t known_count);
void members_missing(const Members *members, const char *name);

// members_get returns NULL for an absent member and for null; members_need notes its absence.
const Json *members_get(const Members *members, const char *name);
void members_need(const Members *members, const char *name);

// members_pointer is where a member lies; empty when the error keeps no problems.
Str members_pointer(const Members *members, Str name);
void members_note(const Members *members, Str name, const char *code, const char *format, ...)
    PRINTF(4, 5);

// Readers. A text has 1 to max bytes and no control characters; a key also keeps to letters,
// digits and . _ : - so that it can stand in a URL. A text that may be a number keeps its digits.
void members_text(const Members *members, const char *name, size_t max, Str *ret);
void members_text_or_number(const Members *members, const char *name, size_t max, Str *ret);
void members_key(const Members *members, const char *name, size_t max, Str *ret);
void members_bool(const Members *members, const char *name, bool *ret);
void members_int(const Members *members, const char *name, int min, int max, int *ret);
void members_span(const Members *members, const char *name, Span min, Span max, Span *ret);
void members_time(const Members *members, const char *name, Instant *ret);
void members_path(const Members *members, const char *name, Str *ret);

// members_paths and members_spans read an array of so many paths or durations into ret and return
// how many; 0 when it is absent or no such array.
size_t members_paths(const Members *members, const char *name, size_t min, size_t max, Str *ret);
size_t members_spans(const Members *members, const char *name, size_t max, Span *ret);

// members_path_problem says what is wrong with a dotted path, or NULL: it has 1 to
// MEMBERS_PATH_MAX bytes, no empty segment and no control characters.
const char *members_path_problem(Str path);

// members_shown cuts a caller's text for a message, between two characters.
Str members_shown(Str text);
