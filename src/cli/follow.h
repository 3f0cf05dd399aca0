// follow.h - a stream of the server's (docs/stream.md), frame by frame, until somebody has enough.
//
// A connection that ends is made again, and goes on behind the last frame that was told: no frame
// is told twice and none is left out, unless the server says so. Ctrl-C ends the program, and well:
// every line that was printed stands.
#pragma once

#include "cli/client.h"

typedef struct Followed {
    Str event;        // event, delivery, gap …
    const Json *data; // NULL: it is no JSON
    Str text;         // of the data, as it came
} Followed;

// FollowTold is told each frame; false ends it. client->arena is emptied before the next.
typedef bool FollowTold(void *with, Client *client, const Followed *frame);

// follow_run follows path, which has its query. It returns where somebody has enough, where the
// server refuses it, or where it cannot be reached the first time; failures are reported.
int follow_run(const CommandArgs *args, Str path, FollowTold *told, void *with);

// follow_lines prints each frame of the kind in a line, as JSON with --json; columns are of its
// data. Where the option `only` was given, its member of that name must say the same.
int follow_lines(const CommandArgs *args, const char *kind, const char *only, const Column *columns,
                 size_t count);
