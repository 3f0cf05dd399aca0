#include "store/journal.h"

static const Statement note = {
    .name = "journal_note",
    .scope = STATEMENT_SYSTEM,
    .params = "iiib",
    .sql = "INSERT INTO journal (writer, n, at, facts) VALUES ($1, $2, $3, $4)",
};
// A transaction that is still under way holds its number, and the write waits for it. Its moment
// tells whose row it is: one that the resolver made has none, also when it asks a second time.
static const Statement take = {
    .name = "journal_take",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "INSERT INTO journal (writer, n) VALUES ($1, $2)"
           " ON CONFLICT (writer, n) DO UPDATE SET n = journal.n RETURNING at",
};
static const Statement patience = {
    .name = "journal_patience",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 0",
    .postgres = "SELECT 0 FROM set_config('lock_timeout', '500ms', true)",
};
static const Statement last = {
    .name = "journal_last",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT MAX(n) FROM journal WHERE writer = $1",
};

const Statement *const journal_statements[] = { &note, &take, &patience, &last, NULL };

int64_t journal_stranger(Random *random)
{
    return -1 - (int64_t) (random_u64(random) >> 1);
}

void journal_note(Db *db, Arena *arena, int64_t writer, int64_t n, const FactPack *facts)
{
    if (facts->count == 0 && !db_is_postgres(db))
        return;
    Value args[] = { value_i64(writer), value_i64(n), value_i64(facts->at),
                     facts->count ? value_bytes(buf_str(&facts->bytes)) : value_null() };
    db_send(db, arena, &note, args, NULL);
}

Err journal_resolve(Db *db, int64_t writer, int64_t n, bool *ret_committed, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Rows rows;
    Value args[] = { value_i64(writer), value_i64(n) };
    db_begin(db);
    db_send(db, &arena, &patience, NULL, &rows);
    db_send(db, &arena, &take, args, &rows);
    Err err = db_sync(db, error);
    if (err == ERR_OK)
        err = db_commit(db, error); // only from here on the number is taken
    else
        db_rollback(db);
    if (err == ERR_OK)
        *ret_committed = rows.count == 1 && rows.values[0].type != VALUE_NULL;
    return err;
}

Err journal_last(Db *db, Arena *arena, int64_t writer, int64_t *ret, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(writer) };
    TRY(db_query(db, arena, &last, args, &rows, error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}
