#include "net/deadline.h"

#include "base/arena.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINGERING_MAX = 64 };

#define LINGER_SPAN (2 * SPAN_SECOND)

// PASSED replaces the moment once a socket was shut down, so that nobody answers on it.
#define PASSED ((Instant) INT64_MIN)

typedef struct Lingering {
    int fd;
    Instant until;
} Lingering;

struct Deadlines {
    Span tick;
    void (*late)(int fd);
    pthread_t thread;
    int wake_fd;
    pthread_mutex_t lock;
    bool is_stopping;                   // guarded by lock
    Deadline *first;                    // guarded by lock
    Lingering lingering[LINGERING_MAX]; // guarded by lock; closed by the thread alone
    size_t lingering_count;             // guarded by lock
};

static void wake(Deadlines *deadlines)
{
    uint64_t one = 1;
    ssize_t written = write(deadlines->wake_fd, &one, sizeof one);
    (void) written; // A full counter wakes as well.
}

static void cut_late(Deadlines *deadlines, Instant now)
{
    for (Deadline *each = deadlines->first; each; each = each->next) {
        Instant at = atomic_load(&each->at);
        if (at > now || at == PASSED || !atomic_compare_exchange_strong(&each->at, &at, PASSED))
            continue;
        if (deadlines->late && atomic_load(&each->is_begun))
            deadlines->late(each->fd);
        shutdown(each->fd, SHUT_RDWR);
    }
}

static bool is_hung_up(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLRDHUP };
    return poll(&one, 1, 0) > 0;
}

// tell_hung_up looks once a tick at each, which costs less than waiting for them all.
static void tell_hung_up(Deadlines *deadlines)
{
    for (Deadline *each = deadlines->first; each; each = each->next) {
        void (*hung_up)(Deadline *) = each->hung_up;
        if (!hung_up || !is_hung_up(each->fd))
            continue;
        each->hung_up = NULL;
        hung_up(each);
    }
}

// drain reads what came; false when the other end closed, failed or had its time.
static bool drain(const Lingering *lingering, Instant now)
{
    char waste[16 * 1024];
    for (int i = 0; i < 64; i++) {
        ssize_t got = recv(lingering->fd, waste, sizeof waste, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got < 0)
            break;
    }
    return now < lingering->until;
}

static void drain_lingering(Deadlines *deadlines, Instant now)
{
    size_t kept = 0;
    for (size_t i = 0; i < deadlines->lingering_count; i++) {
        if (drain(&deadlines->lingering[i], now))
            deadlines->lingering[kept++] = deadlines->lingering[i];
        else
            close(deadlines->lingering[i].fd);
    }
    deadlines->lingering_count = kept;
}

// look does what is due and fills polls with what to wait for next; -1 is to wait without end.
static int look(Deadlines *deadlines, struct pollfd *polls, size_t *ret_count)
{
    Instant now = clock_machine_monotonic();
    cut_late(deadlines, now);
    tell_hung_up(deadlines);
    drain_lingering(deadlines, now);
    polls[0] = (struct pollfd){ .fd = deadlines->wake_fd, .events = POLLIN };
    for (size_t i = 0; i < deadlines->lingering_count; i++)
        polls[i + 1] = (struct pollfd){ .fd = deadlines->lingering[i].fd, .events = POLLIN };
    *ret_count = deadlines->lingering_count + 1;
    bool is_idle = !deadlines->first && deadlines->lingering_count == 0;
    return is_idle ? -1 : (int) (deadlines->tick / SPAN_MILLISECOND);
}

static void *watch(void *with)
{
    Deadlines *deadlines = with;
    struct pollfd polls[LINGERING_MAX + 1];
    for (;;) {
        size_t count;
        pthread_mutex_lock(&deadlines->lock);
        bool is_stopping = deadlines->is_stopping;
        int timeout = look(deadlines, polls, &count);
        pthread_mutex_unlock(&deadlines->lock);
        if (is_stopping)
            return NULL;
        if (poll(polls, count, timeout) > 0 && polls[0].revents) {
            uint64_t times;
            ssize_t got = read(deadlines->wake_fd, &times, sizeof times);
            (void) got; // The number of calls does not matter.
        }
    }
}

Deadlines *deadlines_new(Span tick, void (*late)(int fd))
{
    assert(tick >= SPAN_MILLISECOND && tick <= SPAN_MINUTE);
    Deadlines *deadlines = memory_new(sizeof *deadlines);
    deadlines->tick = tick;
    deadlines->late = late;
    deadlines->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&deadlines->lock, NULL);
    if (deadlines->wake_fd < 0 || pthread_create(&deadlines->thread, NULL, watch, deadlines)) {
        if (deadlines->wake_fd >= 0)
            close(deadlines->wake_fd);
        free(deadlines);
        return NULL;
    }
    return deadlines;
}

void deadlines_free(Deadlines *deadlines)
{
    if (!deadlines)
        return;
    pthread_mutex_lock(&deadlines->lock);
    deadlines->is_stopping = true;
    pthread_mutex_unlock(&deadlines->lock);
    wake(deadlines);
    pthread_join(deadlines->thread, NULL);
    for (size_t i = 0; i < deadlines->lingering_count; i++)
        close(deadlines->lingering[i].fd);
    assert(!deadlines->first);
    pthread_mutex_destroy(&deadlines->lock);
    close(deadlines->wake_fd);
    free(deadlines);
}

void deadlines_add(Deadlines *deadlines, Deadline *deadline)
{
    pthread_mutex_lock(&deadlines->lock);
    bool was_empty = !deadlines->first;
    deadline->prev = NULL;
    deadline->next = deadlines->first;
    if (deadline->next)
        deadline->next->prev = deadline;
    deadlines->first = deadline;
    pthread_mutex_unlock(&deadlines->lock);
    if (was_empty)
        wake(deadlines);
}

void deadlines_remove(Deadlines *deadlines, Deadline *deadline)
{
    pthread_mutex_lock(&deadlines->lock);
    if (deadline->prev)
        deadline->prev->next = deadline->next;
    else
        deadlines->first = deadline->next;
    if (deadline->next)
        deadline->next->prev = deadline->prev;
    pthread_mutex_unlock(&deadlines->lock);
}

void deadlines_watch(Deadlines *deadlines, Deadline *deadline, void (*hung_up)(Deadline *deadline))
{
    pthread_mutex_lock(&deadlines->lock);
    deadline->hung_up = hung_up;
    pthread_mutex_unlock(&deadlines->lock);
}

void deadline_set(Deadline *deadline, Instant at, bool is_begun)
{
    atomic_store(&deadline->is_begun, is_begun);
    // Once it has passed it has passed: the socket is shut down for good.
    Instant old = atomic_load(&deadline->at);
    while (old != PASSED && !atomic_compare_exchange_weak(&deadline->at, &old, at))
        continue;
}

bool deadline_stop(Deadline *deadline)
{
    Instant old = atomic_load(&deadline->at);
    while (old != PASSED && !atomic_compare_exchange_weak(&deadline->at, &old, INSTANT_NONE))
        continue;
    return old != PASSED;
}

void deadlines_linger(Deadlines *deadlines, int fd)
{
    pthread_mutex_lock(&deadlines->lock);
    bool has_room = deadlines->lingering_count < LINGERING_MAX && !deadlines->is_stopping;
    if (has_room)
        deadlines->lingering[deadlines->lingering_count++] =
            (Lingering){ .fd = fd, .until = clock_machine_monotonic() + LINGER_SPAN };
    pthread_mutex_unlock(&deadlines->lock);
    if (!has_room)
        close(fd);
    else
        wake(deadlines);
}
