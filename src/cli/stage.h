// stage.h - a Peal of its own for one scenario: a process, a folder and a port that nobody else
// has.
//
// The process is a child of this one, and is given nothing of the user's: its environment is empty
// but for where time zones lie, its working folder, temporary files and store are in a new folder
// below TMPDIR, and it listens on a free port of this machine with a key that is made for it. What
// it runs is app/'s matter (StageServe). It dies with this process, whatever that dies of. Whoever
// stops this one (Ctrl-C, a closed terminal, a time limit of CI) stops the child first: then the
// call that waits for it fails, and all goes the way of any failure, which leaves nothing behind.
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <sys/types.h>

// StageSetup is what a stage's Peal is to be.
typedef struct StageSetup {
    Str folder;   // all that it may write to
    Str key;      // with every right
    Instant from; // where its clock stands
} StageSetup;

// StageServe runs a Peal until it is killed; it prints "listening on URL" once it is ready.
typedef int StageServe(Arena *arena, const StageSetup *setup);

typedef struct Stage {
    StageSetup setup;
    pid_t process; // 0: none
    int alive;     // is hung up when it has ended
    Str url;
} Stage;

// stage_watch has the signals that end a program end the stage first. stage_stopped is the signal
// that came; 0: none. stage_unwatch gives them back.
void stage_watch(void);
int stage_stopped(void);
void stage_unwatch(void);

// stage_open starts a Peal; an exit status, and what is wrong was told. What was begun is to be
// closed in either case.
int stage_open(Arena *arena, StageServe *serve, Instant from, Stage *ret);

// stage_close ends it and removes its folder.
void stage_close(Stage *stage);

// stage_tell_end tells how a stage's Peal ended and what it had said, where it has ended by itself;
// false: it has not.
bool stage_tell_end(Arena *arena, Stage *stage);
