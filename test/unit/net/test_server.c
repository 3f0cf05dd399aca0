#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/thread.h"

#include "host.h"
#include "net/listen.h"

#include <sys/stat.h>
#include <sys/un.h>

static void a_request_arrives_as_it_was_sent(void)
{
    static const struct {
        const char *request, *body;
    } cases[] = {
        { "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / body=0 \"\"" },
        { "GET /a%20b?x=1&y=%C3%A4+z HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET /a b body=0 x=1 y=\xc3\xa4 z \"\"" },
        { "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
          "POST /p body=5 \"hello\"" },
        { "PUT /p HTTP/1.1\r\nHost: x\r\nx-tag:  a \r\nX-TAG: b\r\nContent-Length: 0\r\n\r\n",
          "PUT /p body=0 tag=a, b \"\"" },
        { "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\nX-Trailer: 1\r\n\r\n",
          "POST /c body=7 \"abcdefg\"" },
        { "DELETE /async/1 HTTP/1.0\r\n\r\n", "DELETE /async/1 body=0 \"\"" },
        { "POST /async/2 HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 2\r\n\r\nok",
          "POST /async/2 body=2 \"ok\"" },
        { "GET http://peal?x=/v1/abs HTTP/1.1\r\nHost: peal\r\n\r\n",
          "GET / body=0 x=/v1/abs \"\"" },
        { "GET http://peal/abs?a=b HTTP/1.1\r\nHost: peal\r\n\r\n", "GET /abs body=0 a=b \"\"" },
        { "\r\nGET /after-blank HTTP/1.1\r\nHost: x\r\n\r\n", "GET /after-blank body=0 \"\"" },
        { "GET /tab HTTP/1.1\r\nHost: x\r\nX-Tag: a\tb\r\n\r\n", "GET /tab body=0 tag=a\tb \"\"" },
        { "GET /cookie HTTP/1.1\r\nHost: x\r\nCookie: a=b; c=d\r\n\r\n",
          "GET /cookie body=0 \"\"" },
        { "GET /empty HTTP/1.1\r\nX-Tag:\r\nHost: x\r\n\r\n", "GET /empty body=0 tag= \"\"" },
    };
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str answer = ask(&arena, host.port, str_from(cases[i].request));
        CHECK_AT(cases[i].request, peer_status(answer) == 200);
        CHECK_AT(cases[i].request, str_eq(peer_body(answer), str_from(cases[i].body)));
        CHECK_AT(cases[i].request, str_contains(answer, S("\r\nX-Seen: yes\r\n")));
        CHECK_AT(cases[i].request,
                 str_contains(answer, S("\r\nX-Content-Type-Options: nosniff\r\n")));
        CHECK_AT(cases[i].request, str_contains(answer, S("\r\nCache-Control: no-store\r\n")));
    }
    host_stop(&host);
}

