// gzip.h - opens what was compressed, up to a ceiling; gzip.c is the only file that knows zlib.
//
// A thousand bytes may hold a megabyte, and whoever sends them chose that: nothing is asked of the
// system beyond the ceiling.
#pragma once

#include "base/err.h"
#include "base/str.h"

// gzip_open gives what packed holds, one member or several behind each other. ERR_TOO_LARGE where
// that is more than max bytes, ERR_MALFORMED where it is cut short or none.
Err gzip_open(Arena *arena, Str packed, size_t max, Str *ret, Error *error) MUST_USE;
