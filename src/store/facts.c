#include "store/facts.h"

#include <sys/stat.h>

static const Statement facts = {
    .name = "store_facts",
    .scope = STATEMENT_SYSTEM,
    .params = "",
    .sql = "SELECT (SELECT COALESCE(MAX(number), 0) FROM migration),"
           " (SELECT page_count FROM pragma_page_count()) *"
           " (SELECT page_size FROM pragma_page_size()), 'SQLite ' || sqlite_version()",
    .postgres = "SELECT (SELECT COALESCE(MAX(number), 0) FROM peal.migration),"
                " pg_database_size(current_database()),"
                " 'PostgreSQL ' || current_setting('server_version')",
};

const Statement *const facts_statements[] = { &facts, NULL };

Err store_facts(Db *db, Arena *arena, StoreFacts *ret, Error *error)
{
    Rows rows;
    TRY(db_query(db, arena, &facts, NULL, &rows, error));
    *ret = (StoreFacts){ .is_postgres = db_is_postgres(db),
                         .place = db_place(db, arena),
                         .schema = value_to_i64(&rows.values[0]),
                         .bytes = value_to_i64(&rows.values[1]),
                         .version = value_to_str(&rows.values[2]),
                         .wal_bytes = -1 };
    if (ret->is_postgres)
        return ERR_OK;
    struct stat wal;
    const char *path = str_z(arena, STR_JOIN(arena, ret->place, S("-wal")));
    ret->wal_bytes = stat(path, &wal) == 0 ? (int64_t) wal.st_size : 0;
    return ERR_OK;
}
