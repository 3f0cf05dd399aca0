#include "store/db.h"

#include "base/clock.h"

int64_t value_to_i64(const Value *value)
{
    assert(value->type == VALUE_I64 || value->type == VALUE_NULL);
    return value->type == VALUE_I64 ? value->i64 : 0;
}

Str value_to_str(const Value *value)
{
    if (value->type == VALUE_NULL)
        return STR_NONE;
    assert(value->type != VALUE_I64);
    return value->str;
}

Uuid value_to_uuid(const Value *value)
{
    Uuid id = { { 0 } };
    if (value->type == VALUE_NULL)
        return id;
    assert(value->type == VALUE_BYTES && value->str.len == sizeof id.b);
    memcpy(id.b, value->str.at, sizeof id.b);
    return id;
}

Instant value_to_time(const Value *value)
{
    return value->type == VALUE_NULL ? INSTANT_NONE : value_to_i64(value);
}

bool db_is_postgres(const Db *db)
{
    return db->driver == &postgres_driver;
}

Str db_place(Db *db, Arena *arena)
{
    return db->driver->place(db, arena);
}

const DbDriver *db_driver_for(Str url)
{
    if (str_starts(url, S("sqlite:")))
        return &sqlite_driver;
    if (str_starts(url, S("postgres://")) || str_starts(url, S("postgresql://")))
        return &postgres_driver;
    return NULL;
}

Err db_open(const DbOptions *options, Db **ret, Error *error)
{
    const DbDriver *driver = db_driver_for(options->url);
    if (!driver)
        // The URL is not repeated: a mistyped one may hold a password.
        return fail(error, ERR_SETUP, "a store is sqlite:PATH or postgres://…; this is neither");
    DEFER(arena_done) Arena scratch = { 0 };
    return driver->open(&scratch, options, ret, error);
}

void db_close(Db *db)
{
    if (db)
        db->driver->close(db);
}

void db_begin(Db *db)
{
    db->driver->begin(db);
}

void db_until(Db *db, Instant until)
{
    db->until = until == INSTANT_NONE ? 0 : until;
}

// hand_over leaves out what comes too late.
static void hand_over(Db *db, Arena *arena, const Statement *statement, const Value *values,
                      size_t row_count, Rows *ret)
{
    if (db->until && clock_machine_monotonic() > db->until)
        db->is_late = true;
    if (!db->is_late)
        db->driver->send(db, arena, statement, values, row_count, ret);
    else if (ret)
        *ret = (Rows){ 0 };
    db->ceiling = 0;
}

void db_send(Db *db, Arena *arena, const Statement *statement, const Value *values, Rows *ret)
{
    assert(!statement->many);
    hand_over(db, arena, statement, values, 1, ret);
}

void db_page(Db *db)
{
    db->ceiling = DB_PAGE_BYTES_MAX;
}

void db_send_many(Db *db, Arena *arena, const Statement *statement, const Value *values,
                  size_t row_count, Rows *ret)
{
    assert(statement->many);
    if (row_count > 0)
        hand_over(db, arena, statement, values, row_count, ret);
    else if (ret)
        *ret = (Rows){ 0 };
    db->ceiling = 0;
}

Err db_sync(Db *db, Error *error)
{
    Err err = db->driver->sync(db, error);
    bool is_late = db->is_late;
    db->is_late = false;
    if (err == ERR_OK && is_late)
        return fail(error, ERR_BUSY, "the read takes too long");
    return err;
}

Err db_commit(Db *db, Error *error)
{
    return db->driver->commit(db, error);
}

void db_rollback(Db *db)
{
    db->driver->rollback(db);
}

Err db_query(Db *db, Arena *arena, const Statement *statement, const Value *values, Rows *ret,
             Error *error)
{
    db_send(db, arena, statement, values, ret);
    return db_sync(db, error);
}

Err db_script(Db *db, Str sql, Error *error)
{
    return db->driver->script(db, sql, error);
}
