// settings.h - what a connection to PostgreSQL is set to: what Peal needs, beside what the store's
// URL asks for in its `options`. The URL's hold where Peal has no word of its own; one that Peal
// sets itself is refused, for whoever wrote it expects it to hold (search_path: the tables are in
// schema peal, whatever it says). What only makes it quicker, LZ4, gives way to whoever chose.
#pragma once

#include "base/arena.h"
#include "base/err.h"

#include <libpq-fe.h>

// settings_connect opens a connection that is set so; name is for whoever looks at the server's.
Err settings_connect(Arena *scratch, Str url, bool is_reader, Str name, PGconn **ret,
                     Error *error) MUST_USE;
