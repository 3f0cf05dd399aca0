#include "net/listen.h"

#include "net/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

typedef union SocketAddress {
    struct sockaddr_un local;
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    struct sockaddr any;
} SocketAddress;

static int new_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// is_left_behind is true for a socket's file that nobody listens on.
static bool is_left_behind(const SocketAddress *address)
{
    int fd = new_socket(AF_UNIX);
    bool is_dead =
        fd >= 0 && connect(fd, &address->any, sizeof address->local) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return is_dead;
}

static Err listen_local(Str path, int *ret_fd, Error *error)
{
    SocketAddress address = { .local = { .sun_family = AF_UNIX } };
    if (path.len == 0 || path.len >= sizeof address.local.sun_path)
        return fail(error, ERR_SETUP, "a socket's path has 1 to %zu bytes, not %zu: \"%.*s\"",
                    sizeof address.local.sun_path - 1, path.len, STR_ARG(path));
    memcpy(address.local.sun_path, path.at, path.len);
    if (is_left_behind(&address))
        unlink(address.local.sun_path);
    int fd = new_socket(AF_UNIX);
    bool is_up = fd >= 0 && bind(fd, &address.any, sizeof address.local) == 0 &&
                 chmod(address.local.sun_path, 0660) == 0 && listen(fd, BACKLOG) == 0;
    if (is_up) {
        *ret_fd = fd;
        return ERR_OK;
    }
    int problem = errno;
    if (fd >= 0)
        close(fd);
    if (problem == EADDRINUSE)
        return fail(error, ERR_CONFLICT, "%.*s is in use", STR_ARG(path));
    errno = problem;
    return fail(error, ERR_INTERNAL, "cannot listen on %.*s: %m", STR_ARG(path));
}

Err listen_open(Str text, int *ret_fd, Error *error)
{
    if (str_starts(text, S(LISTEN_UNIX)))
        return listen_local(str_skip(text, strlen(LISTEN_UNIX)), ret_fd, error);
    DEFER(arena_done) Arena arena = { 0 };
    Str host = text, port = STR_NONE;
    for (size_t i = text.len; i > 0 && !port.at; i--) {
        if (text.at[i - 1] == ':') {
            host.len = i - 1;
            port = (Str){ text.at + i, text.len - i };
        }
    }
    if (host.len > 2 && host.at[0] == '[' && host.at[host.len - 1] == ']')
        host = (Str){ host.at + 1, host.len - 2 };
    int64_t number;
    struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (host.len == 0 || !str_to_i64(port, 0, 65535, &number) ||
        getaddrinfo(str_z(&arena, host), str_z(&arena, port), &hints, &found) != 0)
        return fail(error, ERR_SETUP, "\"%.*s\" is not an address to listen on; use HOST:PORT",
                    STR_ARG(text));

    int on = 1;
    int fd = new_socket(found->ai_family);
    bool is_up = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                 bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0;
    int problem = errno;
    freeaddrinfo(found);
    if (is_up) {
        *ret_fd = fd;
        return ERR_OK;
    }
    if (fd >= 0)
        close(fd);
    if (problem == EADDRINUSE)
        return fail(error, ERR_CONFLICT, "%.*s is in use", STR_ARG(text));
    errno = problem;
    return fail(error, ERR_INTERNAL, "cannot listen on %.*s: %m", STR_ARG(text));
}

// own_address is where the socket is bound; the family is AF_UNSPEC where that is not known.
static SocketAddress own_address(int fd)
{
    SocketAddress address = { .local = { 0 } };
    socklen_t len = sizeof address;
    if (getsockname(fd, &address.any, &len) != 0)
        address.any.sa_family = AF_UNSPEC;
    return address;
}

Err listen_check(int fd, Error *error)
{
    int listens = 0;
    socklen_t len = sizeof listens;
    sa_family_t family = own_address(fd).any.sa_family;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || !listens ||
        (family != AF_INET && family != AF_INET6 && family != AF_UNIX))
        return fail(error, ERR_SETUP,
                    "the socket that was handed over is not one that listens for"
                    " connections over TCP or a file");
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return fail(error, ERR_INTERNAL, "cannot use the socket that was handed over: %m");
    return ERR_OK;
}

int listen_port(int fd)
{
    SocketAddress address = own_address(fd);
    if (address.any.sa_family == AF_UNIX)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

bool listen_is_unix(int fd)
{
    return own_address(fd).any.sa_family == AF_UNIX;
}

Str listen_name(Arena *arena, int fd)
{
    SocketAddress address = own_address(fd);
    if (address.any.sa_family == AF_UNIX)
        return str_format(arena, LISTEN_UNIX "%.*s", (int) sizeof address.local.sun_path,
                          address.local.sun_path);
    char text[REMOTE_TEXT_MAX];
    Str host = remote_text(remote_of(&address.any), text);
    return str_format(arena, address.any.sa_family == AF_INET6 ? "[%.*s]:%d" : "%.*s:%d",
                      STR_ARG(host), listen_port(fd));
}

bool listen_is_loopback(int fd)
{
    SocketAddress address = own_address(fd);
    if (address.any.sa_family == AF_UNIX)
        return true;
    if (address.any.sa_family == AF_INET)
        return ntohl(address.v4.sin_addr.s_addr) >> 24 == 127;
    return address.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
}
