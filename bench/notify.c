// notify.c - what peal_notify() costs its caller, beside a bare fdatasync of as many bytes.
//
//   notify STORE COUNT      prints: bare_us notify_us
#include <peal.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static double bare(const char *store, int count)
{
    char path[4096], bytes[300] = { 0 };
    snprintf(path, sizeof path, "%s.bare", store);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    double began = now_us();
    for (int i = 0; i < count; i++)
        if (fd < 0 || write(fd, bytes, sizeof bytes) != (ssize_t) sizeof bytes ||
            fdatasync(fd) != 0)
            exit(1);
    double took = (now_us() - began) / count;
    close(fd);
    unlink(path);
    return took;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int count = atoi(argv[2]);
    Peal *peal = peal_open(argv[1]);
    PealNotification notification = { .list = "ops", .subject = "Boiler", .body = "It is hot" };
    double floor = bare(argv[1], count), began = now_us();
    for (int i = 0; i < count; i++) {
        char id[PEAL_ID_SIZE] = "";
        if (peal_notify(peal, &notification, id) != PEAL_OK)
            return 1;
    }
    printf("%.1f %.1f\n", floor, (now_us() - began) / count);
    peal_close(peal);
    return 0;
}
