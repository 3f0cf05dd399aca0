// poll_group.h - who is polled: a tenant's account at a provider, with one cursor for all triggers
// that ask it.
//
// A group is there while an enabled trigger polls it. Whatever may change that tells it here
// (poll_groups_touch), and the duty that polls (engine/poll.c) looks: it makes nothing of a group
// that nobody asks for any more, and takes it away. A save never moves the cursor.
//
// A poll belongs to whoever claimed it, for POLL_LEASE, which every answer renews. Each claim
// raises the fence; what an answer brings is written only under the fence and the lease that it was
// asked under (poll_group_go_on, poll_group_end), in the transaction that writes its events. So no
// two nodes poll a group at once, and an answer that comes late changes nothing.
//
// next_at is when a group is looked at. What is told of it while a poll goes on is kept (told) and
// looked at when that ends.
#pragma once

#include "domain/provided.h"
#include "store/tx.h"

#define POLL_LEASE ((Span) 120 * SPAN_SECOND)

// PollTold is what somebody wants of a group, the stronger for the weaker.
typedef enum PollTold {
    POLL_TOLD_NOTHING,
    POLL_TOLD_LOOK, // its triggers or its integration have changed
    POLL_TOLD_POLL, // something is there: it is not to wait for its time
} PollTold;

typedef struct PollGroup {
    int64_t tenant;
    Str provider;    // its id
    Str integration; // empty: none
    Instant next_at; // INSTANT_NONE: it is not polled until somebody tells
    int told;        // PollTold
    Str cursor;      // JSON, the provider's own; none: nothing was polled yet
    Instant cursor_set_at;
    int64_t fence, holder;
    Instant lease_until; // INSTANT_NONE: nobody polls it
    Instant last_polled_at;
    Instant backoff_until;
    Str last_error;
    int64_t failures; // in a row
    Str unfetched;    // JSON: what could not be fetched, and in how many polls by now; none

    // What the provider was asked to tell by itself, in the words that it was asked with; none:
    // nothing. It is asked for anew at register_at, be it that it was had or that it failed.
    Str registered;
    Instant registered_until; // INSTANT_NONE: it is not had
    Instant register_at;
    Str register_error;
} PollGroup;

// poll_groups_touch tells that triggers of a group were saved or taken away; the group is made
// where it is not there. An integration that is none, or empty, is the provider's group without
// one.
void poll_groups_touch(Tx *tx, int64_t tenant, ProviderName provider, Str integration);

// poll_group_changed tells that the integration of a group was saved; poll_group_due_now that there
// is something to be polled. A group that is not there has nobody who asks.
void poll_group_changed(Tx *tx, int64_t tenant, ProviderName provider, Str integration);
void poll_group_due_now(Tx *tx, int64_t tenant, ProviderName provider, Str integration);

// poll_group_rebound tells that the integration of a group is another account now: its cursor says
// nothing of that one. It is polled as if for the first time, and a poll under way counts no more.
// POLL_REBOUND is its last_error until then.
#define POLL_REBOUND S("its integration is another account now: a new baseline was taken")
void poll_group_rebound(Tx *tx, int64_t tenant, ProviderName provider, Str integration);

// PollAsked is what a group's triggers, those that are enabled, ask of it together.
typedef struct PollAsked {
    size_t triggers;  // 0: nobody asks
    Span interval;    // the shortest that one names; 0: none does
    bool emits_first; // one wants to hear of what is there
    Str scope;        // a JSON list: what they name of a member, together; none: one names nothing
} PollAsked;

// poll_group_asked finds out; scope is the member of their configs that is asked for, or none. The
// same values make the same list, whoever names them.
PollAsked poll_group_asked(const Registry *registry, Arena *arena, int64_t tenant,
                           ProviderName provider, Str integration, Str scope);

// PollFull are the tenants that have polls enough under way at this node: none of theirs is taken.
enum { POLL_FULL_MAX = 4 };
typedef struct PollFull {
    int64_t tenants[POLL_FULL_MAX];
    size_t count;
} PollFull;

// poll_groups_take takes those that are to be looked at now, max at most, longest due first. On
// PostgreSQL others pass them by until this transaction ends.
Err poll_groups_take(Tx *tx, const PollFull *full, size_t max, PollGroup **ret, size_t *ret_count,
                     Error *error) MUST_USE;

// poll_groups_free frees those that a process had which is gone; for who has the store alone.
void poll_groups_free(Tx *tx);

// What becomes of one that was taken: it is looked at again later, with its backoff as it is; it is
// gone; it is claimed, until tx->now + POLL_LEASE, which gives it its new fence.
void poll_group_put_off(Tx *tx, const PollGroup *group);
void poll_group_remove(Tx *tx, const PollGroup *group);
void poll_group_claim(Tx *tx, int64_t holder, PollGroup *group);

// poll_group_go_on moves the cursor and renews the lease; poll_group_end moves the cursor, gives
// the group back and writes how the poll ended, and what is told of it thereby. A cursor that is
// none stays as it was. ret says whether the poll still is the caller's; where it is not, nothing
// was changed. An end has the group's next_at say when it is looked at, which is now where
// something was told of it meanwhile.
Err poll_group_go_on(Tx *tx, const PollGroup *group, bool *ret, Error *error) MUST_USE;
Err poll_group_end(Tx *tx, PollGroup *group, bool *ret, Error *error) MUST_USE;

// poll_groups_due asks when the first is to be looked at, of those that would be taken;
// poll_groups_due_take reads the answer after the sync: INSTANT_NONE for never.
void poll_groups_due(Db *db, Arena *arena, const PollFull *full, Rows *ret);
Instant poll_groups_due_take(const Rows *rows);

// poll_groups_list reads those of a tenant, by provider and integration, behind a place: both parts
// of the last one; limit at most.
Err poll_groups_list(Db *db, Arena *arena, int64_t tenant, Str after_provider,
                     Str after_integration, int64_t limit, PollGroup **ret, size_t *ret_count,
                     Error *error) MUST_USE;

// poll_group_of reads the group of an integration, as its provider's; ERR_NOT_FOUND.
Err poll_group_of(Db *db, Arena *arena, int64_t tenant, Str integration, PollGroup *ret,
                  Error *error) MUST_USE;

extern const Statement *const poll_group_statements[]; // ends with NULL
