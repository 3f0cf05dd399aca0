#include "cli/stage.h"

#include "base/file.h"
#include "base/random.h"
#include "cli/command.h"
#include "cli/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY "listening on "
#define SAID "said" // the file that has what it says on standard error

enum { KEY_BYTES = 24, LINE_MAX_BYTES = 200, SAID_MAX = 64 * 1024, END_PATIENCE_MS = 1000 };

// SIGPIPE: who reads what is printed has gone away.
static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

// What the handler of signals knows.
static volatile sig_atomic_t stopped;
static volatile sig_atomic_t running; // the process of the stage; 0: none

static void on_signal(int number)
{
    int kept = errno;
    stopped = number;
    if (running > 0)
        kill((pid_t) running, SIGKILL);
    errno = kept;
}

void stage_watch(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
        struct sigaction old;
        // Who started this one to ignore a signal (nohup) is not overruled.
        if (sigaction(watched[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(watched[i], &action, NULL);
    }
}

int stage_stopped(void)
{
    return stopped;
}

void stage_unwatch(void)
{
    for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
        struct sigaction old;
        if (sigaction(watched[i], NULL, &old) == 0 && old.sa_handler == on_signal)
            signal(watched[i], SIG_DFL);
    }
}

static int refuse(Arena *arena, const char *what)
{
    return output_failure(&(Failure){ .exit = EXIT_FAILED,
                                      .error = S("A Peal to test with could not be started"),
                                      .why = str_format(arena, "%s: %s", what, strerror(errno)) });
}

static bool make_folder(Arena *arena, Str *ret)
{
    const char *above = getenv("TMPDIR");
    Str path = str_format(arena, "%s/peal-test-XXXXXX", above && *above ? above : "/tmp");
    char *made = arena_copy(arena, path.at, path.len + 1);
    if (!mkdtemp(made))
        return false;
    char *real = realpath(made, NULL); // the child goes there
    *ret = str_dup(arena, str_from(real ? real : made));
    free(real);
    return true;
}

static Str make_key(Arena *arena)
{
    Random random = random_system();
    Buf key = buf_new(arena, BUF_WHOLE);
    uint8_t bytes[KEY_BYTES];
    random_fill(&random, bytes, sizeof bytes);
    buf_add(&key, S("pk_"));
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_add_format(&key, "%02x", bytes[i]);
    return buf_str(&key);
}

// leave_all parts the child from whatever was the user's.
static bool leave_all(Arena *arena, const Stage *stage, int ready)
{
    const char *zones = getenv("TZDIR");
    zones = zones ? str_z(arena, str_from(zones)) : NULL;
    int nothing = open("/dev/null", O_RDONLY);
    if (chdir(str_z(arena, stage->setup.folder)) != 0)
        return false;
    int said = open(SAID, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (nothing < 0 || said < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(ready, STDOUT_FILENO) < 0 || dup2(said, STDERR_FILENO) < 0)
        return false;
    close_range(STDERR_FILENO + 1, ~0U, 0);
    if (clearenv() != 0 || (zones && setenv("TZDIR", zones, 1) != 0))
        return false;
    return setenv("TMPDIR", str_z(arena, stage->setup.folder), 1) == 0;
}

static void be_the_child(Arena *arena, StageServe *serve, const Stage *stage, int ready,
                         pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stage_unwatch();
    if (getppid() != parent || !leave_all(arena, stage, ready))
        _exit(EXIT_FAILED);
    int status = serve(arena, &stage->setup);
    fflush(stdout);
    _exit(status);
}

// start forks with all signals blocked, so that none comes while nobody knows the child.
static bool start(Arena *arena, StageServe *serve, Stage *stage, int ends[2])
{
    sigset_t all, before;
    pid_t parent = getpid();
    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = stopped ? -1 : fork();
    if (child == 0) {
        close(ends[0]);
        sigprocmask(SIG_SETMASK, &before, NULL);
        be_the_child(arena, serve, stage, ends[1], parent);
    }
    if (child > 0)
        running = stage->process = child;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child > 0;
}

// read_url waits for the line that says where it listens; false: it ended before.
static bool read_url(Arena *arena, int fd, Str *ret)
{
    Buf line = buf_new(arena, LINE_MAX_BYTES);
    char c = 0;
    for (;;) {
        ssize_t got = read(fd, &c, 1);
        if (got < 0 && errno == EINTR && !stopped)
            continue;
        if (got <= 0 || line.overflowed)
            return false;
        if (c == '\n')
            break;
        buf_add_char(&line, c);
    }
    if (!str_starts(buf_str(&line), S(READY)))
        return false;
    *ret = str_skip(buf_str(&line), strlen(READY));
    return true;
}

int stage_open(Arena *arena, StageServe *serve, Instant from, Stage *ret)
{
    int ends[2];
    *ret = (Stage){ .alive = -1, .setup = { .key = make_key(arena), .from = from } };
    if (!make_folder(arena, &ret->setup.folder))
        return refuse(arena, "no folder for it could be made");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return refuse(arena, "pipe");
    bool has_begun = start(arena, serve, ret, ends);
    int why = errno;
    close(ends[1]);
    ret->alive = ends[0];
    bool is_up = has_begun && read_url(arena, ends[0], &ret->url);
    errno = why;
    if (!has_begun && !stopped)
        return refuse(arena, "fork");
    if (is_up || stopped)
        return is_up ? EXIT_DONE : EXIT_FAILED;
    (void) stage_tell_end(arena, ret);
    return EXIT_FAILED;
}

// end waits for the child, which has ended or is about to; the words that say how.
static Str end(Arena *arena, Stage *stage)
{
    int status = 0;
    while (waitpid(stage->process, &status, 0) < 0 && errno == EINTR)
        continue;
    running = stage->process = 0;
    if (WIFSIGNALED(status))
        return str_format(arena, "it was ended by signal %d (%s)", WTERMSIG(status),
                          strsignal(WTERMSIG(status)));
    return str_format(arena, "it ended with status %d", WEXITSTATUS(status));
}

static void remove_all(int above, const char *name)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        unlinkat(above, name, 0);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_all(fd, entry->d_name);
    closedir(folder);
    unlinkat(above, name, AT_REMOVEDIR);
}

void stage_close(Stage *stage)
{
    DEFER(arena_done) Arena arena = { 0 };
    if (stage->process > 0) {
        kill(stage->process, SIGKILL);
        (void) end(&arena, stage);
    }
    if (stage->setup.folder.at)
        remove_all(AT_FDCWD, str_z(&arena, stage->setup.folder));
    if (stage->alive >= 0)
        close(stage->alive);
    *stage = (Stage){ .alive = -1 };
}

// has_ended waits for a moment: a connection breaks before its process is gone.
static bool has_ended(const Stage *stage)
{
    struct pollfd alive = { .fd = stage->alive }; // the child has the other end
    return poll(&alive, 1, END_PATIENCE_MS) > 0 && alive.revents & POLLHUP;
}

bool stage_tell_end(Arena *arena, Stage *stage)
{
    Str said = STR_NONE;
    Error error = { 0 };
    if (stage->process <= 0 || stopped || !has_ended(stage))
        return false;
    output_failure(&(Failure){ .error = S("The Peal that was tested with has ended"),
                               .why = end(arena, stage) });
    Str path = str_format(arena, "%.*s/" SAID, STR_ARG(stage->setup.folder));
    if (file_get(arena, path, SAID_MAX, &said, &error) == ERR_OK && said.len > 0)
        fprintf(stderr, "It said:\n%.*s", STR_ARG(said));
    return true;
}
