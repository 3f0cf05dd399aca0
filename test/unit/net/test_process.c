#include "net/process.h"

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 200, MANY_BYTES = 10 * 1000 * 1000 };

// Run keeps what came of one process.
typedef struct Run {
    Arena arena;
    Loop *loop;
    int calls;
    ProcessResult result;
    int lines;
    size_t longest; // line
    Str last;       // line
} Run;

// The processes of the test that runs. Time is invented: only time_passes() makes a time-out.
static Clock simulated;
static Loop *loop;
static Processes *processes;

static void begin(void)
{
    clock_init_simulated(&simulated, SPAN_DAY);
    loop = loop_new(&simulated);
    processes = processes_new(loop);
}

static void end(void)
{
    processes_free(processes);
    loop_free(loop);
}

static void keep(void *with, const ProcessResult *result)
{
    Run *run = with;
    run->calls++;
    run->result = *result;
    Str *const texts[] = { &run->result.problem_text, &run->result.output, &run->result.errors };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i]->at)
            *texts[i] = str_dup(&run->arena, *texts[i]);
}

static void keep_line(void *with, Str line)
{
    Run *run = with;
    run->lines++;
    run->longest = line.len > run->longest ? line.len : run->longest;
    run->last = str_dup(&run->arena, line);
    loop_return(loop);
}

static void run_done(Run *run)
{
    arena_done(&run->arena);
}

static void finish(void)
{
    while (processes_running(processes) > 0)
        loop_wait(loop, 10 * SPAN_SECOND);
}

// start runs a script with whatever else the process says.
static void start(Run *run, const char *script, Process process)
{
    Str arguments[] = { S("/bin/sh"), S("-c"), str_from(script) };
    process.arguments = arguments;
    process.argument_count = ARRAY_LEN(arguments);
    if (!process.output_max)
        process.output_max = 1000;
    processes_start(processes, &process, keep, run);
}

// await_lines runs the loop until so many lines have come, so that the script is where it says.
static void await_lines(const Run *run, int count)
{
    while (run->lines < count && run->calls == 0)
        loop_wait(loop, 10 * SPAN_SECOND);
}

static void time_passes(Span span)
{
    clock_pass(&simulated, span);
    loop_wait(loop, 0);
}

static void the_end_is_told_as_it_was(void)
{
    static const struct {
        const char *script, *output, *errors;
        ProcessEnd end;
        int status, signal;
    } cases[] = {
        { "exit 0", "", "", PROCESS_EXITED, 0, 0 },
        { "exit 100", "", "", PROCESS_EXITED, 100, 0 },
        { "exit 255", "", "", PROCESS_EXITED, 255, 0 },
        { "echo out; echo err >&2; exit 3", "out\n", "err\n", PROCESS_EXITED, 3, 0 },
        { "printf 'no end'", "no end", "", PROCESS_EXITED, 0, 0 },
        { "kill -9 $$", "", "", PROCESS_SIGNALLED, 0, SIGKILL },
        { "kill -TERM $$", "", "", PROCESS_SIGNALLED, 0, SIGTERM },
        { "exec >&- 2>&- <&-; exit 7", "", "", PROCESS_EXITED, 7, 0 },
    };
    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(run_done) Run run = { 0 };
        start(&run, cases[i].script, (Process){ 0 });
        CHECK_AT(cases[i].script, run.calls == 0 && processes_running(processes) == 1);
        finish();
        const ProcessResult *result = &run.result;
        CHECK_AT(cases[i].script, run.calls == 1 && result->end == cases[i].end);
        CHECK_AT(cases[i].script, result->status == cases[i].status);
        CHECK_AT(cases[i].script, result->signal == cases[i].signal);
        CHECK_AT(cases[i].script, str_eq(result->output, str_from(cases[i].output)));
        CHECK_AT(cases[i].script, str_eq(result->errors, str_from(cases[i].errors)));
        CHECK_AT(cases[i].script, !result->was_cut);
        CHECK_AT(cases[i].script, !result->problem_text.at == (result->end == PROCESS_EXITED));
    }
    end();
}

