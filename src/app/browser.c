#include "app/browser.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

// A shell starts it in the background and ends: nobody waits for a browser, and none is left as a
// child of Peal's.
void browser_open(Arena *arena, Str url)
{
    char script[] = "xdg-open \"$1\" >/dev/null 2>&1 </dev/null &";
    char *given = (char *) (uintptr_t) str_z(arena, url); // nobody writes to it
    char *words[] = { (char[]){ "sh" }, (char[]){ "-c" }, script, (char[]){ "sh" }, given, NULL };
    sigset_t none;
    posix_spawnattr_t attributes;
    pid_t pid;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    if (posix_spawn(&pid, "/bin/sh", NULL, &attributes, words, environ) == 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    posix_spawnattr_destroy(&attributes);
}
