// source.h - a configured way in, as its definition says: a path that a provider's webhooks come
// to, or a table of an application's own (provider "table"), which Peal drains into its inbox.
//
// Webhooks come to /hooks/t_<random>, which is made, or to /hooks/<tenant>/<path> where the
// definition chooses one; they are verified with the source's secret. Whoever may write definitions
// makes such a source; one that is shared, whose events may be other tenants', takes the system
// right.
//
// Of a table, the application creates it and writes rows whose status is Pending, in its own
// transaction. Peal reads the columns that the definition names, makes an event of each row, and
// writes back Published or Failed. Whoever makes one reaches into another database, so it takes the
// system right.
#pragma once

#include "domain/provided.h"

enum {
    SOURCE_ID_MAX = 100,
    SOURCE_PATH_MAX = 100,
    SOURCE_SECRET_MAX = 500,
    SOURCE_STORE_MAX = 1000,
    SOURCE_NAME_MAX = 63,
};

// SOURCE_MADE is what a path that was made begins with: no other may.
#define SOURCE_MADE S("t_")

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
    int provider;         // a ProviderName
    Str integration;      // whose events come where they do not say; none
    Str path;             // of webhooks; none: it is still to be made, or it is a table
    const Json *secret;   // as it was given, or as it is stored: a mark, or sealed; NULL
    const Json *config;   // NULL
    bool shared, enabled; // shared: what comes belongs to whom it names, in any tenant
} SourceDefinition;

extern const Shape source_shape;
extern const Shape source_secret_shape; // the secret alone, as a text
extern const Shape source_table_shape;

Err source_compile(Arena *arena, const Json *body, SourceDefinition *ret, Error *error) MUST_USE;

// source_table reads a configuration whose secrets are opened.
Err source_table(Arena *arena, const Json *config, SourceTable *ret, Error *error) MUST_USE;

bool source_is_file(const SourceTable *table); // it is a SQLite file

// source_is_unsigned: its config says that nothing is verified, so that it has no secret.
bool source_is_unsigned(const Json *body);

// source_path is where a source listens, below /hooks/: its path, behind its tenant's id where it
// was chosen.
Str source_path(Arena *arena, Str tenant, Str path);
