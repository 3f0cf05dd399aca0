#include "store/columns.h"

static Value bind_member(const Column *column, const void *row)
{
    const void *at = (const char *) row + column->offset;
    if (column->has_condition && !*(const bool *) ((const char *) row + column->condition))
        return value_null();
    switch (column->type) {
    case MEMBER_INT:
        return value_i64(*(const int *) at);
    case MEMBER_BOOL:
        return value_i64(*(const bool *) at);
    case MEMBER_I64:
        return value_i64(*(const int64_t *) at);
    case MEMBER_TIME:
        return value_time(*(const Instant *) at);
    case MEMBER_SOME_INT:
        return *(const int *) at ? value_i64(*(const int *) at) : value_null();
    case MEMBER_SOME_I64:
        return *(const int64_t *) at ? value_i64(*(const int64_t *) at) : value_null();
    case MEMBER_TEXT:
        return value_text(*(const Str *) at);
    case MEMBER_BYTES:
        return value_bytes(*(const Str *) at);
    case MEMBER_ID:
        return value_uuid(at);
    case MEMBER_ID_AT:
        return *(const Uuid *const *) at ? value_uuid(*(const Uuid *const *) at) : value_null();
    case MEMBER_HASH:
        return value_bytes((Str){ at, sizeof(Sha256) });
    case MEMBER_HASH_AT:
        return value_bytes((Str){ *(const char *const *) at, sizeof(Sha256) });
    }
    assert(!"there is no other member");
    return value_null();
}

// hash_of is what bytes of another length cannot be: all zero.
static Sha256 hash_of(Str bytes)
{
    Sha256 hash = { 0 };
    if (bytes.len == sizeof hash.b)
        memcpy(hash.b, bytes.at, sizeof hash.b);
    return hash;
}

static void read_member(const Column *column, const Value *value, void *ret)
{
    void *at = (char *) ret + column->offset;
    assert(!column->has_condition);
    switch (column->type) {
    case MEMBER_INT:
    case MEMBER_SOME_INT:
        *(int *) at = (int) value_to_i64(value);
        return;
    case MEMBER_BOOL:
        *(bool *) at = value_to_i64(value) != 0;
        return;
    case MEMBER_I64:
    case MEMBER_SOME_I64:
        *(int64_t *) at = value_to_i64(value);
        return;
    case MEMBER_TIME:
        *(Instant *) at = value_to_time(value);
        return;
    case MEMBER_TEXT:
    case MEMBER_BYTES:
        *(Str *) at = value_to_str(value);
        return;
    case MEMBER_ID:
        *(Uuid *) at = value_to_uuid(value);
        return;
    case MEMBER_HASH:
        *(Sha256 *) at = hash_of(value_to_str(value));
        return;
    case MEMBER_ID_AT:
    case MEMBER_HASH_AT:
        break;
    }
    assert(!"it is written only");
}

void columns_bind(const Columns *columns, const void *row, Value *ret)
{
    for (size_t i = 0; i < columns->count; i++)
        ret[i] = bind_member(&columns->at[i], row);
}

void columns_read(const Columns *columns, const Value *at, void *ret)
{
    for (size_t i = 0; i < columns->count; i++)
        read_member(&columns->at[i], &at[i], ret);
}

void db_send_rows(Db *db, Arena *arena, const Statement *statement, const Columns *columns,
                  const void *rows, size_t count, Rows *ret)
{
    assert(strlen(statement->params) == columns->count);
    Value *values = ARENA_ARRAY(arena, Value, count * columns->count);
    for (size_t i = 0; i < count; i++)
        columns_bind(columns, (const char *) rows + i * columns->size, values + i * columns->count);
    db_send_many(db, arena, statement, values, count, ret);
}

void db_send_picked(Db *db, Arena *arena, const Statement *statement, const Columns *columns,
                    const void *const *rows, size_t count, Rows *ret)
{
    assert(strlen(statement->params) == columns->count);
    Value *values = ARENA_ARRAY(arena, Value, count * columns->count);
    for (size_t i = 0; i < count; i++)
        columns_bind(columns, rows[i], values + i * columns->count);
    db_send_many(db, arena, statement, values, count, ret);
}

void db_send_row(Db *db, Arena *arena, const Statement *statement, const Columns *columns,
                 const void *row, Rows *ret)
{
    assert(strlen(statement->params) <= columns->count);
    Value *values = ARENA_ARRAY(arena, Value, columns->count);
    columns_bind(columns, row, values);
    db_send(db, arena, statement, values, ret);
}
