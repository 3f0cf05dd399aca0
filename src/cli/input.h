// input.h - what a person hands in: a file, standard input, or JSON on the command line.
//
// Nothing larger than INPUT_BYTES_MAX is read. The functions that return an exit status have said
// on standard error what is wrong.
#pragma once

#include "base/json.h"
#include "base/str.h"

enum { INPUT_BYTES_MAX = 8 * 1024 * 1024 };

// input_file reads a file, or standard input for "-"; false where it cannot be read, with errno.
bool input_file(Arena *arena, const char *path, Str *ret);

// Input is a JSON document and its text as given.
typedef struct Input {
    Str text;
    const Json *json;
} Input;

// input_json_file reads the JSON in a file; input_json also takes JSON itself, @FILE, or - for
// standard input, as --data does.
int input_json_file(Arena *arena, const char *path, Input *ret);
int input_json(Arena *arena, const char *given, Input *ret);
