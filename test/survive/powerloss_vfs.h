// powerloss_vfs.h - a disk in memory whose power can be cut: SQLite's VFS "powerloss".
//
// Every file has two images: the view, which is what the program reads, and the disk, which is what
// was synced. A write changes the view; a sync copies what changed since the last one. When the
// power is cut, what is on the disk is the synced image plus whatever of the unsynced 512-byte
// sectors happened to get there: kept, dropped, or torn, by chance. An unsynced change of size, a
// new file that was never synced and a deletion that was not synced may be lost as well. Bytes that
// an unsynced write did not touch are never harmed, as SQLite's powersafe overwrite assumes.
//
// A sync can be made to fail once. As on Linux, the pages count as clean afterwards although some
// of them never reached the disk: a later sync will not write them again.
//
// One thread. Several connections may have a file open as long as only one is inside a transaction
// at a time: locks always succeed, but for the one by which SQLite finds out that it is the last to
// close. Files are known by their last name alone, in whatever folder they are said to be, so that
// several nodes can each have a folder, and a lock file, of their own.
#pragma once

#include "base/base.h"

typedef enum PowerlossCall {
    POWERLOSS_WRITE,
    POWERLOSS_SYNC,
    POWERLOSS_TRUNCATE,
    POWERLOSS_DELETE,
} PowerlossCall;

// What becomes of a sector that was written and not synced.
typedef enum PowerlossFate {
    POWERLOSS_DROP,   // none of them reached the disk
    POWERLOSS_KEEP,   // all of them did: a process that was killed
    POWERLOSS_CHANCE, // each by itself, some of them torn
} PowerlossFate;

void powerloss_register(void);

// powerloss_watch has watch called before every call that changes a file, with its number from 1.
void powerloss_watch(void (*watch)(long number, PowerlossCall call, const char *file));

// powerloss_cut cuts the power: from now on every call fails with an I/O error.
void powerloss_cut(void);

// powerloss_save writes what would be on the disk into real files in this folder.
void powerloss_save(const char *folder, PowerlossFate fate, uint64_t seed);

// powerloss_restore turns the power on again: what is on the disk is what everybody sees.
void powerloss_restore(PowerlossFate fate, uint64_t seed);

// powerloss_fail_sync makes the next sync of a file whose name ends so fail with this errno.
void powerloss_fail_sync(const char *suffix, int number);

// powerloss_forget empties the disk and starts counting anew.
void powerloss_forget(void);
