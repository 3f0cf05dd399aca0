// input.h - what a person hands in: a file, standard input, or JSON on the command line.
//
// Nothing larger than INPUT_BYTES_MAX is read into memory. The functions that return an exit status
// have said on standard error what is wrong.
#pragma once

#include "base/json.h"
#include "base/str.h"

enum { INPUT_BYTES_MAX = 32 << 20 }; // as much as a server takes at once

// input_file reads a file, or standard input for "-"; false where it cannot be read, with errno,
// which input_why puts into words.
bool input_file(Arena *arena, const char *path, Str *ret);
Str input_why(void);

// InputFile is one of any length, which is read as it is sent. input_open opens a file, or standard
// input for "-"; false, with errno, where it cannot. input_read is a Transfer's source.
typedef struct InputFile {
    int fd;
    int64_t bytes; // -1: as many as come
} InputFile;

bool input_open(const char *path, InputFile *ret);
ssize_t input_read(void *with, char *to, size_t max);
void input_close(InputFile *file);

// Input is a JSON document and its text as given.
typedef struct Input {
    Str text;
    const Json *json;
} Input;

// input_json_file reads the JSON in a file; input_json also takes JSON itself, @FILE, or - for
// standard input, as --data does.
int input_json_file(Arena *arena, const char *path, Input *ret);
int input_json(Arena *arena, const char *given, Input *ret);
