#include "base/str.h"
#include "lib/spool.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Rig is a spool in a folder of its own.
typedef struct Rig {
    char folder[40], path[60];
} Rig;

static void rig_open(Rig *rig)
{
    snprintf(rig->folder, sizeof rig->folder, "/tmp/peal-spool-XXXXXX");
    CHECK(mkdtemp(rig->folder));
    snprintf(rig->path, sizeof rig->path, "%s/spool", rig->folder);
}

static void rig_close(const Rig *rig)
{
    unlink(rig->path);
    rmdir(rig->folder);
}

static void append(const Rig *rig, const char *record)
{
    CHECK_AT(record, peal_spool_append(rig->path, record, strlen(record)) == 0);
}

static off_t size_of(const Rig *rig)
{
    struct stat found;
    return stat(rig->path, &found) == 0 ? found.st_size : -1;
}

// read_all joins what is read, and tells how many bytes were no record.
static uint64_t read_all(const Rig *rig, bool is_locked, char *ret, size_t room)
{
    SpoolReader reader;
    const char *record;
    size_t len, used = 0;
    CHECK(peal_spool_open(&reader, rig->path) == 0);
    while (peal_spool_next(&reader, is_locked, &record, &len) == 1)
        used += (size_t) snprintf(ret + used, room - used, "%.*s;", (int) len, record);
    ret[used] = '\0';
    uint64_t skipped = reader.skipped;
    peal_spool_close(&reader);
    return skipped;
}

static void what_is_appended_is_read_in_order(void)
{
    Rig rig;
    char found[100];
    rig_open(&rig);
    CHECK(!peal_spool_waits(rig.path));
    append(&rig, "{\"n\":1}");
    append(&rig, "{\"n\":2}");
    CHECK(peal_spool_waits(rig.path));
    CHECK(read_all(&rig, false, found, sizeof found) == 0);
    CHECK_AT(found, strcmp(found, "{\"n\":1};{\"n\":2};") == 0);
    rig_close(&rig);
}

static void it_is_cut_and_goes_on(void)
{
    Rig rig;
    SpoolReader reader;
    const char *record;
    size_t len;
    char found[100];
    rig_open(&rig);
    append(&rig, "one");
    CHECK(peal_spool_open(&reader, rig.path) == 0);
    CHECK(peal_spool_next(&reader, false, &record, &len) == 1);
    CHECK(peal_spool_next(&reader, false, &record, &len) == 0);
    CHECK(peal_spool_lock(&reader) == 0 && peal_spool_cut(&reader) == 0);
    peal_spool_unlock(&reader);
    CHECK(!peal_spool_waits(rig.path));
    append(&rig, "two");
    CHECK(peal_spool_next(&reader, false, &record, &len) == 1 && len == 3);
    peal_spool_close(&reader);
    read_all(&rig, false, found, sizeof found);
    CHECK_AT(found, strcmp(found, "two;") == 0);
    rig_close(&rig);
}

