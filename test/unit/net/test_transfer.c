#include "net/server.h"
#include "net/transfer.h"
#include "net/url.h"

#include "base/clock.h"
#include "peer.h"
#include "test.h"

#include <sys/resource.h>

enum { ASKED_MAX = 300 };

// Asked keeps what came back for one request.
typedef struct Asked {
    Arena arena;
    int calls;
    TransferResult result;
} Asked;

static void keep(void *with, const TransferResult *result)
{
    Asked *asked = with;
    asked->calls++;
    asked->result = *result;
    Str *const texts[] = { &asked->result.problem_text, &asked->result.body,
                           &asked->result.retry_after, &asked->result.webhook_delivery_id };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i]->at)
            *texts[i] = str_dup(&asked->arena, *texts[i]);
}

static void asked_done(Asked *asked)
{
    arena_done(&asked->arena);
}

// The loop of the test that runs.
static Clock machine;
static Loop *loop;

static Transfers *transfers_open(const AddressPolicy *policy)
{
    clock_init_system(&machine);
    loop = loop_new(&machine);
    return transfers_new(loop, policy);
}

static void transfers_close(Transfers *transfers)
{
    transfers_free(transfers);
    loop_free(loop);
}

static void finish(Transfers *transfers)
{
    while (transfers_running(transfers) > 0)
        loop_wait(loop, 10 * SPAN_SECOND);
}

static AddressPolicy loopback(void)
{
    AddressPolicy policy;
    Err err = address_policy_parse(S("127.0.0.0/8"), &policy, NULL);
    assert(err == ERR_OK);
    return policy;
}

static Transfer to(Arena *arena, int port, const char *path)
{
    return (Transfer){ .method = S("POST"),
                       .url = str_format(arena, "http://127.0.0.1:%d%s", port, path),
                       .body = S("{\"a\":1}"),
                       .timeout = 10 * SPAN_SECOND,
                       .response_max = 4096 };
}

static bool answer_ok(PeerServer *server, int fd, Str request)
{
    (void) server, (void) request;
    return peer_send(fd, S("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                           "Webhook-Delivery-Id: abc\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\n"
                           "{\"id\":42}"));
}

