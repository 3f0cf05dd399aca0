#include "host.h"
#include "net/strikes.h"

#include <ifaddrs.h>
#include <net/if.h>

// What the server grants a client, and what it keeps for the others: sizes, time, connections.

static void large_heads_are_refused(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .header_bytes_max = 4096 });
    static const size_t sizes[] = { 3000, 4200, 9000, 100000 };
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Buf buf = buf_new(&arena, PEER_BYTES_MAX);
        buf_add(&buf, S("GET /x HTTP/1.1\r\nHost: x\r\nX-Long: "));
        for (size_t j = 0; j < sizes[i]; j++)
            buf_add_char(&buf, 'a');
        buf_add(&buf, S("\r\n\r\n"));
        Str answer = ask(&arena, host.port, buf_str(&buf));
        CHECK(peer_status(answer) == (i == 0 ? 200 : 431));
    }
    DEFER(arena_done) Arena arena = { 0 };
    Buf many = buf_new(&arena, PEER_BYTES_MAX);
    buf_add(&many, S("GET /x HTTP/1.1\r\nHost: x\r\n"));
    for (int i = 0; i < 110; i++)
        buf_add_format(&many, "A%d: b\r\n", i);
    buf_add(&many, S("\r\n"));
    Str answer = ask(&arena, host.port, buf_str(&many));
    CHECK(peer_status(answer) == 431);
    CHECK(str_contains(answer, S("\"code\":\"headers-too-large\"")));
    CHECK(host.handled == 1);
    host_stop(&host);
}

static void large_bodies_arrive_up_to_the_limit(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .body_bytes_max = 1000000 });
    static const size_t sizes[] = { 1, 4095, 65536, 65537, 200000, 999999, 1000000 };
    for (int chunked = 0; chunked < 2; chunked++) {
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            DEFER(arena_done) Arena arena = { 0 };
            Buf buf = buf_new(&arena, PEER_BYTES_MAX);
            buf_add(&buf, S("POST /x HTTP/1.1\r\nHost: x\r\n"));
            if (chunked)
                buf_add_format(&buf, "Transfer-Encoding: chunked\r\n\r\n%zX\r\n", sizes[i]);
            else
                buf_add_format(&buf, "Content-Length: %zu\r\n\r\n", sizes[i]);
            for (size_t j = 0; j < sizes[i]; j++)
                buf_add_char(&buf, (char) ('a' + j % 26));
            if (chunked)
                buf_add(&buf, S("\r\n0\r\n\r\n"));
            Str answer = ask(&arena, host.port, buf_str(&buf));
            Str want = str_format(&arena, "POST /x body=%zu", sizes[i]);
            CHECK(peer_status(answer) == 200 && str_starts(peer_body(answer), want));
        }
    }
    host_stop(&host);
}

static void a_body_over_the_limit_is_answered_though_the_client_still_sends(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .body_bytes_max = 100000 });
    for (int chunked = 0; chunked < 2; chunked++) {
        DEFER(arena_done) Arena arena = { 0 };
        Buf body = buf_new(&arena, PEER_BYTES_MAX);
        for (size_t i = 0; i < 3000000; i++)
            buf_add_char(&body, 'x');
        int fd = peer_dial(host.port);
        peer_send(fd, chunked
                          ? S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n2DC6C0\r\n")
                          : S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"));
        // The whole body goes out before the answer is read, as simple clients do.
        CHECK(peer_send(fd, buf_str(&body)));
        Str answer = peer_receive(&arena, fd);
        CHECK(peer_status(answer) == 413);
        CHECK(str_contains(answer, S("\r\nConnection: close\r\n")));
        CHECK(str_contains(answer, S("\"code\":\"too-large\"")));
        close(fd);
    }
    // A length that is announced is refused before a byte of it comes.
    DEFER(arena_done) Arena arena = { 0 };
    Str head = S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n");
    CHECK(peer_status(ask(&arena, host.port, head)) == 413);
    CHECK(host.handled == 0);
    host_stop(&host);
}

