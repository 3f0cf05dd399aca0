#include "store/reader.h"

#include "base/log.h"

#include <pthread.h>

enum { THREADS_MAX = 8, WAITING_MAX = 5000 };

struct Reader {
    Writer *writer;
    Str url;
    int thread_count;
    pthread_t threads[THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    Read *first, **last; // guarded by lock
    size_t waiting;      // guarded by lock
    bool is_closing;     // guarded by lock
};

static Read *take(Reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    while (!reader->first && !reader->is_closing)
        pthread_cond_wait(&reader->wake, &reader->lock);
    Read *read = reader->first;
    if (read) {
        reader->first = read->next;
        reader->waiting--;
        if (!reader->first)
            reader->last = &reader->first;
    }
    pthread_mutex_unlock(&reader->lock);
    return read;
}

static Err run(Reader *reader, Db **db, Read *read, Error *error)
{
    if (!*db)
        TRY(db_open(&(DbOptions){ .url = reader->url, .is_reader = true }, db, error));
    if (db_is_postgres(*db))
        TRY(writer_refresh(reader->writer, *db, error));
    return read->run(read, *db, error);
}

static void *reader_main(void *with)
{
    Reader *reader = with;
    Db *db = NULL;
    for (Read *read; (read = take(reader)) != NULL;) {
        Error error = { 0 };
        bool was_open = db != NULL;
        Err err = run(reader, &db, read, &error);
        // A connection that went stale while idle deserves a second try on a new one.
        if (db && db->is_broken) {
            db_close(db);
            db = NULL;
            if (was_open)
                err = run(reader, &db, read, &error);
        }
        read->done(read, err, &error);
    }
    db_close(db);
    return NULL;
}

Reader *reader_open(Writer *writer, Str url, int threads)
{
    assert(threads <= THREADS_MAX);
    Reader *reader = memory_new(sizeof *reader);
    reader->writer = writer;
    reader->url = url;
    reader->last = &reader->first;
    reader->thread_count = threads;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->wake, NULL);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&reader->threads[i], NULL, reader_main, reader) != 0)
            abort();
    return reader;
}

void reader_close(Reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    reader->is_closing = true;
    pthread_cond_broadcast(&reader->wake);
    pthread_mutex_unlock(&reader->lock);
    for (int i = 0; i < reader->thread_count; i++)
        pthread_join(reader->threads[i], NULL);
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->wake);
    free(reader);
}

void reader_submit(Reader *reader, Read *read)
{
    read->next = NULL;
    pthread_mutex_lock(&reader->lock);
    bool is_full = reader->waiting >= WAITING_MAX;
    if (!is_full) {
        *reader->last = read;
        reader->last = &read->next;
        reader->waiting++;
        pthread_cond_signal(&reader->wake);
    }
    pthread_mutex_unlock(&reader->lock);
    if (is_full) {
        Error error = { 0 };
        read->done(read, fail(&error, ERR_BUSY, "%d reads are waiting already", WAITING_MAX),
                   &error);
    }
}
