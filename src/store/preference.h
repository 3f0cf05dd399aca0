// preference.h - what recipients want (domain/preference.h), as rows; and where it is asked for.
//
// Most tenants have none: the registry knows of each whether it ever had one, so that nobody else
// pays for the look. Where a message is made, another channel may stand in (accept.c);
// before each send whoever opted out is passed over (preference_screen). Both look all addresses of
// a set up at once.
#pragma once

#include "domain/preference.h"
#include "store/queue.h"
#include "store/walk.h"

// PreferenceRow is one as it is stored.
typedef struct PreferenceRow {
    Preference preference; // its lists parsed
    Instant updated_at;
} PreferenceRow;

// preference_put keeps one in place of what was there; preference_get and preference_delete fail
// with ERR_NOT_FOUND where there is none.
Err preference_put(Tx *tx, int64_t tenant, const Preference *preference, Error *error) MUST_USE;
Err preference_get(Db *db, Arena *arena, int64_t tenant, Str address, PreferenceRow *ret,
                   Error *error) MUST_USE;
// preference_page lists them, the newest first.
Err preference_page(Db *db, Arena *arena, int64_t tenant, const Walk *walk, PreferenceRow **ret,
                    Seen *ret_seen, Error *error) MUST_USE;
Err preference_delete(Tx *tx, int64_t tenant, Str address, Error *error) MUST_USE;

// PreferenceAsk is an address that may have one.
typedef struct PreferenceAsk {
    int64_t tenant;
    Str address;
    Preference found; // result; nothing in it: there is none
} PreferenceAsk;

// preference_any: the tenant has preferences, or had.
bool preference_any(const Registry *registry, int64_t tenant);

// preference_find_all looks up those of tenants that have any.
Err preference_find_all(Tx *tx, PreferenceAsk *asks, size_t count, Error *error) MUST_USE;

// preference_lane is the lane of what a trigger makes for somebody with these wishes: its own,
// unless another channel stands in that there is a lane of.
int64_t preference_lane(const Registry *registry, const Trigger *trigger,
                        const Preference *preference);

// preference_screen notes which of what was claimed the recipient does not want: of a delivery with
// several targets, which of them.
Err preference_screen(Tx *tx, Claim *claim, Error *error) MUST_USE;

extern const Statement *const preference_statements[]; // ends with NULL
