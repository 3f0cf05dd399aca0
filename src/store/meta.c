#include "store/meta.h"

#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { MACHINE_ID_MAX = 63 };

static const Statement get = {
    .name = "meta_get",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "SELECT value FROM meta WHERE key = $1",
};
static const Statement put = {
    .name = "meta_put",
    .scope = STATEMENT_SYSTEM,
    .params = "tt",
    .sql = "INSERT INTO meta (key, value) VALUES ($1, $2)"
           " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
};
static const Statement removed = {
    .name = "meta_remove",
    .scope = STATEMENT_SYSTEM,
    .params = "t",
    .sql = "DELETE FROM meta WHERE key = $1",
};
static const Statement cluster = {
    .name = "meta_cluster",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 'unused'",
    .postgres = "SELECT CAST(c.system_identifier AS TEXT) || '/' || CAST(d.oid AS TEXT)"
                " FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()",
};

const Statement *const meta_statements[] = { &get, &put, &removed, &cluster, NULL };

Err meta_get(Db *db, Arena *arena, Str key, Str *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_text(key) };
    TRY(db_query(db, arena, &get, args, &rows, error));
    *ret = rows.count ? value_to_str(&rows.values[0]) : STR_NONE;
    return ERR_OK;
}

void meta_put(Tx *tx, Str key, Str value)
{
    Value *args = ARENA_ARRAY(&tx->arena, Value, 2);
    args[0] = value_text(key);
    args[1] = value_text(value);
    db_send(tx->db, &tx->arena, &put, args, NULL);
}

void meta_remove(Tx *tx, Str key)
{
    Value args[] = { value_text(key) };
    db_send(tx->db, &tx->arena, &removed, args, NULL);
}

// machine_id is empty where the machine has none.
static Err machine_id(Arena *arena, Str *ret, Error *error)
{
    Str text;
    TRY(file_get(arena, S("/etc/machine-id"), MACHINE_ID_MAX, &text, error));
    *ret = str_cut(&text, '\n');
    return ERR_OK;
}

// file_identity names the file, not its path: moving it is no copy. The time of birth tells a
// restored file from the one whose inode it took over.
static Err file_identity(Arena *arena, Str path, Str *ret, Error *error)
{
    struct statx file;
    Str machine;
    TRY(machine_id(arena, &machine, error));
    if (statx(AT_FDCWD, str_z(arena, path), 0, STATX_INO | STATX_BTIME, &file) != 0)
        return fail(error, ERR_UNAVAILABLE, "cannot look at %.*s: %m", STR_ARG(path));
    *ret = str_format(arena, "file %.*s/%llu/%lld.%09u", STR_ARG(machine),
                      (unsigned long long) file.stx_ino, (long long) file.stx_btime.tv_sec,
                      file.stx_btime.tv_nsec);
    return ERR_OK;
}

Err meta_identity(Db *db, Arena *arena, Str *ret, Error *error)
{
    if (!db_is_postgres(db))
        return file_identity(arena, db_place(db, arena), ret, error);
    Rows rows;
    TRY(db_query(db, arena, &cluster, NULL, &rows, error));
    if (rows.count != 1)
        return fail(error, ERR_CORRUPT, "PostgreSQL does not say which cluster it is");
    *ret = str_format(arena, "cluster %.*s", STR_ARG(value_to_str(&rows.values[0])));
    return ERR_OK;
}
