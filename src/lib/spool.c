#include "lib/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const char header[16] = "peal spool 1\n\n\n";
static const unsigned char mark[4] = { 0x1e, 'P', 'L', '1' };

/* Frame stands before each record. Numbers are as this machine writes them: a spool does not
 * travel. */
typedef struct Frame {
    unsigned char mark[4];
    uint32_t len, checksum;
} Frame;

static uint32_t crc32_of(const char *bytes, size_t len)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char) bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

static int lock_file(int fd)
{
    int locked;
    do
        locked = flock(fd, LOCK_EX);
    while (locked != 0 && errno == EINTR);
    return locked;
}

/* sync_folder makes the name of a new file durable. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t) (slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int synced = fd >= 0 ? fsync(fd) : -1, problem = errno;
    if (fd >= 0)
        close(fd);
    free(folder);
    errno = problem;
    return synced;
}

static int write_all(int fd, struct iovec *parts, int count)
{
    while (count > 0) {
        ssize_t written = writev(fd, parts, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        while (count > 0 && (size_t) written >= parts->iov_len) {
            written -= (ssize_t) parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *) parts->iov_base + written;
            parts->iov_len -= (size_t) written;
        }
    }
    return 0;
}

/* check_header refuses what this version does not know how to read: it would append what others do
 * not find, and take all of it for damage. */
static int check_header(int fd)
{
    char found[sizeof header];
    ssize_t got = pread(fd, found, sizeof found, 0);
    if (got < 0)
        return -1;
    if (got == (ssize_t) sizeof found && memcmp(found, header, sizeof found) == 0)
        return 0;
    errno = EPROTONOSUPPORT;
    return -1;
}

/* begin sees that a locked file has its header, and that its name lasts. A file that is shorter
 * is new: nobody has appended to it. */
static int begin(int fd, const char *path, off_t *ret_size)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return -1;
    *ret_size = stat.st_size;
    if (stat.st_size >= (off_t) sizeof header)
        return check_header(fd);
    struct iovec part = { (void *) (uintptr_t) header, sizeof header };
    if (ftruncate(fd, 0) != 0 || fchmod(fd, 0660) != 0 || write_all(fd, &part, 1) != 0 ||
        fdatasync(fd) != 0)
        return -1;
    *ret_size = sizeof header;
    return sync_folder(path);
}

/* open_spool opens it for appending, locked; -1 with errno. Who made it may be another user. */
static int open_spool(const char *path, off_t *ret_size)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0660);
    if (fd < 0)
        return -1;
    if (lock_file(fd) == 0 && begin(fd, path, ret_size) == 0)
        return fd;
    int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

/* append writes a record to a locked file, or leaves it as it was. */
static int append(int fd, off_t size, const char *record, size_t len)
{
    Frame frame = { .len = (uint32_t) len, .checksum = crc32_of(record, len) };
    memcpy(frame.mark, mark, sizeof mark);
    struct iovec parts[] = { { &frame, sizeof frame }, { (void *) (uintptr_t) record, len } };
    if (write_all(fd, parts, 2) == 0)
        return 0;
    int problem = errno;
    if (ftruncate(fd, size) != 0) /* half a record stays: readers step over it */
        errno = problem;
    errno = problem;
    return -1;
}

int peal_spool_append(const char *path, const char *record, size_t len)
{
    off_t size;
    if (len == 0 || len > SPOOL_RECORD_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    int fd = open_spool(path, &size);
    if (fd < 0)
        return -1;
    int done = append(fd, size, record, len);
    /* Whoever appends next need not wait for this sync. */
    int problem = errno;
    flock(fd, LOCK_UN);
    errno = problem;
    if (done == 0 && (done = fdatasync(fd)) != 0)
        errno = EIO; /* it stands there, and may be taken in: no reason to say that it is not */
    problem = errno;
    if (close(fd) != 0 && done == 0)
        return -1;
    errno = problem;
    return done;
}

bool peal_spool_waits(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && found.st_size > (off_t) sizeof header;
}

int peal_spool_open(SpoolReader *reader, const char *path)
{
    off_t size;
    *reader = (SpoolReader){ .at = sizeof header };
    reader->fd = open_spool(path, &size);
    if (reader->fd < 0)
        return -1;
    peal_spool_unlock(reader);
    return 0;
}

void peal_spool_close(SpoolReader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->buffer);
    *reader = (SpoolReader){ .fd = -1 };
}

