#include "net/wire.h"

#include "base/log.h"

#include <fcntl.h>

static bool is_proxy(const Server *server, Remote peer)
{
    return address_named(&server->options.proxies, peer.bytes);
}

// has_too_many counts the host's connections; behind a proxy, those on which it has a request.
static bool has_too_many(const Server *server, const Connection *from)
{
    size_t count = 0;
    if (remote_is_loopback(from->client))
        return false;
    for (const Connection *each = server->connections; each; each = each->next)
        count += each->is_counted && remote_same_client(each->client, from->client);
    return count > server->options.connections_per_address_max;
}

// make_room keeps half of the reserve free for who comes next: of those in it that have not sent
// their head yet, the oldest goes. Whoever has something to ask asks at once. The library takes
// many connections in a row before it notices that one was cut, so each makes another go.
static void make_room(Server *server)
{
    Connection *oldest = NULL;
    size_t limit = server->options.connections_max + SERVER_RESERVE / 2;
    if (server->connection_count <= limit)
        return;
    for (Connection *each = server->connections; each; each = each->next)
        if (each->is_extra && !each->had_request && !each->is_cut)
            oldest = each; // the list begins with the newest
    if (!oldest)
        return;
    oldest->is_cut = true;
    shutdown(oldest->deadline.fd, SHUT_RDWR);
}

Connection *connection_open(Server *server, int fd, const struct sockaddr *peer)
{
    Connection *connection = memory_new(sizeof *connection);
    connection->peer = connection->client = remote_of(peer);
    remote_text(connection->client, connection->remote);
    connection->is_proxied = is_proxy(server, connection->peer);
    connection->is_counted = !connection->is_proxied;
    connection->is_stranger = server->options.proxies.count > 0 && !connection->is_proxied &&
                              !remote_is_loopback(connection->peer);
    connection->deadline.fd = fd;
    connection->next = server->connections;
    if (connection->next)
        connection->next->prev = connection;
    server->connections = connection;
    connection->is_extra = ++server->connection_count > server->options.connections_max;
    Span deadline = server->options.request_deadline;
    if (connection->is_extra)
        deadline = earlier(deadline, server->options.reserve_deadline);
    deadline_set(&connection->deadline, clock_machine_monotonic() + deadline, false);
    deadlines_add(server->deadlines, &connection->deadline);
    make_room(server);
    if (connection->is_counted && has_too_many(server, connection)) {
        log_debug("server.crowded", "remote=%s", connection->remote);
        shutdown(fd, SHUT_RDWR);
    }
    return connection;
}

void connection_close(Server *server, Connection *connection)
{
    deadlines_remove(server->deadlines, &connection->deadline);
    // The library closes its own descriptor after this; a copy keeps the socket.
    int fd = connection->lingers ? fcntl(connection->deadline.fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd >= 0)
        deadlines_linger(server->deadlines, fd);
    if (connection->prev)
        connection->prev->next = connection->next;
    else
        server->connections = connection->next;
    if (connection->next)
        connection->next->prev = connection->prev;
    server->connection_count--;
    free(connection);
}

bool connection_take(Server *server, Connection *connection, Str forwarded_for)
{
    assert(connection->is_proxied);
    connection->client = remote_believed(&server->options.proxies, connection->peer, forwarded_for);
    remote_text(connection->client, connection->remote);
    connection->is_counted = true;
    return !has_too_many(server, connection);
}

void connection_done(Connection *connection)
{
    connection->is_counted = !connection->is_proxied;
}
