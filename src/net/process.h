// process.h - programs that Peal runs: one process as a carrier, beside transfer.h's requests.
//
// A process is started from an absolute path, without a shell, in a session and process group of
// its own. It gets the arguments, the environment and the standard input that are given and
// nothing else of ours: no other descriptor, no variable, no blocked or ignored signal. What it
// writes is read as it comes, and the end of it is kept, which tells most; whoever does not read
// its input is not waited for.
//
// It ends when the process itself ends, not when its pipes do. Whatever it left behind in its group
// is killed then: a background job that holds the output open holds nobody up. At the time-out the
// whole group gets SIGTERM, and SIGKILL PROCESS_GRACE later. A descendant that made a session of
// its own is out of reach, and a process that the kernel cannot end is waited for. Where Peal
// itself is killed, its warden ends them (warden.h).
//
// Starting blocks until the program is loaded; that is short, unless its file lies on a far disk.
#pragma once

#include "base/str.h"
#include "net/loop.h"
#include "net/warden.h"

enum {
    PROCESSES_MAX = 512,     // at once; each takes four descriptors of ours
    PROCESS_LINE_MAX = 4096, // bytes told of a line; the rest of a longer one is dropped
};

#define PROCESS_GRACE (2 * SPAN_SECOND)

typedef struct Processes Processes;

typedef struct Variable {
    Str name, value;
} Variable;

// ProcessLine is told of every line of the standard output, without its end, as soon as it is
// whole; of the last one also where it has no end. Bytes are as they came.
typedef void ProcessLine(void *with, Str line);

typedef struct Process {
    const Str *arguments; // the first is the program's absolute path
    size_t argument_count;
    const Variable *environment; // all of it
    size_t variable_count;
    Str directory;     // to run in; none: the root
    Str input;         // copied by processes_start
    Span timeout;      // 0: a minute
    size_t output_max; // bytes kept of the output, and as many of the errors: the last of each
    ProcessLine *line; // NULL for nobody; called with what done is called with, before it
} Process;

typedef enum ProcessEnd {
    PROCESS_EXITED,    // with a status
    PROCESS_SIGNALLED, // by a signal that was not ours, or nobody knows how
    PROCESS_TIMED_OUT, // and was ended
    PROCESS_STOPPED,   // by processes_stop(), whatever it said in the end
    PROCESS_REFUSED,   // could not be started: no such program, not executable, no such directory
    PROCESS_NOT_TRIED, // this machine lacked a descriptor, a process or memory, or ran too many
                       // already: nothing ran
} ProcessEnd;

typedef struct ProcessResult {
    ProcessEnd end;
    int status;        // of one that exited: 0 to 255
    int signal;        // that ended it; 0: none, or it is not known
    Str problem_text;  // why it is not PROCESS_EXITED, as a sentence; none
    Str output;        // the end of standard output; lives as long as the callback
    Str errors;        // standard error, likewise
    bool was_cut;      // one of them was longer than …
    size_t output_max; // … what was to be kept
    Span took;
} ProcessResult;

typedef void ProcessDone(void *with, const ProcessResult *result);

// processes_new also sees to it that this process ignores SIGPIPE and does not ignore SIGCHLD.
Processes *processes_new(Loop *loop);
void processes_free(Processes *processes); // kills those that run; their done is not called

// processes_limit sets how many may run at once, up to PROCESSES_MAX; those over it are not tried.
void processes_limit(Processes *processes, size_t running_max);

// processes_guard has a warden told of all that begin from now on; it outlives the processes.
void processes_guard(Processes *processes, Warden *warden);

// processes_stop asks all that run to end, as at their time-out. It may be said again and again.
void processes_stop(Processes *processes);

// processes_start always calls done exactly once, later, from within loop_wait().
void processes_start(Processes *processes, const Process *process, ProcessDone *done, void *with);
size_t processes_running(const Processes *processes);
