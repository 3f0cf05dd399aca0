// members.h - the members of a JSON object, and every mistake among them noted with its place.
//
// Bodies are read through this by rows (field.h). An unknown member is refused, for a typo must not
// be silently ignored; null counts as not given. The codes are: unknown-member, missing-member,
// bad-type, bad-value, bad-duration, bad-time, bad-path, too-large.
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

// members_get returns NULL for an absent member and for null.
const Json *members_get(const Members *members, const char *name);

// members_pointer is where a member lies; empty when the error keeps no problems.
Str members_pointer(const Members *members, Str name);
void members_note(const Members *members, Str name, const char *code, const char *format, ...)
    PRINTF(4, 5);

// members_path_problem says what is wrong with a dotted path, or NULL: it has 1 to
// MEMBERS_PATH_MAX bytes, no empty segment and no control characters.
const char *members_path_problem(Str path);

// members_shown cuts a caller's text for a message, between two characters.
Str members_shown(Str text);
