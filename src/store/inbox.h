// inbox.h - the inbox as rows: put in, taken by the drain, settled, listed, set back.
//
// A source is a tenant's way in ("sql", or the id of one that is defined); its rows are taken in
// the order of their ids, which is the order in which they came. One node at a time takes from a
// source, under a lock that ends with its transaction; other nodes take from others meanwhile.
// Nothing is leased: what a row becomes is written in the transaction that takes it, so a node that
// dies has done all of it or nothing.
//
// A row that was part of a failure has attempts, and is taken alone from then on.
//
// A hook that is long to read is leased after all: its node marks it (INBOX_REASON_BEING_READ),
// counts the try, reads it outside of any transaction, and writes what it made of it in one or in
// several. Until next_at nobody takes it, nor what its source brought behind it. Each that takes a
// lease counts a try, so the attempts tell whether one is still whose it was.
#pragma once

#include "domain/field.h"
#include "domain/inbox.h"
#include "store/tx.h"
#include "store/walk.h"

enum {
    INBOX_SOURCES_MAX = 64,    // that one take looks at
    INBOX_ROWS_MAX = 200,      // of a source, in one take
    INBOX_BYTES_MAX = 4 << 20, // of bodies, in one take; beside one that is longer by itself
    INBOX_LONG = 256 << 10,    // bytes of a hook that is long to read
    INBOX_EXTERNAL_MAX = 200,  // bytes of a row's own id, where it came from
    INBOX_ERROR_MAX = 500,     // bytes of what is kept of an error
};

#define INBOX_LEASE ((Span) 30 * SPAN_SECOND) // of a hook that is being read

typedef struct InboxRow {
    int64_t tenant;
    Uuid id; // of the event that it becomes
    Str source;
    int kind;        // InboxKind
    Str external_id; // its own id there; none
    Str provider;    // a hook's, by its id; none
    Str headers;     // a hook's, without credentials: a JSON array of [name, value]; none
    Str event_kind, entity, topic, correlation_id;
    int schema_version;                // 0: none was said
    Str body;                          // the payload; none where only the head was read
    int64_t size;                      // of the body, where only the head was read
    int status;                        // InboxStatus
    int reason;                        // InboxReason
    Str error;                         // in words; none
    int attempts;                      // that failed
    Instant next_at;                   // not before; INSTANT_NONE
    Instant received_at, processed_at; // the latter INSTANT_NONE while it is pending
} InboxRow;

// inbox_put adds pending rows; one whose external id its source has brought before is left out,
// unless it is a hook: those go by the keys of the triggers, and nothing that came is dropped.
void inbox_put(Tx *tx, const InboxRow *rows, size_t count);

// InboxTaken is what the drain is to do: rows source by source, each in order.
typedef struct InboxTaken {
    InboxRow *rows;
    size_t count;
    bool is_alone;   // it is one row that failed before: nothing else belongs into its transaction
    bool has_more;   // there may be others
    bool is_pending; // there are rows here, though it may be that none is to be taken yet
} InboxTaken;

// InboxAsk says what a take has to know of the taker.
typedef struct InboxAsk {
    Uuid tried;       // of the rows that are to be taken alone it is before the others; none
    Uuid read;        // the hook that this node reads: it takes no other that is long; none
    bool is_leaving;  // it takes none that is long
    bool breaks_hold; // whoever had leases is gone
} InboxAsk;

// inbox_take chooses them.
Err inbox_take(Tx *tx, const InboxAsk *ask, InboxTaken *ret, Error *error) MUST_USE;

// inbox_hold takes the source of a leased row, waiting for who is at it, and says whether the row
// is still as it was marked; its processed_at tells whether something of it was written since.
Err inbox_hold(Tx *tx, InboxRow *row, bool *ret, Error *error) MUST_USE;

// inbox_settle writes status, reason, error, attempts, next_at, processed_at and external_id of
// taken rows.
void inbox_settle(Tx *tx, const InboxRow *rows, size_t count);

// inbox_awake tells emit() that until then a drain looks often (sql/002): it need not ring.
void inbox_awake(Tx *tx, Instant until);

// inbox_open tells emit() what holds while this node runs: what time a manual clock shows, or
// INSTANT_NONE, and how long a payload may be.
void inbox_open(Tx *tx, Instant manual_now, size_t payload_max);

// InboxSide says who looks: an application at its outbox, or who waits for webhooks.
typedef enum InboxSide { INBOX_ANY_SIDE, INBOX_OUTBOX, INBOX_HOOKS } InboxSide;
typedef enum InboxTries { INBOX_ANY_TRIES, INBOX_UNTRIED, INBOX_TRIED } InboxTries;

// InboxFilter says which rows a page shows; what is none does not restrict.
typedef struct InboxFilter {
    bool has_status;
    InboxStatus status;
    InboxSide side;
    InboxTries tries;     // whether it was part of a failure
    Str source, provider; // none for any
    Instant from;         // received at or after; 0 for any
    Instant to;           // received before; INSTANT_NONE for any
} InboxFilter;

// inbox_page reads rows newest first; of hooks, which may be large, only the heads.
Err inbox_page(Db *db, Arena *arena, int64_t tenant, const InboxFilter *filter, const Walk *walk,
               InboxRow **ret, Seen *ret_seen, Error *error) MUST_USE;

// inbox_filter_read reads a filter that lies at pointer: what may be replayed at once, rows that
// failed.
extern const Shape inbox_filter_shape;
extern const char *const inbox_side_words[]; // by InboxSide, ends with NULL
Err inbox_filter_read(const Json *given, Str pointer, InboxFilter *ret, Error *error) MUST_USE;

// inbox_walk gives the ids of rows up to the id until, oldest first.
Err inbox_walk(Db *db, Arena *arena, int64_t tenant, const InboxFilter *filter, Uuid until,
               const Walk *walk, IdsSeen *ret, Error *error) MUST_USE;

// inbox_replay sets rows back to pending, to be decided anew; ret_done says how many were not. The
// tables of those that came from one are told how it ends (source_replayed).
Err inbox_replay(Tx *tx, int64_t tenant, const Uuid *ids, size_t count, int64_t *ret_done,
                 Error *error) MUST_USE;

// inbox_row reads one; ERR_NOT_FOUND for another tenant's, or one of the other side.
Err inbox_row(Db *db, Arena *arena, InboxSide side, int64_t tenant, Uuid id, InboxRow *ret,
              Error *error) MUST_USE;

// inbox_head reads a hook without its body; inbox_of_event that which an event came by, if it did
// by one that is still there.
Err inbox_head(Db *db, Arena *arena, int64_t tenant, Uuid id, InboxRow *ret, Error *error) MUST_USE;
Err inbox_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, InboxRow *ret, bool *ret_found,
                   Error *error) MUST_USE;

// inbox_event is the id of the nth event that a hook becomes, from 0: the first has the row's own,
// the others differ from it in the four bytes before those that tell deliveries apart.
Uuid inbox_event(Uuid row, size_t n);

// inbox_purge deletes hooks that ended INBOX_HOOKS_KEPT ago or longer.
#define INBOX_HOOKS_KEPT ((Span) 7 * SPAN_DAY)
Err inbox_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error) MUST_USE;

// inbox_depth counts rows of all tenants that wait, up to INBOX_DEPTH_MAX.
enum { INBOX_DEPTH_MAX = 1000000 };
Err inbox_depth(Db *db, Arena *arena, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const inbox_statements[]; // ends with NULL
