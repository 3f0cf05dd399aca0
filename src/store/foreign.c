#include "store/foreign.h"

Err foreign_open(Arena *arena, const SourceTable *table, Foreign **ret, Error *error)
{
    const ForeignDriver *driver = source_is_file(table) ? &foreign_sqlite : &foreign_postgres;
    TRY(driver->open(arena, table, ret, error));
    (*ret)->driver = driver;
    (*ret)->table = *table;
    return ERR_OK;
}

void foreign_close(Foreign *foreign)
{
    if (foreign)
        foreign->driver->close(foreign);
}

Err foreign_list(Foreign *foreign, Arena *arena, size_t limit, ForeignRow **ret, size_t *ret_count,
                 Error *error)
{
    return foreign->driver->list(foreign, arena, limit, ret, ret_count, error);
}

Err foreign_read(Foreign *foreign, Arena *arena, ForeignRow *const *rows, size_t count,
                 Error *error)
{
    return count > 0 ? foreign->driver->read(foreign, arena, rows, count, error) : ERR_OK;
}

Err foreign_mark(Foreign *foreign, Arena *arena, const ForeignRow *const *rows, size_t count,
                 Error *error)
{
    foreign->marked = 0;
    return count > 0 ? foreign->driver->mark(foreign, arena, rows, count, error) : ERR_OK;
}

Err foreign_end(Foreign *foreign, Error *error)
{
    return foreign->driver->end(foreign, error);
}

void foreign_name(Buf *sql, Str name)
{
    buf_add_char(sql, '"');
    for (size_t i = 0; i < name.len; i++) {
        buf_add_char(sql, name.at[i]);
        if (name.at[i] == '"')
            buf_add_char(sql, '"');
    }
    buf_add_char(sql, '"');
}

void foreign_table(Buf *sql, const SourceTable *table)
{
    Str name = table->table;
    if (str_contains(name, S("."))) {
        foreign_name(sql, str_cut(&name, '.'));
        buf_add_char(sql, '.');
    }
    foreign_name(sql, name);
}

void foreign_order(Buf *sql, const SourceTable *table)
{
    buf_add(sql, S(" ORDER BY "));
    if (table->columns[SOURCE_CREATED_AT].at) {
        foreign_name(sql, table->columns[SOURCE_CREATED_AT]);
        buf_add(sql, S(", "));
    }
    foreign_name(sql, table->columns[SOURCE_ID]);
}

void foreign_texts(Buf *sql, const SourceTable *table)
{
    for (size_t i = 0; i < SOURCE_COLUMNS; i++) {
        buf_add(sql, i > 0 ? S(", ") : S(""));
        if (!table->columns[i].at) {
            buf_add(sql, S("NULL"));
            continue;
        }
        buf_add(sql, S("CAST("));
        foreign_name(sql, table->columns[i]);
        buf_add(sql, S(" AS TEXT)"));
    }
}
