#include "net/loop.h"

#include "base/arena.h"
#include "base/log.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, WAIT_MS_MAX = 60 * 1000 };

// PLACE_DUE is the place of a timer that left the heap and is about to be told.
#define PLACE_DUE SIZE_MAX

// Watch is what the loop knows of a descriptor; the array is indexed by it.
typedef struct Watch {
    LoopReady *ready; // NULL: nobody waits for it now
    void *with;
    uint32_t registered; // events in the epoll set; 0: it is not there
    uint32_t age;        // grows when it is unwatched, so that an event knows whether it came late
} Watch;

struct Loop {
    const Clock *clock;
    int epoll_fd, wake_fd;
    Watch *watches;
    size_t watch_count;
    Timer **timers; // a heap: the earliest is at 1, the children of n are at 2n and 2n + 1
    size_t timer_count, timer_room;
    Timer *due;            // taken from the heap to be told in this turn
    bool is_returning;     // somebody has something to look at
    _Atomic bool is_woken; // and wake_fd was written to
};

Loop *loop_new(const Clock *clock)
{
    Loop *loop = memory_new(sizeof *loop);
    loop->clock = clock;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    // The wake_fd stands in the set by itself: it is nobody's watch.
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = UINT64_MAX };
    bool is_made = loop->epoll_fd >= 0 && loop->wake_fd >= 0 &&
                   epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &event) == 0;
    assert(is_made);
    return loop;
}

void loop_free(Loop *loop)
{
    if (!loop)
        return;
    assert(loop->timer_count == 0);
    close(loop->epoll_fd);
    close(loop->wake_fd);
    free(loop->watches);
    free(loop->timers);
    free(loop);
}

Instant loop_now(const Loop *loop)
{
    return clock_monotonic(loop->clock);
}

static Watch *watch_of(Loop *loop, int fd)
{
    assert(fd >= 0);
    size_t index = (size_t) fd, old = loop->watch_count;
    if (index >= old) {
        size_t count = index + 64;
        loop->watches = memory_grow(loop->watches, count * sizeof(Watch));
        memset(loop->watches + old, 0, (count - old) * sizeof(Watch));
        loop->watch_count = count;
    }
    return &loop->watches[index];
}

void loop_watch(Loop *loop, int fd, unsigned events, LoopReady *ready, void *with)
{
    Watch *watch = watch_of(loop, fd);
    uint32_t wanted =
        (events & LOOP_IN ? (uint32_t) EPOLLIN : 0) | (events & LOOP_OUT ? (uint32_t) EPOLLOUT : 0);
    assert(ready && wanted);
    watch->ready = ready;
    watch->with = with;
    if (watch->registered == wanted)
        return;
    struct epoll_event event = { .events = wanted,
                                 .data.u64 = (uint64_t) watch->age << 32 | (uint32_t) fd };
    int operation = watch->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(loop->epoll_fd, operation, fd, &event) == 0)
        watch->registered = wanted;
    else
        log_error("loop.watch", "fd=%d errno=%d", fd, errno);
}

void loop_rest(Loop *loop, int fd)
{
    watch_of(loop, fd)->ready = NULL;
}

void loop_unwatch(Loop *loop, int fd)
{
    Watch *watch = watch_of(loop, fd);
    if (watch->registered)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    *watch = (Watch){ .age = watch->age + 1 };
}

static void put_timer(Loop *loop, size_t place, Timer *timer)
{
    loop->timers[place] = timer;
    timer->place = place;
}

// lift moves a timer towards the root until its parent is not later.
static void lift(Loop *loop, Timer *timer)
{
    size_t place = timer->place;
    for (; place > 1 && loop->timers[place / 2]->at > timer->at; place /= 2)
        put_timer(loop, place, loop->timers[place / 2]);
    put_timer(loop, place, timer);
}

// sink moves a timer away from the root until no child is earlier.
static void sink(Loop *loop, Timer *timer)
{
    size_t place = timer->place, child;
    while ((child = 2 * place) <= loop->timer_count) {
        if (child < loop->timer_count && loop->timers[child + 1]->at < loop->timers[child]->at)
            child++;
        if (loop->timers[child]->at >= timer->at)
            break;
        put_timer(loop, place, loop->timers[child]);
        place = child;
    }
    put_timer(loop, place, timer);
}

