// exec.h - the operator's folder of commands: what an exec channel may run.
//
// Whoever can put a file there decides what Peal runs, so the folder and each of its files must not
// be everybody's to write. A command is named by its plain name; a link inside the folder is
// followed, one that leads out of it is not. The look is taken at every run: a file that has gone
// is told, and none is run for having been there once.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define EXEC_NAME_MAX 100 // characters of a command's name
enum {
    EXEC_WORDS_MAX = 64,       // the command and its arguments …
    EXEC_WORD_MAX = 4096,      // … and bytes of each
    EXEC_OUTPUT = 64 << 10,    // bytes kept of what it writes, unless said
    EXEC_OUTPUT_MAX = 1 << 20, // and at most
};
#define EXEC_TIMEOUT (10 * SPAN_MINUTE) // unless said
#define EXEC_TIMEOUT_MAX SPAN_DAY

// exec_folder_check fails where commands cannot be taken from a folder.
Err exec_folder_check(Arena *arena, Str folder, Error *error) MUST_USE;

// exec_find is the path of a command, free of links. It fails with a sentence that names the
// command and what is wrong with it; a folder of none has no commands.
Err exec_find(Arena *arena, Str folder, Str name, Str *ret, Error *error) MUST_USE;