static void it_gets_what_was_given_and_nothing_else(void)
{
    begin();
    setenv("PEAL_SECRET", "of the server", 1);
    int leaked = open("/dev/null", O_RDONLY); // not closed on exec
    Variable environment[] = { { S("PEAL_JOB"), S("a=b c\"$") }, { S("EMPTY"), S("") } };
    DEFER(run_done) Run run = { 0 };
    start(&run,
          "cat; echo; pwd; /usr/bin/env | grep -v ^PWD | grep -v ^SHLVL | grep -v ^_; "
          "ls -m /proc/$$/fd; test $$ = $(cut -d' ' -f6 /proc/$$/stat) && echo leads its session",
          (Process){ .environment = environment,
                     .variable_count = ARRAY_LEN(environment),
                     .directory = S("/usr"),
                     .input = S("given") });
    finish();
    CHECK_AT(run.result.output.at,
             str_eq(run.result.output, S("given\n/usr\nPEAL_JOB=a=b c\"$\nEMPTY=\n0, 1, 2\n"
                                         "leads its session\n")));
    close(leaked);
    unsetenv("PEAL_SECRET");
    end();
}

static void it_inherits_no_signals(void)
{
    // Not by way of a shell, which has its own mind about them. glibc itself ignores its two
    // signals above 31, which are nobody's: the last digits count.
    static const Str arguments[] = { S("/bin/grep"), S("-c"), S("^Sig[BI].*0000000$"),
                                     S("/proc/self/status") };
    begin();
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    signal(SIGUSR2, SIG_IGN);
    DEFER(run_done) Run run = { 0 };
    processes_start(processes,
                    &(Process){ .arguments = arguments,
                                .argument_count = ARRAY_LEN(arguments),
                                .output_max = 100 },
                    keep, &run);
    finish();
    CHECK_AT(run.result.output.at, str_eq(run.result.output, S("2\n")));
    signal(SIGUSR2, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    end();
}

static void what_cannot_run_is_told_with_its_reason(void)
{
    char folder[] = "/tmp/peal-process-XXXXXX", plain[64], gone[64];
    assert(mkdtemp(folder));
    snprintf(plain, sizeof plain, "%s/plain", folder);
    snprintf(gone, sizeof gone, "%s/gone", folder);
    close(open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    const struct {
        const char *row;
        Str program, argument, directory, text;
        Variable variable;
    } cases[] = {
        { "no such", str_from(gone), S(""), STR_NONE, S("No such file or directory"), { { 0 } } },
        { "not executable", str_from(plain), S(""), STR_NONE, S("Permission denied"), { { 0 } } },
        { "a folder", str_from(folder), S(""), STR_NONE, S("Permission denied"), { { 0 } } },
        { "no directory", S("/bin/true"), S(""), str_from(gone), S("No such file"), { { 0 } } },
        { "a file", S("/bin/true"), S(""), str_from(plain), S("Not a directory"), { { 0 } } },
        { "by name", S("true"), S(""), STR_NONE, S("absolute path"), { { 0 } } },
        { "NUL", S("/bin/true"), S("a\0b"), STR_NONE, S("NUL"), { { 0 } } },
        { "=", S("/bin/true"), S(""), STR_NONE, S("environment"), { S("A=B"), S("") } },
        { "no name", S("/bin/true"), S(""), STR_NONE, S("environment"), { S(""), S("") } },
        { "NUL in it", S("/bin/true"), S(""), STR_NONE, S("environment"), { S("A"), S("b\0c") } },
    };
    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(run_done) Run run = { 0 };
        Str arguments[] = { cases[i].program, cases[i].argument };
        processes_start(processes,
                        &(Process){ .arguments = arguments,
                                    .argument_count = 2,
                                    .directory = cases[i].directory,
                                    .environment = &cases[i].variable,
                                    .variable_count = cases[i].variable.name.at ? 1 : 0 },
                        keep, &run);
        CHECK_AT(cases[i].row, run.calls == 0 && processes_running(processes) == 1);
        finish();
        CHECK_AT(cases[i].row, run.calls == 1 && run.result.end == PROCESS_REFUSED);
        CHECK_AT(cases[i].row, str_contains(run.result.problem_text, cases[i].text));
    }
    end();
    unlink(plain);
    rmdir(folder);
}

static void a_machine_that_lacks_descriptors_has_not_tried(void)
{
    struct rlimit files, none;
    DEFER(run_done) Run lacking = { 0 }, run = { 0 };
    begin();
    assert(getrlimit(RLIMIT_NOFILE, &files) == 0);
    none = (struct rlimit){ 0, files.rlim_max };
    assert(setrlimit(RLIMIT_NOFILE, &none) == 0);
    start(&lacking, "true", (Process){ 0 });
    assert(setrlimit(RLIMIT_NOFILE, &files) == 0);
    start(&run, "true", (Process){ 0 });
    finish();
    CHECK(lacking.calls == 1 && lacking.result.end == PROCESS_NOT_TRIED);
    CHECK(str_contains(lacking.result.problem_text, S("Too many open files")));
    CHECK(run.calls == 1 && run.result.end == PROCESS_EXITED);
    end();
}

static void one_that_hangs_is_asked_to_end(void)
{
    begin();
    DEFER(run_done) Run run = { 0 };
    start(&run, "trap 'echo asked; exit 9' TERM; echo ready; while :; do :; done",
          (Process){ .timeout = 5 * SPAN_SECOND, .line = keep_line });
    await_lines(&run, 1);
    time_passes(5 * SPAN_SECOND - 1);
    CHECK(run.calls == 0);
    time_passes(1);
    finish();
    CHECK(run.calls == 1 && run.result.end == PROCESS_TIMED_OUT && run.result.status == 9);
    CHECK(str_eq(run.result.output, S("ready\nasked\n")));
    CHECK(str_eq(run.result.problem_text, S("it did not end within 5s")));
    CHECK(run.result.took == 5 * SPAN_SECOND);
    end();
}

static void one_that_does_not_listen_is_killed(void)
{
    begin();
    DEFER(run_done) Run run = { 0 };
    start(&run, "trap 'echo no' TERM; echo ready; while :; do :; done",
          (Process){ .timeout = SPAN_SECOND, .line = keep_line });
    await_lines(&run, 1);
    time_passes(SPAN_SECOND);
    await_lines(&run, 2);
    CHECK(str_eq(run.last, S("no")));
    time_passes(PROCESS_GRACE - 1);
    CHECK(run.calls == 0);
    time_passes(1);
    finish();
    CHECK(run.calls == 1 && run.result.end == PROCESS_TIMED_OUT && run.result.signal == SIGKILL);
    end();
}

static void the_whole_group_is_asked_to_end(void)
{
    begin();
    DEFER(run_done) Run run = { 0 };
    start(&run,
          "(trap 'echo asked; exit' TERM; echo ready; while :; do :; done) & "
          "trap '' TERM; echo deaf; while :; do :; done",
          (Process){ .timeout = SPAN_SECOND, .line = keep_line });
    await_lines(&run, 2);
    time_passes(SPAN_SECOND);
    await_lines(&run, 3);
    CHECK(str_eq(run.last, S("asked")) && run.calls == 0);
    time_passes(PROCESS_GRACE);
    finish();
    CHECK(run.result.end == PROCESS_TIMED_OUT && run.result.signal == SIGKILL);
    end();
}

// is_gone waits for the end of a process that is not ours.
static bool is_gone(pid_t pid)
{
    struct pollfd ended = { .fd = pidfd_open(pid, 0), .events = POLLIN };
    if (ended.fd < 0)
        return errno == ESRCH;
    int count = poll(&ended, 1, 10 * 1000);
    close(ended.fd);
    return count == 1;
}

static void what_it_left_behind_holds_nobody_up(void)
{
    static const struct {
        const char *row, *script;
        Span timeout;
    } cases[] = {
        { "the leader exits", "sleep 1000 & echo $!", 0 },
        { "the leader exits, deaf", "(trap '' TERM HUP; exec sleep 1000) & echo $!", 0 },
        { "the leader hangs", "sleep 1000 & echo $!; wait", SPAN_SECOND },
    };
    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(run_done) Run run = { 0 };
        int64_t pid = 0;
        start(&run, cases[i].script, (Process){ .timeout = cases[i].timeout, .line = keep_line });
        await_lines(&run, 1);
        if (cases[i].timeout)
            time_passes(cases[i].timeout);
        finish();
        CHECK_AT(cases[i].row, run.calls == 1 && str_to_i64(run.last, 2, INT32_MAX, &pid));
        CHECK_AT(cases[i].row, pid > 1 && is_gone((pid_t) pid));
        CHECK_AT(cases[i].row,
                 run.result.end == (cases[i].timeout ? PROCESS_TIMED_OUT : PROCESS_EXITED));
    }
    end();
}

