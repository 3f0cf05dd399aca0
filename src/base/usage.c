#include "base/usage.h"

#include "base/str.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// read_memory reads two figures of a line: how many pages are mapped, and how many of them are in
// use.
static void read_memory(Usage *usage)
{
    char line[128];
    int64_t mapped, resident, page = sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    Str rest = str_from(fgets(line, sizeof line, file));
    if (str_to_i64(str_cut(&rest, ' '), 0, INT64_MAX / page, &mapped) &&
        str_to_i64(str_cut(&rest, ' '), 0, INT64_MAX / page, &resident)) {
        usage->virtual_bytes = mapped * page;
        usage->resident_bytes = resident * page;
    }
    fclose(file);
}

static int64_t count_descriptors(void)
{
    int64_t count = -3; // ".", "..", and the one that looks
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static Span span_of(struct timeval time)
{
    return time.tv_sec * SPAN_SECOND + time.tv_usec;
}

Usage usage_now(void)
{
    Usage usage = { .descriptors = count_descriptors() };
    struct rusage spent;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &spent) == 0)
        usage.cpu = span_of(spent.ru_utime) + span_of(spent.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        usage.descriptors_max = (int64_t) limit.rlim_cur;
    read_memory(&usage);
    return usage;
}
