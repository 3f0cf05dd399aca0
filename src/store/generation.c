#include "store/generation.h"

const Statement generation_get = {
    .name = "generation_get",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT n FROM generation WHERE one = 1",
};
const Statement generation_lock = {
    .name = "generation_lock",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT n FROM generation WHERE one = 1",
    .postgres = "SELECT n FROM generation WHERE one = 1 FOR UPDATE",
};
const Statement generation_raise = {
    .name = "generation_raise",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "UPDATE generation SET n = n + 1 WHERE one = 1",
};

const Statement *const generation_statements[] = {
    &generation_get,
    &generation_lock,
    &generation_raise,
    NULL,
};

Err generation_read(Db *db, int64_t *ret, Error *error)
{
    DEFER(arena_done) Arena arena = { 0 };
    Rows rows;
    TRY(db_query(db, &arena, &generation_get, NULL, &rows, error));
    if (rows.count != 1)
        return fail(error, ERR_CORRUPT, "the generation is missing");
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}