static void output_is_kept_up_to_a_limit(void)
{
    static const struct {
        const char *script;
        size_t max, output, errors;
        bool was_cut;
    } cases[] = {
        { "printf 12345", 5, 5, 0, false },
        { "printf 12345", 4, 4, 0, true },
        { "printf 12345 >&2", 4, 0, 4, true },
        { "head -c 10000000 /dev/zero; echo end >&2", 65536, 65536, 4, true },
        { "head -c 10000000 /dev/zero >&2; echo end", 1000, 4, 1000, true },
        { "head -c 10000000 /dev/zero", 20000000, 10000000, 0, false },
    };
    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(run_done) Run run = { 0 };
        start(&run, cases[i].script, (Process){ .output_max = cases[i].max });
        finish();
        CHECK_AT(cases[i].script, run.result.end == PROCESS_EXITED && run.result.status == 0);
        CHECK_AT(cases[i].script, run.result.output.len == cases[i].output);
        CHECK_AT(cases[i].script, run.result.errors.len == cases[i].errors);
        CHECK_AT(cases[i].script, run.result.was_cut == cases[i].was_cut);
    }
    end();
}

static void what_is_kept_is_the_end(void)
{
    static const struct {
        const char *script, *output;
        size_t max;
    } cases[] = {
        { "printf 12345", "2345", 4 },
        { "printf 12345", "12345", 5 },
        { "printf 123; sleep 0.01; printf 45; sleep 0.01; printf 6", "456", 3 },
        { "head -c 1000000 /dev/zero; printf 'the end'", "the end", 7 },
        { "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done", "98\n2999\n", 8 },
    };
    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(run_done) Run run = { 0 };
        start(&run, cases[i].script, (Process){ .output_max = cases[i].max });
        finish();
        CHECK_AT(cases[i].script, str_eq(run.result.output, str_from(cases[i].output)));
        CHECK_AT(cases[i].script, run.result.output_max == cases[i].max);
    }
    end();
}

