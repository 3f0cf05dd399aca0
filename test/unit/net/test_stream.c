#include "host.h"

// Answers that are written while they are read, and exchanges that wait when the server closes.

typedef struct Watch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int told; // guarded by lock
} Watch;

static void watch_told(void *with)
{
    Watch *watch = with;
    pthread_mutex_lock(&watch->lock);
    watch->told++;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
}

static void wait_told(Watch *watch, int times)
{
    pthread_mutex_lock(&watch->lock);
    while (watch->told < times)
        pthread_cond_wait(&watch->changed, &watch->lock);
    pthread_mutex_unlock(&watch->lock);
}

#define WATCH                                                                                      \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static const Reply head = { .status = 200, .type = S("text/plain") };

// begin_stream asks on a new connection and begins to answer.
static Stream *begin_stream(Host *host, Watch *watch, Str request, int *ret_fd)
{
    *ret_fd = peer_dial(host->port);
    peer_send(*ret_fd, request);
    return exchange_stream(wait_for_held(host), &head,
                           (StreamWatch){ watch ? watch_told : NULL, watch });
}

#define ASK S("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n")

// read_until reads until what came ends like this; what came is returned.
static Str read_until(Arena *arena, int fd, Str end)
{
    Buf buf = buf_new(arena, PEER_BYTES_MAX);
    char byte;
    while (!str_ends(buf_str(&buf), end) && recv(fd, &byte, 1, 0) == 1)
        buf_add_char(&buf, byte);
    return buf_str(&buf);
}

// read_all reads to the end of the connection and counts.
static size_t read_all(int fd)
{
    static char piece[64 * 1024];
    size_t count = 0;
    for (ssize_t got; (got = recv(fd, piece, sizeof piece, 0)) > 0;)
        count += (size_t) got;
    return count;
}

