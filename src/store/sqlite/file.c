#include "store/sqlite/file.h"

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
};

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
    }
    file->connections--;
    drop_unused(file);
    pthread_mutex_unlock(&files_lock);
}

bool file_mark_holds(FileMark *mark, const char *path)
{
    struct stat found;
    if (stat(path, &found) != 0) // what cannot be asked is not answered with no
        return mark->inode == 0 || (errno != ENOENT && errno != ENOTDIR);
    if (mark->inode == 0)
        *mark = (FileMark){ found.st_dev, found.st_ino };
    return mark->device == found.st_dev && mark->inode == found.st_ino;
}