// post sends a body of so many bytes on a new connection.
static int post(Host *host, const char *path, size_t len, bool is_chunked)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf buf = buf_new(&arena, PEER_BYTES_MAX);
    buf_add_format(&buf, "POST %s HTTP/1.1\r\nHost: x\r\n", path);
    if (is_chunked)
        buf_add_format(&buf, "Transfer-Encoding: chunked\r\n\r\n%zX\r\n", len);
    else
        buf_add_format(&buf, "Content-Length: %zu\r\n\r\n", len);
    for (size_t i = 0; i < len; i++)
        buf_add_char(&buf, 'x');
    if (is_chunked)
        buf_add(&buf, S("\r\n0\r\n\r\n"));
    int fd = peer_dial(host->port);
    peer_send(fd, buf_str(&buf));
    return fd;
}

static int answer_of(int fd)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str answer = peer_receive(&arena, fd);
    close(fd);
    CHECK(peer_status(answer) != 503 || str_contains(answer, S("\r\nRetry-After: 2\r\n")));
    return peer_status(answer);
}

static void all_bodies_share_what_is_set_aside_for_them(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .body_bytes_max = 80000, .bodies_bytes_max = 100000 });
    int first = post(&host, "/hold", 60000, false);
    Exchange *held = wait_for_held(&host);
    for (int is_chunked = 0; is_chunked < 2; is_chunked++)
        CHECK(answer_of(post(&host, "/x", 60000, is_chunked)) == 503);
    CHECK(answer_of(post(&host, "/x", 1000, false)) == 200); // what fits goes on
    describe(held);
    CHECK(answer_of(first) == 200);
    for (int is_chunked = 0; is_chunked < 2; is_chunked++)
        CHECK(answer_of(post(&host, "/x", 60000, is_chunked)) == 200);
    host_stop(&host);
}

static void a_request_that_does_not_arrive_in_time_is_cut(void)
{
    static const struct {
        const char *row;
        Str request;
        bool is_answered;
    } cases[] = {
        { "nothing", S(""), false },
        { "half a request line", S("GET /x HT"), false },
        { "half a head", S("GET /x HTTP/1.1\r\nHost: x\r\nX-Sl"), true },
        { "half a body", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"), true },
        { "half the chunks",
          S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc"), true },
        { "a refused body", S("POST /secret HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"),
          true },
        { "the second request",
          S("GET /x HTTP/1.1\r\nHost: x\r\n\r\nPOST /x HTTP/1.1\r\nHost: x\r\nContent-Length: "
            "9\r\n\r\n"),
          true },
    };
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .request_deadline = 300 * SPAN_MILLISECOND });
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        int fd = peer_dial(host.port);
        peer_send(fd, cases[i].request);
        if (i + 1 == ARRAY_LEN(cases))
            CHECK(peer_status(peer_receive(&arena, fd)) == 200);
        Str answer = peer_receive(&arena, fd);
        CHECK_AT(cases[i].row, peer_status(answer) == (cases[i].is_answered ? 408 : 0));
        CHECK_AT(cases[i].row, peer_is_closed(fd));
        close(fd);
    }
    host_stop(&host);
}

// pass_deadline lets the deadline of a fresh connection pass, without a sleep.
static void pass_deadline(int port)
{
    int fd = peer_dial(port);
    CHECK(peer_is_closed(fd));
    close(fd);
}

