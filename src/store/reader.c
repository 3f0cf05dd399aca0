#include "store/reader.h"

enum { WAITING_MAX = 5000 };

struct Reader {
    Writer *writer;
    Str url;
    Pool *pool;
};

// Seat is a thread's connection; NULL until it is needed.
typedef struct Seat {
    Db *db;
} Seat;

static void leave(void *with)
{
    db_close(((Seat *) with)->db);
}

static Err try_read(Reader *reader, Seat *seat, Read *read, Error *error)
{
    if (!seat->db)
        TRY(db_open(&(DbOptions){ .url = reader->url, .is_reader = true }, &seat->db, error));
    if (db_is_postgres(seat->db))
        TRY(writer_refresh(reader->writer, seat->db, error));
    return read->run(read, seat->db, error);
}

static void run(Task *task, void *with)
{
    Read *read = (Read *) task;
    Seat *seat = with;
    Error error = { 0 };
    bool was_open = seat->db != NULL;
    Err err = try_read(read->reader, seat, read, &error);
    // A connection that went stale while idle deserves a second try on a new one.
    if (seat->db && seat->db->is_broken) {
        db_close(seat->db);
        seat->db = NULL;
        if (was_open)
            err = try_read(read->reader, seat, read, &error);
    }
    read->done(read, err, &error);
}

Reader *reader_open(Writer *writer, Str url, int threads)
{
    Reader *reader = memory_new(sizeof *reader);
    reader->writer = writer;
    reader->url = url;
    reader->pool = pool_open(&(PoolOptions){ .threads = threads,
                                             .waiting_max = WAITING_MAX,
                                             .seat_size = sizeof(Seat),
                                             .leave = leave });
    return reader;
}

void reader_close(Reader *reader)
{
    pool_close(reader->pool);
    free(reader);
}

void reader_submit(Reader *reader, Read *read)
{
    read->task.run = run;
    read->reader = reader;
    if (pool_submit(reader->pool, &read->task))
        return;
    Error error = { 0 };
    read->done(read, fail(&error, ERR_BUSY, "%d reads are waiting already", WAITING_MAX), &error);
}
