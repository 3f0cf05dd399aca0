// notify.c - what peal_notify() costs its callers, beside a bare fdatasync of as many bytes.
//
//   notify STORE COUNT THREADS      each thread calls COUNT times; prints: bare_us notify_us
//
// A body ends with the thread and the number of the call, so that order can be checked.
#include <peal.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

typedef struct Caller {
    pthread_t thread;
    Peal *peal;
    int number, count;
} Caller;

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

static void *call(void *with)
{
    const Caller *caller = with;
    for (int i = 0; i < caller->count; i++) {
        char id[PEAL_ID_SIZE] = "", body[64];
        PealNotification notification = { .list = "ops", .subject = "Boiler", .body = body };
        snprintf(body, sizeof body, "It is hot %d %d", caller->number, i);
        PealResult result = peal_notify(caller->peal, &notification, id);
        if (result != PEAL_OK) {
            fprintf(stderr, "%s\n", peal_result_text(result));
            exit(1);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    Caller callers[THREADS_MAX];
    if (argc != 4 || atoi(argv[3]) > THREADS_MAX)
        return 2;
    int count = atoi(argv[2]), threads = atoi(argv[3]);
    Peal *peal = peal_open(argv[1]);
    double floor = bare(argv[1], 500), began = now_us();
    for (int i = 0; i < threads; i++) {
        callers[i] = (Caller){ .peal = peal, .number = i, .count = count };
        if (pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(callers[i].thread, NULL);
    printf("%.1f %.1f\n", floor, (now_us() - began) / count);
    peal_close(peal);
    return 0;
}
