#include "net/process.h"

#include "base/log.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

// The process is not reaped before the very end: as long as it is a zombie its number, which is its
// group's too, is nobody else's, so that the group can be signalled without hitting a stranger.

enum {
    READ_BYTES = 16 * 1024,
    TURN_BYTES_MAX = 64 * 1024,    // read of one stream before others have their turn
    DRAIN_BYTES_MAX = 1024 * 1024, // read of one stream after the end: what a pipe holds at most
};

#define TIMEOUT_DEFAULT SPAN_MINUTE
#define POLL_SPAN (50 * SPAN_MILLISECOND)
#define FREE_PATIENCE_MS 1000

typedef struct Stream {
    int fd;          // -1: closed
    Buf kept;        // at least the last output_max bytes, and up to twice as many
    size_t kept_max; // output_max
    bool was_cut;
    ProcessLine *line; // NULL: nobody is told
    size_t line_len;
    char line_text[PROCESS_LINE_MAX]; // of the line that is not whole yet
} Stream;

typedef struct Child {
    Processes *processes;
    struct Child *prev, *next;
    Arena arena;
    ProcessDone *done;
    void *with;
    pid_t pid;    // 0: it was not started
    int pid_fd;   // -1: there is none, and it has to be asked for
    int input_fd; // -1: closed
    Str input;    // what is left of it
    Stream output, errors;
    Timer timer;
    Instant started_at;
    Instant deadline; // of the next signal
    Span timeout;
    ProcessEnd asked; // why it was asked to end; PROCESS_EXITED: it was not
    ProcessResult result;
} Child;

struct Processes {
    Loop *loop;
    Warden *warden; // NULL: there is none
    Child *children;
    size_t running, running_max;
};

static void close_fd(Child *child, int *fd)
{
    if (*fd < 0)
        return;
    loop_unwatch(child->processes->loop, *fd);
    close(*fd);
    *fd = -1;
}

static void close_all(Child *child)
{
    close_fd(child, &child->input_fd);
    close_fd(child, &child->output.fd);
    close_fd(child, &child->errors.fd);
    close_fd(child, &child->pid_fd);
}

static void child_free(Child *child)
{
    close_all(child);
    loop_cancel(child->processes->loop, &child->timer);
    if (child->prev)
        child->prev->next = child->next;
    else
        child->processes->children = child->next;
    if (child->next)
        child->next->prev = child->prev;
    buf_done(&child->output.kept);
    buf_done(&child->errors.kept);
    arena_done(&child->arena);
    free(child);
}

static void signal_group(const Child *child, int number)
{
    assert(child->pid > 1);
    kill(-child->pid, number);
}

// last_of is the end of what a stream brought.
static Str last_of(const Stream *stream)
{
    Str kept = buf_str(&stream->kept);
    return kept.len > stream->kept_max ? str_skip(kept, kept.len - stream->kept_max) : kept;
}

static void tell(void *with)
{
    Child *child = with;
    Processes *processes = child->processes;
    ProcessResult *result = &child->result;
    result->output = last_of(&child->output);
    result->errors = last_of(&child->errors);
    result->was_cut = child->output.was_cut || child->errors.was_cut;
    result->output_max = child->output.kept_max;
    result->took = loop_now(processes->loop) - child->started_at;
    processes->running--;
    child->done(child->with, result);
    child_free(child);
    loop_return(processes->loop);
}

static void tell_line(const Child *child, Stream *stream)
{
    size_t len = stream->line_len;
    stream->line_len = 0;
    stream->line(child->with, (Str){ stream->line_text, len });
}

static void split_lines(const Child *child, Stream *stream, Str text)
{
    while (text.len > 0) {
        const char *end = memchr(text.at, '\n', text.len);
        size_t len = end ? (size_t) (end - text.at) : text.len;
        size_t room = PROCESS_LINE_MAX - stream->line_len, taken = len < room ? len : room;
        memcpy(stream->line_text + stream->line_len, text.at, taken);
        stream->line_len += taken;
        text = str_skip(text, end ? len + 1 : len);
        if (end)
            tell_line(child, stream);
    }
}

// keep adds to the end. What is too old goes when the room is full, so that each byte is moved once
// at most.
static void keep(Stream *stream, Str text)
{
    Buf *kept = &stream->kept;
    size_t max = stream->kept_max;
    stream->was_cut |= kept->len + text.len > max;
    if (text.len > max)
        text = str_skip(text, text.len - max);
    if (kept->len + text.len > kept->max) {
        size_t left = max - text.len;
        memmove(kept->at, kept->at + kept->len - left, left);
        kept->len = left;
    }
    buf_add(kept, text);
}