static int make_room(SpoolReader *reader, size_t room)
{
    if (room <= reader->room)
        return 0;
    char *buffer = realloc(reader->buffer, room);
    if (!buffer)
        return -1;
    reader->buffer = buffer;
    reader->room = room;
    return 0;
}

/* read_at reads up to len bytes at a place; fewer at the end. */
static ssize_t read_at(const SpoolReader *reader, char *into, size_t len, off_t at)
{
    size_t got = 0;
    while (got < len) {
        ssize_t more = pread(reader->fd, into + got, len - got, at + (off_t) got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        got += (size_t) more;
    }
    return (ssize_t) got;
}

typedef enum Look { LOOK_RECORD, LOOK_DAMAGED, LOOK_SHORT, LOOK_FAILED } Look;

/* look_at reads what may be a record at the reader's place. */
static Look look_at(SpoolReader *reader, uint32_t *ret_len)
{
    Frame frame;
    ssize_t got = read_at(reader, (char *) &frame, sizeof frame, reader->at);
    if (got < 0)
        return LOOK_FAILED;
    if ((size_t) got < sizeof frame)
        return LOOK_SHORT;
    if (memcmp(frame.mark, mark, sizeof mark) != 0 || frame.len == 0 ||
        frame.len > SPOOL_RECORD_MAX)
        return LOOK_DAMAGED;
    if (make_room(reader, frame.len) != 0)
        return LOOK_FAILED;
    got = read_at(reader, reader->buffer, frame.len, reader->at + (off_t) sizeof frame);
    if (got < 0)
        return LOOK_FAILED;
    if ((size_t) got < frame.len)
        return LOOK_SHORT;
    *ret_len = frame.len;
    return crc32_of(reader->buffer, frame.len) == frame.checksum ? LOOK_RECORD : LOOK_DAMAGED;
}

/* next_mark moves on to the next place that may begin a record, or to the end. */
static int next_mark(SpoolReader *reader)
{
    char piece[4096];
    off_t from = reader->at++;
    for (;;) {
        ssize_t got = read_at(reader, piece, sizeof piece, reader->at);
        if (got < 0)
            return -1;
        const char *found = memchr(piece, mark[0], (size_t) got);
        reader->at += found ? found - piece : got;
        if (found || (size_t) got < sizeof piece)
            break;
    }
    reader->skipped += (uint64_t) (reader->at - from);
    return 0;
}

/* has_more: behind half a record there is another mark, so nobody is still writing it. */
static bool has_more(SpoolReader *reader)
{
    SpoolReader ahead = { .fd = reader->fd, .at = reader->at };
    struct stat found;
    return next_mark(&ahead) == 0 && fstat(reader->fd, &found) == 0 && ahead.at < found.st_size;
}

int peal_spool_next(SpoolReader *reader, bool is_locked, const char **ret, size_t *ret_len)
{
    for (;;) {
        uint32_t len;
        struct stat found;
        if (fstat(reader->fd, &found) != 0)
            return -1;
        if (reader->at >= found.st_size)
            return 0;
        Look look = look_at(reader, &len);
        if (look == LOOK_FAILED)
            return -1;
        if (look == LOOK_RECORD) {
            *ret = reader->buffer;
            *ret_len = len;
            reader->at += (off_t) (sizeof(Frame) + len);
            return 1;
        }
        if (look == LOOK_SHORT && !is_locked && !has_more(reader))
            return 0;
        if (next_mark(reader) != 0)
            return -1;
    }
}

int peal_spool_lock(SpoolReader *reader)
{
    return lock_file(reader->fd);
}

void peal_spool_unlock(SpoolReader *reader)
{
    flock(reader->fd, LOCK_UN);
}

int peal_spool_cut(SpoolReader *reader)
{
    if (ftruncate(reader->fd, sizeof header) != 0)
        return -1;
    reader->at = sizeof header;
    return 0;
}

const char *peal_spool_problem(int problem)
{
    return problem == EPROTONOSUPPORT ? "it was written by a newer Peal, or is no spool at all"
                                      : strerror(problem);
}
