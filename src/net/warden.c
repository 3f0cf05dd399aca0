#include "net/warden.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GROUPS_MAX = 1024 }; // more than there are programs at once

// What it is told are numbers, each at once: a group that begins, or a negative one that is over.

typedef struct Groups {
    pid_t at[GROUPS_MAX];
    size_t count;
} Groups;

static void take(Groups *groups, pid_t told)
{
    if (told > 1 && groups->count < GROUPS_MAX)
        groups->at[groups->count++] = told;
    for (size_t i = 0; told < 0 && i < groups->count; i++)
        if (groups->at[i] == -told)
            groups->at[i--] = groups->at[--groups->count];
}

// watch is all that the second process does. It lies in memory that was copied from a program which
// goes on elsewhere: nothing is allocated, locked or flushed here.
static _Noreturn void watch(int fd)
{
    static Groups groups;
    pid_t told;
    ssize_t got;
    do {
        got = read(fd, &told, sizeof told);
        if (got == sizeof told)
            take(&groups, told);
    } while (got == sizeof told || (got < 0 && errno == EINTR));
    for (size_t i = 0; i < groups.count; i++)
        kill(-groups.at[i], SIGKILL);
    _exit(0);
}

// stand_by leaves the second process nothing of ours but its end of the pipe.
static _Noreturn void stand_by(int fd)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, "peal-warden");
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || dup2(fd, STDERR_FILENO + 1) < 0)
        _exit(1);
    for (int i = 0; i <= STDERR_FILENO; i++)
        dup2(nowhere, i);
    closefrom(STDERR_FILENO + 2);
    watch(STDERR_FILENO + 1);
}

Warden warden_open(void)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        log_warn("warden.none", "errno=%d", errno);
        return (Warden){ .fd = -1 };
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        stand_by(fds[0]);
    }
    close(fds[0]);
    if (pid < 0) {
        log_warn("warden.none", "errno=%d", errno);
        close(fds[1]);
        return (Warden){ .fd = -1 };
    }
    fcntl(fds[1], F_SETFL, O_NONBLOCK); // one that does not listen must hold nobody up
    return (Warden){ .fd = fds[1], .pid = pid };
}

void warden_close(Warden *warden)
{
    if (!warden->pid)
        return;
    close(warden->fd);
    waitpid(warden->pid, NULL, 0);
    *warden = (Warden){ .fd = -1 };
}

// tell does without one that was ended, or that does not listen: it must not act on what is old.
static void tell(Warden *warden, pid_t number)
{
    if (!warden || !warden->pid || write(warden->fd, &number, sizeof number) == sizeof number)
        return;
    log_warn("warden.lost", "errno=%d", errno);
    kill(warden->pid, SIGKILL);
    warden_close(warden);
}

void warden_begins(Warden *warden, pid_t group)
{
    assert(group > 1);
    tell(warden, group);
}

void warden_ends(Warden *warden, pid_t group)
{
    assert(group > 1);
    tell(warden, -group);
}