// play answers as the path says.
static bool play(PeerServer *server, int fd, Str request)
{
    Str rest = request;
    str_cut(&rest, ' ');
    Str path = str_cut(&rest, ' ');
    if (str_eq(path, S("/silent"))) {
        char byte;
        return recv(fd, &byte, 1, 0) > 0; // until the client gives up
    }
    if (str_eq(path, S("/close")))
        return false;
    if (str_eq(path, S("/cut"))) {
        peer_send(fd, S("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"));
        return false;
    }
    if (str_eq(path, S("/garbage"))) {
        peer_send(fd, S("SSH-2.0-OpenSSH_9.2\r\n"));
        return false;
    }
    if (str_eq(path, S("/redirect")))
        return peer_send(fd, S("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
                               "Content-Length: 0\r\n\r\n"));
    if (str_eq(path, S("/early")))
        return peer_send(fd, S("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                               "HTTP/1.1 503 Away\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n"));
    if (str_eq(path, S("/zipped")))
        return peer_send(fd, S("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                               "Content-Length: 4\r\n\r\n\x1f\x8b\x08z"));
    if (str_eq(path, S("/long"))) {
        peer_send(fd, S("HTTP/1.1 500 Oh\r\nContent-Length: 20000\r\n\r\n"));
        for (int i = 0; i < 2000; i++)
            peer_send(fd, S("0123456789"));
        return true;
    }
    if (str_eq(path, S("/endless"))) {
        bool goes_on = peer_send(fd, S("HTTP/1.1 202 Sure\r\n\r\n"));
        while (goes_on)
            goes_on = peer_send(fd, S("0123456789012345678901234567890123456789"));
        return false;
    }
    return answer_ok(server, fd, request);
}

static void a_request_goes_out_as_it_was_described(void)
{
    static const struct {
        const char *method, *body, *line;
        bool has_body;
    } cases[] = {
        { "POST", "{\"a\":1}", "POST /in?x=1 HTTP/1.1\r\n", true },
        { "POST", "", "POST /in?x=1 HTTP/1.1\r\n", true },
        { "PUT", "{}", "PUT /in?x=1 HTTP/1.1\r\n", true },
        { "GET", "", "GET /in?x=1 HTTP/1.1\r\n", false },
        { "DELETE", "", "DELETE /in?x=1 HTTP/1.1\r\n", false },
        { "PATCH", "[]", "PATCH /in?x=1 HTTP/1.1\r\n", true },
        { "POST", "again", "POST /in?x=1 HTTP/1.1\r\n", true },
    };
    PeerServer server = { .turn = answer_ok };
    peer_server_start(&server);
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(asked_done) Asked asked = { 0 };
        Header headers[] = { { S("X-One"), S("1: a\"b") }, { S("x-empty"), S("") } };
        Transfer transfer = to(&asked.arena, server.port, "/in?x=1");
        transfer.method = str_from(cases[i].method);
        transfer.body = str_from(cases[i].body);
        transfer.headers = headers;
        transfer.header_count = ARRAY_LEN(headers);
        transfers_start(transfers, &transfer, keep, &asked);
        CHECK_AT(cases[i].method, asked.calls == 0 && transfers_running(transfers) == 1);
        finish(transfers);
        CHECK_AT(cases[i].method, asked.calls == 1 && asked.result.problem == TRANSFER_ANSWERED);
        CHECK_AT(cases[i].method, asked.result.status == 200 && !asked.result.problem_text.at);
        CHECK_AT(cases[i].method, str_eq(asked.result.body, S("{\"id\":42}")));
        CHECK_AT(cases[i].method, str_eq(asked.result.retry_after, S("7")));
        CHECK_AT(cases[i].method, str_eq(asked.result.webhook_delivery_id, S("abc")));
        CHECK_AT(cases[i].method, asked.result.took > 0);
        Str sent = peer_last(&server);
        CHECK_AT(cases[i].method, str_starts(sent, str_from(cases[i].line)));
        CHECK_AT(cases[i].method, str_contains(sent, S("\r\nX-One: 1: a\"b\r\n")));
        CHECK_AT(cases[i].method, str_contains(sent, S("\r\nx-empty:\r\n")));
        CHECK_AT(cases[i].method, str_eq(peer_body(sent), str_from(cases[i].body)));
        CHECK_AT(cases[i].method, str_contains(sent, S("Content-Length: ")) == cases[i].has_body);
        static const Str unasked[] = { S("Expect"),     S("Content-Type"), S("Accept-Encoding"),
                                       S("User-Agent"), S("Cookie"),       S("Authorization") };
        for (size_t j = 0; j < ARRAY_LEN(unasked); j++)
            CHECK_AT(unasked[j].at, !str_contains(sent, unasked[j]));
    }
    CHECK(server.connections == 1);
    transfers_close(transfers);
    peer_server_stop(&server);
}

static void a_url_that_cannot_work_is_told_when_it_is_saved(void)
{
    static const char *const bad[] = {
        "http://[::1", "http://a.example:99999/", "http://a:b/",
        "http://",     "http://user@a.example/",  "ftp://a.example/"
    };
    static const char *const good[] = { "http://[::1]:80/", "https://a.example",
                                        "https://a.example:8443/x?y=%20#z", "HTTP://A.example/" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_AT(bad[i], url_problem(str_from(bad[i])));
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK_AT(good[i], !url_problem(str_from(good[i])));
}

static void origins_are_compared_as_requests_would_go(void)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } cases[] = {
        { "https://a.example/x", "https://A.Example:443/y?z", true },
        { "http://a.example", "HTTP://a.example:80/", true },
        { "https://a.example", "http://a.example", false },
        { "https://a.example", "https://a.example:8443", false },
        { "https://a.example", "https://b.example", false },
        { "https://a.example", "https://a.example.b.example/", false },
        { "https://a.example/", "https://b.example/https://a.example/", false },
        { "https://a.example/", "https://b.example?https://a.example/", false },
        { "https://a.example", "https://[::1", false },
        { "https://a.example", NULL, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Str a = str_from(cases[i].a), b = cases[i].b ? str_from(cases[i].b) : STR_NONE;
        CHECK_AT(cases[i].b ? cases[i].b : "none", url_same_origin(a, b) == cases[i].is_same);
        CHECK_AT(cases[i].b ? cases[i].b : "none", url_same_origin(b, a) == cases[i].is_same);
    }
}

static void what_cannot_be_sent_is_refused(void)
{
    static const struct {
        const char *row;
        Str url;
        Header header;
    } cases[] = {
        { "no scheme", S("127.0.0.1/x"), { { 0 } } },
        { "empty", S(""), { { 0 } } },
        { "file", S("file:///etc/passwd"), { { 0 } } },
        { "gopher", S("gopher://127.0.0.1/x"), { { 0 } } },
        { "ftp", S("ftp://127.0.0.1/x"), { { 0 } } },
        { "unix", S("http+unix://x"), { { 0 } } },
        { "no host", S("http:///x"), { { 0 } } },
        { "user", S("http://user@127.0.0.1/"), { { 0 } } },
        { "password", S("http://user:pw@127.0.0.1/"), { { 0 } } },
        { "blank", S("http://127.0.0.1/a b"), { { 0 } } },
        { "line end", S("http://127.0.0.1/a\r\nX: y"), { { 0 } } },
        { "NUL", S("http://127.0.0.1/a\0b"), { { 0 } } },
        { "backslash", S("http://127.0.0.1\\@example.com/"), { { 0 } } },
        { "bad port", S("http://127.0.0.1:99999/"), { { 0 } } },
        { "bad host", S("http://[::1/"), { { 0 } } },
        { "CR in a value", S("http://127.0.0.1/"), { S("X"), S("a\rb") } },
        { "LF in a value", S("http://127.0.0.1/"), { S("X"), S("a\nb") } },
        { "NUL in a value", S("http://127.0.0.1/"), { S("X"), S("a\0b") } },
        { "colon in a name", S("http://127.0.0.1/"), { S("X:Y"), S("a") } },
        { "no name", S("http://127.0.0.1/"), { S(""), S("a") } },
        { "LF in a name", S("http://127.0.0.1/"), { S("X\nY"), S("a") } },
    };
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(asked_done) Asked asked = { 0 };
        Transfer transfer = { .method = S("POST"),
                              .url = cases[i].url,
                              .headers = &cases[i].header,
                              .header_count = cases[i].header.name.at ? 1 : 0 };
        transfers_start(transfers, &transfer, keep, &asked);
        CHECK_AT(cases[i].row, asked.calls == 0 && transfers_running(transfers) == 1);
        finish(transfers);
        CHECK_AT(cases[i].row, asked.calls == 1 && asked.result.problem == TRANSFER_REFUSED);
        CHECK_AT(cases[i].row, asked.result.problem_text.len > 0);
    }
    DEFER(asked_done) Asked asked = { 0 };
    Transfer transfer = { .method = S("PO ST"), .url = S("http://127.0.0.1/") };
    transfers_start(transfers, &transfer, keep, &asked);
    finish(transfers);
    CHECK(asked.result.problem == TRANSFER_REFUSED);
    transfers_close(transfers);
}

static void private_addresses_are_not_reached(void)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost",         "0x7f.1", "2130706433",
                                         "127.1",     "0177.0.0.1",        "[::1]",  "0.0.0.0",
                                         "[::]",      "[::ffff:127.0.0.1]" };
    PeerServer server = { .turn = answer_ok };
    peer_server_start(&server);
    AddressPolicy nothing = { 0 };
    Transfers *transfers = transfers_open(&nothing);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        DEFER(asked_done) Asked asked = { 0 };
        Transfer transfer = { .method = S("POST"), .response_max = 10, .timeout = 5 * SPAN_SECOND };
        transfer.url = str_format(&asked.arena, "http://%s:%d/", hosts[i], server.port);
        transfers_start(transfers, &transfer, keep, &asked);
        finish(transfers);
        CHECK_AT(hosts[i], asked.result.problem == TRANSFER_FORBIDDEN);
        CHECK_AT(hosts[i], str_ends(asked.result.problem_text,
                                    S(" is a private address; the operator may allow it with "
                                      "--allow-private")));
        if (i == 0)
            CHECK(str_starts(asked.result.problem_text, S("127.0.0.1 is a private")));
    }
    transfers_close(transfers);
    CHECK(server.connections == 0);
    peer_server_stop(&server);
}

