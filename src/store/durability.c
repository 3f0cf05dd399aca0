#include "store/durability.h"

static const Statement look = {
    .name = "durability_look",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT 'integrity', integrity_check FROM pragma_integrity_check(10)",
    .postgres = "SELECT name, setting FROM pg_settings WHERE name IN"
                " ('fsync', 'full_page_writes', 'synchronous_commit')",
};

const Statement *const durability_statements[] = { &look, NULL };

Err durability_look(Db *db, Arena *arena, DurabilityFact **ret, size_t *ret_count, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, &look, NULL, &rows, error));
    DurabilityFact *facts = ARENA_ARRAY(arena, DurabilityFact, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        DurabilityFact *fact = &facts[i];
        *fact = (DurabilityFact){ .name = value_to_str(&row[0]), .is = value_to_str(&row[1]) };
        fact->is_fine =
            db_is_postgres(db) ? !str_eq(fact->is, S("off")) : str_eq(fact->is, S("ok"));
    }
    *ret = facts;
    *ret_count = rows.count;
    return ERR_OK;
}
