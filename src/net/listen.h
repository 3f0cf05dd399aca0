// listen.h - the socket that others connect to, before anyone serves it.
//
// It is of TCP, or a Unix socket: a file, which those may use who may write it.
//
// A program that is started with its socket open already (by a service manager) has the same
// questions to it: which port, and whether anyone but this machine reaches it.
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define LISTEN_DEFAULT "127.0.0.1:7325"

#define LISTEN_UNIX "unix:"

// listen_open binds one of the addresses that HOST:PORT stands for ("127.0.0.1:7325", "[::1]:0";
// port 0 picks one), or the file that unix:PATH names, and listens. A file that somebody left
// behind and nobody listens on any more is replaced. Its owner and group may connect.
Err listen_open(Str text, int *ret_fd, Error *error) MUST_USE;

// listen_check sees that a descriptor that was handed to us is a TCP socket that listens.
Err listen_check(int fd, Error *error) MUST_USE;

int listen_port(int fd); // 0 for a Unix socket
bool listen_is_unix(int fd);
Str listen_name(Arena *arena, int fd); // "127.0.0.1:7325", "[::]:7325", "unix:PATH"
bool listen_is_loopback(int fd);       // nobody but this machine reaches it