static void a_kept_connection_is_checked_again(void)
{
    PeerServer server = { .turn = answer_ok };
    peer_server_start(&server);
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    for (int i = 0; i < 2; i++) {
        DEFER(asked_done) Asked asked = { 0 };
        Transfer transfer = to(&asked.arena, server.port, "/");
        transfers_start(transfers, &transfer, keep, &asked);
        finish(transfers);
        CHECK(asked.result.problem == (i == 0 ? TRANSFER_ANSWERED : TRANSFER_FORBIDDEN));
        policy.count = 0;
    }
    CHECK(server.requests == 1);
    transfers_close(transfers);
    peer_server_stop(&server);
}

static void failures_are_told_apart(void)
{
    PeerServer server = { .turn = play };
    peer_server_start(&server);
    // A port that was just free: nobody listens there.
    PeerServer gone = { .turn = play };
    peer_server_start(&gone);
    peer_server_stop(&gone);
    static const struct {
        const char *url; // with %d for the port
        TransferProblem problem;
        int status;
        Span timeout;
        bool is_gone;
    } cases[] = {
        { "http://127.0.0.1:%d/ok", TRANSFER_ANSWERED, 200, 0, false },
        { "http://127.0.0.1:%d/ok", TRANSFER_NO_CONNECTION, 0, 0, true },
        { "https://127.0.0.1:%d/garbage", TRANSFER_NO_CONNECTION, 0, 0, false },
        { "http://127.0.0.1:%d/redirect", TRANSFER_ANSWERED, 302, 0, false },
        { "http://127.0.0.1:%d/silent", TRANSFER_NO_ANSWER, 0, 300 * SPAN_MILLISECOND, false },
        { "http://127.0.0.1:%d/ok", TRANSFER_NO_CONNECTION, 0, 0, true },
        { "http://127.0.0.1:%d/close", TRANSFER_NO_ANSWER, 0, 0, false },
        { "http://127.0.0.1:%d/cut", TRANSFER_NO_ANSWER, 200, 0, false },
        { "http://127.0.0.1:%d/garbage", TRANSFER_NO_ANSWER, 0, 0, false },
        { "http://nowhere.invalid:%d/", TRANSFER_NO_CONNECTION, 0, SPAN_SECOND, false },
        { "http://127.0.0.1:%d/early", TRANSFER_ANSWERED, 503, 0, false },
        { "http://127.0.0.1:%d/ok", TRANSFER_ANSWERED, 200, 0, false },
    };
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(asked_done) Asked asked = { 0 };
        Transfer transfer = to(&asked.arena, 0, "");
        Str url = str_from(cases[i].url);
        Str before = str_cut(&url, '%');
        transfer.url =
            str_format(&asked.arena, "%.*s%d%.*s", STR_ARG(before),
                       cases[i].is_gone ? gone.port : server.port, STR_ARG(str_skip(url, 1)));
        if (cases[i].timeout > 0)
            transfer.timeout = cases[i].timeout;
        transfers_start(transfers, &transfer, keep, &asked);
        finish(transfers);
        CHECK_AT(cases[i].url, asked.calls == 1 && asked.result.problem == cases[i].problem);
        CHECK_AT(cases[i].url, asked.result.status == cases[i].status);
        CHECK_AT(cases[i].url,
                 (asked.result.problem_text.len > 0) == (cases[i].problem != TRANSFER_ANSWERED));
    }
    transfers_close(transfers);
    peer_server_stop(&server);
}