static void a_request_being_handled_and_an_idle_connection_are_not_cut(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .request_deadline = 250 * SPAN_MILLISECOND });
    DEFER(arena_done) Arena arena = { 0 };
    int idle = peer_dial(host.port), busy = peer_dial(host.port);
    peer_send(idle, S("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, idle)) == 200);
    peer_send(busy, S("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    Exchange *exchange = wait_for_held(&host);
    for (int i = 0; i < 3; i++)
        pass_deadline(host.port);
    describe(exchange);
    CHECK(str_eq(peer_body(peer_receive(&arena, busy)), S("GET /hold body=0 \"\"")));
    peer_send(idle, S("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, idle)) == 200);
    close(idle);
    close(busy);
    host_stop(&host);
}

static void an_answer_that_is_not_taken_is_cut(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .request_deadline = 250 * SPAN_MILLISECOND,
                                       .answer_bytes_per_second = 1u << 30 });
    int fd = peer_dial(host.port);
    peer_send(fd, S("GET /long HTTP/1.1\r\nHost: x\r\n\r\n"));
    for (int i = 0; i < 3; i++)
        pass_deadline(host.port);
    static char piece[64 * 1024];
    size_t taken = 0;
    for (ssize_t got; (got = recv(fd, piece, sizeof piece, 0)) > 0;)
        taken += (size_t) got;
    CHECK(taken > 0 && taken < LONG_BYTES);
    close(fd);
    host_stop(&host);
}

// own_address finds an address of this machine that is not loopback.
static bool own_address(struct sockaddr_in *ret)
{
    struct ifaddrs *all = NULL;
    bool is_found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (struct ifaddrs *each = all; each && !is_found; each = each->ifa_next) {
        if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET ||
            each->ifa_flags & IFF_LOOPBACK)
            continue;
        memcpy(ret, each->ifa_addr, sizeof *ret);
        is_found = true;
    }
    freeifaddrs(all);
    return is_found;
}

// visit asks once, on a connection of its own, and returns the status.
static int visit(int port, const char *path, const char *headers)
{
    DEFER(arena_done) Arena arena = { 0 };
    return peer_status(ask(
        &arena, port, str_format(&arena, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, headers)));
}

static void slow_clients_leave_room_for_health_and_operators(void)
{
    enum { ROOM = 8, SLOW = 200 };
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .connections_max = ROOM,
                                       .request_deadline = SPAN_MINUTE,
                                       .reserve_deadline = SPAN_MINUTE });
    DEFER(arena_done) Arena arena = { 0 };
    int slow[SLOW];
    for (int i = 0; i < SLOW; i++) { // no deadline cuts them in time
        slow[i] = peer_dial(host.port);
        peer_send(slow[i], S("GET /slow HT"));
        if (i >= ROOM && i % 20 == 0)
            CHECK(visit(host.port, "/livez", "") == 200);
    }
    for (int i = 0; i < 3; i++) {
        int fd = peer_dial(host.port);
        peer_send(fd, S("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"));
        Str answer = peer_receive(&arena, fd);
        CHECK(peer_status(answer) == 200 && str_contains(answer, S("Connection: close")));
        CHECK(peer_is_closed(fd)); // the room is for the next one
        close(fd);
    }
    CHECK(visit(host.port, "/x", "Authorization: operator\r\n") == 200);
    CHECK(visit(host.port, "/x", "Authorization: somebody\r\n") == 503);
    peer_send(slow[0], S("TP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, slow[0])) == 200); // they keep their place
    for (int i = 0; i < SLOW; i++)
        close(slow[i]);
    host_stop(&host);
}

static void a_crowd_that_comes_at_once_leaves_room_too(void)
{
    enum { ROOM = 8, SLOW = 200 };
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .connections_max = ROOM,
                                       .request_deadline = SPAN_MINUTE,
                                       .reserve_deadline = SPAN_MINUTE });
    DEFER(arena_done) Arena arena = { 0 };
    int slow[SLOW], busy = peer_dial(host.port);
    pthread_mutex_lock(&host.lock); // the loop stands still while they come
    peer_send(busy, S("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (host.handled == 0)
        continue;
    for (int i = 0; i < SLOW; i++) {
        slow[i] = peer_dial(host.port);
        peer_send(slow[i], S("GET /slow HT"));
    }
    pthread_mutex_unlock(&host.lock);
    describe(wait_for_held(&host));
    CHECK(peer_status(peer_receive(&arena, busy)) == 200);
    CHECK(visit(host.port, "/livez", "") == 200);
    close(busy);
    for (int i = 0; i < SLOW; i++)
        close(slow[i]);
    host_stop(&host);
}

static AddressPolicy ranges(const char *text)
{
    AddressPolicy policy = { 0 };
    Err err = address_policy_parse(str_from(text), &policy, NULL);
    assert(err == ERR_OK);
    return policy;
}

static void behind_a_proxy_its_clients_are_counted(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .proxies = ranges("127.0.0.0/8"),
                                       .connections_per_address_max = 2 });
    int fds[2];
    Exchange *held[2];
    for (int i = 0; i < 2; i++) {
        fds[i] = peer_dial(host.port);
        peer_send(fds[i], S("GET /hold HTTP/1.1\r\nHost: x\r\n"
                            "X-Forwarded-For: 6.6.6.6, 2001:db8::1\r\n\r\n"));
        held[i] = wait_for_held(&host);
        CHECK(str_eq(held[i]->remote, S("2001:db8::1")));
    }
    CHECK(visit(host.port, "/x", "X-Forwarded-For: 2001:db8::2\r\n") == 429);
    CHECK(visit(host.port, "/x", "X-Forwarded-For: 2001:db8:0:1::2\r\n") == 200);
    CHECK(visit(host.port, "/x", "X-Forwarded-For: 6.6.6.6\r\n") == 200);
    for (int i = 0; i < 2; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        describe(held[i]);
        CHECK(peer_status(peer_receive(&arena, fds[i])) == 200);
    }
    // The proxy's connections stay, and are nobody's while they are idle.
    CHECK(visit(host.port, "/x", "X-Forwarded-For: 2001:db8::2\r\n") == 200);
    for (int i = 0; i < 2; i++)
        close(fds[i]);
    host_stop(&host);
}

