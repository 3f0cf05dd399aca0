// peer.h - the other end of a wire, for tests: a client that writes raw bytes, and a server that
// follows a script. Both block, with a limit that only a failed test reaches.
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PEER_BYTES_MAX = 4 * 1024 * 1024, PEER_LIMIT_SECONDS = 20 };

static inline void peer_limit(int fd)
{
    struct timeval limit = { .tv_sec = PEER_LIMIT_SECONDS };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static inline struct sockaddr_in peer_address(int port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t) port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static inline int peer_dial(int port)
{
    struct sockaddr_in address = peer_address(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    peer_limit(fd);
    if (connect(fd, (const struct sockaddr *) &address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

// peer_send returns false when the other end would not take it all.
static inline bool peer_send(int fd, Str text)
{
    while (text.len > 0) {
        ssize_t sent = send(fd, text.at, text.len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        text = str_skip(text, (size_t) sent);
    }
    return true;
}

// peer_receive reads one message: head, and a body of Content-Length bytes or all chunks. An answer
// without either ends with the connection. It returns what came, which may be nothing.
static inline Str peer_receive(Arena *arena, int fd)
{
    Buf buf = buf_new(arena, PEER_BYTES_MAX);
    size_t wanted = SIZE_MAX;
    while (buf.len < wanted) {
        char piece[16 * 1024];
        size_t ask = wanted - buf.len < sizeof piece ? wanted - buf.len : sizeof piece;
        // Byte by byte through the head, so that nothing of a next message is taken.
        ssize_t got = recv(fd, piece, wanted == SIZE_MAX ? 1 : ask, 0);
        if (got <= 0)
            break;
        buf_add_bytes(&buf, piece, (size_t) got);
        Str head = buf_str(&buf);
        if (wanted != SIZE_MAX || !str_ends(head, S("\r\n\r\n")))
            continue;
        int64_t length = 0;
        bool has_length = false;
        for (Str rest = head; rest.len > 0;) {
            Str line = str_cut(&rest, '\n');
            Str value = line;
            if (str_eq_nocase(str_cut(&value, ':'), S("content-length")) && value.len > 0)
                has_length =
                    str_to_i64(str_trim((Str){ value.at, value.len - 1 }), 0, INT32_MAX, &length);
        }
        bool is_request = !str_starts(head, S("HTTP/"));
        bool is_bare = str_starts(head, S("HTTP/1.1 100")) || str_starts(head, S("HTTP/1.1 204"));
        if (has_length || is_request || is_bare)
            wanted = head.len + (size_t) length;
        else
            wanted = SIZE_MAX - 1;
    }
    return buf_str(&buf);
}

static inline int peer_status(Str answer)
{
    int64_t status = 0;
    if (str_starts(answer, S("HTTP/1.1 ")) && answer.len > 12)
        str_to_i64((Str){ answer.at + 9, 3 }, 100, 999, &status);
    return (int) status;
}

static inline Str peer_body(Str message)
{
    const char *end = message.len > 0 ? memmem(message.at, message.len, "\r\n\r\n", 4) : NULL;
    return end ? str_skip(message, (size_t) (end - message.at) + 4) : STR_NONE;
}

// peer_is_closed waits until the other end closes; false when it sends instead.
static inline bool peer_is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) <= 0;
}

// PeerServer accepts connections one after the other and plays turn for each request on them.
typedef struct PeerServer PeerServer;
struct PeerServer {
    // turn answers the request on fd; false closes the connection.
    bool (*turn)(PeerServer *server, int fd, Str request);
    int fd, port;
    pthread_t thread;
    Arena arena; // the thread's, until peer_server_stop()
    Str last;    // request; guarded by peer_lock
    _Atomic int connections, requests;
};

static pthread_mutex_t peer_lock __attribute__((unused)) = PTHREAD_MUTEX_INITIALIZER;

static inline void *peer_server_run(void *with)
{
    PeerServer *server = with;
    for (;;) {
        int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno == EMFILE)
            continue; // a test that takes descriptors away: this thread may begin only then
        if (fd < 0)
            return NULL;
        peer_limit(fd);
        server->connections++;
        for (;;) {
            Str request = peer_receive(&server->arena, fd);
            if (request.len == 0)
                break;
            pthread_mutex_lock(&peer_lock);
            server->last = request;
            pthread_mutex_unlock(&peer_lock);
            server->requests++;
            if (!server->turn(server, fd, request))
                break;
        }
        close(fd);
    }
}

// peer_last is the last request.
static inline Str peer_last(PeerServer *server)
{
    pthread_mutex_lock(&peer_lock);
    Str last = server->last;
    pthread_mutex_unlock(&peer_lock);
    return last;
}

static inline void peer_server_start(PeerServer *server)
{
    struct sockaddr_in address = peer_address(0);
    socklen_t len = sizeof address;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_up = bind(server->fd, (const struct sockaddr *) &address, sizeof address) == 0 &&
                 listen(server->fd, 64) == 0 &&
                 getsockname(server->fd, (struct sockaddr *) &address, &len) == 0;
    assert(is_up);
    server->port = ntohs(address.sin_port);
    int failed = pthread_create(&server->thread, NULL, peer_server_run, server);
    assert(!failed);
}

static inline void peer_server_stop(PeerServer *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    arena_done(&server->arena);
}
