#include "app/notify.h"

#include "base/str.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINES_MAX = 1024, FIRST_SOCKET = 3 };

#define LOOP_LATE ((Span) 10 * SPAN_SECOND)
#define ENGINE_LATE ((Span) 30 * SPAN_SECOND) // it goes round every 5 s at least

// is_for_us is true where the variable is missing or has this process's number.
static bool is_for_us(const char *variable)
{
    int64_t process;
    const char *text = getenv(variable);
    return !text || (str_to_i64(str_from(text), 1, INT32_MAX, &process) && process == getpid());
}

static Span watchdog_span(void)
{
    int64_t span;
    const char *text = getenv("WATCHDOG_USEC");
    if (!text || !is_for_us("WATCHDOG_PID") || !str_to_i64(str_from(text), 1, INT64_MAX, &span))
        return 0;
    return span; // in microseconds, as any Span is
}

// address_of reads a path, or a name in the abstract namespace, which begins with "@".
static bool address_of(Notify *notify, Str path)
{
    if (path.len < 2 || path.len >= sizeof notify->to.sun_path ||
        (path.at[0] != '/' && path.at[0] != '@'))
        return false;
    notify->to.sun_family = AF_UNIX;
    memcpy(notify->to.sun_path, path.at, path.len);
    if (path.at[0] == '@')
        notify->to.sun_path[0] = '\0';
    notify->to_len = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + path.len);
    return true;
}

Notify notify_open(void)
{
    Notify notify = { .fd = -1 };
    const char *path = getenv("NOTIFY_SOCKET");
    if (path && address_of(&notify, str_from(path))) {
        notify.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        notify.watchdog = watchdog_span();
    }
    // Whatever this process starts must not speak for it.
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return notify;
}

void notify_close(Notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}

void notify_say(const Notify *notify, const char *format, ...)
{
    char lines[LINES_MAX];
    if (notify->fd < 0)
        return;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(lines, sizeof lines, format, args);
    va_end(args);
    assert(len > 0);
    size_t size = (size_t) len < sizeof lines ? (size_t) len : sizeof lines - 1;
    ssize_t sent = sendto(notify->fd, lines, size, MSG_NOSIGNAL,
                          (const struct sockaddr *) &notify->to, notify->to_len);
    (void) sent; // The manager hears the next one, or ends us.
}

Err notify_socket(int *ret, Error *error)
{
    const char *text = getenv("LISTEN_FDS");
    int64_t count = 0;
    bool is_ours = text && getenv("LISTEN_PID") && is_for_us("LISTEN_PID");
    *ret = 0;
    if (is_ours && !str_to_i64(str_from(text), 0, 1, &count))
        return fail(error, ERR_SETUP, "one socket may be handed over (LISTEN_FDS=1), not \"%s\"",
                    text);
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDNAMES");
    if (count == 1)
        *ret = FIRST_SOCKET;
    return ERR_OK;
}

bool signs_are_well(const Signs *before, const Signs *now)
{
    if (now->loop_silence > LOOP_LATE)
        return false;
    if (!now->has_engine || !now->is_store_up)
        return true;
    return now->since_good <= ENGINE_LATE || now->failed > before->failed;
}