static void a_stream_arrives_as_it_is_written(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int fd;
    Stream *stream = begin_stream(&host, NULL, ASK, &fd);
    CHECK(stream_write(stream, S("first\n")) == STREAM_TAKEN);
    Str came = read_until(&arena, fd, S("first\n\r\n"));
    CHECK(peer_status(came) == 200);
    CHECK(str_contains(came, S("Transfer-Encoding: chunked\r\n")));
    CHECK(str_contains(came, S("Content-Type: text/plain\r\n")));
    CHECK(str_contains(came, S("Cache-Control: no-store\r\n")));
    for (int i = 0; i < 100; i++) { // each is there before the next is written
        Str piece = str_format(&arena, "piece %d\n", i);
        CHECK(stream_write(stream, S("")) == STREAM_TAKEN);
        CHECK(stream_write(stream, piece) == STREAM_TAKEN);
        CHECK(str_contains(read_until(&arena, fd, S("\n\r\n")), piece));
    }
    stream_end(stream);
    CHECK(str_eq(read_until(&arena, fd, S("0\r\n\r\n")), S("0\r\n\r\n")));
    peer_send(fd, S("GET /next HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, fd)) == 200);
    close(fd);
    host_stop(&host);
}

static void a_stream_may_be_written_before_the_server_looks(void)
{
    static const struct {
        const char *row;
        Str request, end;
    } cases[] = {
        { "chunks", ASK, S("4\r\nabcd\r\n0\r\n\r\n") },
        { "an old client", S("GET /hold HTTP/1.0\r\n\r\n"), S("\r\n\r\nabcd") },
        { "no body", S("HEAD /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
          S("\r\n\r\n") },
    };
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        int fd;
        Stream *stream = begin_stream(&host, NULL, cases[i].request, &fd);
        StreamFit fit = stream_write(stream, S("abcd"));
        CHECK_AT(cases[i].row, fit == STREAM_TAKEN || i == 2);
        stream_end(stream);
        CHECK_AT(cases[i].row, read_until(&arena, fd, cases[i].end).len > cases[i].end.len);
        close(fd);
    }
    host_stop(&host);
}

// fill writes until the stream is full, and returns how many bytes it took.
static size_t fill(Stream *stream)
{
    static char piece[10000];
    size_t taken = 0;
    while (stream_write(stream, (Str){ piece, sizeof piece }) == STREAM_TAKEN)
        taken += sizeof piece;
    return taken;
}

static void a_full_stream_tells_its_writer_when_to_go_on(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    Watch watch = WATCH;
    int fd;
    Stream *stream = begin_stream(
        &host, &watch, S("GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), &fd);
    // The system takes what it can before the stream fills.
    size_t taken = fill(stream);
    static char piece[64 * 1024];
    size_t came = 0;
    while (came < taken) {
        ssize_t got = recv(fd, piece, sizeof piece, 0);
        CHECK(got > 0);
        if (got <= 0)
            break;
        came += (size_t) got;
    }
    wait_told(&watch, 1);
    CHECK(stream_write(stream, S("x")) == STREAM_TAKEN);
    stream_end(stream);
    CHECK(came + read_all(fd) > taken + 1);
    close(fd);
    host_stop(&host);
}

static void a_piece_is_taken_whole_however_long(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    Str large = { arena_alloc(&arena, 3 << 20), 3 << 20 };
    int fd;
    Stream *stream = begin_stream(
        &host, NULL, S("GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), &fd);
    CHECK(stream_write(stream, large) == STREAM_TAKEN);
    stream_end(stream);
    CHECK(read_all(fd) > large.len);
    close(fd);
    host_stop(&host);
}

static void a_client_that_reads_too_slowly_is_cut(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .request_deadline = 250 * SPAN_MILLISECOND,
                                       .answer_bytes_per_second = 1u << 30 });
    Watch watch = WATCH;
    int fd;
    Stream *stream = begin_stream(&host, &watch, ASK, &fd);
    // The system takes more and more for it, which is told as room, until it takes no more.
    for (int told = 1; stream_write(stream, S("x")) != STREAM_GONE; told++) {
        fill(stream);
        wait_told(&watch, told);
    }
    stream_end(stream);
    close(fd);
    host_stop(&host);
}

static void a_client_that_has_read_all_is_not_cut(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .request_deadline = 250 * SPAN_MILLISECOND,
                                       .answer_bytes_per_second = 1u << 30 });
    DEFER(arena_done) Arena arena = { 0 };
    int fd;
    Stream *stream = begin_stream(&host, NULL, ASK, &fd);
    CHECK(stream_write(stream, S("one\n")) == STREAM_TAKEN);
    read_until(&arena, fd, S("one\n\r\n"));
    for (int i = 0; i < 3; i++) { // deadlines of others pass
        int other = peer_dial(host.port);
        CHECK(peer_is_closed(other));
        close(other);
    }
    CHECK(stream_write(stream, S("two\n")) == STREAM_TAKEN);
    stream_end(stream);
    CHECK(str_ends(read_until(&arena, fd, S("0\r\n\r\n")), S("two\n\r\n0\r\n\r\n")));
    close(fd);
    host_stop(&host);
}

static void a_client_that_has_gone_is_noticed(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .request_deadline = 100 * SPAN_MILLISECOND });
    for (int is_asleep = 0; is_asleep < 2; is_asleep++) {
        DEFER(arena_done) Arena arena = { 0 };
        Watch watch = WATCH;
        int fd;
        Stream *stream = begin_stream(&host, &watch, ASK, &fd);
        if (is_asleep) {
            CHECK(stream_write(stream, S("one\n")) == STREAM_TAKEN);
            read_until(&arena, fd, S("one\n\r\n"));
        } else {
            fill(stream);
        }
        close(fd);
        for (int told = 1; stream_write(stream, S("x")) != STREAM_GONE; told++)
            wait_told(&watch, told);
        is_asleep ? stream_end(stream) : stream_break(stream);
    }
    host_stop(&host);
}

static void a_broken_stream_does_not_look_whole(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int fd;
    Stream *stream = begin_stream(&host, NULL, ASK, &fd);
    CHECK(stream_write(stream, S("half")) == STREAM_TAKEN);
    stream_break(stream);
    CHECK(str_ends(read_until(&arena, fd, S("0\r\n\r\n")), S("4\r\nhalf\r\n")));
    close(fd);
    host_stop(&host);
}

