// ingest.h - the one door: every way in ends here.
//
// ingest_accept() decides what every trigger makes of every event and hands the whole to the
// writer. When done() says ERR_OK, the events, what was decided and every delivery are on disk in
// one transaction; when it does not, nothing is. Decisions are made on a snapshot of the
// definitions; if that has moved by the time of the transaction, they are made anew.
#pragma once

#include "domain/event.h"
#include "domain/trigger.h"
#include "store/dedup.h"
#include "store/writer.h"

enum { INGEST_PAIRS_MAX = 60000 }; // deliveries one event may make: their ids share 16 bits

// IngestPair is one event meeting one trigger.
typedef struct IngestPair {
    Decision decision;
    DedupKey key;  // when decision.has_key
    Uuid delivery; // to make; for a duplicate see key.holder and key.public_id
    Str public_id; // likewise
} IngestPair;

typedef struct IngestItem {
    Event event;
    Err err;      // not ERR_OK: the item is bad and takes no part
    Error *error; // why
    IngestPair *pairs;
    size_t pair_count;
    DedupKey identity; // when the event has one
    bool is_duplicate; // its identity came before: identity.holder is the first event
} IngestItem;

typedef struct Ingest Ingest;

struct Ingest {
    Op op;
    Arena *arena; // the caller's, lent until done()
    int64_t tenant;
    IngestItem *items;
    size_t count;
    Instant now; // one for all items

    // before_commit may add to the transaction once the results are known (an idempotency key's
    // answer). May be NULL. Replayed with the rest.
    Err (*before_commit)(Ingest *ingest, Tx *tx, Error *error);
    // before_all may settle the whole call without doing it (an idempotency key that came before).
    Err (*before_all)(Ingest *ingest, Tx *tx, bool *ret_settled, Error *error);
    void (*done)(Ingest *ingest, Err err, const Error *error);
    void *with;

    Registry *registry; // the snapshot the decisions were made on; ingest's own
    bool is_settled;    // by before_all
};

// ingest_accept takes items whose events are built (or that carry their error) and gives them
// their ids. done() follows, on the writer's thread.
void ingest_accept(Writer *writer, Random *random, Ingest *ingest);
