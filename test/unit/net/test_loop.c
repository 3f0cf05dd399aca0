#include "net/loop.h"

#include "base/random.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { TIMERS = 500 };

// Bed is a loop in invented time with a pipe on it.
typedef struct Bed {
    Clock clock;
    Loop *loop;
    int in, out; // the pipe's ends: read from in, write to out
    int calls;
    unsigned events;
    bool unwatches; // from within the call
} Bed;

static void bed_open(Bed *bed)
{
    int fds[2];
    assert(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    *bed = (Bed){ .in = fds[0], .out = fds[1] };
    clock_init_simulated(&bed->clock, SPAN_DAY);
    bed->loop = loop_new(&bed->clock);
}

static void bed_close(Bed *bed)
{
    loop_unwatch(bed->loop, bed->in);
    loop_unwatch(bed->loop, bed->out);
    close(bed->in);
    close(bed->out);
    loop_free(bed->loop);
}

static void poke(const Bed *bed)
{
    assert(write(bed->out, "x", 1) == 1);
}

static void ready(void *with, int fd, unsigned events)
{
    Bed *bed = with;
    bed->calls++;
    bed->events = events;
    if (bed->unwatches)
        loop_unwatch(bed->loop, fd);
    loop_return(bed->loop);
}

static void a_descriptor_is_told_while_it_is_ready(void)
{
    Bed bed;
    bed_open(&bed);
    loop_watch(bed.loop, bed.in, LOOP_IN, ready, &bed);
    loop_wait(bed.loop, 0);
    CHECK(bed.calls == 0);
    poke(&bed);
    loop_wait(bed.loop, SPAN_HOUR);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(bed.calls == 2 && bed.events == LOOP_IN);
    loop_watch(bed.loop, bed.out, LOOP_OUT, ready, &bed);
    loop_unwatch(bed.loop, bed.in);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(bed.calls == 3 && bed.events == LOOP_OUT);
    bed_close(&bed);
}

static void the_other_ends_close_is_told(void)
{
    Bed bed;
    bed_open(&bed);
    int fds[2];
    assert(pipe2(fds, O_CLOEXEC) == 0);
    loop_watch(bed.loop, fds[0], LOOP_IN, ready, &bed);
    close(fds[1]);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(bed.calls == 1 && bed.events == LOOP_IN);
    loop_unwatch(bed.loop, fds[0]);
    close(fds[0]);
    assert(pipe2(fds, O_CLOEXEC) == 0);
    loop_watch(bed.loop, fds[1], LOOP_OUT, ready, &bed);
    close(fds[0]);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(bed.calls == 2 && bed.events & LOOP_ERROR);
    loop_unwatch(bed.loop, fds[1]);
    close(fds[1]);
    bed_close(&bed);
}

static void one_that_rests_is_not_told_and_wakes_nobody(void)
{
    Bed bed;
    bed_open(&bed);
    loop_watch(bed.loop, bed.in, LOOP_IN, ready, &bed);
    loop_rest(bed.loop, bed.in);
    poke(&bed);
    Instant start = clock_machine_monotonic();
    loop_wait(bed.loop, 5 * SPAN_MILLISECOND);
    CHECK(bed.calls == 0 && clock_machine_monotonic() - start >= 5 * SPAN_MILLISECOND);
    loop_watch(bed.loop, bed.in, LOOP_IN, ready, &bed);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(bed.calls == 1);
    bed_close(&bed);
}

// Heir unwatches and closes its partner, whose number a new pipe gets at once.
typedef struct Heir {
    Bed *bed;
    int fds[2][2];
    int calls[2];
    int stranger;
} Heir;

static void stranger_ready(void *with, int fd, unsigned events)
{
    (void) fd, (void) events;
    ((Heir *) with)->stranger++;
}

static void heir_ready(void *with, int fd, unsigned events)
{
    Heir *heir = with;
    int own = fd == heir->fds[0][0] ? 0 : 1, other = 1 - own, new[2];
    (void) events;
    heir->calls[own]++;
    loop_unwatch(heir->bed->loop, heir->fds[other][0]);
    close(heir->fds[other][0]);
    close(heir->fds[other][1]);
    assert(pipe2(new, O_CLOEXEC) == 0);
    heir->fds[other][0] = new[0];
    heir->fds[other][1] = new[1];
    loop_watch(heir->bed->loop, new[0], LOOP_IN, stranger_ready, heir);
    loop_unwatch(heir->bed->loop, fd);
    loop_return(heir->bed->loop);
}

static void what_was_ready_is_not_told_to_the_next_of_its_number(void)
{
    Bed bed;
    bed_open(&bed);
    Heir heir = { .bed = &bed };
    for (int i = 0; i < 2; i++) {
        assert(pipe2(heir.fds[i], O_CLOEXEC) == 0);
        loop_watch(bed.loop, heir.fds[i][0], LOOP_IN, heir_ready, &heir);
        assert(write(heir.fds[i][1], "x", 1) == 1);
    }
    loop_wait(bed.loop, SPAN_HOUR);
    loop_wait(bed.loop, 0);
    CHECK(heir.calls[0] + heir.calls[1] == 1 && heir.stranger == 0);
    for (int i = 0; i < 2; i++) {
        loop_unwatch(bed.loop, heir.fds[i][0]);
        close(heir.fds[i][0]);
        close(heir.fds[i][1]);
    }
    bed_close(&bed);
}

static void a_call_may_unwatch_itself(void)
{
    Bed bed;
    bed_open(&bed);
    bed.unwatches = true;
    loop_watch(bed.loop, bed.in, LOOP_IN, ready, &bed);
    poke(&bed);
    loop_wait(bed.loop, SPAN_HOUR);
    loop_wait(bed.loop, 0);
    CHECK(bed.calls == 1);
    bed_close(&bed);
}

// Row is a timer that notes when it was told, and in which order.
typedef struct Row {
    Timer timer;
    Loop *loop;
    Instant told_at;
    int order, *count;
    Timer *cancels; // when told; NULL
    bool sets_anew; // to the same moment
} Row;

static void due(void *with)
{
    Row *row = with;
    row->told_at = loop_now(row->loop);
    row->order = ++*row->count;
    if (row->cancels)
        loop_cancel(row->loop, row->cancels);
    if (row->sets_anew)
        loop_at(row->loop, &row->timer, row->told_at, due, row);
    loop_return(row->loop);
}

static void timers_are_told_by_the_clock_they_were_set_by(void)
{
    Bed bed;
    int count = 0;
    bed_open(&bed);
    Row row = { .loop = bed.loop, .count = &count };
    Instant start = loop_now(bed.loop);
    loop_at(bed.loop, &row.timer, start + SPAN_SECOND, due, &row);
    loop_wait(bed.loop, 2 * SPAN_MILLISECOND);
    clock_set(&bed.clock, 40 * SPAN_DAY); // wall time: it says nothing
    clock_pass(&bed.clock, SPAN_SECOND - 1);
    loop_wait(bed.loop, 0);
    CHECK(count == 0 && timer_is_set(&row.timer));
    clock_pass(&bed.clock, 1);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(count == 1 && !timer_is_set(&row.timer));
    clock_pass(&bed.clock, SPAN_DAY);
    loop_wait(bed.loop, 0);
    CHECK(count == 1);
    bed_close(&bed);
}

static void many_timers_are_told_in_order(void)
{
    static Row rows[TIMERS];
    Bed bed;
    int count = 0, told = 0;
    bed_open(&bed);
    Random random = random_seeded(7);
    Instant start = loop_now(bed.loop);
    for (int i = 0; i < TIMERS; i++) {
        rows[i] = (Row){ .loop = bed.loop, .count = &count };
        loop_at(bed.loop, &rows[i].timer, start + (Instant) (random_u64(&random) % 100), due,
                &rows[i]);
    }
    for (int i = 0; i < TIMERS; i += 3) // some are moved, some never told
        loop_at(bed.loop, &rows[i].timer, start + (Instant) (random_u64(&random) % 100), due,
                &rows[i]);
    for (int i = 1; i < TIMERS; i += 3)
        loop_cancel(bed.loop, &rows[i].timer);
    for (int i = 0; i < 100; i++) {
        loop_wait(bed.loop, 0);
        clock_pass(&bed.clock, 1);
    }
    for (int i = 0; i < TIMERS; i++) {
        told += rows[i].order > 0;
        CHECK((rows[i].order > 0) == (i % 3 != 1));
        CHECK(rows[i].order == 0 || rows[i].told_at == rows[i].timer.at);
    }
    CHECK(told == count);
    bed_close(&bed);
}

static void a_timer_may_call_off_another_of_its_turn(void)
{
    Bed bed;
    int count = 0;
    bed_open(&bed);
    Row rows[3];
    for (int i = 0; i < 3; i++) {
        rows[i] = (Row){ .loop = bed.loop, .count = &count };
        loop_at(bed.loop, &rows[i].timer, loop_now(bed.loop) + i, due, &rows[i]);
    }
    rows[0].cancels = &rows[1].timer;
    clock_pass(&bed.clock, 10);
    loop_wait(bed.loop, 0);
    CHECK(rows[0].order == 1 && rows[1].order == 0 && rows[2].order == 2);
    bed_close(&bed);
}

static void a_timer_that_sets_itself_starves_nobody(void)
{
    Bed bed;
    int count = 0;
    bed_open(&bed);
    Row row = { .loop = bed.loop, .count = &count, .sets_anew = true };
    loop_watch(bed.loop, bed.in, LOOP_IN, ready, &bed);
    poke(&bed);
    loop_at(bed.loop, &row.timer, loop_now(bed.loop), due, &row);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(count == 1 && bed.calls == 1);
    loop_wait(bed.loop, SPAN_HOUR);
    CHECK(count == 2 && bed.calls == 2);
    loop_cancel(bed.loop, &row.timer);
    bed_close(&bed);
}

static void set_now(void *with)
{
    Row *row = with;
    loop_at(row->loop, &row->timer, loop_now(row->loop), due, row);
}

static void a_timer_for_now_is_not_slept_over(void)
{
    Bed bed;
    int count = 0;
    bed_open(&bed);
    Timer first = { 0 };
    Row row = { .loop = bed.loop, .count = &count };
    loop_at(bed.loop, &first, loop_now(bed.loop), set_now, &row);
    Instant start = clock_machine_monotonic();
    loop_wait(bed.loop, 2 * SPAN_SECOND);
    CHECK(count == 1 && clock_machine_monotonic() - start < 2 * SPAN_SECOND);
    bed_close(&bed);
}

static void a_timer_of_the_machines_clock_ends_the_wait(void)
{
    Clock clock;
    clock_init_manual(&clock, 0); // whose monotonic time is the machine's
    Loop *loop = loop_new(&clock);
    int count = 0;
    Row row = { .loop = loop, .count = &count };
    Instant at = loop_now(loop) + 5 * SPAN_MILLISECOND;
    loop_at(loop, &row.timer, at, due, &row);
    loop_wait(loop, SPAN_HOUR);
    CHECK(count == 1 && row.told_at >= at && row.told_at < at + SPAN_MINUTE);
    loop_free(loop);
}

static void *wake(void *with)
{
    loop_wake(with);
    return NULL;
}

static void any_thread_may_wake_it(void)
{
    Bed bed;
    bed_open(&bed);
    // One that comes early is not lost, and many are one.
    for (int i = 0; i < 3; i++)
        loop_wake(bed.loop);
    loop_wait(bed.loop, SPAN_HOUR);
    Instant start = clock_machine_monotonic();
    loop_wait(bed.loop, 2 * SPAN_MILLISECOND);
    CHECK(clock_machine_monotonic() - start >= 2 * SPAN_MILLISECOND);
    for (int i = 0; i < 100; i++) {
        pthread_t waker;
        int failed = pthread_create(&waker, NULL, wake, bed.loop);
        assert(!failed);
        loop_wait(bed.loop, SPAN_HOUR);
        pthread_join(waker, NULL);
    }
    CHECK(clock_machine_monotonic() - start < SPAN_MINUTE);
    bed_close(&bed);
}

static const Test tests[] = {
    TEST(a_descriptor_is_told_while_it_is_ready),
    TEST(the_other_ends_close_is_told),
    TEST(one_that_rests_is_not_told_and_wakes_nobody),
    TEST(what_was_ready_is_not_told_to_the_next_of_its_number),
    TEST(a_call_may_unwatch_itself),
    TEST(timers_are_told_by_the_clock_they_were_set_by),
    TEST(many_timers_are_told_in_order),
    TEST(a_timer_may_call_off_another_of_its_turn),
    TEST(a_timer_that_sets_itself_starves_nobody),
    TEST(a_timer_for_now_is_not_slept_over),
    TEST(a_timer_of_the_machines_clock_ends_the_wait),
    TEST(any_thread_may_wake_it),
};

TEST_MAIN(tests)
