#include "store/reader.h"

#include "base/clock.h"

struct Reader {
    Writer *writer;
    Str url;
    Pool *pools[READ_PACES]; // NULL: without threads
};

// Seat is a thread's connection.
typedef struct Seat {
    Db *db;             // NULL until it is needed
    Instant renewed_at; // when the last look at the generation began
} Seat;

static void leave(void *with)
{
    db_close(((Seat *) with)->db);
}

// renew has the registry know what was committed before the read was submitted.
static Err renew(const Reader *reader, Seat *seat, const Read *read, Error *error)
{
    Instant now = clock_machine_monotonic();
    if (!db_is_postgres(seat->db) || seat->renewed_at > read->submitted_at)
        return ERR_OK;
    TRY(writer_refresh(reader->writer, seat->db, error));
    seat->renewed_at = now;
    return ERR_OK;
}

static Err try_read(Reader *reader, Seat *seat, Read *read, Error *error)
{
    if (!seat->db)
        TRY(db_open(&(DbOptions){ .url = reader->url, .is_reader = true }, &seat->db, error));
    TRY(renew(reader, seat, read, error));
    db_until(seat->db, clock_machine_monotonic() + READ_MAX);
    Err err = read->run(read, seat->db, error);
    db_until(seat->db, INSTANT_NONE);
    return err;
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

Reader *reader_open(Writer *writer, Str url, int quick_threads, int slow_threads)
{
    const int threads[] = { [READ_QUICK] = quick_threads, [READ_SLOW] = slow_threads };
    Reader *reader = memory_new(sizeof *reader);
    reader->writer = writer;
    reader->url = url;
    for (size_t i = 0; i < READ_PACES; i++)
        if (threads[i] > 0)
            reader->pools[i] = pool_open(&(PoolOptions){ .threads = threads[i],
                                                         .waiting_max = READS_WAITING_MAX,
                                                         .seat_size = sizeof(Seat),
                                                         .leave = leave });
    return reader;
}

void reader_close(Reader *reader)
{
    for (size_t i = 0; i < READ_PACES; i++)
        if (reader->pools[i])
            pool_close(reader->pools[i]);
    free(reader);
}

void reader_submit(Reader *reader, Read *read)
{
    read->task.run = run;
    read->reader = reader;
    read->submitted_at = clock_machine_monotonic();
    assert(reader->pools[read->pace]);
    if (pool_submit(reader->pools[read->pace], &read->task))
        return;
    Error error = { 0 };
    read->done(read, fail(&error, ERR_BUSY, "%d reads are waiting already", READS_WAITING_MAX),
               &error);
}
