// calendar.h - a moment as somebody wrote it, and as another is to read it.
//
// Unlike an Instant (base/time.h) a Moment keeps the day and the hour that were written down, in
// whatever offset: a guest who checks in on the 14th at home is told so.
#pragma once

#include "base/str.h"

typedef struct Moment {
    int year, month, day, hour, minute, second, millis;
} Moment;

// calendar_read reads a date, a date and a time behind T or a blank with or without an offset, or,
// where it is_number, seconds or milliseconds since 1970 in UTC.
bool calendar_read(Str text, bool is_number, Moment *ret);

// calendar_format_problem says what is wrong with a format, or NULL. Its letters are Unicode's:
// y M d H h m s S a E; '' keep what stands between them as it is.
const char *calendar_format_problem(Str format);

// calendar_write writes a moment by a format that has no problem.
Str calendar_write(Arena *arena, const Moment *moment, Str format);
