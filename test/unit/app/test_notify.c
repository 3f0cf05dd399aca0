#include "app/notify.h"

#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

// manager binds the socket of a service manager, at a path or at an abstract name ("@…").
static int manager(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    size_t len = strlen(path);
    memcpy(at.sun_path, path, len);
    if (path[0] == '@')
        at.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int failed = bind(fd, (const struct sockaddr *) &at,
                      (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len));
    assert(!failed);
    return fd;
}

static void what_is_said_is_heard(void)
{
    char folder[] = "/tmp/peal-notify-XXXXXX", path[64], name[64];
    const char *made = mkdtemp(folder);
    assert(made);
    snprintf(path, sizeof path, "%s/notify", folder);
    snprintf(name, sizeof name, "@peal-notify-%d", (int) getpid());
    const char *const places[] = { path, name };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char heard[100] = "";
        int fd = manager(places[i]);
        setenv("NOTIFY_SOCKET", places[i], 1);
        setenv("WATCHDOG_USEC", "3000000", 1);
        Notify notify = notify_open();
        CHECK_AT(places[i], notify.watchdog == 3 * SPAN_SECOND);
        CHECK_AT(places[i], !getenv("NOTIFY_SOCKET") && !getenv("WATCHDOG_USEC"));
        notify_say(&notify, "READY=%d\nSTATUS=%s", 1, "ready");
        CHECK_AT(places[i], recv(fd, heard, sizeof heard - 1, MSG_DONTWAIT) > 0);
        CHECK_AT(heard, strcmp(heard, "READY=1\nSTATUS=ready") == 0);
        close(fd);
        notify_say(&notify, "WATCHDOG=1"); // nobody listens any more
        notify_close(&notify);
    }
    unlink(path);
    rmdir(folder);
}

static void without_a_manager_nothing_is_said(void)
{
    static const char *const places[] = { NULL, "", "relative", "@", "/" };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        places[i] ? setenv("NOTIFY_SOCKET", places[i], 1) : unsetenv("NOTIFY_SOCKET");
        setenv("WATCHDOG_USEC", "3000000", 1);
        Notify notify = notify_open();
        CHECK_AT(places[i], notify.fd == -1 && notify.watchdog == 0);
        notify_say(&notify, "READY=1");
        notify_close(&notify);
    }
    setenv("NOTIFY_SOCKET", "@somebody", 1);
    setenv("WATCHDOG_USEC", "3000000", 1);
    setenv("WATCHDOG_PID", "1", 1); // another's
    Notify notify = notify_open();
    CHECK(notify.fd >= 0 && notify.watchdog == 0);
    notify_close(&notify);
}

static void a_socket_is_taken_over_where_it_is_ours(void)
{
    char process[20];
    snprintf(process, sizeof process, "%d", (int) getpid());
    static const struct {
        const char *count;
        bool is_ours;
        Err err;
        int fd;
    } cases[] = {
        { "1", true, ERR_OK, 3 },  { "1", false, ERR_OK, 0 },   { "0", true, ERR_OK, 0 },
        { NULL, true, ERR_OK, 0 }, { "2", true, ERR_SETUP, 0 }, { "x", true, ERR_SETUP, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int fd = -1;
        Error error = { 0 };
        cases[i].count ? setenv("LISTEN_FDS", cases[i].count, 1) : unsetenv("LISTEN_FDS");
        setenv("LISTEN_PID", cases[i].is_ours ? process : "1", 1);
        CHECK_AT(cases[i].count, notify_socket(&fd, &error) == cases[i].err && fd == cases[i].fd);
    }
}

static void who_hangs_is_not_well(void)
{
    static const struct {
        const char *row;
        Signs before, now;
        bool is_well;
    } cases[] = {
        { "no store yet", { 0 }, { .loop_silence = SPAN_SECOND }, true },
        { "the loop hangs", { 0 }, { .loop_silence = SPAN_MINUTE }, false },
        { "the loop hangs, and there is no store",
          { 0 },
          { SPAN_MINUTE, true, false, 0, 0 },
          false },
        { "rounds go well", { 0 }, { 0, true, true, 5 * SPAN_SECOND, 0 }, true },
        { "the engine hangs", { 0 }, { 0, true, true, SPAN_MINUTE, 0 }, false },
        { "it failed once, then hangs",
          { 0, true, true, SPAN_MINUTE, 3 },
          { 0, true, true, SPAN_MINUTE, 3 },
          false },
        { "rounds fail and say why",
          { 0, true, true, SPAN_MINUTE, 3 },
          { 0, true, true, SPAN_MINUTE, 4 },
          true },
        { "the store is away", { 0 }, { 0, true, false, SPAN_HOUR, 0 }, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_AT(cases[i].row, signs_are_well(&cases[i].before, &cases[i].now) == cases[i].is_well);
}

static const Test tests[] = {
    TEST(what_is_said_is_heard),
    TEST(without_a_manager_nothing_is_said),
    TEST(a_socket_is_taken_over_where_it_is_ours),
    TEST(who_hangs_is_not_well),
};

TEST_MAIN(tests)
