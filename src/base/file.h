// file.h - small files that are written whole or not at all, and files that are nobody else's.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

// file_put puts text in the place of the file at path, readable by its owner alone: whoever reads
// it, even after a loss of power, finds the old text or the new one. Folders that are missing are
// made.
Err file_put(Arena *scratch, Str path, Str text, Error *error) MUST_USE;

// file_get reads a small file, up to max bytes. What is not there, or may not be read, is none;
// what cannot be told now, as where no descriptor is left, is ERR_UNAVAILABLE: it says nothing
// about the file.
Err file_get(Arena *arena, Str path, size_t max, Str *ret, Error *error) MUST_USE;

// file_get_regular does so where a person names the file and nobody may wait for it: a pipe, a
// device or a folder is ERR_SETUP, and is not read.
Err file_get_regular(Arena *arena, Str path, size_t max, Str *ret, Error *error) MUST_USE;

// file_make_folders makes the folders in which path lies, where they are missing, for their owner
// alone. What cannot be made is noticed by whoever uses it.
void file_make_folders(Arena *scratch, Str path);

// file_sync_folder makes a new name in the folder of path as durable as what it names.
bool file_sync_folder(Arena *scratch, Str path);

// file_is_open says whether group or others may do anything with the file; false when there is
// none. file_tighten takes those rights away, and says so in the log.
bool file_is_open(const char *path);
void file_tighten(const char *path);
