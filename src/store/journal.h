// journal.h - what every transaction did, in a row that it commits with.
//
// A writer (one pen of one node) numbers its transactions upwards in the order in which they
// commit: it begins one when the last is decided. The number of one that failed is not used again.
// A row holds the facts (domain/fact.h), packed, and the moment at which the transaction began.
//
// By that row a COMMIT whose reply was lost is resolved. The resolver takes the number for itself:
// if it can, the transaction was not committed and never will be, even where its COMMIT still waits
// in a socket's buffer; if it cannot, it was. The server's own transaction numbers will not do:
// after a crash PostgreSQL gives those that were not yet on disk to others.
//
// On SQLite, where a COMMIT never loses its reply, a transaction without facts leaves no row.
#pragma once

#include "domain/fact.h"
#include "store/db.h"

// journal_note sends the row of a transaction, as its last statement.
void journal_note(Db *db, Arena *arena, int64_t writer, int64_t n, const FactPack *facts);

// journal_resolve says whether the writer's transaction n was committed; if not, it never will be.
// ERR_BUSY while that is still under way.
Err journal_resolve(Db *db, int64_t writer, int64_t n, bool *ret_committed, Error *error) MUST_USE;

// journal_stranger draws a writer's number for one who has no node, which nobody shares.
int64_t journal_stranger(Random *random);

// journal_last is the highest number that a writer has used.
Err journal_last(Db *db, Arena *arena, int64_t writer, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const journal_statements[]; // ends with NULL
