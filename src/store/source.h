// source.h - sources as rows, and what the inbox knows of a table source's rows.
//
// A source's rows are known by their own ids (inbox.external_id): one that is brought again,
// because a node died between our commit and the table's, is found and not put in twice.
#pragma once

#include "store/tx.h"

typedef struct SourceRow {
    int64_t tenant;
    Str id;
    int64_t version;
    Str body; // JSON; its secrets are sealed
} SourceRow;

// source_rows reads all table sources of all tenants.
Err source_rows(Tx *tx, SourceRow **ret, size_t *ret_count, Error *error) MUST_USE;

// Brought is a row that a table source found.
typedef struct Brought {
    int64_t tenant;
    Str source, external_id;
    bool is_known; // the inbox has it …
    int status;    // … there (InboxStatus) …
    Str error;     // … and why, in words; none
} Brought;

// source_look finds out which of the rows the inbox has.
Err source_look(Tx *tx, Brought *rows, size_t count, Error *error) MUST_USE;

// source_replayed finds rows of a source that were replayed and have ended since, so many at most;
// source_told, that its table knows.
Err source_replayed(Tx *tx, int64_t tenant, Str source, size_t limit, Brought **ret,
                    size_t *ret_count, Error *error) MUST_USE;
void source_told(Tx *tx, const Brought *rows, size_t count);

extern const Statement *const source_statements[]; // ends with NULL
