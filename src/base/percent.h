// percent.h - percent-encoding undone: of a path, of a query, of a form. buf_add_percent() writes
// it.
#pragma once

#include "base/str.h"

// percent_decode is false for a broken escape, and for what is not UTF-8 without NUL bytes. In
// queries and forms a plus is a blank.
bool percent_decode(Arena *arena, Str s, bool plus_is_blank, Str *ret) MUST_USE;
