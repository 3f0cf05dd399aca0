// site.h - the site on this machine, for commands that hand something over to it.
//
// A site is named by the path of its store, and is reached by its socket or, while it is down, its
// spool (libpeal). Where none is named, and no address of a Peal either, ./peal-site.db counts if
// it is there.
#pragma once

#include "cli/command.h"
#include "lib/peal.h"

#define SITE_DEFAULT "peal-site.db"
#define SITE_OPTION                                                                                \
    {                                                                                              \
        "site", "STORE",                                                                           \
            "the store of the site on this machine (PEAL_SITE; default ./" SITE_DEFAULT            \
            ", if it is there)"                                                                    \
    }

// site_of is the path of the site's store; NULL: central is meant.
const char *site_of(const CommandArgs *args);

// site_told says what went wrong, if anything did, and returns the exit status; errno must still be
// what the library left.
int site_told(const CommandArgs *args, PealResult result);

// site_print_id prints the id of what was handed over.
void site_print_id(const CommandArgs *args, const char *id);
