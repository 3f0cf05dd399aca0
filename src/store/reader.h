// reader.h - reads, off the writer's path: a few threads with a connection each.
//
// A read is plain data with a run() and a done(), like an operation, but it changes nothing. Before
// each read on PostgreSQL the registry is renewed if another node has changed a definition.
#pragma once

#include "base/pool.h"
#include "store/writer.h"

typedef struct Read Read;
typedef struct Reader Reader;

struct Read {
    Task task; // the reader's own, first: a Task * is a Read *
    Err (*run)(Read *read, Db *db, Error *error);
    void (*done)(Read *read, Err err, const Error *error);
    Reader *reader; // the reader's own
};

Reader *reader_open(Writer *writer, Str url, int threads);
void reader_close(Reader *reader);
void reader_submit(Reader *reader, Read *read); // ERR_BUSY through done() when too many wait
