// proxy.h - stands between a client and PostgreSQL and cuts the line where it hurts: at COMMIT.
#pragma once

#include "base/base.h"

typedef enum ProxyCut {
    PROXY_NONE,
    PROXY_BEFORE, // COMMIT never arrives
    PROXY_AFTER,  // COMMIT arrives, its answer does not
    PROXY_LATE,   // the line is cut, and COMMIT arrives a second later
} ProxyCut;

typedef struct Proxy Proxy;

// proxy_open forwards a port of its own to port on this machine.
Proxy *proxy_open(int port);
void proxy_close(Proxy *proxy);
int proxy_port(const Proxy *proxy);

// proxy_cut arms the proxy: it cuts the line at the next COMMIT, once.
void proxy_cut(Proxy *proxy, ProxyCut cut);
bool proxy_has_cut(Proxy *proxy);

int proxy_connections(Proxy *proxy); // made so far