// ask_once sends one request in a pool and returns what came of it.
static TransferProblem ask_once(Transfers *transfers, int port, int64_t pool)
{
    DEFER(asked_done) Asked asked = { 0 };
    Transfer transfer = to(&asked.arena, port, "/");
    transfer.pool = pool;
    transfers_start(transfers, &transfer, keep, &asked);
    finish(transfers);
    CHECK(asked.calls == 1);
    return asked.result.problem;
}

static void a_machine_that_lacks_descriptors_has_not_tried(void)
{
    PeerServer server = { .turn = answer_ok };
    peer_server_start(&server);
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    struct rlimit files, none;
    assert(getrlimit(RLIMIT_NOFILE, &files) == 0);
    none = (struct rlimit){ 0, files.rlim_max };
    assert(setrlimit(RLIMIT_NOFILE, &none) == 0);
    TransferProblem lacking = ask_once(transfers, server.port, 0);
    assert(setrlimit(RLIMIT_NOFILE, &files) == 0);
    CHECK(lacking == TRANSFER_NOT_TRIED);
    CHECK(ask_once(transfers, server.port, 0) == TRANSFER_ANSWERED);
    CHECK(server.requests == 1);
    transfers_close(transfers);
    peer_server_stop(&server);
}

static void connections_over_the_limit_are_not_kept(void)
{
    PeerServer servers[2] = { { .turn = answer_ok }, { .turn = answer_ok } };
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    transfers_limit(transfers, 1);
    for (int i = 0; i < 2; i++)
        peer_server_start(&servers[i]);
    for (int i = 0; i < 4; i++)
        CHECK(ask_once(transfers, servers[i % 2].port, 0) == TRANSFER_ANSWERED);
    CHECK(servers[0].requests == 2 && servers[1].requests == 2);
    CHECK(servers[1].connections == 2);
    transfers_close(transfers);
    for (int i = 0; i < 2; i++)
        peer_server_stop(&servers[i]);
}

