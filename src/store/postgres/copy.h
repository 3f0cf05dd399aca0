// copy.h - Peal's schema of a PostgreSQL database as an archive, by PostgreSQL's own pg_dump: what
// restores it is there wherever PostgreSQL is.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

// postgres_copy has pg_dump write the schema `peal` into the file at path, for pg_restore. What the
// URL says goes by the environment: a command line is there for everyone to read. What pg_dump has
// to say goes to standard error. ERR_SETUP: there is no pg_dump.
Err postgres_copy(Arena *scratch, Str url, const char *path, Error *error) MUST_USE;
