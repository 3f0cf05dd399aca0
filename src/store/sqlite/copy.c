#include "store/sqlite/copy.h"

#include "store/sqlite/file.h"

#include <sqlite3.h>

enum { BUSY_MS = 5000 };

static Err fault(sqlite3 *db, int rc, const char *what, Error *error)
{
    Err err = ERR_UNAVAILABLE;
    if ((rc & 0xff) == SQLITE_FULL)
        err = ERR_DISK_FULL;
    else if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
        err = ERR_CORRUPT;
    else if ((rc & 0xff) == SQLITE_BUSY)
        err = ERR_BUSY;
    return fail(error, err, "cannot %s: %s", what, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

// open_source opens without a right to change anything: it is not the connection that checkpoints.
static Err open_source(Arena *scratch, Str path, sqlite3 **ret, Error *error)
{
    int rc = sqlite3_open_v2(str_z(scratch, path), ret, SQLITE_OPEN_READWRITE, NULL);
    if (rc != SQLITE_OK)
        return fault(*ret, rc, "open the database", error);
    sqlite3_busy_timeout(*ret, BUSY_MS);
    sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    rc = sqlite3_exec(*ret, "PRAGMA wal_autocheckpoint=0; PRAGMA query_only=1", NULL, NULL, NULL);
    return rc == SQLITE_OK ? ERR_OK : fault(*ret, rc, "read the database", error);
}

// open_target needs no journal: a copy that is not whole is thrown away.
static Err open_target(const char *path, sqlite3 **ret, Error *error)
{
    int rc = sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE, NULL);
    if (rc == SQLITE_OK)
        rc =
            sqlite3_exec(*ret, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL, NULL, NULL);
    return rc == SQLITE_OK ? ERR_OK : fault(*ret, rc, "write the copy", error);
}

// copy_pages takes all in one step, and so in one read transaction: a copy in several steps would
// begin anew after each commit of somebody else.
static Err copy_pages(sqlite3 *source, sqlite3 *target, Error *error)
{
    sqlite3_backup *backup = sqlite3_backup_init(target, "main", source, "main");
    if (!backup)
        return fault(target, sqlite3_errcode(target), "begin the copy", error);
    int rc = sqlite3_backup_step(backup, -1);
    int end = sqlite3_backup_finish(backup);
    if (rc == SQLITE_DONE && end == SQLITE_OK)
        return ERR_OK;
    return fault(NULL, rc == SQLITE_DONE ? end : rc, "copy the database", error);
}

Err sqlite_copy(Arena *scratch, Str url, const char *path, Error *error)
{
    Str rest = str_skip(url, strlen("sqlite:")), from = str_cut(&rest, '?');
    StoreFile *file;
    sqlite3 *source = NULL, *target = NULL;
    TRY(store_file_open(scratch, from, false, &file, error));
    Err err = open_source(scratch, from, &source, error);
    if (err == ERR_OK)
        err = open_target(path, &target, error);
    if (err == ERR_OK)
        err = copy_pages(source, target, error);
    sqlite3_close(target);
    sqlite3_close(source);
    store_file_close(file, false);
    return err;
}
