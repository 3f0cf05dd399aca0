#include "app/descriptors.h"

#include <sys/resource.h>

enum {
    CONNECTIONS_LEAST = 8,
    FLIGHTS_LEAST = 6, // a lane that is alone may hold a third of them
};

size_t descriptors_raise(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return DESCRIPTORS_WANTED; // not known: nothing is held back
    if (files.rlim_cur < files.rlim_max) {
        rlim_t was = files.rlim_cur;
        files.rlim_cur = files.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0)
            files.rlim_cur = was;
    }
    return files.rlim_cur;
}

static size_t within(size_t n, size_t least, size_t most)
{
    if (n < least)
        return least;
    return n < most ? n : most;
}

Descriptors descriptors_part(size_t limit)
{
    size_t left = limit > DESCRIPTORS_RESERVED ? limit - DESCRIPTORS_RESERVED : 0;
    size_t connections = within(left / 3, CONNECTIONS_LEAST, SERVER_CONNECTIONS_MAX);
    size_t rest = left > connections ? left - connections : 0;
    return (Descriptors){ .limit = limit,
                          .connections_max = connections,
                          .flights_max =
                              within(rest / DESCRIPTORS_PER_FLIGHT, FLIGHTS_LEAST, SIZE_MAX),
                          .is_small = limit < DESCRIPTORS_WANTED };
}