void loop_at(Loop *loop, Timer *timer, Instant at, LoopDue *due, void *with)
{
    if (timer->place == PLACE_DUE)
        loop_cancel(loop, timer);
    if (timer->place == 0) {
        if (++loop->timer_count >= loop->timer_room) {
            loop->timer_room = loop->timer_room ? loop->timer_room * 2 : 64;
            loop->timers = memory_grow(loop->timers, loop->timer_room * sizeof *loop->timers);
        }
        put_timer(loop, loop->timer_count, timer);
    }
    timer->at = at;
    timer->due = due;
    timer->with = with;
    lift(loop, timer);
    sink(loop, timer);
}

static void take_from_heap(Loop *loop, Timer *timer)
{
    assert(loop->timers[timer->place] == timer);
    Timer *last = loop->timers[loop->timer_count--];
    if (last == timer)
        return;
    put_timer(loop, timer->place, last);
    lift(loop, last);
    sink(loop, last);
}

static void take_from_due(Loop *loop, const Timer *timer)
{
    Timer **link = &loop->due;
    while (*link != timer)
        link = &(*link)->next;
    *link = timer->next;
}

void loop_cancel(Loop *loop, Timer *timer)
{
    if (timer->place == PLACE_DUE)
        take_from_due(loop, timer);
    else if (timer->place != 0)
        take_from_heap(loop, timer);
    timer->place = 0;
}

// run_timers takes all that are due out of the heap before it tells the first of them: what is set
// meanwhile is for another turn.
static void run_timers(Loop *loop)
{
    Instant now = loop_now(loop);
    Timer **end = &loop->due, *timer;
    assert(!loop->due);
    while (loop->timer_count > 0 && (timer = loop->timers[1])->at <= now) {
        take_from_heap(loop, timer);
        timer->place = PLACE_DUE;
        timer->next = NULL;
        *end = timer;
        end = &timer->next;
    }
    while ((timer = loop->due)) {
        loop_cancel(loop, timer);
        timer->due(timer->with);
    }
}

static void take_wake(Loop *loop)
{
    uint64_t times;
    ssize_t got = read(loop->wake_fd, &times, sizeof times);
    (void) got;
    // Taken last: a wake in between writes nothing, and is this one.
    loop->is_returning |= atomic_exchange(&loop->is_woken, false);
}

static void tell(Loop *loop, const struct epoll_event *event)
{
    int fd = (int) (uint32_t) event->data.u64;
    Watch *watch = watch_of(loop, fd);
    if (watch->age != event->data.u64 >> 32)
        return;
    if (!watch->ready) {
        // It rests and has news, and would have them again and again.
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        watch->registered = 0;
        return;
    }
    unsigned events = (event->events & (EPOLLIN | EPOLLHUP) ? LOOP_IN : 0U) |
                      (event->events & EPOLLOUT ? LOOP_OUT : 0U) |
                      (event->events & EPOLLERR ? LOOP_ERROR : 0U);
    watch->ready(watch->with, fd, events);
}

static void run_events(Loop *loop, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, timeout_ms);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == UINT64_MAX)
            take_wake(loop);
        else
            tell(loop, &events[i]);
    }
}

// wait_ms is how long nobody is due. No waiting makes a simulated clock go on.
static int wait_ms(const Loop *loop, Instant until)
{
    Span wait = until - clock_machine_monotonic();
    Span timer = loop->timer_count > 0 ? loop->timers[1]->at - loop_now(loop) : INSTANT_NONE;
    if (timer <= 0 || !loop->clock->is_simulated)
        wait = earlier(wait, timer);
    Span ms = (later(wait, 0) + SPAN_MILLISECOND - 1) / SPAN_MILLISECOND;
    return (int) earlier(ms, WAIT_MS_MAX);
}

void loop_wait(Loop *loop, Span timeout)
{
    Instant until = clock_machine_monotonic() + earlier(timeout, SPAN_DAY);
    do {
        run_timers(loop);
        run_events(loop, loop->is_returning ? 0 : wait_ms(loop, until));
    } while (!loop->is_returning && clock_machine_monotonic() < until);
    loop->is_returning = false;
}

void loop_return(Loop *loop)
{
    loop->is_returning = true;
}

void loop_wake(Loop *loop)
{
    uint64_t one = 1;
    if (atomic_exchange(&loop->is_woken, true))
        return;
    ssize_t written = write(loop->wake_fd, &one, sizeof one);
    (void) written; // A full counter wakes as well.
}