static void answers_are_kept_up_to_a_limit(void)
{
    static const struct {
        const char *path;
        size_t response_max, kept;
        int status;
    } cases[] = {
        { "/ok", 4096, 9, 200 },
        { "/ok", 4, 4, 200 },
        { "/ok", 0, 0, 200 },
        { "/long", 4096, 4096, 500 },
        { "/endless", 4096, 4096, 202 },
        { "/zipped", 100, 4, 200 },
    };
    PeerServer server = { .turn = play };
    peer_server_start(&server);
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(asked_done) Asked asked = { 0 };
        Transfer transfer = to(&asked.arena, server.port, cases[i].path);
        transfer.response_max = cases[i].response_max;
        transfers_start(transfers, &transfer, keep, &asked);
        finish(transfers);
        CHECK_AT(cases[i].path, asked.result.problem == TRANSFER_ANSWERED);
        CHECK_AT(cases[i].path, asked.result.status == cases[i].status);
        CHECK_AT(cases[i].path, asked.result.body.len == cases[i].kept);
        CHECK_AT(cases[i].path, asked.result.took < transfer.timeout);
    }
    transfers_close(transfers);
    peer_server_stop(&server);
}

static void connections_are_shared_within_a_pool_only(void)
{
    PeerServer servers[3] = { { .turn = answer_ok }, { .turn = answer_ok }, { .turn = answer_ok } };
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    // One server per pool, because a peer serves one connection at a time.
    for (int i = 0; i < 3; i++)
        peer_server_start(&servers[i]);
    for (int i = 0; i < 30; i++) {
        DEFER(asked_done) Asked asked = { 0 };
        Transfer transfer = to(&asked.arena, servers[i % 3].port, "/");
        transfer.pool = i % 3;
        transfers_start(transfers, &transfer, keep, &asked);
        finish(transfers);
        CHECK(asked.result.status == 200);
    }
    for (int i = 0; i < 3; i++)
        CHECK(servers[i].connections == 1 && servers[i].requests == 10);
    // From another pool the same server gets a connection of its own. This peer never looks at it
    // while it serves the first one, so an answer would mean that the first one was used.
    DEFER(asked_done) Asked asked = { 0 };
    Transfer transfer = to(&asked.arena, servers[0].port, "/");
    transfer.pool = 99;
    transfer.timeout = 100 * SPAN_MILLISECOND;
    transfers_start(transfers, &transfer, keep, &asked);
    finish(transfers);
    CHECK(asked.calls == 1 && asked.result.problem != TRANSFER_ANSWERED);
    transfers_close(transfers);
    for (int i = 0; i < 3; i++)
        peer_server_stop(&servers[i]);
}

