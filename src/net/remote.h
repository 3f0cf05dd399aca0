// remote.h - who asks: a client's address, as limits count it.
//
// IPv4 stands as ::ffff:a.b.c.d, so that one form serves both families. Of IPv6 a client has a
// whole /64 (REMOTE_PREFIX_BITS) at its hands, which counts as one client.
//
// Behind a proxy the peer of every connection is the proxy. Whom it speaks for is in
// X-Forwarded-For, where each hop adds who spoke to it: so the list is read from its right end, and
// believed only as far as hops that were named as ours go. Anyone can write the rest.
#pragma once

#include "base/str.h"
#include "net/address.h"

struct sockaddr;

enum { REMOTE_TEXT_MAX = 46, REMOTE_PREFIX_BITS = 64 };

typedef struct Remote {
    uint8_t bytes[16];
} Remote;

// remote_of takes whoever comes by a Unix socket for this machine; all zeros for what else there
// is.
Remote remote_of(const struct sockaddr *address);

// remote_parse reads an address, with or without a port ("[2001:db8::1]:443").
bool remote_parse(Str text, Remote *ret);
Str remote_text(Remote remote, char buf[REMOTE_TEXT_MAX]);

bool remote_is_loopback(Remote remote);
bool remote_same_client(Remote a, Remote b);
Remote remote_client(Remote remote); // as limits count it: equal for one client

// remote_believed is the client: the right-most address of forwarded_for that is not a proxy's. It
// is the peer where that is no proxy, where there is no list, and where what is to be believed
// cannot be read.
Remote remote_believed(const AddressPolicy *proxies, Remote peer, Str forwarded_for);
