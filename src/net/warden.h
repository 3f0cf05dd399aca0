// warden.h - ends the programs of a Peal that was killed.
//
// A process that is killed can end nobody, and what the kernel offers for it (PR_SET_PDEATHSIG)
// goes by threads and reaches no grandchildren. So a second process stands by. It holds one end of
// a pipe, is told of every process group that begins and that is over, and does nothing: until the
// other end is closed, which the kernel does whatever became of Peal. Then it kills the groups that
// are left, and ends. An orderly stop has left none.
//
// It is forked, so there must be no other thread yet, and no master key in memory. It takes no
// signal but SIGKILL; where somebody ends it, or there was no process to be had, programs run all
// the same, and the service manager is left to end them. A group that began in the instant in which
// Peal was killed, before it was told of, is not known to it.
#pragma once

#include "base/base.h"

#include <sys/types.h>

typedef struct Warden {
    int fd;    // to tell it
    pid_t pid; // 0: there is none
} Warden;

Warden warden_open(void);
void warden_close(Warden *warden); // and kills the groups that it still knows of

// warden_begins tells of a group, warden_ends that its number may be another's from now on. warden
// may be NULL.
void warden_begins(Warden *warden, pid_t group);
void warden_ends(Warden *warden, pid_t group);
