#include "channels/exec.h"

#include "base/time.h"
#include "channels/channel.h"
#include "domain/run.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// One run of a command per attempt. It gets the body that an HTTP receiver gets on its standard
// input, and few variables; how it ends is the outcome, and what it wrote is kept with the attempt.
// Lines that tell of progress are told while it runs, and are not kept a second time.

enum {
    VARIABLES_MAX = 6,
    STATUS_PERMANENT = 100, // by which a command says that trying again cannot help
};

typedef struct ExecConfig {
    const Str *command;
    size_t command_count;
    Span timeout;
    int output_max;
} ExecConfig;

static void check(const Members *members, void *value);
static Err command(const Parcel *parcel, Process *ret, Error *error);
static Str progress(Str line);
static void judge_end(const Parcel *parcel, const ProcessResult *result);

// clang-format off
static const Field word = { NULL, FIELD_TEXT, FIELD_EMPTY, .max = EXEC_WORD_MAX };
#define AT(member) .offset = offsetof(ExecConfig, member)
static const Field fields[] = {
    { "command", FIELD_LIST, FIELD_NEEDED | FIELD_ALONE, AT(command), .count = offsetof(ExecConfig, command_count),
      .min = 1, .max = EXEC_WORDS_MAX, .of = &word,
      .help = "the name of a file in the operator's --exec-dir, and its arguments" },
    { "timeout", FIELD_SPAN, AT(timeout), .min = SPAN_SECOND, .max = EXEC_TIMEOUT_MAX,
      .help = "of one run; the channel's, else 10m, unless said" },
    { "outputMax", FIELD_INT, AT(output_max), .min = 0, .max = EXEC_OUTPUT_MAX,
      .help = "bytes kept of what it writes, the last of it; 64 KiB unless said" },
};
// clang-format on

static const Shape config_shape = {
    "ExecConfig",   SHAPE_ROWS(fields), .size = sizeof(ExecConfig), .invalid = ERR_CHANNEL_INVALID,
    .check = check,
};

const ChannelType channel_exec = {
    .type = "exec",
    .carrier = CARRIER_PROCESS,
    .parcel_max = 1,
    .timeout = EXEC_TIMEOUT,
    .config = &config_shape,
    .command = command,
    .progress = progress,
    .judge_end = judge_end,
};

// name_problem: a plain name cannot lead anywhere, nor be taken for an option.
static const char *name_problem(Str name)
{
    if (name.len == 0 || name.len > EXEC_NAME_MAX)
        return "must have 1 to " MACRO_TEXT(EXEC_NAME_MAX) " characters";
    if (name.at[0] == '.' || name.at[0] == '-')
        return "must not begin with a dot or a hyphen";
    if (!field_is_key(name))
        return "must be the plain name of a file: letters, digits and . _ : -";
    return NULL;
}

static void check(const Members *members, void *value)
{
    const ExecConfig *config = value;
    if (!config || config->command_count == 0)
        return; // its row has complained
    const char *problem = name_problem(config->command[0]);
    if (problem)
        members_note(members, S("command"), "bad-command", "the name %s", problem);
}

// mode_problem: what others may write, others decide about.
static const char *mode_problem(const struct stat *info)
{
    return info->st_mode & S_IWOTH ? "everybody may write it" : NULL;
}

Err exec_folder_check(Arena *arena, Str folder, Error *error)
{
    struct stat info;
    if (stat(str_z(arena, folder), &info) != 0)
        return fail(error, ERR_SETUP, "--exec-dir %.*s: %m", STR_ARG(folder));
    if (!S_ISDIR(info.st_mode))
        return fail(error, ERR_SETUP, "--exec-dir %.*s is no folder", STR_ARG(folder));
    const char *problem = mode_problem(&info);
    if (problem)
        return fail(error, ERR_SETUP, "--exec-dir %.*s: %s", STR_ARG(folder), problem);
    return ERR_OK;
}

// file_problem looks at a command that was found; NULL: it can be run.
static const char *file_problem(const char *path, Str folder)
{
    struct stat info;
    size_t len = folder.len;
    if (strncmp(path, folder.at, len) != 0 || path[len] != '/')
        return "it leads out of --exec-dir";
    if (stat(path, &info) != 0)
        return strerrordesc_np(errno);
    if (!S_ISREG(info.st_mode))
        return "it is no file";
    if (access(path, X_OK) != 0)
        return "it is not executable";
    return mode_problem(&info);
}

Err exec_find(Arena *arena, Str folder, Str name, Str *ret, Error *error)
{
    char top[PATH_MAX], path[PATH_MAX];
    const char *problem = name_problem(name);
    if (problem)
        return fail(error, ERR_CHANNEL_INVALID, "the command's name %s", problem);
    if (!folder.at)
        return fail(error, ERR_CHANNEL_INVALID,
                    "commands are run only where the operator names their folder by --exec-dir");
    Str wanted = STR_JOIN(arena, folder, S("/"), name);
    if (!realpath(str_z(arena, folder), top) || !realpath(str_z(arena, wanted), path))
        return fail(error, ERR_CHANNEL_INVALID, "the command %.*s is not in --exec-dir: %m",
                    STR_ARG(name));
    problem = file_problem(path, str_from(top));
    if (problem)
        return fail(error, ERR_CHANNEL_INVALID, "the command %.*s cannot be run: %s", STR_ARG(name),
                    problem);
    *ret = str_dup(arena, str_from(path));
    return ERR_OK;
}

// Environment is all that a command gets of variables.
typedef struct Environment {
    Variable *rows;
    size_t count;
} Environment;

