#include "store/bell.h"

#include "base/log.h"
#include "store/db.h"
#include "store/notice.h"
#include "store/postgres/settings.h"
#include "store/ring.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RETRY_EVERY SPAN_SECOND

struct Bell {
    BellOptions options;
    pthread_t thread;
    _Atomic bool is_stopping;
    int wake_fd;
    PGconn *conn; // NULL while it is away
    bool is_away; // and somebody was told
    pthread_mutex_t lock;
    Ring ring;       // guarded by lock
    Notices notices; // guarded by lock
};

static void wake(const Bell *bell)
{
    (void) !write(bell->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

// rest waits until somebody has something to tell, the server says something, or it is time.
static void rest(const Bell *bell, Instant until)
{
    struct pollfd fds[] = { { .fd = bell->wake_fd, .events = POLLIN },
                            { .fd = bell->conn ? PQsocket(bell->conn) : -1, .events = POLLIN } };
    Span wait = until - clock_machine_monotonic();
    Span ms = wait > 0 ? wait / SPAN_MILLISECOND + 1 : 0;
    uint64_t count;
    (void) poll(fds, ARRAY_LEN(fds), until == INSTANT_NONE ? -1 : (int) (ms < INT_MAX ? ms : 0));
    (void) !read(bell->wake_fd, &count, sizeof count);
}

static void note_away(Bell *bell, const char *why)
{
    if (!bell->is_away)
        log_warn("bell.away", "detail=%s", log_quote(str_trim((Str){ why, strcspn(why, "\n") })));
    bell->is_away = true;
}

static void hang_up(Bell *bell)
{
    note_away(bell, PQerrorMessage(bell->conn));
    PQfinish(bell->conn);
    bell->conn = NULL;
}

// run does one statement; false where the connection is of no use any more.
static bool run(Bell *bell, const char *sql, const char *text)
{
    PGresult *result = PQexecParams(bell->conn, sql, text ? 1 : 0, NULL, &text, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        return true;
    hang_up(bell);
    return false;
}

static void hear_numbers(const Bell *bell)
{
    if (bell->options.numbered)
        bell->options.numbered(bell->options.numbered_with);
}

// connect_bell also tells the others that there is somebody, and that we have missed something.
static bool connect_bell(Bell *bell)
{
    DEFER(arena_done) Arena arena = { 0 };
    Error error = { 0 };
    if (settings_connect(&arena, bell->options.url, true, S("bell"), &bell->conn, &error) !=
        ERR_OK) {
        note_away(bell, error.detail);
        return false;
    }
    if (!run(bell, "LISTEN peal", NULL) || !run(bell, "LISTEN peal_nodes", NULL))
        return false;
    if (bell->is_away)
        log_info("bell.back", "detail=\"other nodes are heard again\"");
    bell->is_away = false;
    bell_ring(bell, NULL, 0);
    bell->options.heard(bell->options.with, NULL, 0);
    hear_numbers(bell);
    return true;
}

static void hear_one(const Bell *bell, const char *text)
{
    Ring ring = ring_read(str_from(text));
    Move moves[RING_LANES_MAX];
    size_t count = ring.is_of_all ? 0 : ring.count;
    for (size_t i = 0; i < count; i++)
        moves[i] = (Move){ .lane = ring.lanes[i], .due_at = clock_now(bell->options.clock) };
    bell->options.heard(bell->options.with, moves, count);
}

static void hear(Bell *bell)
{
    if (!PQconsumeInput(bell->conn)) {
        hang_up(bell);
        return;
    }
    for (PGnotify *one; (one = PQnotifies(bell->conn)) != NULL; PQfreemem(one))
        if (one->be_pid == PQbackendPID(bell->conn))
            continue; // our own
        else if (notice_is(str_from(one->extra)))
            hear_numbers(bell);
        else
            hear_one(bell, one->extra);
}

static Instant next_word(Bell *bell)
{
    pthread_mutex_lock(&bell->lock);
    Instant due = earlier(ring_due(&bell->ring), notices_due(&bell->notices));
    pthread_mutex_unlock(&bell->lock);
    return due;
}

static void tell(Bell *bell)
{
    char text[RING_TEXT_MAX];
    Instant monotonic = clock_machine_monotonic();
    pthread_mutex_lock(&bell->lock);
    bool is_due = ring_due(&bell->ring) <= monotonic;
    if (is_due)
        ring_take(&bell->ring, monotonic, text);
    pthread_mutex_unlock(&bell->lock);
    if (is_due)
        (void) run(bell, "SELECT pg_notify('peal_nodes', $1)", text);
}

// tell_subscribers sends all notices in one transaction.
static void tell_subscribers(Bell *bell)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str text = STR_NONE;
    Instant monotonic = clock_machine_monotonic();
    pthread_mutex_lock(&bell->lock);
    if (notices_due(&bell->notices) <= monotonic)
        text = notices_take(&bell->notices, &arena, monotonic);
    pthread_mutex_unlock(&bell->lock);
    if (text.at)
        (void) run(bell,
                   "SELECT pg_notify('peal', CAST(value AS TEXT))"
                   " FROM json_array_elements(CAST($1 AS JSON))",
                   str_z(&arena, text));
}

static void *bell_main(void *with)
{
    Bell *bell = with;
    while (!bell->is_stopping) {
        // What the server said while it was told something lies in libpq's memory, where poll()
        // does not see it: it is heard before the rest.
        if (bell->conn || connect_bell(bell))
            tell(bell);
        if (bell->conn)
            tell_subscribers(bell);
        if (bell->conn)
            hear(bell);
        rest(bell, bell->conn ? next_word(bell) : clock_machine_monotonic() + RETRY_EVERY);
    }
    PQfinish(bell->conn);
    return NULL;
}

Bell *bell_open(const BellOptions *options)
{
    if (db_driver_for(options->url) != &postgres_driver)
        return NULL;
    Bell *bell = memory_new(sizeof *bell);
    bell->options = *options;
    bell->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&bell->lock, NULL);
    if (bell->wake_fd < 0 || pthread_create(&bell->thread, NULL, bell_main, bell) != 0)
        abort();
    return bell;
}

void bell_close(Bell *bell)
{
    if (!bell)
        return;
    bell->is_stopping = true;
    wake(bell);
    pthread_join(bell->thread, NULL);
    pthread_mutex_destroy(&bell->lock);
    close(bell->wake_fd);
    free(bell);
}

void bell_tell(Bell *bell, Str tenant, int64_t number)
{
    if (!bell)
        return;
    pthread_mutex_lock(&bell->lock);
    bool was_still = notices_due(&bell->notices) == INSTANT_NONE;
    notices_add(&bell->notices, tenant, number);
    pthread_mutex_unlock(&bell->lock);
    if (was_still)
        wake(bell);
}

void bell_ring(Bell *bell, const Move *moves, size_t count)
{
    if (!bell)
        return;
    Instant now = clock_now(bell->options.clock);
    pthread_mutex_lock(&bell->lock);
    bool was_still = ring_due(&bell->ring) == INSTANT_NONE;
    ring_add(&bell->ring, moves, count, now);
    bool rings = was_still && ring_due(&bell->ring) != INSTANT_NONE;
    pthread_mutex_unlock(&bell->lock);
    if (rings)
        wake(bell);
}
