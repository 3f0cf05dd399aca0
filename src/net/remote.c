#include "net/remote.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };
static const Remote v6_loopback = { { [15] = 1 } };

static bool is_v4(Remote remote)
{
    return memcmp(remote.bytes, v4_prefix, sizeof v4_prefix) == 0;
}

static Remote from_v4(const void *bytes)
{
    Remote remote;
    memcpy(remote.bytes, v4_prefix, sizeof v4_prefix);
    memcpy(remote.bytes + sizeof v4_prefix, bytes, 4);
    return remote;
}

Remote remote_of(const struct sockaddr *address)
{
    Remote remote = { { 0 } };
    if (address->sa_family == AF_UNIX)
        return v6_loopback;
    if (address->sa_family == AF_INET)
        return from_v4(&((const struct sockaddr_in *) (const void *) address)->sin_addr);
    if (address->sa_family == AF_INET6)
        memcpy(remote.bytes, &((const struct sockaddr_in6 *) (const void *) address)->sin6_addr,
               16);
    return remote;
}

// without_port cuts ":443" off, which an IPv6 address has only behind its brackets.
static Str without_port(Str text)
{
    if (str_starts(text, S("["))) {
        Str rest = str_skip(text, 1), host = str_cut(&rest, ']');
        return !rest.at || (rest.len > 0 && rest.at[0] != ':') ? STR_NONE : host;
    }
    Str rest = text, host = str_cut(&rest, ':');
    return rest.at && !str_contains(rest, S(":")) ? host : text;
}

bool remote_parse(Str text, Remote *ret)
{
    char z[REMOTE_TEXT_MAX];
    uint8_t v4[4];
    Str host = without_port(text);
    if (host.len == 0 || host.len >= sizeof z)
        return false;
    memcpy(z, host.at, host.len);
    z[host.len] = '\0';
    if (inet_pton(AF_INET, z, v4) == 1) {
        *ret = from_v4(v4);
        return true;
    }
    return inet_pton(AF_INET6, z, ret->bytes) == 1;
}

Str remote_text(Remote remote, char buf[REMOTE_TEXT_MAX])
{
    bool is_short = is_v4(remote);
    if (!inet_ntop(is_short ? AF_INET : AF_INET6, remote.bytes + (is_short ? 12 : 0), buf,
                   REMOTE_TEXT_MAX))
        buf[0] = '\0';
    return str_from(buf);
}

bool remote_is_loopback(Remote remote)
{
    if (is_v4(remote))
        return remote.bytes[12] == 127;
    return memcmp(&remote, &v6_loopback, sizeof remote) == 0;
}

Remote remote_client(Remote remote)
{
    if (!is_v4(remote))
        memset(remote.bytes + 8, 0, 8);
    return remote;
}

bool remote_same_client(Remote a, Remote b)
{
    return memcmp(a.bytes, b.bytes, is_v4(a) ? sizeof a.bytes : REMOTE_PREFIX_BITS / 8) == 0;
}

// last_of cuts the last element off a list.
static Str last_of(Str *list)
{
    size_t at = list->len;
    while (at > 0 && list->at[at - 1] != ',')
        at--;
    Str last = str_skip(*list, at);
    list->len = at > 0 ? at - 1 : 0;
    return str_trim(last);
}

Remote remote_believed(const AddressPolicy *proxies, Remote peer, Str forwarded_for)
{
    Remote client = peer;
    while (forwarded_for.len > 0 && address_named(proxies, client.bytes))
        if (!remote_parse(last_of(&forwarded_for), &client))
            return peer;
    return client;
}
