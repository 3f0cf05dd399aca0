// private.h - a Peal to test definitions with: nobody else's, and without a way out.
//
// It is `peal dev` (every channel captures, nothing is polled) that reaches nothing at all: table
// sources are not read, and what a definition names on a machine, a command or a file, need not be
// there. It is set up by what it is given and by nothing else: no file, no variable, no default of
// an installation has a say in it, so that no store but its own can ever be opened. That store goes
// with it, so that nothing is synced for it.
#pragma once

#include "cli/stage.h"

// private_serve is a StageServe (cli/stage.h).
int private_serve(Arena *arena, const StageSetup *setup);
