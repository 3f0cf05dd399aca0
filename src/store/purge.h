// purge.h - what was kept for a time that is over goes: once a day, a slice at a time.
//
// A run walks along one table after the other (the rows of purge.c), tenant by tenant, in the order
// of their keys, and looks at so many rows a slice. How far it has come is a row of its own,
// written with what the slice deleted: whoever dies in the middle has done all of a slice or
// nothing, and whoever comes next goes on from there. No index leads to what is old: keys that are
// ids begin with their time, so a walk along them ends where the rows get too young; the others are
// walked whole.
//
// What may go is said by the statement that deletes, and nothing else is touched: a delivery that
// is in the queue stays however old it is, and so does its event. A row that somebody is changing
// at this moment is left for the next day. Of each tenant and table something was deleted of, a
// fact is left (FACT_PURGED), which becomes a row of the audit.
//
// To add a table: a row in purge.c, with the statement that finds where a slice ends and the one
// that deletes it, or a function where more than its rows have to go.
#pragma once

#include "store/tx.h"

enum { PURGE_SLICE = 500 }; // rows that the engine has a slice look at
#define PURGE_KEPT ((Span) 365 * SPAN_DAY)
#define PURGE_KEPT_MIN ((Span) 7 * SPAN_DAY)
#define PURGE_KEPT_MAX ((Span) 3660 * SPAN_DAY)
#define PURGE_KEYS_KEPT ((Span) 400 * SPAN_DAY)
#define PURGE_KEYS_LONGER ((Span) 35 * SPAN_DAY)

// PurgeTimes is how long what has ended is kept. Dedup keys outlive it: they are kept for
// PURGE_KEYS_KEPT, and in any case PURGE_KEYS_LONGER than what holds them.
typedef struct PurgeTimes {
    Span kept;
    Span delivered; // what was delivered: no longer than kept; a site hands on, and keeps less
} PurgeTimes;

typedef struct PurgeReport {
    int64_t gone; // rows of the tables that are walked; what went with them is not counted
    bool has_more;
} PurgeReport;

// purge_walk does the next slice of the run that is under way, or due. limit is how many rows a
// slice looks at; less than twice as many go.
Err purge_walk(Tx *tx, const PurgeTimes *times, int64_t limit, PurgeReport *ret,
               Error *error) MUST_USE;

// PurgeSlice is what a row of the table is asked for.
typedef struct PurgeSlice {
    int64_t tenant;
    Uuid after, until; // the keys to look at: behind the one, up to the other
    int64_t limit;
    Instant before;           // what ended before that goes …
    Instant delivered_before; // … and what was delivered before that
    Uuid end;                 // result: how far it looked
    bool is_last;             // result: there is no more
    int64_t gone;             // result
} PurgeSlice;

// purge_deliveries deletes what goes with deliveries that are no longer in ended, which old tells
// of. purge_events deletes those of old that no delivery is left of, with what was decided of them.
// purge_campaigns deletes the failures of campaigns that are gone.
// purge_targets, purge_progress and purge_actions delete those of deliveries that are gone.
// purge_audit deletes rows from the beginning of the chain and leaves its anchor there: only what
// is whole, so that no change is hidden, and never the last row.
Err purge_deliveries(Tx *tx, PurgeSlice *slice, const Rows *old, Error *error) MUST_USE;
Err purge_events(Tx *tx, PurgeSlice *slice, const Rows *old, Error *error) MUST_USE;
Err purge_campaigns(Tx *tx, PurgeSlice *slice, const Rows *old, Error *error) MUST_USE;
Err purge_targets(Tx *tx, PurgeSlice *slice, Error *error) MUST_USE;
Err purge_progress(Tx *tx, PurgeSlice *slice, Error *error) MUST_USE;
Err purge_actions(Tx *tx, PurgeSlice *slice, Error *error) MUST_USE;
Err purge_audit(Tx *tx, PurgeSlice *slice, Error *error) MUST_USE;

extern const Statement *const purge_statements[];          // ends with NULL
extern const Statement *const purge_delivery_statements[]; // ends with NULL
extern const Statement *const purge_audit_statements[];    // ends with NULL
