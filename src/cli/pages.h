// pages.h - a list of the server's, page after page, until there is as much as was asked for.
//
// A page may end before its limit ("complete" is false) because the server looked at as many rows
// as it does for one answer: the rest is asked for at its cursor. More than a page holds is asked
// for in pages. What is found is one list, as if one page had held it.
#pragma once

#include "cli/client.h"

typedef struct Pages {
    const Json **items;
    size_t count, room;
    Answer first; // the first page
    size_t read;  // pages
    Str next;     // the cursor behind what was read; none: nothing lies there
    bool is_cut;  // fewer than were asked for: too many pages were looked at
} Pages;

// pages_read asks for path with the client's options that are among the given names, and for as
// many rows as its --limit says, else wanted. member holds a page's rows. Failures are reported;
// returns the exit status.
int pages_read(const Client *client, Str path, const char *options, const char *member,
               size_t wanted, Pages *ret);

// pages_json prints what was read as one answer of the server's.
void pages_json(const Client *client, const Pages *pages, const char *member);

// pages_tell says on standard error that there is more, if there is.
void pages_tell(const Client *client, const Pages *pages);
