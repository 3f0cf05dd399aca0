// settings.h - what a connection to PostgreSQL is set to: what Peal needs, beside what the store's
// URL asks for in its `options`. The URL's hold where Peal has no word of its own; one that Peal
// sets itself is refused, for whoever wrote it expects it to hold (search_path: the tables are in
// schema peal, whatever it says).
#pragma once

#include "base/arena.h"
#include "base/err.h"

// settings_for returns the value of libpq's `options` for a connection.
Err settings_for(Arena *arena, const char *url, bool is_reader, const char **ret,
                 Error *error) MUST_USE;
