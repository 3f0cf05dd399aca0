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