static void a_stop_ends_those_that_run(void)
{
    begin();
    DEFER(run_done) Run polite = { 0 }, deaf = { 0 }, after = { 0 };
    start(&polite, "trap 'echo bye; exit 0' TERM; echo; while :; do sleep 0.01; done",
          (Process){ .line = keep_line });
    start(&deaf, "trap '' TERM; echo; while :; do sleep 0.01; done",
          (Process){ .line = keep_line });
    await_lines(&polite, 1);
    await_lines(&deaf, 1);
    processes_stop(processes);
    processes_stop(processes); // does not press harder
    while (polite.calls == 0)
        loop_wait(loop, 10 * SPAN_SECOND);
    CHECK(polite.result.end == PROCESS_STOPPED && str_eq(polite.last, S("bye")));
    CHECK(str_eq(polite.result.problem_text, S("Peal was stopped while it ran")));
    CHECK(deaf.calls == 0);
    time_passes(PROCESS_GRACE);
    start(&after, "exit 3", (Process){ 0 });
    finish();
    CHECK(deaf.result.end == PROCESS_STOPPED && deaf.result.signal == SIGKILL);
    CHECK(after.result.end == PROCESS_EXITED && after.result.status == 3);
    end();
}

static void lines_are_told_as_they_come(void)
{
    static const struct {
        const char *script;
        int lines;
        size_t longest;
        const char *last;
    } cases[] = {
        { "true", 0, 0, NULL },
        { "printf 'a\\nbcd\\n'", 2, 3, "bcd" },
        { "printf 'a\\n\\nno end'", 3, 6, "no end" },
        { "printf 'a\\nb' >&2", 0, 0, NULL },
        { "head -c 10000000 /dev/zero; printf '\\nafter\\n'", 2, PROCESS_LINE_MAX, "after" },
        { "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done", 3000, 4, "2999" },
    };
    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(run_done) Run run = { 0 };
        start(&run, cases[i].script, (Process){ .line = keep_line, .output_max = 1 });
        finish();
        CHECK_AT(cases[i].script, run.lines == cases[i].lines);
        CHECK_AT(cases[i].script, run.longest == cases[i].longest);
        CHECK_AT(cases[i].script,
                 str_eq(run.last, cases[i].last ? str_from(cases[i].last) : STR_NONE));
    }
    // While it runs, too: this one would wait for ever otherwise.
    DEFER(run_done) Run run = { 0 };
    start(&run, "echo first; kill -STOP $$", (Process){ .line = keep_line });
    await_lines(&run, 1);
    CHECK(run.lines == 1 && run.calls == 0);
    end();
}

