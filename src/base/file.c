#include "base/file.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void file_make_folders(Arena *scratch, Str path)
{
    for (size_t i = 1; i < path.len; i++)
        if (path.at[i] == '/')
            (void) !mkdir(str_z(scratch, (Str){ path.at, i }), 0700);
}

bool file_sync_folder(Arena *scratch, Str path)
{
    size_t len = path.len;
    while (len > 0 && path.at[len - 1] != '/')
        len--;
    int fd = open(len ? str_z(scratch, (Str){ path.at, len }) : ".", O_RDONLY | O_CLOEXEC);
    bool is_synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return is_synced;
}

Err file_put(Arena *scratch, Str path, Str text, Error *error)
{
    file_make_folders(scratch, path);
    // Threads and processes may write at once: the name is nobody else's.
    static const char tail[] = ".XXXXXX";
    char *name = arena_alloc(scratch, path.len + sizeof tail);
    memcpy(name, path.at, path.len);
    memcpy(name + path.len, tail, sizeof tail);
    int fd = mkostemp(name, O_CLOEXEC); // 0600
    if (fd < 0)
        return fail(error, ERR_INTERNAL, "cannot write %.*s: %m", STR_ARG(path));
    bool is_written = write(fd, text.at, text.len) == (ssize_t) text.len && fsync(fd) == 0;
    is_written &= close(fd) == 0;
    if (!is_written || rename(name, str_z(scratch, path)) != 0) {
        fail(error, ERR_INTERNAL, "cannot write %.*s: %m", STR_ARG(path));
        unlink(name);
        return ERR_INTERNAL;
    }
    if (!file_sync_folder(scratch, path))
        return fail(error, ERR_INTERNAL, "cannot sync the folder of %.*s: %m", STR_ARG(path));
    return ERR_OK;
}

// room_of is how many bytes to read at most: as many as a regular file has, for max may be far
// more.
static size_t room_of(int fd, size_t max)
{
    struct stat found;
    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size <= 0)
        return max;
    return (size_t) found.st_size < max ? (size_t) found.st_size : max;
}

// take reads what was opened, or says by errno why it was not, and closes it.
static Err take(Arena *arena, int fd, Str path, size_t max, Str *ret, Error *error)
{
    *ret = STR_NONE;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return ERR_OK;
    size_t room = fd < 0 ? 0 : room_of(fd, max);
    char *text = arena_alloc(arena, room);
    ssize_t len = fd < 0 ? -1 : read(fd, text, room);
    if (len < 0)
        fail(error, ERR_UNAVAILABLE, "cannot read %.*s: %m", STR_ARG(path));
    if (fd >= 0)
        close(fd);
    if (len < 0)
        return ERR_UNAVAILABLE;
    *ret = (Str){ text, (size_t) len };
    return ERR_OK;
}

Err file_get(Arena *arena, Str path, size_t max, Str *ret, Error *error)
{
    int fd = open(str_z(arena, path), O_RDONLY | O_CLOEXEC);
    return take(arena, fd, path, max, ret, error);
}

Err file_get_regular(Arena *arena, Str path, size_t max, Str *ret, Error *error)
{
    struct stat found;
    // Without O_NONBLOCK, to open a pipe is to wait for its writer.
    int fd = open(str_z(arena, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode))) {
        close(fd);
        return fail(error, ERR_SETUP, "%.*s is not a regular file", STR_ARG(path));
    }
    return take(arena, fd, path, max, ret, error);
}

bool file_is_open(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && (found.st_mode & 077) != 0;
}

void file_tighten(const char *path)
{
    if (!file_is_open(path))
        return;
    if (chmod(path, 0600) == 0)
        log_warn("file.tightened", "file=%s detail=\"others could read it\"",
                 log_quote(str_from(path)));
    else
        log_error("file.open", "file=%s detail=\"others can read it: %m\"",
                  log_quote(str_from(path)));
}
