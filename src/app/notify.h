// notify.h - what a service manager is told: systemd's protocol, spoken without its library.
//
// A unit of Type=notify gives the path of a socket in NOTIFY_SOCKET, and with WatchdogSec= how
// often it wants to hear of us in WATCHDOG_USEC. Without them nothing is said. The watchdog is told
// that all is well only while both loops show signs of life; who hangs is ended and started again.
//
// A socket that the manager has opened already comes as descriptor 3 (LISTEN_FDS).
#pragma once

#include "base/base.h"
#include "base/err.h"

#include <sys/socket.h>
#include <sys/un.h>

typedef struct Notify {
    int fd; // -1: nobody listens
    struct sockaddr_un to;
    socklen_t to_len;
    Span watchdog; // how often a sign is wanted at least; 0: never
} Notify;

// notify_open reads the environment, and takes out of it what is meant for this process alone.
Notify notify_open(void);
void notify_close(Notify *notify);

// notify_say sends lines such as "READY=1\nSTATUS=ready". What is lost is lost: it must not block.
void notify_say(const Notify *notify, const char *format, ...) PRINTF(2, 3);

// notify_socket is the one socket that was handed over; 0 for none.
Err notify_socket(int *ret, Error *error) MUST_USE;

// Signs are what is known of the loops.
typedef struct Signs {
    Span loop_silence; // of the server's loop
    bool has_engine;   // the store was reached once
    bool is_store_up;
    Span since_good; // the engine's last good round
    int64_t failed;  // rounds of the engine that failed, with a reason, since the start
} Signs;

// signs_are_well compares what is known with what was known a moment ago. A store that is away, and
// rounds that fail and say why, are no reason to begin anew: that would mend neither.
bool signs_are_well(const Signs *before, const Signs *now);
