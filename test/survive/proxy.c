#include "proxy.h"

#include "base/arena.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

// One thread forwards all lines. The client sends a COMMIT and the Sync behind it in one go, and no
// other statement of Peal has the word in it.

enum { LINES_MAX = 64, CHUNK = 65536 };
#define LATE_BY SPAN_SECOND

typedef struct Line {
    int client, server; // -1: closed
    char *held;         // a COMMIT on its way
    size_t held_len;
    Instant held_until; // monotonic
} Line;

struct Proxy {
    int listener, wake[2], port;
    int server_port;
    pthread_t thread;
    Line lines[LINES_MAX];
    _Atomic ProxyCut cut;
    _Atomic bool has_cut, is_closing;
    _Atomic int connections;
};

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t) port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void send_all(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return; // the other side is gone, and its end is read soon
        at += sent;
        len -= (size_t) sent;
    }
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void drop_line(Line *line)
{
    hang_up(&line->client);
    hang_up(&line->server);
    free(line->held);
    line->held = NULL;
}

static void accept_line(Proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = local(proxy->server_port);
    if (client < 0 || connect(server, (struct sockaddr *) &address, sizeof address) != 0)
        abort();
    proxy->connections++;
    for (size_t i = 0; i < LINES_MAX; i++) {
        if (proxy->lines[i].client >= 0 || proxy->lines[i].server >= 0)
            continue;
        proxy->lines[i] = (Line){ .client = client, .server = server };
        return;
    }
    abort();
}

static bool has_commit(const char *at, size_t len)
{
    return memmem(at, len, "COMMIT", strlen("COMMIT")) != NULL;
}

// end_server waits until the server's side is over: a backend that finds its client gone lets go of
// everything before it closes.
static void end_server(const Line *line)
{
    static char chunk[CHUNK];
    shutdown(line->server, SHUT_WR);
    while (recv(line->server, chunk, sizeof chunk, 0) > 0)
        ;
}

// cut_line ends the line; what becomes of the COMMIT depends on the kind of cut. But for one that
// is late, that is decided before the client learns of it: a backend that is slow to notice would
// hold its rows meanwhile, and what skips locked rows (a claim, an operation's slice) would do less
// when it is done again than it did before.
static void cut_line(Line *line, ProxyCut cut, const char *at, size_t len)
{
    if (cut == PROXY_LATE) {
        hang_up(&line->client);
        line->held = memory_new(len);
        memcpy(line->held, at, len);
        line->held_len = len;
        line->held_until = clock_machine_monotonic() + LATE_BY;
        return;
    }
    if (cut == PROXY_AFTER)
        send_all(line->server, at, len);
    end_server(line);
    drop_line(line);
}

static void from_client(Proxy *proxy, Line *line)
{
    static char chunk[CHUNK];
    ssize_t got = recv(line->client, chunk, sizeof chunk, 0);
    if (got <= 0) {
        drop_line(line);
        return;
    }
    ProxyCut cut = proxy->cut;
    if (cut != PROXY_NONE && has_commit(chunk, (size_t) got)) {
        proxy->cut = PROXY_NONE;
        cut_line(line, cut, chunk, (size_t) got);
        proxy->has_cut = true;
        return;
    }
    send_all(line->server, chunk, (size_t) got);
}

static void from_server(Line *line)
{
    static char chunk[CHUNK];
    ssize_t got = recv(line->server, chunk, sizeof chunk, 0);
    if (got <= 0 || line->client < 0)
        drop_line(line); // the answer to a COMMIT whose client is gone ends the line
    else
        send_all(line->client, chunk, (size_t) got);
}

static void let_go_of_held(Line *line)
{
    if (line->held && clock_machine_monotonic() >= line->held_until) {
        send_all(line->server, line->held, line->held_len);
        free(line->held);
        line->held = NULL;
    }
}

static void *proxy_main(void *with)
{
    Proxy *proxy = with;
    struct pollfd polls[2 + 2 * LINES_MAX];
    while (!proxy->is_closing) {
        polls[0] = (struct pollfd){ proxy->wake[0], POLLIN, 0 };
        polls[1] = (struct pollfd){ proxy->listener, POLLIN, 0 };
        for (size_t i = 0; i < LINES_MAX; i++) { // poll ignores what is below zero
            polls[2 + 2 * i] = (struct pollfd){ proxy->lines[i].client, POLLIN, 0 };
            polls[3 + 2 * i] = (struct pollfd){ proxy->lines[i].server, POLLIN, 0 };
        }
        poll(polls, ARRAY_LEN(polls), 20);
        for (size_t i = 0; i < LINES_MAX; i++) {
            Line *line = &proxy->lines[i];
            if (line->client >= 0 && polls[2 + 2 * i].revents)
                from_client(proxy, line);
            if (line->server >= 0 && polls[3 + 2 * i].revents)
                from_server(line);
            let_go_of_held(line);
        }
        if (polls[1].revents)
            accept_line(proxy);
    }
    return NULL;
}

Proxy *proxy_open(int port)
{
    Proxy *proxy = memory_new(sizeof *proxy);
    struct sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    proxy->server_port = port;
    for (size_t i = 0; i < LINES_MAX; i++)
        proxy->lines[i].client = proxy->lines[i].server = -1;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (pipe(proxy->wake) != 0 ||
        bind(proxy->listener, (struct sockaddr *) &address, sizeof address) != 0 ||
        listen(proxy->listener, LINES_MAX) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *) &address, &size) != 0 ||
        pthread_create(&proxy->thread, NULL, proxy_main, proxy) != 0)
        abort();
    proxy->port = ntohs(address.sin_port);
    return proxy;
}

void proxy_close(Proxy *proxy)
{
    proxy->is_closing = true;
    close(proxy->wake[1]); // seen as the end of the pipe
    pthread_join(proxy->thread, NULL);
    for (size_t i = 0; i < LINES_MAX; i++)
        drop_line(&proxy->lines[i]);
    close(proxy->wake[0]);
    close(proxy->listener);
    free(proxy);
}

int proxy_port(const Proxy *proxy)
{
    return proxy->port;
}

void proxy_cut(Proxy *proxy, ProxyCut cut)
{
    proxy->has_cut = false;
    proxy->cut = cut;
}

bool proxy_has_cut(Proxy *proxy)
{
    return proxy->has_cut;
}

int proxy_connections(Proxy *proxy)
{
    return proxy->connections;
}