static void a_connection_serves_many_requests(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    int fd = peer_dial(host.port);
    for (int i = 0; i < 50; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str path = i % 2 ? S("/async") : S("/sync");
        peer_send(fd, str_format(&arena,
                                 "POST %.*s HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n%03d",
                                 STR_ARG(path), i));
        Str want = str_format(&arena, "POST %.*s body=3 \"%03d\"", STR_ARG(path), i);
        CHECK(str_eq(peer_body(peer_receive(&arena, fd)), want));
    }
    // Pipelined: both are answered, in order.
    DEFER(arena_done) Arena arena = { 0 };
    peer_send(fd, S("GET /async/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(str_eq(peer_body(peer_receive(&arena, fd)), S("GET /async/1 body=0 \"\"")));
    CHECK(str_eq(peer_body(peer_receive(&arena, fd)), S("GET /2 body=0 \"\"")));
    peer_send(fd, S("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, fd)) == 204);
    peer_send(fd, S("GET /cached HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    Str answer = peer_receive(&arena, fd);
    CHECK(str_contains(answer, S("cache-control: max-age=60\r\n")));
    CHECK(!str_contains(answer, S("no-store")));
    CHECK(peer_is_closed(fd));
    close(fd);
    host_stop(&host);
}

// Each chunk is as much as the server reads at once.
static void a_body_may_be_taken_in_parts(void)
{
    static const char head[] = " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const struct {
        const char *chunks, *body;
    } cases[] = {
        { "0\r\n\r\n", "body=2 \"[]\"" },
        { "3\r\nabc\r\n0\r\n\r\n", "body=5 \"[abc]\"" },
        { "4\r\nabcd\r\n0\r\n\r\n", "body=8 \"[abcd][]\"" },
        { "3\r\nabc\r\n3\r\ndef\r\n1\r\ng\r\n0\r\n\r\n", "body=11 \"[abcd][efg]\"" },
        { "5\r\nabcde\r\n5\r\nfghij\r\n5\r\nklmno\r\n0\r\n\r\n",
          "body=23 \"[abcd][efgh][ijkl][mno]\"" },
        { "9\r\nabcdefghi\r\n0\r\n\r\n", "body=15 \"[abcd][efgh][i]\"" },
        { "5\r\nabc!e\r\n5\r\nfghij\r\n0\r\n\r\n", "body=7 \"refused\"" },
    };
    static const char *const paths[] = { "/parts", "/async/parts" };
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    int fd = peer_dial(host.port);
    for (size_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        const char *path = paths[i % 2], *chunks = cases[i / 2].chunks;
        peer_send(fd, str_format(&arena, "POST %s%s%s", path, head, chunks));
        Str want = str_format(&arena, "POST %s %s", path, cases[i / 2].body);
        CHECK_AT(chunks, str_eq(peer_body(peer_receive(&arena, fd)), want));
    }
    close(fd);
    host_stop(&host);
}

// Whoever sends no more than a part is owed nothing: the server closes at once.
static void a_body_that_breaks_off_between_parts_holds_nobody(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int stays = peer_dial(host.port), leaves = peer_dial(host.port);
    Str half = S("POST /async/parts HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabcdef");
    peer_send(stays, half);
    peer_send(leaves, half);
    while (host.handled < 2)
        sched_yield();
    close(leaves);
    Str answer =
        ask(&arena, host.port, S("POST /parts HTTP/1.1\r\nHost: x\r\nContent-Length: 41\r\n\r\n"));
    CHECK(peer_status(answer) == 413);
    Instant began = clock_machine_monotonic();
    host_stop(&host);
    CHECK(clock_machine_monotonic() - began < 5 * SPAN_SECOND);
    CHECK(peer_is_closed(stays));
    close(stays);
}

static void a_head_request_gets_no_body(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int fd = peer_dial(host.port);
    peer_send(fd, S("HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    Str answer = peer_receive(&arena, fd);
    CHECK(peer_status(answer) == 200 && peer_body(answer).len == 0);
    CHECK(str_contains(answer, S("Content-Length: 17\r\n")));
    close(fd);
    host_stop(&host);
}

static void an_error_is_problem_json(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    Str answer = ask(&arena, host.port, S("GET /fail HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(peer_status(answer) == 422);
    CHECK(str_contains(answer, S("\r\nContent-Type: application/problem+json\r\n")));
    Str want = S("{\"type\":\"/docs/errors#invalid\",\"title\":\"The request is not valid\","
                 "\"status\":422,\"code\":\"invalid\",\"detail\":\"2 problems\",\"errors\":["
                 "{\"path\":\"/a\",\"code\":\"bad-value\",\"message\":\"must be \\\"b\\\"\"},"
                 "{\"path\":\"/c\",\"code\":\"bad-type\",\"message\":\"no\"}],\"requestId\":\"");
    Str body = peer_body(answer);
    CHECK(str_starts(body, want) && body.len == want.len + UUID_TEXT_LEN + 2);

    Error plain = { 0 };
    fail(&plain, ERR_NOT_FOUND, "no such path");
    CHECK(str_eq(problem_reply(&arena, &plain, (Uuid){ { 0 } }).body,
                 S("{\"type\":\"/docs/errors#not-found\",\"title\":\"There is no such thing\","
                   "\"status\":404,\"code\":\"not-found\",\"detail\":\"no such path\","
                   "\"requestId\":\"00000000-0000-0000-0000-000000000000\"}")));
    host_stop(&host);
}

static const struct {
    const char *row;
    Str request;
} hostile[] = {
    { "length and chunks", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") },
    { "chunks and length", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                             "Content-Length: 3\r\n\r\n0\r\n\r\n") },
    { "two lengths",
      S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd") },
    { "the same length twice",
      S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc") },
    { "blank before the colon", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc") },
    { "plus sign", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc") },
    { "negative length", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n") },
    { "no digits", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n") },
    { "blank behind the length",
      S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3 \r\n\r\nabc") },
    { "list of lengths", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3,3\r\n\r\nabc") },
    { "other coding", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n") },
    { "coding list", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n") },
    { "coding with a blank",
      S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n") },
    { "coding with a vertical tab",
      S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n") },
    { "coding twice", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") },
    { "coding in 1.0",
      S("POST /x HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") },
    { "no host", S("GET /x HTTP/1.1\r\nX: y\r\n\r\n") },
    { "two hosts", S("GET /x HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n") },
    { "two hosts in 1.0", S("GET /x HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n") },
    { "host with a blank", S("GET /x HTTP/1.1\r\nHost: x y\r\n\r\n") },
    { "host with a path", S("GET /x HTTP/1.1\r\nHost: x/y\r\n\r\n") },
    { "host with a user", S("GET /x HTTP/1.1\r\nHost: u@x\r\n\r\n") },
    { "empty host", S("GET /x HTTP/1.1\r\nHost:\r\n\r\n") },
    { "bare CR in a value", S("GET /x HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n") },
    { "bare CR before a header",
      S("POST /x HTTP/1.1\r\nHost: x\r\nX:\rTransfer-Encoding: chunked\r\n\r\n") },
    { "NUL in a value", S("GET /x HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n") },
    { "NUL at the end of a value", S("GET /x HTTP/1.1\r\nX: a\0\r\nHost: x\r\n\r\n") },
    { "NUL in the last value", S("GET /x HTTP/1.1\r\nHost: x\0y\r\n\r\n") },
    { "NUL in a name", S("GET /x HTTP/1.1\r\nHost: x\r\nX\0Y: a\r\n\r\n") },
    { "NUL in the target", S("GET /x\0y HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "NUL in the method", S("GE\0T /x HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "control byte in a value", S("GET /x HTTP/1.1\r\nHost: x\r\nX: a\x01"
                                   "b\r\n\r\n") },
    { "delete byte in a value", S("GET /x HTTP/1.1\r\nHost: x\r\nX: a\x7f\r\n\r\n") },
    { "control byte in the target", S("GET /x\x01 HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "bare LF at the request line", S("GET /x HTTP/1.1\nHost: x\r\n\r\n") },
    { "bare LF at a header", S("GET /x HTTP/1.1\r\nHost: x\nX: y\r\n\r\n") },
    { "bare LF at the last header", S("GET /x HTTP/1.1\r\nHost: x\n\r\n") },
    { "bare LF at the end", S("GET /x HTTP/1.1\r\nHost: x\r\n\n") },
    { "bare LF everywhere", S("GET /x HTTP/1.1\nHost: x\n\n") },
    { "folded value", S("GET /x HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n") },
    { "folded last value", S("GET /x HTTP/1.1\r\nX: y\r\nHost: x\r\n\ty\r\n\r\n") },
    { "folded first line", S("GET /x HTTP/1.1\r\n X: a\r\nHost: x\r\n\r\n") },
    { "folded length", S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 3\r\n\r\nabc") },
    { "folded coding", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n") },
    { "name with a quote", S("GET /x HTTP/1.1\r\nHost: x\r\nX\"Y: a\r\n\r\n") },
    { "name in UTF-8", S("GET /x HTTP/1.1\r\nHost: x\r\nX\xc3\xa4: a\r\n\r\n") },
    { "no name", S("GET /x HTTP/1.1\r\nHost: x\r\n: a\r\n\r\n") },
    { "no colon", S("GET /x HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n") },
    { "method in small letters", S("get /x HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "method with a mark", S("GE_T /x HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "blank in the target", S("GET /x y HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "two blanks", S("GET  /x HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "tab for a blank", S("GET\t/x HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "broken escape", S("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "escaped NUL", S("GET /x%00y HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "escaped NUL in the query", S("GET /x?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n") },
    { "no version", S("GET /x\r\nHost: x\r\n\r\n") },
    { "other version", S("GET /x HTTP/2.0\r\nHost: x\r\n\r\n") },
    { "odd version", S("GET /x HTTP/1.1x\r\nHost: x\r\n\r\n") },
    { "blank behind the version", S("GET /x HTTP/1.1 \r\nHost: x\r\n\r\n") },
    { "not HTTP", S("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n") },
    { "chunk size with a sign", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                                  "chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n") },
    { "chunk size in hex notation", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                                      "chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n") },
    { "chunk without an end", S("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                                "chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n") },
};

static void hostile_requests_are_refused(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .request_deadline = 2 * SPAN_SECOND });
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        DEFER(arena_done) Arena arena = { 0 };
        int fd = peer_dial(host.port);
        peer_send(fd, hostile[i].request);
        Str answer = peer_receive(&arena, fd);
        int status = peer_status(answer);
        // The library closes some by itself without a word.
        CHECK_AT(hostile[i].row, status == 400 || status == 505 || answer.len == 0);
        while (!peer_is_closed(fd))
            continue; // the library may repeat itself before it closes
        close(fd);
    }
    CHECK(host.handled == 0);
    host_stop(&host);
}

static void a_client_may_ask_before_it_sends_the_body(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int fd = peer_dial(host.port);
    peer_send(
        fd, S("POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, fd)) == 100);
    peer_send(fd, S("ok"));
    CHECK(str_eq(peer_body(peer_receive(&arena, fd)), S("POST /x body=2 \"ok\"")));
    // A refusal comes instead of the go-ahead.
    peer_send(fd, S("POST /secret HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                    "Content-Length: 2\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, fd)) == 401);
    CHECK(peer_is_closed(fd));
    close(fd);
    host_stop(&host);
}

static void begin_refuses_before_the_body_is_kept(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int fd = peer_dial(host.port);
    static const Str refused[] = {
        S("GET /secret HTTP/1.1\r\nHost: x\r\n\r\n"),
        S("POST /secret HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"),
    };
    // The connection goes on where the body was short.
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        peer_send(fd, refused[i]);
        Str answer = peer_receive(&arena, fd);
        CHECK(peer_status(answer) == 401);
        CHECK(str_contains(answer, S("\r\nWWW-Authenticate: Bearer\r\n")));
        CHECK(str_contains(answer, S("\"detail\":\"send a key\"")));
    }
    peer_send(fd, S("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789"));
    CHECK(peer_status(peer_receive(&arena, fd)) == 200);
    peer_send(fd, S("POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n0123456789a"));
    CHECK(peer_status(peer_receive(&arena, fd)) == 413);
    CHECK(peer_is_closed(fd));
    close(fd);
    CHECK(host.handled == 1 && host.begun == 4);
    host_stop(&host);
}

static void a_client_that_leaves_does_no_harm(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    for (int i = 0; i < 20; i++) {
        int fd = peer_dial(host.port);
        peer_send(fd, S("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"));
        Exchange *exchange = wait_for_held(&host);
        // Half of them are reset, half end in order.
        struct linger at_once = { .l_onoff = i % 2 };
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
        describe(exchange);
        fd = peer_dial(host.port);
        peer_send(fd, S("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"));
        close(fd);
    }
    DEFER(arena_done) Arena arena = { 0 };
    CHECK(peer_status(ask(&arena, host.port, S("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))) == 200);
    host_stop(&host);
}

static _Atomic int told_at_server, turns;

static void tell(Exchange *exchange)
{
    told_at_server += thread_kind() == THREAD_SERVER;
    describe(exchange);
}

static void count_turn(void *with)
{
    (void) with;
    CHECK(thread_kind() == THREAD_SERVER);
    turns++;
}

static void an_answer_may_be_left_to_the_server(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .turn = count_turn });
    DEFER(arena_done) Arena arena = { 0 };
    told_at_server = turns = 0;
    for (int i = 0; i < 10; i++) {
        int fd = peer_dial(host.port);
        peer_send(fd, S("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"));
        Exchange *exchange = wait_for_held(&host);
        bool leaves = i % 2; // then the answer is written all the same: it lets go of what it holds
        if (leaves)
            close(fd);
        exchange_wake(exchange, tell);
        if (leaves)
            continue;
        CHECK(peer_status(peer_receive(&arena, fd)) == 200);
        close(fd);
    }
    host_stop(&host);
    CHECK(told_at_server == 10 && turns > 0);
}

static void *close_server(void *with)
{
    server_close(with);
    return NULL;
}

static void closing_waits_for_what_is_owed(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int busy = peer_dial(host.port), idle = peer_dial(host.port);
    peer_send(idle, S("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, idle)) == 200);
    peer_send(busy, S("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    Exchange *exchange = wait_for_held(&host);

    server_quiesce(host.server);
    CHECK(peer_dial(host.port) < 0);
    pthread_t closer;
    int failed = pthread_create(&closer, NULL, close_server, host.server);
    assert(!failed);
    // An old connection may still ask. It is served, turned away, or closed with the server.
    peer_send(idle, S("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n"));
    Str answer = peer_receive(&arena, idle);
    CHECK(peer_status(answer) == 200 || peer_status(answer) == 503);
    CHECK(str_contains(answer, S("\r\nConnection: close\r\n")));
    describe(exchange);
    answer = peer_receive(&arena, busy);
    CHECK(peer_status(answer) == 200);
    pthread_join(closer, NULL);
    close(busy);
    close(idle);
    host.server = NULL;
    host_stop(&host);
}

static void closing_does_not_wait_for_ever(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .owed_wait = 20 * SPAN_MILLISECOND });
    DEFER(arena_done) Arena arena = { 0 };
    int busy = peer_dial(host.port);
    peer_send(busy, S("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    Exchange *exchange = wait_for_held(&host);
    CHECK(!server_close(host.server));
    CHECK(!server_close(host.server));
    describe(exchange);
    CHECK(peer_status(peer_receive(&arena, busy)) == 200);
    close(busy);
    host_stop(&host);
}

static void a_request_that_arrives_while_closing_is_turned_away(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    DEFER(arena_done) Arena arena = { 0 };
    int busy = peer_dial(host.port), half = peer_dial(host.port);
    peer_send(busy, S("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    Exchange *exchange = wait_for_held(&host);
    // The go-ahead shows that the head was accepted.
    peer_send(half, S("POST /hold HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                      "Content-Length: 2\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, half)) == 100);
    // Connections opened beforehand tell when the server has begun to close: one request each.
    int probes[100], status = 0;
    for (size_t i = 0; i < ARRAY_LEN(probes); i++)
        probes[i] = peer_dial(host.port);
    server_quiesce(host.server);
    pthread_t closer;
    int failed = pthread_create(&closer, NULL, close_server, host.server);
    assert(!failed);
    for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
        if (status != 503) {
            peer_send(probes[i], S("GET /x HTTP/1.1\r\nHost: x\r\n\r\n"));
            status = peer_status(peer_receive(&arena, probes[i]));
        }
        close(probes[i]);
    }
    if (status == 503) {
        int handled = host.handled;
        peer_send(half, S("ok"));
        CHECK(peer_status(peer_receive(&arena, half)) == 503);
        CHECK(host.handled == handled);
    }
    describe(exchange);
    CHECK(peer_status(peer_receive(&arena, busy)) == 200);
    pthread_join(closer, NULL);
    close(busy);
    close(half);
    host.server = NULL;
    host_stop(&host);
}

enum { CLIENTS = 8, REQUESTS = 200 };

static void *hammer(void *with)
{
    Host *host = with;
    int fd = peer_dial(host->port);
    for (int i = 0; i < REQUESTS; i++) {
        DEFER(arena_done) Arena arena = { 0 };
        Str path = i % 3 ? S("/async") : S("/sync");
        peer_send(fd, str_format(&arena,
                                 "POST %.*s HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n%06d",
                                 STR_ARG(path), i));
        Str want = str_format(&arena, "POST %.*s body=6 \"%06d\"", STR_ARG(path), i);
        if (!str_eq(peer_body(peer_receive(&arena, fd)), want)) {
            close(fd);
            return with;
        }
        if (i % 50 == 49) {
            close(fd);
            fd = peer_dial(host->port);
        }
    }
    close(fd);
    return NULL;
}

static void many_clients_at_once_get_their_own_answers(void)
{
    Host host = { 0 };
    pthread_t clients[CLIENTS];
    host_start(&host, (ServerOptions){ 0 });
    for (int i = 0; i < CLIENTS; i++) {
        int failed = pthread_create(&clients[i], NULL, hammer, &host);
        assert(!failed);
    }
    for (int i = 0; i < CLIENTS; i++) {
        void *failed = NULL;
        pthread_join(clients[i], &failed);
        CHECK(!failed);
    }
    CHECK(host.handled == CLIENTS * REQUESTS);
    host_stop(&host);
}

static void an_address_that_cannot_be_used_is_told(void)
{
    Host host = { 0 };
    host_start(&host, (ServerOptions){ 0 });
    char listen[40], want[60];
    snprintf(listen, sizeof listen, "127.0.0.1:%d", host.port);
    snprintf(want, sizeof want, "%s is in use", listen);
    Error error = { 0 };
    Server *server = NULL;
    ServerOptions options = { .listen = str_from(listen), .handle = handle };
    CHECK(server_open(&options, &server, &error) == ERR_CONFLICT && !server);
    CHECK_AT(error.detail, strcmp(error.detail, want) == 0);

    static const char *const bad[] = { "",
                                       "x",
                                       ":80",
                                       "127.0.0.1",
                                       "127.0.0.1:x",
                                       "127.0.0.1:65536",
                                       "300.1.1.1:80",
                                       "[::1:80",
                                       "unix:",
                                       "127.0.0.1:-1" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        options.listen = str_from(bad[i]);
        CHECK_AT(bad[i], server_open(&options, &server, &error) == ERR_SETUP && !server);
    }
    options.listen = S("192.0.2.1:0");
    CHECK(server_open(&options, &server, &error) == ERR_INTERNAL && !server);
    CHECK_AT(error.detail, strstr(error.detail, "cannot listen on 192.0.2.1:0: "));
    host_stop(&host);
}

static void it_listens_on_ipv6_too(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    bool has_ipv6 = fd >= 0 && bind(fd, (const struct sockaddr *) &address, sizeof address) == 0;
    close(fd);
    if (!has_ipv6)
        return;
    Host host = { 0 };
    host_start(&host, (ServerOptions){ .listen = S("[::1]:0") });
    fd = socket(AF_INET6, SOCK_STREAM, 0);
    peer_limit(fd);
    address.sin6_port = htons((uint16_t) host.port);
    CHECK(connect(fd, (const struct sockaddr *) &address, sizeof address) == 0);
    DEFER(arena_done) Arena arena = { 0 };
    peer_send(fd, S("GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n"));
    CHECK(peer_status(peer_receive(&arena, fd)) == 200);
    close(fd);
    host_stop(&host);
}

static int connect_local(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    peer_limit(fd);
    CHECK(connect(fd, (const struct sockaddr *) &address, sizeof address) == 0);
    return fd;
}

// One that was left behind, by a process that died, is in nobody's way; one that lives is.
static void it_listens_on_a_file_too(void)
{
    char path[100], listen[120];
    snprintf(path, sizeof path, "/tmp/peal-test-%d.sock", (int) getpid());
    snprintf(listen, sizeof listen, LISTEN_UNIX "%s", path);
    for (int i = 0; i < 2; i++) {
        Host host = { 0 };
        DEFER(arena_done) Arena arena = { 0 };
        host_start(&host, (ServerOptions){ .listen = str_from(listen) });
        int fd = connect_local(path), other = -1;
        peer_send(fd, S("GET / HTTP/1.1\r\nHost: site\r\n\r\n"));
        CHECK(peer_status(peer_receive(&arena, fd)) == 200);
        close(fd);
        CHECK(listen_open(str_from(listen), &other, NULL) == ERR_CONFLICT);
        host_stop(&host);
    }
    struct stat found;
    CHECK(stat(path, &found) == 0 && (found.st_mode & 0777) == 0660);
    unlink(path);
}

// block holds the loop up, as no handler may, until the test lets it go.
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void block(void *with, Exchange *exchange)
{
    (void) with;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    exchange_reply(exchange, &(Reply){ .status = 204 });
}

static void a_loop_that_hangs_gives_no_sign_of_life(void)
{
    Server *server = NULL;
    ServerOptions options = { .listen = S("127.0.0.1:0"), .handle = block };
    Err err = server_open(&options, &server, NULL);
    assert(err == ERR_OK);
    DEFER(arena_done) Arena arena = { 0 };
    const Span late = 50 * SPAN_MILLISECOND;
    while (server_silence(server) < late) // nobody asks, so it is silent
        continue;
    server_poke(server);
    while (server_silence(server) > late / 2) // but it answers
        continue;
    pthread_mutex_lock(&gate);
    int fd = peer_dial(server_port(server));
    peer_send(fd, S("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    do { // it hangs, and stays silent
        server_poke(server);
        Instant until = clock_machine_monotonic() + late / 5;
        while (clock_machine_monotonic() < until)
            continue;
    } while (server_silence(server) < late);
    pthread_mutex_unlock(&gate);
    CHECK(peer_status(peer_receive(&arena, fd)) == 204);
    server_poke(server);
    while (server_silence(server) > late / 2)
        continue;
    close(fd);
    CHECK(server_close(server));
}

static const Test tests[] = {
    TEST(a_request_arrives_as_it_was_sent),
    TEST(a_connection_serves_many_requests),
    TEST(a_body_may_be_taken_in_parts),
    TEST(a_body_that_breaks_off_between_parts_holds_nobody),
    TEST(a_head_request_gets_no_body),
    TEST(an_error_is_problem_json),
    TEST(hostile_requests_are_refused),
    TEST(a_client_may_ask_before_it_sends_the_body),
    TEST(begin_refuses_before_the_body_is_kept),
    TEST(a_client_that_leaves_does_no_harm),
    TEST(an_answer_may_be_left_to_the_server),
    TEST(closing_waits_for_what_is_owed),
    TEST(closing_does_not_wait_for_ever),
    TEST(a_request_that_arrives_while_closing_is_turned_away),
    TEST(many_clients_at_once_get_their_own_answers),
    TEST(an_address_that_cannot_be_used_is_told),
    TEST(it_listens_on_ipv6_too),
    TEST(it_listens_on_a_file_too),
    TEST(a_loop_that_hangs_gives_no_sign_of_life),
};

TEST_MAIN(tests)