static void *close_server(void *with)
{
    Host *host = with;
    CHECK(server_close(host->server));
    host->server = NULL;
    return NULL;
}

static void a_server_that_closes_ends_its_streams(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    Watch watches[2] = { WATCH, WATCH };
    int fds[2];
    Stream *asleep = begin_stream(&host, &watches[0], ASK, &fds[0]);
    CHECK(stream_write(asleep, S("one\n")) == STREAM_TAKEN);
    read_until(&arena, fds[0], S("one\n\r\n"));
    Stream *full = begin_stream(&host, &watches[1], ASK, &fds[1]);
    fill(full);
    pthread_t closer;
    CHECK(pthread_create(&closer, NULL, close_server, &host) == 0);
    wait_told(&watches[0], 1);
    CHECK(stream_write(asleep, S("x")) == STREAM_GONE);
    for (int told = 1; stream_write(full, S("x")) != STREAM_GONE; told++)
        wait_told(&watches[1], told);
    stream_end(asleep);
    stream_end(full);
    pthread_join(closer, NULL);
    CHECK(read_until(&arena, fds[0], S("0\r\n\r\n")).len == 0); // cut, not ended
    close(fds[0]);
    close(fds[1]);
    host_stop(&host);
}

static void what_is_parked_is_answered_when_the_server_closes(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int answered = peer_dial(host.port), waiting = peer_dial(host.port);
    peer_send(answered, ASK);
    Exchange *first = wait_for_held(&host);
    peer_send(waiting, ASK);
    Exchange *second = wait_for_held(&host);
    exchange_park(first);
    exchange_park(second);
    CHECK(exchange_unpark(first));
    describe(first);
    CHECK(peer_status(peer_receive(&arena, answered)) == 200);
    CHECK(server_close(host.server));
    host.server = NULL;
    Str answer = peer_receive(&arena, waiting);
    CHECK(peer_status(answer) == 503 && str_contains(answer, S("\"code\":\"stopping\"")));
    CHECK(!exchange_unpark(second)); // also long after the server is gone
    CHECK(str_eq(second->path, S("/hold")));
    exchange_drop(second);
    close(answered);
    close(waiting);
    host_stop(&host);
}

enum { WRITERS = 4, ROUNDS = 25, PIECES = 200 };

// write_streams is a writer that waits where it is turned away.
static void *write_streams(void *with)
{
    Host *host = with;
    for (int round = 0; round < ROUNDS; round++) {
        Watch watch = WATCH;
        Stream *stream =
            exchange_stream(wait_for_held(host), &head, (StreamWatch){ watch_told, &watch });
        static char piece[1000];
        int told = 0;
        for (int i = 0; i < PIECES; i++)
            while (stream_write(stream, (Str){ piece, sizeof piece }) == STREAM_FULL)
                wait_told(&watch, ++told);
        stream_end(stream);
    }
    return NULL;
}

static void many_streams_are_written_at_once(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    pthread_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        CHECK(pthread_create(&writers[i], NULL, write_streams, &host) == 0);
    for (int round = 0; round < ROUNDS * WRITERS; round++) {
        int fd = peer_dial(host.port);
        peer_send(fd, S("GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
        CHECK(read_all(fd) > (size_t) 1000 * PIECES);
        close(fd);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    host_stop(&host);
}

static const Test tests[] = {
    TEST(a_stream_arrives_as_it_is_written),
    TEST(a_stream_may_be_written_before_the_server_looks),
    TEST(a_full_stream_tells_its_writer_when_to_go_on),
    TEST(a_piece_is_taken_whole_however_long),
    TEST(a_client_that_reads_too_slowly_is_cut),
    TEST(a_client_that_has_read_all_is_not_cut),
    TEST(a_client_that_has_gone_is_noticed),
    TEST(a_broken_stream_does_not_look_whole),
    TEST(a_server_that_closes_ends_its_streams),
    TEST(what_is_parked_is_answered_when_the_server_closes),
    TEST(many_streams_are_written_at_once),
};

TEST_MAIN(tests)
