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
#include "store/walk.h"

enum { SITE_NAME_MAX = 100 };
#define SITE_KEEPS ((Span) 7 * SPAN_DAY)

// site_number gives a tenant's site its number, if it has none yet. Only then it takes the lock of
// definitions, so that two nodes do not give out the same.
Err site_number(Tx *tx, int64_t tenant, Str name, int64_t *ret, Error *error) MUST_USE;

// SiteSeen is what central knows of a site: that it came, and what it told of itself. What is none,
// zero or INSTANT_NONE is not known.
typedef struct SiteSeen {
    int64_t tenant, site;
    Str name;
    Instant seen_at;
    int64_t received; // rows that it handed on
    Uuid key;         // that it came with last
    Str version;
    int64_t backlog; // rows that it has still to hand on; -1
    Span skew;       // how far its clock is ahead
    Instant told_at; // when it told of these
} SiteSeen;

// site_came notes that a site came by a key and handed on so many rows. site_tells notes besides
// what it told of itself, and when.
void site_came(Tx *tx, const SiteSeen *seen);
void site_tells(Tx *tx, const SiteSeen *seen);

// site_page lists a tenant's sites by name.
Err site_page(Db *db, Arena *arena, int64_t tenant, const Walk *walk, SiteSeen **ret,
              Seen *ret_seen, Error *error) MUST_USE;

// site_rule gives the rule by which a site hands on its number, and the channel its lane's.
Err site_rule(Tx *tx, int64_t tenant, Str id, Str channel, int64_t *ret_rule, int64_t *ret_lane,
              Error *error) MUST_USE;

// site_last is the last place in a lane (accept.h: Places); 0: nothing stands in it.
Err site_last(Tx *tx, int64_t tenant, int64_t lane, Instant *ret, Error *error) MUST_USE;

// site_backlog counts what a site has still to hand on, by the counters.
Err site_backlog(Tx *tx, int64_t tenant, int64_t rule, int64_t *ret, Error *error) MUST_USE;

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