static void input_is_fed_without_waiting(void)
{
    static const struct {
        const char *script, *output;
    } cases[] = {
        { "wc -c", "10000000\n" },
        { "head -c 3", "xxx" },
        { "exit 0", "" },
        { "exec <&-; echo closed", "closed\n" },
        { "head -c 100000 /dev/zero; exec cat >/dev/null", "" },
    };
    DEFER(arena_done) Arena arena = { 0 };
    char *many = arena_alloc(&arena, MANY_BYTES);
    memset(many, 'x', MANY_BYTES);
    begin();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(run_done) Run run = { 0 };
        start(&run, cases[i].script, (Process){ .input = { many, MANY_BYTES } });
        finish();
        CHECK_AT(cases[i].script, run.result.end == PROCESS_EXITED && run.result.status == 0);
        CHECK_AT(cases[i].script, str_starts(run.result.output, str_from(cases[i].output)));
    }
    DEFER(run_done) Run run = { 0 };
    start(&run, "echo ready; exec sleep 1000",
          (Process){ .input = { many, MANY_BYTES }, .timeout = SPAN_SECOND, .line = keep_line });
    await_lines(&run, 1);
    time_passes(SPAN_SECOND);
    finish();
    CHECK(run.result.end == PROCESS_TIMED_OUT && run.result.signal == SIGTERM);
    end();
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static bool has_children(void)
{
    return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
}

