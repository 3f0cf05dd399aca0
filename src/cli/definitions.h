// definitions.h - the verbs that all kinds of definitions share on the command line: a command
// names them in its own table, and has a row of nouns[] (definitions.c).
#pragma once

#include "base/str.h"
#include "cli/command.h"

enum { DEFINITION_SETTINGS_MAX = 50 }; // NAME=VALUE, of one set

int noun_list(CommandArgs *args);
int noun_show(CommandArgs *args);
int noun_create(CommandArgs *args); // from --file
int noun_create_of(CommandArgs *args, Str body);
int noun_update(CommandArgs *args);
int noun_set(CommandArgs *args);
int noun_delete(CommandArgs *args);
int noun_versions(CommandArgs *args); // all of them, or one
int noun_drafts(CommandArgs *args);   // the same of a survey, whose versions are others

// NOUN_VERBS are their rows, for what is kept from a file; what names one, such as "an ID".
// clang-format off
#define NOUN_VERBS(what)                                                                           \
    { "list", NULL, 0, 0, "limit cursor", noun_list },                                             \
    { "show", what, 1, 1, "", noun_show },                                                         \
    { "create", NULL, 0, 0, "file", noun_create },                                                 \
    { "update", what, 1, 1, "file if-version", noun_update },                                      \
    { "set", what " and NAME=VALUE", 2, DEFINITION_SETTINGS_MAX + 1, "if-version", noun_set },     \
    { "delete", what, 1, 1, "", noun_delete }

// NOUN_VERSIONS is the row of their versions.
#define NOUN_VERSIONS(what) { "versions", what, 1, 2, "limit cursor", noun_versions }
// clang-format on
