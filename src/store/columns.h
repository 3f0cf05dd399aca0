// columns.h - how a struct lies in a row: one list of members serves to write it and to read it.
//
// A list names the members in the order of a statement's parameters, or of what it selects:
//
//     static const Columns guard = COLUMNS(Settle, COLUMN(Settle, tenant), COLUMN(Settle, id));
//     db_send_rows(db, &arena, &settle_end, &guard, rows, count, &deleted);
//     columns_read(&queue_columns, rows_at(&found, i), &row);
//
// How a member is bound follows from its type, so that a list cannot say otherwise:
//
//     COLUMN        int, enum, bool, int64_t; Uuid, Sha256; Str (none is NULL); a pointer to an
//                   Uuid or a Sha256 (NULL is NULL), for writing alone
//     COLUMN_TIME   an Instant: INSTANT_NONE is NULL
//     COLUMN_BYTES  a Str that is bytes and no text (none is NULL)
//     COLUMN_SOME   int or int64_t: 0 is NULL
//     COLUMN_BYTES  a Str that is not text: none is NULL
//     COLUMN_IF     as COLUMN, but NULL where a bool of the struct is false; for writing alone
//
// Ids and texts are not copied: what is written must live until the sync, and what is read lies in
// the rows.
#pragma once

#include "base/crypto.h"
#include "store/db.h"

typedef enum MemberType {
    MEMBER_INT,
    MEMBER_BOOL,
    MEMBER_I64,
    MEMBER_TIME,
    MEMBER_SOME_INT,
    MEMBER_SOME_I64,
    MEMBER_TEXT,
    MEMBER_BYTES,
    MEMBER_ID,
    MEMBER_ID_AT,
    MEMBER_HASH,
    MEMBER_HASH_AT,
} MemberType;

typedef struct Column {
    MemberType type;
    size_t offset;
    bool has_condition;
    size_t condition; // offset of a bool
} Column;

typedef struct Columns {
    size_t size; // of the struct
    size_t count;
    const Column *at;
} Columns;

// clang-format off
#define MEMBER_OF(owner, member)                                                                   \
    _Generic(((owner *) 0)->member,                                                                \
        int: MEMBER_INT, unsigned: MEMBER_INT, bool: MEMBER_BOOL, int64_t: MEMBER_I64,             \
        Str: MEMBER_TEXT, Uuid: MEMBER_ID, const Uuid *: MEMBER_ID_AT,                             \
        Sha256: MEMBER_HASH, const Sha256 *: MEMBER_HASH_AT)
#define COLUMN(owner, member)                                                                      \
    { .type = MEMBER_OF(owner, member), .offset = offsetof(owner, member) }
#define COLUMN_TIME(owner, member)                                                                 \
    { .type = _Generic(((owner *) 0)->member, Instant: MEMBER_TIME),                               \
      .offset = offsetof(owner, member) }
#define COLUMN_BYTES(owner, member)                                                                \
    { .type = _Generic(((owner *) 0)->member, Str: MEMBER_BYTES),                                  \
      .offset = offsetof(owner, member) }
#define COLUMN_SOME(owner, member)                                                                 \
    { .type = _Generic(((owner *) 0)->member, int: MEMBER_SOME_INT, int64_t: MEMBER_SOME_I64),     \
      .offset = offsetof(owner, member) }
#define COLUMN_BYTES(owner, member)                                                                \
    { .type = _Generic(((owner *) 0)->member, Str: MEMBER_BYTES),                                  \
      .offset = offsetof(owner, member) }
#define COLUMN_IF(owner, flag, member)                                                             \
    { .type = MEMBER_OF(owner, member), .offset = offsetof(owner, member),                         \
      .has_condition = _Generic(((owner *) 0)->flag, bool: true),                                  \
      .condition = offsetof(owner, flag) }
#define COLUMNS(owner, ...)                                                                        \
    { sizeof(owner), ARRAY_LEN(((const Column[]){ __VA_ARGS__ })),                                 \
      (const Column[]){ __VA_ARGS__ } }
// clang-format on

void columns_bind(const Columns *columns, const void *row, Value *ret);
void columns_read(const Columns *columns, const Value *at, void *ret);

// db_send_rows is db_send_many() for structs that lie one behind the other; db_send_picked for
// those that lie anywhere.
void db_send_rows(Db *db, Arena *arena, const Statement *statement, const Columns *columns,
                  const void *rows, size_t count, Rows *ret);
void db_send_picked(Db *db, Arena *arena, const Statement *statement, const Columns *columns,
                    const void *const *rows, size_t count, Rows *ret);

// db_send_row is db_send() with one struct; of a list that serves several statements each takes the
// first members it has parameters for.
void db_send_row(Db *db, Arena *arena, const Statement *statement, const Columns *columns,
                 const void *row, Rows *ret);