static void raise_descriptors(void)
{
    struct rlimit files;
    assert(getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = files.rlim_max;
    assert(setrlimit(RLIMIT_NOFILE, &files) == 0);
}

static void many_run_at_once_and_leave_nothing(void)
{
    static Run runs[AT_ONCE];
    raise_descriptors();
    int before = open_descriptors();
    begin();
    for (int i = 0; i < AT_ONCE; i++) {
        runs[i] = (Run){ 0 };
        Str input = str_format(&runs[i].arena, "number %d", i);
        start(&runs[i], i % 10 ? "exec cat" : "exit 5", (Process){ .input = input });
    }
    CHECK(processes_running(processes) == AT_ONCE);
    finish();
    for (int i = 0; i < AT_ONCE; i++) {
        Str said = i % 10 ? str_format(&runs[i].arena, "number %d", i) : S("");
        CHECK(runs[i].calls == 1 && runs[i].result.end == PROCESS_EXITED);
        CHECK(runs[i].result.status == (i % 10 ? 0 : 5) && str_eq(runs[i].result.output, said));
        run_done(&runs[i]);
    }
    CHECK(!has_children());
    end();
    CHECK(open_descriptors() == before);
}

static void those_that_run_at_the_end_are_killed(void)
{
    int before = open_descriptors();
    begin();
    DEFER(run_done) Run deaf = { 0 }, refused = { 0 };
    int64_t pid = 0;
    start(&deaf, "trap '' TERM; sleep 1000 & echo $!; wait", (Process){ .line = keep_line });
    await_lines(&deaf, 1);
    processes_start(processes, &(Process){ 0 }, keep, &refused);
    end();
    CHECK(deaf.calls == 0 && refused.calls == 0);
    CHECK(!has_children() && open_descriptors() == before);
    CHECK(str_to_i64(deaf.last, 2, INT32_MAX, &pid) && is_gone((pid_t) pid));
}

// One that is forked here stands for a Peal that is killed while programs run.
static void run_and_be_killed(int tell)
{
    Warden warden = warden_open();
    begin();
    processes_guard(processes, &warden);
    DEFER(run_done) Run over = { 0 }, left = { 0 };
    start(&over, "true", (Process){ 0 });
    finish();
    start(&left, "sleep 1000 & echo $!; wait", (Process){ .line = keep_line });
    await_lines(&left, 1);
    (void) !write(tell, left.last.at, left.last.len);
    kill(getpid(), SIGKILL);
}

static void no_program_outlives_a_peal_that_was_killed(void)
{
    int fds[2];
    char text[32] = "";
    int64_t pid = 0;
    CHECK(pipe2(fds, O_CLOEXEC) == 0);
    pid_t peal = fork();
    if (peal == 0)
        run_and_be_killed(fds[1]);
    close(fds[1]);
    ssize_t got = read(fds[0], text, sizeof text);
    close(fds[0]);
    CHECK(waitpid(peal, NULL, 0) == peal);
    CHECK(got > 0 && str_to_i64((Str){ text, (size_t) got }, 2, INT32_MAX, &pid));
    CHECK(is_gone((pid_t) pid));
}

static void a_warden_that_was_ended_is_done_without(void)
{
    Warden warden = warden_open();
    CHECK(warden.pid > 0 && kill(warden.pid, SIGKILL) == 0);
    CHECK(waitid(P_PID, (id_t) warden.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
    begin();
    processes_guard(processes, &warden);
    DEFER(run_done) Run run = { 0 };
    start(&run, "exit 4", (Process){ 0 });
    finish();
    CHECK(run.result.status == 4 && warden.pid == 0);
    end();
    warden_close(&warden);
    CHECK(!has_children());
}

// A number that the warden keeps may be a stranger's group when Peal is killed.
static void the_warden_is_told_of_every_end(void)
{
    int fds[2];
    pid_t told[3] = { 0 };
    CHECK(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    Warden warden = { .fd = fds[1], .pid = getpid() };
    begin();
    processes_guard(processes, &warden);
    DEFER(run_done) Run run = { 0 };
    start(&run, "exit 4", (Process){ 0 });
    finish();
    CHECK(read(fds[0], told, sizeof told) == 2 * sizeof *told);
    CHECK(told[0] > 1 && told[1] == -told[0]);
    end();
    close(fds[0]);
    close(fds[1]);
}

static void over_the_limit_nothing_is_tried(void)
{
    static const ProcessEnd ends[] = { PROCESS_EXITED, PROCESS_EXITED, PROCESS_NOT_TRIED };
    begin();
    processes_limit(processes, 2);
    for (int round = 0; round < 2; round++) {
        Run runs[ARRAY_LEN(ends)] = { 0 };
        for (size_t i = 0; i < ARRAY_LEN(ends); i++)
            start(&runs[i], "true", (Process){ 0 });
        finish();
        for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
            CHECK(runs[i].calls == 1 && runs[i].result.end == ends[i]);
            run_done(&runs[i]);
        }
    }
    end();
}

static void one_that_a_stranger_reaped_has_not_succeeded(void)
{
    begin();
    DEFER(run_done) Run run = { 0 };
    start(&run, "exit 0", (Process){ 0 });
    CHECK(waitpid(-1, NULL, 0) > 0);
    finish();
    CHECK(run.calls == 1 && run.result.end == PROCESS_SIGNALLED && run.result.signal == 0);
    CHECK(str_eq(run.result.problem_text, S("nobody knows how it ended")));
    end();
}

typedef struct Chain {
    int left;
} Chain;

static void next_link(void *with, const ProcessResult *result)
{
    static const Str arguments[] = { S("/bin/sh"), S("-c"), S("exit 1") };
    Chain *chain = with;
    (void) result;
    if (chain->left-- == 0)
        return;
    // Every other one is refused.
    processes_start(processes,
                    &(Process){ .arguments = arguments,
                                .argument_count = chain->left % 2 ? ARRAY_LEN(arguments) : 0 },
                    next_link, chain);
}

static void a_callback_may_start_another(void)
{
    Chain chain = { .left = 10 };
    begin();
    next_link(&chain, NULL);
    finish();
    CHECK(chain.left == -1);
    end();
}

static const Test tests[] = {
    TEST(the_end_is_told_as_it_was),
    TEST(it_gets_what_was_given_and_nothing_else),
    TEST(it_inherits_no_signals),
    TEST(what_cannot_run_is_told_with_its_reason),
    TEST(a_machine_that_lacks_descriptors_has_not_tried),
    TEST(one_that_hangs_is_asked_to_end),
    TEST(one_that_does_not_listen_is_killed),
    TEST(the_whole_group_is_asked_to_end),
    TEST(what_it_left_behind_holds_nobody_up),
    TEST(output_is_kept_up_to_a_limit),
    TEST(what_is_kept_is_the_end),
    TEST(a_stop_ends_those_that_run),
    TEST(no_program_outlives_a_peal_that_was_killed),
    TEST(a_warden_that_was_ended_is_done_without),
    TEST(the_warden_is_told_of_every_end),
    TEST(lines_are_told_as_they_come),
    TEST(input_is_fed_without_waiting),
    TEST(many_run_at_once_and_leave_nothing),
    TEST(those_that_run_at_the_end_are_killed),
    TEST(over_the_limit_nothing_is_tried),
    TEST(one_that_a_stranger_reaped_has_not_succeeded),
    TEST(a_callback_may_start_another),
};

TEST_MAIN(tests)