// dial_own connects by the machine's own address.
static int dial_own(struct sockaddr_in address, int port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = htons((uint16_t) port);
    peer_limit(fd);
    CHECK(connect(fd, (const struct sockaddr *) &address, sizeof address) == 0);
    return fd;
}

static void who_does_not_come_through_the_proxy_sees_no_more_than_health(void)
{
    struct sockaddr_in address;
    if (!own_address(&address))
        return;
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .listen = S("0.0.0.0:0"), .proxies = ranges("192.0.2.1") });
    static const struct {
        const char *path;
        int status;
    } cases[] = { { "/x", 403 }, { "/livez", 200 }, { "/secret", 403 } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        int fd = dial_own(address, host.port);
        peer_send(fd, str_format(&arena, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", cases[i].path));
        Str answer = peer_receive(&arena, fd);
        CHECK_AT(cases[i].path, peer_status(answer) == cases[i].status);
        CHECK_AT(cases[i].path,
                 str_contains(answer, S("\"code\":\"direct\"")) == (cases[i].status == 403));
        close(fd);
    }
    CHECK(visit(host.port, "/x", "") == 200); // this machine is no stranger
    host_stop(&host);
}

static void failures_for_want_of_a_key_are_slowed_down(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .proxies = ranges("127.0.0.1") });
    int refused = 0;
    for (int i = 0; i < STRIKES_MAX + 5; i++) {
        int status = visit(host.port, "/secret", "X-Forwarded-For: 203.0.113.9\r\n");
        CHECK(status == 401 || (status == 429 && i >= STRIKES_MAX));
        refused += status == 429;
    }
    CHECK(refused > 0);
    CHECK(visit(host.port, "/secret", "X-Forwarded-For: 203.0.113.8\r\n") == 401);
    CHECK(visit(host.port, "/secret", "X-Forwarded-For: 203.0.113.9\r\nAuthorization: x\r\n") ==
          200);
    host_stop(&host);
}

static void one_address_may_have_so_many_connections(void)
{
    struct sockaddr_in address;
    if (!own_address(&address))
        return;
    Host host = { 0 };
    host_start(&host,
               (ServerOptions){ .listen = S("0.0.0.0:0"), .connections_per_address_max = 3 });
    DEFER(arena_done) Arena arena = { 0 };
    int fds[4];
    for (int i = 0; i < 4; i++) {
        fds[i] = dial_own(address, host.port);
        peer_send(fds[i], S("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        CHECK(peer_status(peer_receive(&arena, fds[i])) == (i < 3 ? 200 : 0));
    }
    // Loopback is not counted.
    for (int i = 0; i < 5; i++)
        CHECK(peer_status(ask(&arena, host.port, S("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))) == 200);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    host_stop(&host);
}

static const Test tests[] = {
    TEST(large_heads_are_refused),
    TEST(large_bodies_arrive_up_to_the_limit),
    TEST(a_body_over_the_limit_is_answered_though_the_client_still_sends),
    TEST(a_request_that_does_not_arrive_in_time_is_cut),
    TEST(a_request_being_handled_and_an_idle_connection_are_not_cut),
    TEST(all_bodies_share_what_is_set_aside_for_them),
    TEST(an_answer_that_is_not_taken_is_cut),
    TEST(slow_clients_leave_room_for_health_and_operators),
    TEST(a_crowd_that_comes_at_once_leaves_room_too),
    TEST(behind_a_proxy_its_clients_are_counted),
    TEST(who_does_not_come_through_the_proxy_sees_no_more_than_health),
    TEST(failures_for_want_of_a_key_are_slowed_down),
    TEST(one_address_may_have_so_many_connections),
};

TEST_MAIN(tests)
