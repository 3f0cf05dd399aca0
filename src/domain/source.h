// source.h - a configured way in, as its definition says: so far a table of an application's own
// (provider "table"), which Peal drains into its inbox.
//
// The application creates the table and writes rows whose status is Pending, in its own
// transaction. Peal reads the columns that the definition names, makes an event of each row, and
// writes back Published or Failed. Whoever makes a source reaches into another database, so it
// takes the system right.
#pragma once

#include "domain/field.h"

enum { SOURCE_ID_MAX = 100, SOURCE_STORE_MAX = 1000, SOURCE_NAME_MAX = 63 };

// clang-format off
// The columns that a table may have. A name is what is meant where the definition says nothing;
// NULL: then the table has none.
#define SOURCE_COLUMN_TABLE(X)                                                                     \
    /* name            member           default       what it holds                              */ \
    X(ID,             "id",            "id",         "the row's own id, which never changes")       \
    X(EVENT_TYPE,     "eventType",     "event_type", "the kind of the event")                       \
    X(PAYLOAD,        "payload",       "payload",    "a JSON object, as text or jsonb")             \
    X(STATUS,         "status",        "status",     "Pending; Peal writes Published or Failed")    \
    X(ENTITY,         "entity",        NULL,         "what the event is about")                     \
    X(TOPIC,          "topic",         NULL,         "where it is published")                       \
    X(CORRELATION_ID, "correlationId", NULL,         "carried along")                               \
    X(SCHEMA_VERSION, "schemaVersion", NULL,         "of the payload; a whole number")              \
    X(CREATED_AT,     "createdAt",     NULL,         "rows are taken in its order, then by id")     \
    X(LAST_ERROR,     "lastError",     NULL,         "Peal writes why a row failed")
// clang-format on

typedef enum SourceColumn {
#define SOURCE_COLUMN_ENUM(name, member, usual, help) SOURCE_##name,
    SOURCE_COLUMN_TABLE(SOURCE_COLUMN_ENUM)
#undef SOURCE_COLUMN_ENUM
        SOURCE_COLUMNS
} SourceColumn;

// SourceTable is the configuration of a table source.
typedef struct SourceTable {
    Str store;                   // postgres://… without a password, or sqlite:PATH
    Str password;                // none
    Str table;                   // NAME or SCHEMA.NAME
    Str tenant;                  // whose events its rows are; none: the source's own
    Str columns[SOURCE_COLUMNS]; // their names there; none: the table has it not
    Span poll_every;
} SourceTable;

typedef struct SourceDefinition {
    Str id;
    int provider; // its place among source_providers
    const Json *config;
    bool enabled;
} SourceDefinition;

extern const char *const source_providers[]; // ends with NULL
extern const Shape source_shape;
extern const Shape source_table_shape;

Err source_compile(Arena *arena, const Json *body, SourceDefinition *ret, Error *error) MUST_USE;

// source_table reads a configuration whose secrets are opened.
Err source_table(Arena *arena, const Json *config, SourceTable *ret, Error *error) MUST_USE;

bool source_is_file(const SourceTable *table); // it is a SQLite file
