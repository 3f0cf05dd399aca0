// target.h - the targets of deliveries that have several, a row each (domain/target.h).
//
// Rows are made with their delivery, or, where that goes to a list, with its claims: each resolves
// the next members of the list, in the order of their n, as many as an attempt carries and one
// more, by which it knows that there is more to do. They are read with the claim and written with
// the settle, each for all deliveries of the transaction at once. A delivery without rows has the
// one target of its promise.
//
// A target is open while it has to be sent to in this round: nothing was told of it in this send,
// or what was told may pass and was told a failure ago. So each is tried once before the first is
// tried again. However many there are, a claim looks at those that are open (index target_open) and
// counts the others only when it carries the last.
#pragma once

#include "domain/target.h"
#include "store/tx.h"
#include "store/walk.h"

// TargetRow is one row.
typedef struct TargetRow {
    int64_t tenant;
    Uuid delivery;
    Target target;
    int round;       // failures of the send before it was told
    Instant told_at; // INSTANT_NONE: nothing was told yet
} TargetRow;

// target_insert makes the rows of new deliveries, counted from 1.
void target_insert(Tx *tx, const TargetRow *rows, size_t count);

// TargetsOf are targets of one delivery, without what the far side said.
typedef struct TargetsOf {
    int64_t tenant, index; // index: private
    Uuid delivery;
    Target *targets; // result, by n
    size_t count;    // result; 0: it has no rows
} TargetsOf;

// targets_load reads all of them for many deliveries, in one statement: for those that somebody
// outside has, who never has a list's.
Err targets_load(Tx *tx, Arena *arena, TargetsOf *of, size_t count, Error *error) MUST_USE;

// TargetsOpen are the targets that an attempt of a delivery carries.
typedef struct TargetsOpen {
    int64_t tenant, index; // index: private
    Uuid delivery;
    int64_t list;       // whose members it goes to: the rule's number; 0: it has what rows it has
    int send, failures; // of the delivery, as claimed
    Target *targets;    // result: those that are open
    size_t count;       // result; 0: none is, or it has no rows
    bool has_more;      // result: others are open besides
    TargetsElse others; // result, unless it has more: those that are not
} TargetsOpen;

// targets_claim resolves lists and reads what is open, for many deliveries.
Err targets_claim(Tx *tx, Arena *arena, TargetsOpen *of, size_t count, Error *error) MUST_USE;

// target_reopen makes every target that has it not open again: a person asks for another try.
void target_reopen(Tx *tx, int64_t tenant, const Uuid *deliveries, size_t count);

// target_tell writes what became of targets.
void target_tell(Tx *tx, const TargetRow *rows, size_t count);

// target_page reads rows of one delivery, by n.
Err target_page(Db *db, Arena *arena, int64_t tenant, Uuid delivery, const Walk *walk,
                TargetRow **ret, Seen *ret_seen, Error *error) MUST_USE;

// TargetCounts is how many targets a delivery has, by what was last told of them.
typedef struct TargetCounts {
    int64_t all, delivered, refused, opted_out;
} TargetCounts;
Err targets_count(Db *db, Arena *arena, int64_t tenant, Uuid delivery, TargetCounts *ret,
                  Error *error) MUST_USE;

extern const Statement *const target_statements[]; // ends with NULL