static void set(Environment *environment, Str name, Str value)
{
    assert(environment->count < VARIABLES_MAX);
    if (value.at)
        environment->rows[environment->count++] = (Variable){ name, value };
}

static Environment environment_of(const Parcel *parcel)
{
    Arena *arena = parcel->arena;
    const Message *message = parcel->messages;
    char started[TIME_TEXT_MAX];
    Environment environment = { ARENA_ARRAY(arena, Variable, VARIABLES_MAX), 0 };
    set(&environment, S("PATH"), S("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    set(&environment, S("PEAL_JOB"), message_is_run(message) ? message_runs(message) : STR_NONE);
    set(&environment, S("PEAL_ENTITY"), message->promise.entity);
    set(&environment, S("PEAL_EXECUTION_ID"),
        run_execution_id(arena, message->promise.id, message->attempt));
    set(&environment, S("PEAL_ATTEMPT"), str_i64(arena, message->attempt));
    set(&environment, S("PEAL_STARTED_AT"), str_dup(arena, time_text(parcel->now, started)));
    return environment;
}

static Err command(const Parcel *parcel, Process *ret, Error *error)
{
    Arena *arena = parcel->arena;
    Error ignored = { 0 }; // what was saved was checked
    ExecConfig config = { .output_max = EXEC_OUTPUT };
    fields_note(arena, parcel->config, S(""), &config_shape, &config, &ignored);
    if (config.command_count == 0)
        return fail(error, ERR_CHANNEL_INVALID, "the channel names no command");
    Str *arguments = arena_copy(arena, config.command, config.command_count * sizeof(Str));
    TRY(exec_find(arena, parcel->exec_folder, arguments[0], &arguments[0], error));
    Environment environment = environment_of(parcel);
    *ret = (Process){
        .arguments = arguments,
        .argument_count = config.command_count,
        .environment = environment.rows,
        .variable_count = environment.count,
        .directory = parcel->exec_folder,
        .input = message_json(arena, parcel->messages),
        .timeout = config.timeout,
        .output_max = (size_t) config.output_max,
    };
    return ERR_OK;
}

static const Str progress_mark = S("progress:");

static Str progress(Str line)
{
    return str_starts(line, progress_mark) ? str_skip(line, progress_mark.len) : STR_NONE;
}

// add_lines adds what a command wrote, but for its progress. Of what was cut, the line that lost
// its beginning goes where whole ones follow.
static void add_lines(Buf *buf, Str text, const ProcessResult *result)
{
    Str rest = text;
    if (result->was_cut && text.len == result->output_max && str_cut(&rest, '\n').at &&
        rest.len > 0)
        text = rest;
    while (text.len > 0) {
        Str line = str_cut(&text, '\n');
        if (str_starts(line, progress_mark))
            continue;
        if (str_ends(line, S("\r")))
            line.len--;
        buf_add(buf, line);
        buf_add_char(buf, '\n');
    }
}

// tail_of is the end of a text, from the beginning of a character on, without empty lines around
// it.
static Str tail_of(Str text, size_t max)
{
    while (text.len > 0 && text.at[text.len - 1] == '\n')
        text.len--;
    if (text.len > max)
        text = str_skip(text, text.len - max);
    while (text.len > 0 && (str_utf8_len(text) == 0 || text.at[0] == '\n'))
        text = str_skip(text, 1);
    return text;
}

// written is what a command wrote, as clean text: its output, then its errors.
static Str written(Arena *arena, const ProcessResult *result)
{
    Buf raw = buf_new(arena, BUF_WHOLE);
    add_lines(&raw, result->output, result);
    add_lines(&raw, result->errors, result);
    Str text = tail_of(judge_lines(arena, buf_str(&raw), BUF_WHOLE), result->output_max);
    return text.len > 0 ? text : STR_NONE;
}

static Outcome judge_exit(int status)
{
    if (status == 0)
        return (Outcome){ .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED };
    bool is_permanent = status == STATUS_PERMANENT;
    return (Outcome){ .verdict = is_permanent ? VERDICT_PERMANENT : VERDICT_TRANSIENT,
                      .reason = is_permanent ? REASON_REFUSED : REASON_UNWELL,
                      .code = status };
}

static Outcome outcome_of(const ProcessResult *result)
{
    switch (result->end) {
    case PROCESS_EXITED:
        return judge_exit(result->status);
    case PROCESS_SIGNALLED:
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL };
    case PROCESS_TIMED_OUT:
    case PROCESS_STOPPED:
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_NO_ANSWER };
    case PROCESS_REFUSED:
        return (Outcome){ .verdict = VERDICT_PERMANENT, .reason = REASON_BAD_REQUEST };
    case PROCESS_NOT_TRIED: // is given back
        break;
    }
    assert(!"this is no outcome of an attempt");
}

// sentence_of says how it ended where that was not well; none.
static Str sentence_of(Arena *arena, const ProcessResult *result)
{
    if (result->end != PROCESS_EXITED)
        return judge_detail(arena, result->problem_text);
    if (result->status == 0)
        return STR_NONE;
    return str_format(arena, "it exited with %d", result->status);
}

static void judge_end(const Parcel *parcel, const ProcessResult *result)
{
    Arena *arena = parcel->arena;
    Outcome outcome = outcome_of(result);
    Str sentence = sentence_of(arena, result), text = written(arena, result);
    outcome.detail = text;
    if (sentence.at)
        outcome.detail = text.at ? STR_JOIN(arena, sentence, S("\n"), text) : sentence;
    parcel_judge(parcel, &outcome);
}