static void a_lock_keeps_others_out(void)
{
    Rig rig;
    SpoolReader reader;
    rig_open(&rig);
    append(&rig, "one");
    int other = open(rig.path, O_RDWR);
    CHECK(peal_spool_open(&reader, rig.path) == 0);
    CHECK(flock(other, LOCK_EX | LOCK_NB) == 0 && flock(other, LOCK_UN) == 0);
    CHECK(peal_spool_lock(&reader) == 0);
    CHECK(flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
    peal_spool_unlock(&reader);
    CHECK(flock(other, LOCK_EX | LOCK_NB) == 0);
    peal_spool_close(&reader);
    close(other);
    rig_close(&rig);
}

// A process may die after any byte of its write. What others append behind is found, and half a
// record never is taken for one.
static void half_a_record_hides_no_other(void)
{
    static const char torn[] = "{\"torn\":\"record\"}";
    enum { FRAME = 12 };
    for (off_t kept = 0; kept <= (off_t) (FRAME + sizeof torn - 1); kept++) {
        Rig rig;
        char found[200], want[200];
        bool is_whole = kept == (off_t) (FRAME + sizeof torn - 1);
        rig_open(&rig);
        append(&rig, "first");
        off_t before = size_of(&rig);
        append(&rig, torn);
        CHECK(truncate(rig.path, before + kept) == 0);
        read_all(&rig, false, found, sizeof found);
        snprintf(want, sizeof want, "first;%s%s", is_whole ? torn : "", is_whole ? ";" : "");
        CHECK_AT(found, strcmp(found, want) == 0);
        append(&rig, "last");
        uint64_t skipped = read_all(&rig, true, found, sizeof found);
        snprintf(want, sizeof want, "first;%s%slast;", is_whole ? torn : "", is_whole ? ";" : "");
        CHECK_AT(found, strcmp(found, want) == 0);
        CHECK(is_whole ? skipped == 0 : skipped == (uint64_t) kept);
        CHECK(read_all(&rig, false, found, sizeof found) == skipped);
        CHECK_AT(found, strcmp(found, want) == 0);
        rig_close(&rig);
    }
}

static void a_damaged_byte_costs_its_own_record_alone(void)
{
    Rig rig;
    char found[200];
    rig_open(&rig);
    append(&rig, "first");
    off_t from = size_of(&rig);
    append(&rig, "second");
    off_t to = size_of(&rig);
    append(&rig, "third");
    for (off_t at = from; at < to; at++) {
        char byte, other;
        int fd = open(rig.path, O_RDWR);
        CHECK(pread(fd, &byte, 1, at) == 1);
        other = (char) (byte ^ 0x41);
        CHECK(pwrite(fd, &other, 1, at) == 1);
        CHECK(read_all(&rig, true, found, sizeof found) > 0);
        CHECK_AT(found, strcmp(found, "first;third;") == 0);
        CHECK(pwrite(fd, &byte, 1, at) == 1);
        close(fd);
    }
    rig_close(&rig);
}

enum { WRITERS = 4, EACH = 50 };

static void write_many(const Rig *rig, int writer)
{
    char record[40];
    for (int i = 0; i < EACH; i++) {
        snprintf(record, sizeof record, "%d-%d", writer, i);
        if (peal_spool_append(rig->path, record, strlen(record)) != 0)
            _exit(1);
    }
}

// check_all: each writer's records are there once, in its own order.
static void check_all(const Rig *rig, int least)
{
    SpoolReader reader;
    const char *record;
    size_t len;
    int next[WRITERS] = { 0 };
    CHECK(peal_spool_open(&reader, rig->path) == 0);
    while (peal_spool_next(&reader, true, &record, &len) == 1) {
        int64_t i;
        int writer = record[0] - '0';
        CHECK(str_to_i64((Str){ record + 2, len - 2 }, 0, EACH, &i));
        CHECK(writer >= 0 && writer < WRITERS && i == next[writer]);
        next[writer]++;
    }
    for (int i = 0; i < WRITERS; i++)
        CHECK(next[i] >= least && next[i] <= EACH);
    peal_spool_close(&reader);
}

static void processes_append_at_once(void)
{
    Rig rig;
    pid_t children[WRITERS];
    rig_open(&rig);
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            write_many(&rig, i);
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    check_all(&rig, EACH);
    rig_close(&rig);
}

// One of them is killed somewhere on its way: the others lose nothing.
static void a_process_that_dies_takes_nothing_along(void)
{
    Rig rig;
    rig_open(&rig);
    append(&rig, "0-0");
    pid_t child = fork();
    if (child == 0) {
        write_many(&rig, 1);
        _exit(0);
    }
    while (size_of(&rig) < 100)
        sched_yield();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    append(&rig, "2-0");
    char found[WRITERS * EACH * 8];
    read_all(&rig, true, found, sizeof found);
    CHECK(strncmp(found, "0-0;1-0;", 8) == 0 && strstr(found, "2-0;"));
    rig_close(&rig);
}

// A limit on the size of files stands for a disk that is full in the middle of a record.
static void a_full_disk_leaves_the_spool_as_it_was(void)
{
    Rig rig;
    char record[2000], found[100];
    struct rlimit before, limit;
    memset(record, 'x', sizeof record);
    rig_open(&rig);
    append(&rig, "first");
    off_t size = size_of(&rig);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = (rlim_t) size + 500;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(peal_spool_append(rig.path, record, sizeof record) == -1 && errno == EFBIG);
    CHECK(size_of(&rig) == size);
    setrlimit(RLIMIT_FSIZE, &before);
    append(&rig, "last");
    CHECK(read_all(&rig, false, found, sizeof found) == 0);
    CHECK_AT(found, strcmp(found, "first;last;") == 0);
    rig_close(&rig);
}

// What a newer Peal wrote is neither added to nor taken for damage, and cut.
static void a_header_that_is_not_known_is_left_alone(void)
{
    static const char newer[] = "peal spool 2\n\n\n";
    Rig rig;
    SpoolReader reader;
    rig_open(&rig);
    int fd = open(rig.path, O_WRONLY | O_CREAT, 0600);
    CHECK(write(fd, newer, sizeof newer) == (ssize_t) sizeof newer && close(fd) == 0);
    CHECK(peal_spool_append(rig.path, "x", 1) == -1 && errno == EPROTONOSUPPORT);
    CHECK(peal_spool_open(&reader, rig.path) == -1 && errno == EPROTONOSUPPORT);
    CHECK(strstr(peal_spool_problem(errno), "newer"));
    CHECK(size_of(&rig) == (off_t) sizeof newer);
    rig_close(&rig);
}

static void what_cannot_be_is_told(void)
{
    Rig rig;
    rig_open(&rig);
    CHECK(peal_spool_append(rig.path, "", 0) == -1 && errno == EMSGSIZE);
    CHECK(peal_spool_append("/nonexistent/spool", "x", 1) == -1 && errno == ENOENT);
    CHECK(!peal_spool_waits("/nonexistent/spool"));
    rig_close(&rig);
}

static const Test tests[] = {
    TEST(what_is_appended_is_read_in_order),
    TEST(it_is_cut_and_goes_on),
    TEST(a_lock_keeps_others_out),
    TEST(half_a_record_hides_no_other),
    TEST(a_damaged_byte_costs_its_own_record_alone),
    TEST(processes_append_at_once),
    TEST(a_process_that_dies_takes_nothing_along),
    TEST(a_full_disk_leaves_the_spool_as_it_was),
    TEST(a_header_that_is_not_known_is_left_alone),
    TEST(what_cannot_be_is_told),
};
TEST_MAIN(tests)
