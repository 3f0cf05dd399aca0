// command.h - the command line as a table: words and options in, an exit status out.
//
// A Command is a row: what it is called, how it is used, which options it takes and what runs.
// Help, the check of options and "did you mean" are printed from the rows, so they cannot drift.
// Options are long (`--file F` or `--file=F`), except that -h is --help, -f is --file, -o is
// --output and -v is --verbose; `--` ends them.
//
// To add a command: write its row beside the function that runs it, declare the row in
// cli/commands.h and list it in command.c. A command with verbs (`triggers create`) has one more
// table, of CommandVerb, in place of its run function. Server-side commands are given by app/ as
// extra rows of the same kind. What a shell completes is printed from the same rows (completion.c).
#pragma once

#include "base/arena.h"
#include "base/base.h"

// The exit statuses of every command; base/err.h has the same numbers in its column `exit`.
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_INVALID = 2, // usage, or input that is wrong
    EXIT_NOT_FOUND = 3,
    EXIT_NOT_ALLOWED = 4,
    EXIT_CONFLICT = 5,
    EXIT_UNREACHABLE = 6, // or busy
};

typedef struct CommandOption {
    const char *name;  // without the dashes
    const char *value; // what stands for the value in help; NULL: a switch
    const char *help;
    bool is_single; // a second one is refused; of others the last one counts
} CommandOption;

typedef struct CommandArgs CommandArgs; // the words and options of one call, parsed and checked

// CommandVerb is one verb of a command: words and options are checked against its row. The first
// row is meant when there are no words.
typedef struct CommandVerb {
    const char *name;
    const char *what;    // the word that follows it, such as "ID"; NULL: none
    size_t min, max;     // how many of these words
    const char *options; // the options that make sense here, apart from --json --url --key
    int (*run)(CommandArgs *args);
} CommandVerb;

typedef struct Command {
    const char *name;
    const char *usage;             // behind "peal "; one line for each form
    const char *summary;           // one line, for the list of commands
    const char *details;           // more, with examples; may be NULL
    const CommandOption *options;  // ends with { 0 }; may be NULL
    const CommandVerb *verbs;      // ends with { 0 }; NULL: it has none …
    int (*run)(CommandArgs *args); // … but this; returns the exit status
} Command;

// command_main parses argv, runs the command it names and returns the exit status. The extra rows
// stand first in help and win over a row of the same name.
int command_main(int argc, char **argv, const Command *extra, size_t extra_count);

// args_option is the value of an option, or NULL when it was not given; args_flag tells whether a
// switch was. args_word counts from 0, behind the verb where there is one; NULL past the end.
const char *args_option(const CommandArgs *args, const char *name);
bool args_flag(const CommandArgs *args, const char *name);
const char *args_word(const CommandArgs *args, size_t index);
size_t args_count(const CommandArgs *args);
Arena *args_arena(const CommandArgs *args); // lives until the command has run
const Command *args_command(const CommandArgs *args);

// args_usage says on standard error how the command was misused, and returns EXIT_INVALID.
int args_usage(const CommandArgs *args, const char *format, ...) PRINTF(2, 3);

// args_expect is EXIT_DONE where there are min to max words, and otherwise complains and is
// EXIT_INVALID; what names a word that is missing.
int args_expect(const CommandArgs *args, const char *what, size_t min, size_t max);

// args_listed gives every command there is, in the order of help; NULL past the end.
const Command *args_listed(const CommandArgs *args, size_t index);

// verb_takes says whether an option makes sense with a verb.
bool verb_takes(const CommandVerb *verb, const char *option);

// command_nearest is the name most like word, for "did you mean"; NULL when none is near.
const char *command_nearest(const char *word, const char *const *names, size_t count);
