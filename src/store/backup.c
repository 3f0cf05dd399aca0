#include "store/backup.h"

#include "base/file.h"
#include "base/time.h"
#include "store/db.h"
#include "store/epoch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// mark holds the copy, wherever it is put: in place of the original, an epoch alone would not tell
// one that was made a moment ago.
static Err mark(Arena *scratch, const char *path, Instant now, Error *error)
{
    Db *db;
    char at[TIME_TEXT_MAX];
    Str url = str_format(scratch, "sqlite:%s", path);
    Str reason = str_format(scratch, "this is a backup, made at %.*s; `peal release` lets it send",
                            STR_ARG(time_text(now, at)));
    TRY(db_open(&(DbOptions){ .url = url }, &db, error));
    Err err = epoch_doubt(db, reason, now, error);
    db_close(db);
    return err;
}

static Err sync_file(const char *path, int64_t *ret_bytes, Error *error)
{
    struct stat found;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool is_synced = fd >= 0 && fsync(fd) == 0 && fstat(fd, &found) == 0;
    if (!is_synced)
        fail(error, errno == ENOSPC ? ERR_DISK_FULL : ERR_INTERNAL, "cannot sync the backup: %m");
    if (fd >= 0)
        close(fd);
    if (!is_synced)
        return error->err;
    *ret_bytes = found.st_size;
    return ERR_OK;
}

// name gives the backup its name unless somebody has it by now.
static Err name(Arena *scratch, const char *from, Str to, Error *error)
{
    if (link(from, str_z(scratch, to)) != 0)
        return fail(error, errno == EEXIST ? ERR_CONFLICT : ERR_INTERNAL, "cannot make %.*s: %m",
                    STR_ARG(to));
    if (!file_sync_folder(scratch, to))
        return fail(error, ERR_INTERNAL, "cannot sync the folder of %.*s: %m", STR_ARG(to));
    return ERR_OK;
}

static Err fill(Arena *scratch, Str url, const char *path, Instant now, int64_t *ret_bytes,
                Error *error)
{
    const DbDriver *driver = db_driver_for(url);
    TRY(driver->copy(scratch, url, path, error));
    if (driver == &sqlite_driver)
        TRY(mark(scratch, path, now, error));
    return sync_file(path, ret_bytes, error);
}

Err backup_write(Arena *scratch, Str url, Str path, Instant now, int64_t *ret_bytes, Error *error)
{
    char *part = (char *) (uintptr_t) str_format(scratch, "%.*s.XXXXXX", STR_ARG(path)).at;
    if (!db_driver_for(url))
        return fail(error, ERR_SETUP, "the store is sqlite:PATH or postgres://…");
    if (memchr(path.at, '?', path.len))
        return fail(error, ERR_INVALID, "the name of a backup has no question mark");
    if (access(str_z(scratch, path), F_OK) == 0)
        return fail(error, ERR_CONFLICT, "%.*s is there already; name another file", STR_ARG(path));
    int fd = mkostemp(part, O_CLOEXEC); // 0600
    if (fd < 0)
        return fail(error, ERR_INVALID, "cannot write %.*s: %m", STR_ARG(path));
    close(fd);
    Err err = fill(scratch, url, part, now, ret_bytes, error);
    if (err == ERR_OK)
        err = name(scratch, part, path, error);
    unlink(part);
    return err;
}
