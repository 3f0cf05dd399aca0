// site.h - the names of sites as numbers; and, at a site, what it must know of central.
//
// A site is a Peal elsewhere that hands on what it took in (docs/sites.md). At central its name
// gets a number when it is first mentioned, by a key or by an event, and keeps it for good:
// deliveries, the queue and the counters go by the number, 0 being none.
//
// At a site, one rule of kind forward makes all deliveries. What central has acknowledged is kept
// for SITE_KEEPS. Where central was put back to an older state, of which its epoch tells
// (epoch.h), each of them is promised once more: central knows by their ids which it has.
#pragma once

#include "store/tx.h"

enum { SITE_NAME_MAX = 100 };
#define SITE_KEEPS ((Span) 7 * SPAN_DAY)

// site_number gives a tenant's site its number, if it has none yet. Only then it takes the lock of
// definitions, so that two nodes do not give out the same.
Err site_number(Tx *tx, int64_t tenant, Str name, int64_t *ret, Error *error) MUST_USE;

// site_rule gives the rule by which a site hands on its number, and the channel its lane's.
Err site_rule(Tx *tx, int64_t tenant, Str id, Str channel, int64_t *ret_rule, int64_t *ret_lane,
              Error *error) MUST_USE;

// site_last is the last place in a lane (accept.h: Places); 0: nothing stands in it.
Err site_last(Tx *tx, int64_t tenant, int64_t lane, Instant *ret, Error *error) MUST_USE;

// SiteEpoch is central's epoch as a site heard it.
typedef struct SiteEpoch {
    Str id;
    int64_t number;
    bool is_older; // result: another, or older than what was heard before
} SiteEpoch;

// site_heard compares it with the one that was kept; site_keep keeps it.
Err site_heard(Tx *tx, SiteEpoch *epoch, Error *error) MUST_USE;
void site_keep(Tx *tx, const SiteEpoch *epoch);

// SiteAgain is a slice of what is to be handed on again, by id.
typedef struct SiteAgain {
    Instant since; // acknowledged then or later
    Uuid after;    // where the slice begins
    int64_t limit;
    Uuid last;     // result: where it ended
    int64_t count; // result: rows of this slice; fewer than limit: it was the last
} SiteAgain;
Err site_again(Tx *tx, int64_t tenant, int64_t rule, SiteAgain *slice, Error *error) MUST_USE;

extern const Statement *const site_statements[]; // ends with NULL