static void take(const Child *child, Stream *stream, Str text)
{
    keep(stream, text);
    if (stream->line)
        split_lines(child, stream, text);
}

// read_stream reads what is there, up to about max bytes.
static void read_stream(Child *child, Stream *stream, size_t max)
{
    char bytes[READ_BYTES];
    for (size_t got = 0; got < max && stream->fd >= 0;) {
        ssize_t count = read(stream->fd, bytes, sizeof bytes);
        if (count > 0) {
            got += (size_t) count;
            take(child, stream, (Str){ bytes, (size_t) count });
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_fd(child, &stream->fd);
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void output_ready(void *with, int fd, unsigned events)
{
    Child *child = with;
    (void) events;
    read_stream(child, fd == child->output.fd ? &child->output : &child->errors, TURN_BYTES_MAX);
}

static void input_ready(void *with, int fd, unsigned events);

// feed writes what the pipe takes. One that reads no more has all that it wants.
static void feed(Child *child)
{
    while (child->input.len > 0) {
        ssize_t count = write(child->input_fd, child->input.at, child->input.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN) {
            loop_watch(child->processes->loop, child->input_fd, LOOP_OUT, input_ready, child);
            return;
        }
        child->input = count < 0 ? STR_NONE : str_skip(child->input, (size_t) count);
    }
    close_fd(child, &child->input_fd);
}

static void input_ready(void *with, int fd, unsigned events)
{
    (void) fd, (void) events;
    feed(with);
}

// has_ended looks without reaping. It is over, too, where somebody else in this process has reaped
// it: then there is nothing to tell (si_pid is 0), and its number may be a stranger's.
static bool has_ended(const Child *child, siginfo_t *ret)
{
    *ret = (siginfo_t){ 0 };
    int failed = waitid(P_PID, (id_t) child->pid, ret, WEXITED | WNOHANG | WNOWAIT);
    return failed || ret->si_pid == child->pid;
}

static void describe_end(Child *child, const siginfo_t *info)
{
    ProcessResult *result = &child->result;
    bool has_exited = info->si_code == CLD_EXITED;
    result->end = has_exited ? PROCESS_EXITED : PROCESS_SIGNALLED;
    result->status = has_exited ? info->si_status : 0;
    result->signal = has_exited ? 0 : info->si_status;
    if (child->asked == PROCESS_STOPPED) {
        result->end = PROCESS_STOPPED;
        result->problem_text = S("Peal was stopped while it ran");
    } else if (child->asked == PROCESS_TIMED_OUT) {
        result->end = PROCESS_TIMED_OUT;
        result->problem_text = str_format(&child->arena, "it did not end within %.*s",
                                          STR_ARG(duration_text(&child->arena, child->timeout)));
    } else if (result->signal) {
        const char *name = sigdescr_np(result->signal);
        result->problem_text = str_format(&child->arena, "signal %d ended it: %s", result->signal,
                                          name ? name : "unknown");
    } else if (!has_exited) {
        result->problem_text = S("nobody knows how it ended");
    }
}

// clear_away kills whatever is left of the group, and gives its number back.
static void clear_away(Child *child)
{
    siginfo_t info;
    signal_group(child, SIGKILL);
    warden_ends(child->processes->warden, child->pid);
    waitid(P_PID, (id_t) child->pid, &info, WEXITED | WNOHANG);
}

static void finish(Child *child, const siginfo_t *info)
{
    if (info->si_pid)
        clear_away(child);
    child->pid = 0;
    read_stream(child, &child->output, DRAIN_BYTES_MAX);
    read_stream(child, &child->errors, DRAIN_BYTES_MAX);
    if (child->output.line_len > 0)
        tell_line(child, &child->output);
    describe_end(child, info);
    tell(child);
}

static void pid_ready(void *with, int fd, unsigned events)
{
    siginfo_t info;
    (void) fd, (void) events;
    if (has_ended(with, &info))
        finish(with, &info);
}

// press asks the group to end, and when it was asked before, makes it.
static void press(Child *child, ProcessEnd why)
{
    bool was_asked = child->asked != PROCESS_EXITED;
    signal_group(child, was_asked ? SIGKILL : SIGTERM);
    child->asked = was_asked ? child->asked : why;
    child->deadline = loop_now(child->processes->loop) + PROCESS_GRACE;
}

// step comes at each deadline. It also looks by itself whether the process has ended, for the
// machine may have had no descriptor left to tell it.
static void step(void *with)
{
    Child *child = with;
    Loop *loop = child->processes->loop;
    Instant now = loop_now(loop);
    siginfo_t info;
    if (has_ended(child, &info)) {
        finish(child, &info);
        return;
    }
    if (now >= child->deadline)
        press(child, PROCESS_TIMED_OUT);
    Instant next = child->pid_fd < 0 ? earlier(child->deadline, now + POLL_SPAN) : child->deadline;
    loop_at(loop, &child->timer, next, step, child);
}

static bool has_nul(Str text)
{
    return text.len > 0 && memchr(text.at, '\0', text.len);
}

static const char *find_problem(const Process *process)
{
    if (process->argument_count == 0 || !str_starts(process->arguments[0], S("/")))
        return "the program must be named by its absolute path";
    if (has_nul(process->directory))
        return "the directory has a NUL byte";
    for (size_t i = 0; i < process->argument_count; i++)
        if (has_nul(process->arguments[i]))
            return "an argument has a NUL byte";
    for (size_t i = 0; i < process->variable_count; i++) {
        const Variable *variable = &process->environment[i];
        if (variable->name.len == 0 || has_nul(variable->name) || has_nul(variable->value) ||
            str_contains(variable->name, S("=")))
            return "a variable of the environment cannot be set: its name is empty or has a =, or "
                   "there is a NUL byte";
    }
    return NULL;
}

// is_passing tells what says something about this moment and machine, and nothing about the
// program. A file that is being written may be whole at the next try.
static bool is_passing(int number)
{
    return number == EMFILE || number == ENFILE || number == EAGAIN || number == ENOMEM ||
           number == ETXTBSY;
}

static void fail_start(Child *child, Str what, int number)
{
    child->result.end = is_passing(number) ? PROCESS_NOT_TRIED : PROCESS_REFUSED;
    child->result.problem_text =
        str_format(&child->arena, "%.*s: %s", STR_ARG(what), strerrordesc_np(number));
}

// Ends are the descriptors that the process gets; -1: not open.
typedef struct Ends {
    int input, output, errors, directory;
} Ends;

static void close_ends(Ends *ends)
{
    int *const fds[] = { &ends->input, &ends->output, &ends->errors, &ends->directory };
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
}

static bool open_pipe(int *ret_read, int *ret_write)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    *ret_read = fds[0];
    *ret_write = fds[1];
    return true;
}

// open_ends sets both sides of each pipe; only ours must never block.
static bool open_ends(Child *child, Ends *ends)
{
    return open_pipe(&ends->input, &child->input_fd) &&
           open_pipe(&child->output.fd, &ends->output) &&
           open_pipe(&child->errors.fd, &ends->errors) &&
           fcntl(child->input_fd, F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(child->output.fd, F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(child->errors.fd, F_SETFL, O_NONBLOCK) == 0;
}

// spawn returns an error number; 0 for none.
static int spawn(Child *child, const Ends *ends, char *const *arguments, char *const *environment)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failed = posix_spawn_file_actions_init(&actions);
    failed |= posix_spawn_file_actions_adddup2(&actions, ends->input, 0);
    failed |= posix_spawn_file_actions_adddup2(&actions, ends->output, 1);
    failed |= posix_spawn_file_actions_adddup2(&actions, ends->errors, 2);
    failed |= posix_spawn_file_actions_addfchdir_np(&actions, ends->directory);
    failed |= posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    assert(!failed); // they fail for want of memory only
    failed = posix_spawn(&child->pid, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed)
        child->pid = 0;
    return failed;
}

// pointers makes what execve() wants of texts.
static char **pointers(Arena *arena, const Str *texts, size_t count)
{
    char **list = ARENA_ARRAY(arena, char *, count + 1);
    for (size_t i = 0; i < count; i++)
        list[i] = (char *) (uintptr_t) str_z(arena, texts[i]);
    return list;
}

static char **variables(Arena *arena, const Process *process)
{
    Str *texts = ARENA_ARRAY(arena, Str, process->variable_count);
    for (size_t i = 0; i < process->variable_count; i++)
        texts[i] = str_format(arena, "%.*s=%.*s", STR_ARG(process->environment[i].name),
                              STR_ARG(process->environment[i].value));
    return pointers(arena, texts, process->variable_count);
}

// launch starts the program, or leaves in the result why it could not.
static void launch(Child *child, const Process *process)
{
    Arena *arena = &child->arena;
    Ends ends = { -1, -1, -1, -1 };
    Str directory = process->directory.at ? process->directory : S("/");
    ends.directory = open(str_z(arena, directory), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (ends.directory < 0) {
        fail_start(child, directory, errno);
    } else if (!open_ends(child, &ends)) {
        fail_start(child, S("its pipes"), errno);
    } else {
        int failed =
            spawn(child, &ends, pointers(arena, process->arguments, process->argument_count),
                  variables(arena, process));
        if (failed)
            fail_start(child, process->arguments[0], failed);
    }
    close_ends(&ends);
}

// follow watches a program that was started.
static void follow(Child *child)
{
    Loop *loop = child->processes->loop;
    warden_begins(child->processes->warden, child->pid);
    child->pid_fd = pidfd_open(child->pid, 0);
    if (child->pid_fd >= 0)
        loop_watch(loop, child->pid_fd, LOOP_IN, pid_ready, child);
    else
        log_warn("process.pidfd", "errno=%d", errno);
    loop_watch(loop, child->output.fd, LOOP_IN, output_ready, child);
    loop_watch(loop, child->errors.fd, LOOP_IN, output_ready, child);
    child->deadline = child->started_at + child->timeout;
    loop_at(loop, &child->timer, child->pid_fd < 0 ? child->started_at : child->deadline, step,
            child);
    feed(child);
}

static Child *child_new(Processes *processes, const Process *process)
{
    Child *child = memory_new(sizeof *child);
    child->processes = processes;
    child->next = processes->children;
    if (child->next)
        child->next->prev = child;
    processes->children = child;
    child->pid_fd = child->input_fd = child->output.fd = child->errors.fd = -1;
    child->output.kept_max = child->errors.kept_max = process->output_max;
    child->output.kept = buf_new(NULL, 2 * process->output_max);
    child->errors.kept = buf_new(NULL, 2 * process->output_max);
    child->output.line = process->line;
    child->input = str_dup(&child->arena, process->input);
    child->timeout = process->timeout > 0 ? process->timeout : TIMEOUT_DEFAULT;
    child->started_at = loop_now(processes->loop);
    return child;
}

void processes_start(Processes *processes, const Process *process, ProcessDone *done, void *with)
{
    Child *child = child_new(processes, process);
    const char *problem = find_problem(process);
    child->done = done;
    child->with = with;
    if (problem)
        child->result =
            (ProcessResult){ .end = PROCESS_REFUSED, .problem_text = str_from(problem) };
    else if (processes->running >= processes->running_max)
        child->result = (ProcessResult){ .end = PROCESS_NOT_TRIED,
                                         .problem_text = S("too many processes run already") };
    else
        launch(child, process);
    processes->running++;
    if (child->pid)
        follow(child);
    else
        loop_at(processes->loop, &child->timer, child->started_at, tell, child);
}

size_t processes_running(const Processes *processes)
{
    return processes->running;
}

// fill_standard_descriptors keeps pipes from getting the numbers that a program's own must have.
static void fill_standard_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR);
    if (fd >= 0)
        close(fd);
}

Processes *processes_new(Loop *loop)
{
    Processes *processes = memory_new(sizeof *processes);
    processes->loop = loop;
    processes->running_max = PROCESSES_MAX;
    fill_standard_descriptors();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    return processes;
}

void processes_limit(Processes *processes, size_t running_max)
{
    processes->running_max = running_max < PROCESSES_MAX ? running_max : PROCESSES_MAX;
}

void processes_guard(Processes *processes, Warden *warden)
{
    processes->warden = warden;
}

void processes_stop(Processes *processes)
{
    for (Child *child = processes->children; child; child = child->next)
        if (child->pid && child->asked == PROCESS_EXITED) {
            press(child, PROCESS_STOPPED);
            loop_at(processes->loop, &child->timer, loop_now(processes->loop), step, child);
        }
}

// reap waits for one that was killed; one that the kernel cannot end is left to it.
static void reap(const Child *child)
{
    struct pollfd ended = { .fd = child->pid_fd, .events = POLLIN };
    siginfo_t info;
    poll(&ended, 1, FREE_PATIENCE_MS);
    warden_ends(child->processes->warden, child->pid);
    waitid(P_PID, (id_t) child->pid, &info, WEXITED | WNOHANG);
}

void processes_free(Processes *processes)
{
    if (!processes)
        return;
    for (const Child *child = processes->children; child; child = child->next)
        if (child->pid)
            signal_group(child, SIGKILL);
    for (Child *child = processes->children, *next; child; child = next) {
        next = child->next;
        if (child->pid)
            reap(child);
        child_free(child);
    }
    free(processes);
}
