// table.h - one table source at work: a thread that takes rows of an application's table into the
// inbox, and tells the table what became of them.
//
// A turn lists what is pending there, puts what is new into the inbox, and marks what the drain has
// done meanwhile. Only the table knows what is pending and only the inbox what was taken, so a node
// may die anywhere: what was put in twice is known by its id, what was not marked is marked the
// next time. One node at a time is at a table, under a lease, so that rows stay in their order.
//
// All that is slow, hostile or away over there holds up this thread alone. A failure is logged once
// and tried again, from 1 s to 1 min.
#pragma once

#include "base/clock.h"
#include "domain/source.h"
#include "store/writer.h"

typedef struct TableOptions {
    Writer *writer;
    const KeyRing *ring;
    Clock *real; // whatever clock runs deliveries
    int64_t node;
    size_t payload_max;
    Str folder;              // SQLite files must lie below it; none: there may be none
    Str own;                 // the store's own URL, which is no source
    void (*put)(void *with); // rows were put into the inbox
    void *with;
} TableOptions;

typedef struct Table Table;

// table_start begins to drain; id and body, a stored definition, are copied.
Table *table_start(const TableOptions *options, int64_t tenant, Str id, int64_t version, Str body);

bool table_is(const Table *table, int64_t tenant, Str id, int64_t version);

// table_stop lets it end after its turn; table_free waits for that.
void table_stop(Table *table);
void table_free(Table *table);

// table_file_problem says why a file may not be a source; NULL: it may.
const char *table_file_problem(Arena *arena, Str store, Str folder, Str own);
