// reader.h - reads, off the writer's path: a few threads with a connection each.
//
// A read is plain data with a run() and a done(), like an operation, but it changes nothing. Before
// each read on PostgreSQL the registry is renewed if another node has changed a definition; reads
// that wait together need one look for that.
//
// Reads wait in two lines with threads of their own: lists are slow, whatever looks one thing up is
// quick. So no list, and no number of them, keeps a key, a delivery or an operation waiting. A read
// has READ_MAX in all; then it is ERR_BUSY, and so is one that finds READS_WAITING_MAX in its line.
#pragma once

#include "base/pool.h"
#include "store/writer.h"

typedef struct Read Read;
typedef struct Reader Reader;

typedef enum ReadPace { READ_QUICK, READ_SLOW, READ_PACES } ReadPace;

enum { READS_WAITING_MAX = 5000 };
#define READ_MAX (DB_READ_SECONDS * SPAN_SECOND)

struct Read {
    Task task; // the reader's own, first: a Task * is a Read *
    ReadPace pace;
    Err (*run)(Read *read, Db *db, Error *error);
    void (*done)(Read *read, Err err, const Error *error);
    Reader *reader;       // the reader's own
    Instant submitted_at; // likewise
};

// reader_open starts threads for each pace; a pace without threads has nothing submitted to it.
Reader *reader_open(Writer *writer, Str url, int quick_threads, int slow_threads);
void reader_close(Reader *reader);
void reader_submit(Reader *reader, Read *read); // ERR_BUSY through done() when too many wait
