#include "net/transport.h"

#include "peer.h"
#include "test.h"

// Tally is what came through a transport.
typedef struct Tally {
    int answered, exited;
    bool has_line;
} Tally;

static void answered(void *with, const TransferResult *result)
{
    ((Tally *) with)->answered += result->problem == TRANSFER_ANSWERED && result->status == 200;
}

static void exited(void *with, const ProcessResult *result)
{
    ((Tally *) with)->exited += result->end == PROCESS_EXITED && result->status == 4;
}

static void said(void *with, Str line)
{
    ((Tally *) with)->has_line |= str_eq(line, S("said"));
}

static bool answer(PeerServer *server, int fd, Str request)
{
    (void) server, (void) request;
    return peer_send(fd, S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
}

static void *wake(void *with)
{
    transport_wake(with);
    return NULL;
}

static void requests_and_programs_share_one_loop(void)
{
    static const Str arguments[] = { S("/bin/sh"), S("-c"), S("echo said; exit 4") };
    PeerServer server = { .turn = answer };
    peer_server_start(&server);
    DEFER(arena_done) Arena arena = { 0 };
    Tally tally = { 0 };
    Clock clock;
    Carriers carriers;
    clock_init_system(&clock);
    carriers_open(&carriers, &clock, NULL);
    Transport transport = carriers_transport(&carriers);
    Transfer transfer = { .method = S("POST"),
                          .url = str_format(&arena, "http://127.0.0.1:%d/", server.port) };
    Process process = { .arguments = arguments,
                        .argument_count = ARRAY_LEN(arguments),
                        .line = said };
    for (int i = 0; i < 5; i++) {
        transport_start(&transport, &transfer, answered, &tally);
        transport_spawn(&transport, &process, exited, &tally);
        CHECK(tally.answered == i && tally.exited == i); // never at once
        while (tally.answered == i || tally.exited == i)
            transport_wait(&transport, SPAN_HOUR);
    }
    CHECK(tally.answered == 5 && tally.exited == 5 && tally.has_line);
    pthread_t waker;
    int failed = pthread_create(&waker, NULL, wake, &transport);
    assert(!failed);
    transport_wait(&transport, SPAN_HOUR);
    pthread_join(waker, NULL);
    carriers_close(&carriers);
    peer_server_stop(&server);
}

static const Test tests[] = { TEST(requests_and_programs_share_one_loop) };

TEST_MAIN(tests)
