/* spool.h - the file in which records wait for the site. Private to the library and to the site.
 *
 * The spool is append-only: a header, then records, each with its length and a checksum over what
 * it holds, which is a row for central as JSON. A record is one write() under a lock on the file,
 * and is synced before its caller hears of it. A process that dies in the middle of its write
 * leaves half a record; the next is appended behind it all the same. Whoever reads goes from record
 * to record and, where one is damaged, on to the next mark: a mark begins with a byte that JSON
 * does not contain. So what was acknowledged is found whatever lies before it.
 *
 * The site takes records in and cuts the file back to its header once it has them all: under the
 * lock, so that nothing is cut that it has not seen. A record that it reads twice, because it died
 * in between, has the id that it had. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SPOOL_RECORD_MAX = 4 << 20 };

/* peal_spool_append adds a record and syncs it. 0, or -1 with errno: ENOSPC, EDQUOT and EFBIG leave
 * the spool as it was, as does EPROTONOSUPPORT, which is for a header that is not known here. */
int peal_spool_append(const char *path, const char *record, size_t len);

/* peal_spool_waits tells whether there is a record that the site has not taken in. */
bool peal_spool_waits(const char *path);

/* A reader looks at a spool from its beginning. peal_spool_open makes the file where it is missing;
 * -1 with errno: it cannot be. */
typedef struct SpoolReader {
    int fd;
    off_t at;         /* behind what was read last */
    uint64_t skipped; /* bytes that were no record, so far */
    char *buffer;     /* private */
    size_t room;      /* private */
} SpoolReader;
int peal_spool_open(SpoolReader *reader, const char *path);
void peal_spool_close(SpoolReader *reader);

/* peal_spool_next reads the next whole record, which lies in the reader until the next call: 1, 0
 * at the end, -1 with errno. Half a record at the end is left, for it may still be growing; locked
 * says that it is not, and that it is skipped. */
int peal_spool_next(SpoolReader *reader, bool is_locked, const char **ret, size_t *ret_len);

/* peal_spool_lock keeps appenders out until peal_spool_unlock. peal_spool_cut empties the spool;
 * under the lock, and only for who has read all of it. -1 with errno. */
int peal_spool_lock(SpoolReader *reader);
void peal_spool_unlock(SpoolReader *reader);
int peal_spool_cut(SpoolReader *reader);

/* peal_spool_problem says in words what errno tells of a spool. */
const char *peal_spool_problem(int problem);
