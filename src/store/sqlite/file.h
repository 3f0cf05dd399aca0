// file.h - the database's file as the system sees it: whose it is, who uses it, whether it is still
// there.
//
// The file is made, and kept, readable by its owner alone; SQLite gives the WAL and its index the
// same rights. One process at a time may write to it: the lock is on the file itself, by flock(),
// so that it is found by every name the file has: a symbolic link, a hard link, a bind mount. It is
// no matter of SQLite's own locks, which are POSIX locks.
//
// Those have one trap, for which connections are counted here: when a process closes any descriptor
// of a file, all its POSIX locks on that file are gone, SQLite's too. So the descriptor that holds
// the lock is opened before the first connection and closed after the last.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

typedef struct StoreFile StoreFile;

// store_file_open counts one more connection to the file. A writer makes the file where it is
// missing and locks it: ERR_CONFLICT where another Peal, or another connection of this one, has.
Err store_file_open(Arena *scratch, Str path, bool is_writer, StoreFile **ret,
                    Error *error) MUST_USE;
void store_file_close(StoreFile *file, bool is_writer); // harmless for NULL

// A WAL begins anew only at a moment when nobody reads from it. Where readers always overlap, there
// is none, and it grows. store_file_pause() makes one: reads that are under way end, new ones wait
// in store_file_enter(), and store_file_resume() lets them go on.
//
// store_file_enter returns ERR_BUSY where it waited for too long. store_file_pause waits for a
// moment only, so that writes go on beside a long read; true: nobody reads now.
Err store_file_enter(StoreFile *file, Error *error) MUST_USE;
void store_file_leave(StoreFile *file);
bool store_file_pause(StoreFile *file);
void store_file_resume(StoreFile *file);

// FileMark remembers which file stood at a path; zero: none was seen yet.
typedef struct FileMark {
    uint64_t device, inode;
    int64_t bytes; // as last seen
} FileMark;

// file_mark_holds is false where another file is in the place of the one that was seen there, or
// none. The first that it sees, it remembers.
bool file_mark_holds(FileMark *mark, const char *path);
