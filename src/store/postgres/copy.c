#include "store/postgres/copy.h"

#include <errno.h>
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NO_PROGRAM = 127 };

// take_url puts what the URL says into the environment, as libpq names it there.
static Err take_url(const char *url, Error *error)
{
    char *problem = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &problem);
    if (!options) {
        fail(error, ERR_SETUP, "the store's URL cannot be read: %s", problem);
        PQfreemem(problem);
        return ERR_SETUP;
    }
    for (const PQconninfoOption *one = options; one->keyword; one++)
        if (one->val && one->envvar && setenv(one->envvar, one->val, 1) != 0)
            abort();
    PQconninfoFree(options);
    return ERR_OK;
}

static Err wait_for(pid_t child, Error *error)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail(error, ERR_INTERNAL, "cannot wait for pg_dump: %m");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ERR_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_PROGRAM)
        return fail(error, ERR_SETUP,
                    "there is no pg_dump here; it is in the package postgresql-client");
    return fail(error, ERR_UNAVAILABLE, "pg_dump could not back it up; what it said is above");
}

Err postgres_copy(Arena *scratch, Str url, const char *path, Error *error)
{
    TRY(take_url(str_z(scratch, url), error));
    const char *file = str_format(scratch, "--file=%s", path).at;
    pid_t child = fork();
    if (child < 0)
        return fail(error, ERR_INTERNAL, "cannot start pg_dump: %m");
    if (child > 0)
        return wait_for(child, error);
    execlp("pg_dump", "pg_dump", "--format=custom", "--schema=peal", "--no-password", file,
           (char *) NULL);
    _exit(EXIT_NO_PROGRAM);
}
