// sequence.h - one order for all that happened to a tenant: 1, 2, 3 … without a gap.
//
// Writers number their transactions each for itself (journal.h), because a number that all share
// would make them wait for each other. Afterwards one node at a time gives the facts of each tenant
// their numbers, in one transaction per slice: either a slice has its numbers and is marked as
// seen, or it is as if nobody had looked. A row that is seen is never looked at again, and none can
// appear before it: a writer commits in the order of its numbers. What one transaction saw of
// another is not before it in any earlier slice, for all writers are read in one snapshot; within
// one slice they stand by their clocks, and what one moment brought stands in any order. But clocks
// of nodes differ, and a transaction has the moment of its start: so whatever they say, a delivery
// is made first, its attempts follow each other, and its end is last.
//
// Rows are kept for JOURNAL_KEPT once they have their numbers, and until they are sealed into the
// audit (audit.h). The last number of a tenant stays.
#pragma once

#include "store/tx.h"

#define SEQUENCE_LEASE S("sequence") // of store/duty.h
#define JOURNAL_KEPT ((Span) 7 * SPAN_DAY)

// Numbered is how far the numbers of a tenant go by now.
typedef struct Numbered {
    int64_t tenant, number;
} Numbered;

enum { SEQUENCE_TOLD = 32 }; // tenants that a slice names

// Sequenced is whose numbers a slice has moved on.
typedef struct Sequenced {
    size_t count; // of tenants, also of those beyond the ones that are named
    Numbered numbered[SEQUENCE_TOLD];
} Sequenced;

// sequence_run gives numbers to what is new, at most limit transactions of each writer. ret_more
// says that some are left; ret may be NULL.
Err sequence_run(Tx *tx, int limit, bool *ret_more, Sequenced *ret, Error *error) MUST_USE;

// sequence_purge takes away what is old: at most limit rows of each writer, and as many numbers.
// ret_more says that some may be left.
Err sequence_purge(Tx *tx, int limit, bool *ret_more, Error *error) MUST_USE;

// JournalEntry is one fact of a tenant, or of the installation for tenant 0, in its place.
typedef struct JournalEntry {
    int64_t number;
    Instant at;
    Fact fact;
} JournalEntry;

// sequence_last is a tenant's last number; 0 where it has none yet.
Err sequence_last(Db *db, Arena *arena, int64_t tenant, int64_t *ret, Error *error) MUST_USE;

// sequence_next_kept is the first number behind another that is still kept; 0: there is none.
Err sequence_next_kept(Db *db, Arena *arena, int64_t tenant, int64_t after, int64_t *ret,
                       Error *error) MUST_USE;

// journal_read returns the facts behind a number, in order, at most limit; 0 begins at the first
// that is kept. What has no number yet is not there.
Err journal_read(Db *db, Arena *arena, int64_t tenant, int64_t after, size_t limit,
                 JournalEntry **ret, size_t *ret_count, Error *error) MUST_USE;

extern const Statement *const sequence_statements[]; // ends with NULL