static void proxies_of_the_environment_are_ignored(void)
{
    static const char *const names[] = { "http_proxy", "https_proxy", "all_proxy", "ALL_PROXY" };
    PeerServer server = { .turn = answer_ok };
    peer_server_start(&server);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        setenv(names[i], "http://127.0.0.1:9", 1);
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    DEFER(asked_done) Asked asked = { 0 };
    Transfer transfer = to(&asked.arena, server.port, "/x");
    transfers_start(transfers, &transfer, keep, &asked);
    finish(transfers);
    CHECK(asked.result.status == 200 && str_starts(peer_last(&server), S("POST /x HTTP/1.1\r\n")));
    transfers_close(transfers);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    peer_server_stop(&server);
}

// Echo is a server that serves many connections at once: the one of net/server.c.
static void echo(void *with, Exchange *exchange)
{
    (void) with;
    exchange_reply(exchange,
                   &(Reply){ .status = 200, .type = S("text/plain"), .body = exchange->body });
}

static void many_requests_run_at_once(void)
{
    Server *server = NULL;
    ServerOptions options = { .listen = S("127.0.0.1:0"), .handle = echo };
    Err err = server_open(&options, &server, NULL);
    assert(err == ERR_OK);
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    static Asked asked[ASKED_MAX];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ASKED_MAX; i++) {
            Transfer transfer = to(&asked[i].arena, server_port(server), "/");
            transfer.body = str_format(&asked[i].arena, "%d-%d", round, i);
            transfer.pool = i % 7;
            transfers_start(transfers, &transfer, keep, &asked[i]);
        }
        CHECK(transfers_running(transfers) == ASKED_MAX);
        finish(transfers);
        for (int i = 0; i < ASKED_MAX; i++) {
            CHECK(asked[i].calls == 1 && asked[i].result.status == 200);
            CHECK(str_eq(asked[i].result.body, str_format(&asked[i].arena, "%d-%d", round, i)));
            arena_done(&asked[i].arena);
            asked[i].calls = 0;
        }
    }
    transfers_close(transfers);
    server_close(server);
}

typedef struct Chain {
    Transfers *transfers;
    Arena arena;
    int port, left;
} Chain;

static void next_link(void *with, const TransferResult *result)
{
    Chain *chain = with;
    (void) result;
    if (chain->left-- == 0)
        return;
    Transfer transfer = to(&chain->arena, chain->port, "/");
    if (chain->left % 3 == 0)
        transfer.url = S("nonsense");
    transfer.pool = chain->left;
    transfers_start(chain->transfers, &transfer, next_link, chain);
}

static void a_callback_may_start_another_request(void)
{
    Server *server = NULL;
    ServerOptions options = { .listen = S("127.0.0.1:0"), .handle = echo };
    Err err = server_open(&options, &server, NULL);
    assert(err == ERR_OK);
    AddressPolicy policy = loopback();
    Chain chain = { .transfers = transfers_open(&policy), .port = server_port(server), .left = 20 };
    next_link(&chain, NULL);
    finish(chain.transfers);
    CHECK(chain.left == -1);
    transfers_close(chain.transfers);
    arena_done(&chain.arena);
    server_close(server);
}

