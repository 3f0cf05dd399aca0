// backup.h - a copy of the whole store in a file, made while it is used or while it is not.
//
// A backup is consistent: it holds every transaction that was committed before it began, and none
// by half. It is there whole and synced, or not at all, readable by its owner alone; it never takes
// the place of another file. On SQLite it is a database, and it is held: whoever starts it anywhere
// sends nothing until it is released. On PostgreSQL it is an archive for pg_restore; what is
// restored from it is held because it is not the database that its nodes know (epoch.h).
//
// What is sealed stays sealed: the master key is not in it.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

// backup_write makes the file and says how many bytes it has. ERR_CONFLICT: there is one.
Err backup_write(Arena *scratch, Str url, Str path, Instant now, int64_t *ret_bytes,
                 Error *error) MUST_USE;
