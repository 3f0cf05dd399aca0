#include "store/migrate.h"

#include "base/log.h"

typedef struct Token {
    const char *name, *sqlite, *postgres;
} Token;

// {STRICT_KEYED} tables are stored by their primary key on SQLite, which saves an index.
static const Token tokens[] = {
    { "{I64}", "INTEGER", "BIGINT" },
    { "{I32}", "INTEGER", "INTEGER" },
    { "{SMALL}", "INTEGER", "SMALLINT" },
    { "{ID}", "BLOB", "UUID" },
    { "{BYTES}", "BLOB", "BYTEA" },
    { "{STRICT}", "STRICT", "" },
    { "{STRICT_KEYED}", "STRICT, WITHOUT ROWID", "" },
    { "{AND_STEP}", ", step",
      "" }, // else SQLite looks at each row for it, though the index says it
    { "{RANK}", "substr(id, 13, 1)", "substring(uuid_send(id), 13, 1)" }, // see outlook.c
    { "{SAMPLED}", "substr(id, 14, 1) < x'10'",
      "substring(uuid_send(id), 14, 1) < '\\x10'::bytea" },
    { "{QUEUE_STORAGE}", "", // each row of a page is rewritten once by a claim: leave it the room
      "WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.01,"
      " autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)" },
};

static Str expand(Arena *arena, Str sql, bool is_postgres)
{
    Buf out = buf_new(arena, 1 << 20);
    while (sql.len > 0) {
        const Token *token = NULL;
        for (size_t i = 0; i < ARRAY_LEN(tokens) && sql.at[0] == '{'; i++)
            if (str_starts(sql, str_from(tokens[i].name)))
                token = &tokens[i];
        if (token) {
            buf_add(&out, str_from(is_postgres ? token->postgres : token->sqlite));
            sql = str_skip(sql, strlen(token->name));
        } else {
            buf_add_char(&out, sql.at[0]);
            sql = str_skip(sql, 1);
        }
    }
    assert(!out.overflowed);
    return buf_str(&out);
}

static const Statement schema_table_sqlite = {
    .name = "migrate_table",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'",
    .postgres = "SELECT 1 FROM pg_tables WHERE schemaname = 'peal' AND tablename = 'migration'",
};
static const Statement schema_version = {
    .name = "migrate_version",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT COALESCE(MAX(number), 0) FROM migration",
};
static const Statement schema_applied = {
    .name = "migrate_applied",
    .scope = STATEMENT_SYSTEM,
    .params = "it",
    .sql = "INSERT INTO migration (number, name) VALUES ($1, $2)",
};
static const Statement schema_patience = {
    .name = "migrate_patience",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 1",
    .postgres = "SELECT 1 FROM set_config('lock_timeout', '60s', true)",
};
static const Statement schema_lock = {
    .name = "migrate_lock",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 1",
    .postgres = "SELECT 1 FROM pg_advisory_xact_lock(7325)", // two nodes may start at once
};

// schema_room is asked on PostgreSQL only: whether schema peal is there, else who may not make it.
static const Statement schema_room = {
    .name = "migrate_room",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 1, 1, '', ''",
    .postgres = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'peal'),"
                " has_database_privilege(current_database(), 'CREATE'),"
                " CAST(current_user AS TEXT), CAST(current_database() AS TEXT)",
};

// make_room makes the schema that holds the tables. SQLite has nothing of the kind.
static Err make_room(Db *db, Arena *arena, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, &schema_room, NULL, &rows, error));
    bool is_there = value_to_i64(&rows.values[0]) != 0,
         may_make = value_to_i64(&rows.values[1]) != 0;
    Str role = value_to_str(&rows.values[2]), database = value_to_str(&rows.values[3]);
    if (is_there)
        return ERR_OK;
    if (!may_make)
        return fail(
            error, ERR_CONFLICT,
            "role \"%.*s\" may not make schema peal in database \"%.*s\": have its owner run"
            " CREATE SCHEMA peal AUTHORIZATION \"%.*s\"",
            STR_ARG(role), STR_ARG(database), STR_ARG(role));
    return db_script(db, S("CREATE SCHEMA peal"), error);
}

static Err version(Db *db, Arena *arena, int *ret, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, &schema_table_sqlite, NULL, &rows, error));
    if (rows.count == 0) {
        *ret = 0;
        return ERR_OK;
    }
    TRY(db_query(db, arena, &schema_version, NULL, &rows, error));
    *ret = (int) value_to_i64(&rows.values[0]);
    if (*ret > migrations[migration_count - 1].number)
        return fail(error, ERR_CONFLICT,
                    "the database is at schema %d, newer than this program knows (%d)", *ret,
                    migrations[migration_count - 1].number);
    return ERR_OK;
}

static Err apply(Db *db, Arena *arena, int have, int *ret_applied, Error *error)
{
    Rows rows;
    if (have == 0)
        TRY(db_script(db,
                      S("CREATE TABLE IF NOT EXISTS migration"
                        " (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL)"),
                      error));
    for (size_t i = 0; i < migration_count; i++) {
        const Migration *migration = &migrations[i];
        if (migration->number <= have)
            continue;
        if (db_is_postgres(db) || !str_ends(str_from(migration->name), S(".postgres.sql")))
            TRY(db_script(db, expand(arena, str_from(migration->sql), db_is_postgres(db)), error));
        Value args[] = { value_i64(migration->number), value_text(str_from(migration->name)) };
        TRY(db_query(db, arena, &schema_applied, args, &rows, error));
        log_info("migrate.applied", "migration=%s", migration->name);
        ++*ret_applied;
    }
    return ERR_OK;
}

Err migrate_run(Db *db, int *ret_applied, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Rows rows;
    int have = 0;
    *ret_applied = 0;
    db_begin(db);
    db_send(db, &arena, &schema_patience, NULL, &rows);
    db_send(db, &arena, &schema_lock, NULL, &rows);
    Err err = db_sync(db, error);
    if (err == ERR_OK)
        err = make_room(db, &arena, error);
    if (err == ERR_OK)
        err = version(db, &arena, &have, error);
    if (err == ERR_OK)
        err = apply(db, &arena, have, ret_applied, error);
    if (err != ERR_OK) {
        db_rollback(db);
        return err;
    }
    return db_commit(db, error);
}

Err migrate_pending(Db *db, int *ret, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    int have;
    TRY(version(db, &arena, &have, error));
    *ret = 0;
    for (size_t i = 0; i < migration_count; i++)
        *ret += migrations[i].number > have;
    return ERR_OK;
}