static void *wake_soon(void *with)
{
    loop_wake(with);
    return NULL;
}

static void waiting_ends_when_woken_or_when_time_is_up(void)
{
    Transfers *transfers = transfers_open(NULL);
    Instant start = clock_machine_monotonic();
    loop_wait(loop, 20 * SPAN_MILLISECOND);
    CHECK(clock_machine_monotonic() - start >= 20 * SPAN_MILLISECOND);

    loop_wake(loop);
    loop_wake(loop);
    start = clock_machine_monotonic();
    loop_wait(loop, SPAN_HOUR);
    pthread_t waker;
    int failed = pthread_create(&waker, NULL, wake_soon, loop);
    assert(!failed);
    loop_wait(loop, SPAN_HOUR);
    pthread_join(waker, NULL);
    CHECK(clock_machine_monotonic() - start < 10 * SPAN_SECOND);
    transfers_close(transfers);
}

static void unfinished_requests_are_dropped_without_a_call(void)
{
    PeerServer server = { .turn = play };
    peer_server_start(&server);
    AddressPolicy policy = loopback();
    Transfers *transfers = transfers_open(&policy);
    DEFER(asked_done) Asked asked = { 0 }, refused = { 0 };
    Transfer transfer = to(&asked.arena, server.port, "/silent");
    transfers_start(transfers, &transfer, keep, &asked);
    while (server.requests == 0)
        loop_wait(loop, SPAN_MILLISECOND);
    transfer.url = S("nonsense");
    transfers_start(transfers, &transfer, keep, &refused);
    transfers_close(transfers);
    CHECK(asked.calls == 0 && refused.calls == 0);
    peer_server_stop(&server);
}

static void one_request_may_be_made_alone(void)
{
    PeerServer server = { .turn = play };
    peer_server_start(&server);
    DEFER(arena_done) Arena arena = { 0 };
    Transfer transfer = to(&arena, server.port, "/ok");
    TransferResult result = transfer_once(&arena, &transfer);
    CHECK(result.problem == TRANSFER_ANSWERED && result.status == 200);
    CHECK(str_eq(result.body, S("{\"id\":42}")) && str_eq(result.retry_after, S("7")));
    transfer.method = S("HEAD");
    transfer.body = STR_NONE;
    transfer.url = str_format(&arena, "http://127.0.0.1:%d/redirect", server.port);
    result = transfer_once(&arena, &transfer);
    CHECK(result.status == 302 && result.body.len == 0);
    peer_server_stop(&server);
    result = transfer_once(&arena, &transfer);
    CHECK(result.problem == TRANSFER_NO_CONNECTION && result.problem_text.len > 0);
}

static const Test tests[] = {
    TEST(a_request_goes_out_as_it_was_described),
    TEST(a_url_that_cannot_work_is_told_when_it_is_saved),
    TEST(origins_are_compared_as_requests_would_go),
    TEST(what_cannot_be_sent_is_refused),
    TEST(private_addresses_are_not_reached),
    TEST(a_kept_connection_is_checked_again),
    TEST(failures_are_told_apart),
    TEST(a_machine_that_lacks_descriptors_has_not_tried),
    TEST(connections_over_the_limit_are_not_kept),
    TEST(answers_are_kept_up_to_a_limit),
    TEST(connections_are_shared_within_a_pool_only),
    TEST(proxies_of_the_environment_are_ignored),
    TEST(many_requests_run_at_once),
    TEST(a_callback_may_start_another_request),
    TEST(waiting_ends_when_woken_or_when_time_is_up),
    TEST(unfinished_requests_are_dropped_without_a_call),
    TEST(one_request_may_be_made_alone),
};

TEST_MAIN(tests)
