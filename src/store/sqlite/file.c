#include "store/sqlite/file.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct StoreFile {
    StoreFile *next;
    dev_t device;
    ino_t inode;
    int fd;
    int connections;
    bool is_locked;

    pthread_mutex_t lock;
    pthread_cond_t moved;
    int reading;    // guarded by lock
    bool is_paused; // guarded by lock
};

#define PAUSE_MAX ((Span) 100 * SPAN_MILLISECOND)
#define ENTER_MAX ((Span) 20 * SPAN_SECOND) // longer than the longest read

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static StoreFile *files; // guarded by files_lock: those with a connection in this process

static bool is_same(const StoreFile *file, const struct stat *found)
{
    return file->device == found->st_dev && file->inode == found->st_ino;
}

static StoreFile *find(const char *path)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return NULL;
    StoreFile *file = files;
    while (file && !is_same(file, &found))
        file = file->next;
    return file;
}

static Err add(const char *path, bool is_writer, StoreFile **ret, Error *error)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (is_writer ? O_CREAT : 0), 0600);
    if (fd < 0 || fstat(fd, &found) != 0)
        return fail(error, ERR_UNAVAILABLE, "cannot open %s: %m", path);
    StoreFile *file = memory_new(sizeof *file);
    *file = (StoreFile){ files, found.st_dev, found.st_ino, .fd = fd };
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&file->lock, NULL);
    pthread_cond_init(&file->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *ret = files = file;
    return ERR_OK;
}

static void drop_unused(StoreFile *file)
{
    if (file->connections > 0)
        return;
    StoreFile **at = &files;
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    close(file->fd);
    pthread_mutex_destroy(&file->lock);
    pthread_cond_destroy(&file->moved);
    free(file);
}

static Err lock(StoreFile *file, const char *path, Error *error)
{
    bool is_refused = file->is_locked || flock(file->fd, LOCK_EX | LOCK_NB) != 0;
    if (is_refused && !file->is_locked && errno != EWOULDBLOCK)
        return fail(error, ERR_UNAVAILABLE, "cannot lock %s: %m", path);
    if (is_refused)
        return fail(error, ERR_CONFLICT, "%s is in use by another Peal", path);
    file->is_locked = true;
    return ERR_OK;
}

static void tighten_all(Arena *scratch, Str path)
{
    static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < ARRAY_LEN(tails); i++)
        file_tighten(str_format(scratch, "%.*s%s", STR_ARG(path), tails[i]).at);
}

Err store_file_open(Arena *scratch, Str path, bool is_writer, StoreFile **ret, Error *error)
{
    const char *name = str_z(scratch, path);
    pthread_mutex_lock(&files_lock);
    StoreFile *file = find(name);
    Err err = file ? ERR_OK : add(name, is_writer, &file, error);
    assert(file || err != ERR_OK);
    if (err == ERR_OK && is_writer)
        err = lock(file, name, error);
    if (err == ERR_OK) {
        file->connections++;
        *ret = file;
    } else if (file) {
        drop_unused(file);
    }
    pthread_mutex_unlock(&files_lock);
    if (err == ERR_OK && is_writer)
        tighten_all(scratch, path);
    return err;
}

void store_file_close(StoreFile *file, bool is_writer)
{
    if (!file)
        return;
    pthread_mutex_lock(&files_lock);
    assert(file->connections > 0 && (!is_writer || file->is_locked));
    if (is_writer) {
        (void) flock(file->fd, LOCK_UN);
        file->is_locked = false;
        store_file_resume(file);
    }
    file->connections--;
    drop_unused(file);
    pthread_mutex_unlock(&files_lock);
}

// wait_moved waits for a change, until then; false when it is too late.
static bool wait_moved(StoreFile *file, Instant until)
{
    struct timespec at = { .tv_sec = until / SPAN_SECOND,
                           .tv_nsec = (long) (until % SPAN_SECOND * 1000) };
    return pthread_cond_timedwait(&file->moved, &file->lock, &at) != ETIMEDOUT;
}

Err store_file_enter(StoreFile *file, Error *error)
{
    Instant until = clock_machine_monotonic() + ENTER_MAX;
    pthread_mutex_lock(&file->lock);
    for (bool is_late = false; file->is_paused && !is_late;) {
        // Once nobody reads, the next commit empties the WAL. Where none comes, nothing grows.
        bool is_quiet = file->reading == 0;
        Instant quiet_until = clock_machine_monotonic() + PAUSE_MAX;
        bool has_moved = wait_moved(file, is_quiet ? quiet_until : until);
        if (is_quiet && !has_moved)
            file->is_paused = false;
        is_late = !is_quiet && !has_moved;
    }
    bool is_in = !file->is_paused;
    file->reading += is_in;
    pthread_mutex_unlock(&file->lock);
    return is_in ? ERR_OK : fail(error, ERR_BUSY, "the WAL is being emptied; try again");
}

void store_file_leave(StoreFile *file)
{
    pthread_mutex_lock(&file->lock);
    assert(file->reading > 0);
    if (--file->reading == 0)
        pthread_cond_broadcast(&file->moved);
    pthread_mutex_unlock(&file->lock);
}

bool store_file_pause(StoreFile *file)
{
    Instant until = clock_machine_monotonic() + PAUSE_MAX;
    pthread_mutex_lock(&file->lock);
    // Paused since an earlier call: a long read is under way, and has been waited for.
    bool is_patient = !file->is_paused;
    file->is_paused = true;
    while (file->reading > 0 && is_patient && wait_moved(file, until))
        ;
    bool is_quiet = file->reading == 0;
    pthread_mutex_unlock(&file->lock);
    return is_quiet;
}

void store_file_resume(StoreFile *file)
{
    pthread_mutex_lock(&file->lock);
    file->is_paused = false;
    pthread_cond_broadcast(&file->moved);
    pthread_mutex_unlock(&file->lock);
}

bool file_mark_holds(FileMark *mark, const char *path)
{
    struct stat found;
    if (stat(path, &found) != 0) // what cannot be asked is not answered with no
        return mark->inode == 0 || (errno != ENOENT && errno != ENOTDIR);
    if (mark->inode == 0)
        *mark = (FileMark){ .device = found.st_dev, .inode = found.st_ino };
    mark->bytes = found.st_size;
    return mark->device == found.st_dev && mark->inode == found.st_ino;
}
