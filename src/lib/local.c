#include "lib/local.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 10, ANSWER_MAX = 4 << 20 };

/* connect_to connects to the site's socket; -1: nobody listens. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
    size_t len = strlen(path);
    if (len >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        connect(fd, (const struct sockaddr *) &address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t) sent;
    }
    return true;
}

/* read_all reads until the site closes, as it was asked to. */
static bool read_all(int fd, Text *ret)
{
    char piece[16384];
    for (;;) {
        ssize_t got = recv(fd, piece, sizeof piece, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        peal_text_add(ret, piece, (size_t) got);
        if (ret->is_broken || ret->len > ANSWER_MAX)
            return false;
    }
}

/* take_body leaves the body of an answer and returns its status; 0: it is no whole answer. */
static int take_body(Text *answer)
{
    int status = 0;
    size_t announced = 0;
    char *body = answer->at ? strstr(answer->at, "\r\n\r\n") : NULL;
    if (!body || sscanf(answer->at, "HTTP/1.1 %3d", &status) != 1)
        return 0;
    *body = '\0';
    const char *length = strcasestr(answer->at, "\r\nContent-Length:");
    if (!length || sscanf(length + strlen("\r\nContent-Length:"), "%zu", &announced) != 1)
        return 0;
    body += 4;
    size_t len = answer->len - (size_t) (body - answer->at);
    if (len != announced)
        return 0;
    memmove(answer->at, body, len + 1);
    answer->len = len;
    return status;
}

int peal_local_ask(const char *socket_path, const char *path, const Text *body, Text *ret)
{
    char head[512];
    int fd = connect_to(socket_path);
    if (fd < 0)
        return 0;
    int len = snprintf(head, sizeof head,
                       "%s %s HTTP/1.1\r\nHost: site\r\nConnection: close\r\n"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                       body ? "POST" : "GET", path, body ? body->len : 0);
    bool is_answered = len > 0 && (size_t) len < sizeof head && send_all(fd, head, (size_t) len) &&
                       (!body || send_all(fd, body->at, body->len)) && read_all(fd, ret);
    close(fd);
    return is_answered ? take_body(ret) : 0;
}
