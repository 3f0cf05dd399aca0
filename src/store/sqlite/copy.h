// copy.h - a SQLite database as it stands, in another file, whoever uses it meanwhile. A copy of
// the file alone would lack what is in the WAL, and mix pages of different moments.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

// sqlite_copy copies the database of a URL into the file at path, which is there and empty. It
// reads by a connection of its own, in one transaction: writers go on, but until it ends the WAL
// cannot begin anew. It leaves no WAL beside the copy; whoever wants that durable syncs it.
Err sqlite_copy(Arena *scratch, Str url, const char *path, Error *error) MUST_USE;
