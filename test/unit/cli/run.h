// run.h - runs `peal` inside the test and keeps what it printed.
#pragma once

#include "base/str.h"
#include "cli/command.h"

#include <unistd.h>

enum { RUN_WORDS_MAX = 24, RUN_TEXT_MAX = 64 * 1024 };

typedef struct Run {
    int exit;
    char out[RUN_TEXT_MAX]; // standard output
    char err[RUN_TEXT_MAX]; // standard error
} Run;

// run_begin points a stream at a new file; run_end points it back and reads what was written.
static inline int run_begin(FILE *stream, FILE **ret_file)
{
    fflush(stream);
    int saved = dup(fileno(stream));
    *ret_file = tmpfile();
    assert(saved >= 0 && *ret_file);
    dup2(fileno(*ret_file), fileno(stream));
    return saved;
}

static inline void run_end(FILE *stream, int saved, FILE *file, char text[RUN_TEXT_MAX])
{
    fflush(stream);
    dup2(saved, fileno(stream));
    close(saved);
    rewind(file);
    size_t len = fread(text, 1, RUN_TEXT_MAX - 1, file);
    text[len] = '\0';
    fclose(file);
}

// run_with splits line at blanks (a + inside a word stands for a blank) and runs it.
static inline void run_with(Run *run, const char *line, const Command *extra, size_t extra_count)
{
    DEFER(arena_done) Arena arena = { 0 };
    char *argv[RUN_WORDS_MAX + 1] = { 0 };
    int argc = 0;
    Str rest = str_from(line);
    while (rest.len > 0 && argc < RUN_WORDS_MAX) {
        Str word = str_cut(&rest, ' ');
        argv[argc] = arena_alloc(&arena, word.len + 1);
        for (size_t i = 0; i < word.len; i++)
            argv[argc][i] = word.at[i] == '+' ? ' ' : word.at[i];
        argc++;
    }
    FILE *out = NULL, *err = NULL;
    int saved_out = run_begin(stdout, &out), saved_err = run_begin(stderr, &err);
    run->exit = command_main(argc, argv, extra, extra_count);
    run_end(stderr, saved_err, err, run->err);
    run_end(stdout, saved_out, out, run->out);
}

static inline void run(Run *run, const char *line)
{
    run_with(run, line, NULL, 0);
}
