// accept.h - the one door: whatever makes events comes in here, inside its own transaction.
//
// accept_decide() says what every trigger makes of every event. It touches no store, so any thread
// may do it ahead of the transaction; called again inside, it decides anew only where the tenant's
// triggers have changed since. accept_write() then writes the events, what was decided and every
// delivery into the transaction at hand, beside whatever else that does: all of it is committed, or
// nothing.
//
// An event is for the triggers that listen to its kind; or, where its item names rules, for those
// alone: a notification's list, a resend's template; or, where it is open, for both: what answers
// a survey goes to the survey's subscribers, and to whoever listens. Named rules are the caller's,
// who fills in all of their Rule (number, version, tenant, lane); they live as long as the accept,
// and where the registry has moved he names them anew before he decides again.
//
// Many accepts are written in sets. An event that calls something off (a trigger's cancelOn) sees
// what its tenant's earlier events made and not what later ones make; nobody else waits for that.
#pragma once

#include "domain/defer.h"
#include "domain/event.h"
#include "domain/trigger.h"
#include "store/again.h"
#include "store/dedup.h"

enum {
    ACCEPT_PAIRS_MAX = 100000, // events times the triggers that look at them, in one accept
    ACCEPT_RULES_MAX = 60000,  // deliveries one event may make: their ids share 16 bits
    ACCEPT_DEPTH_MAX = 8,      // events that make events that make events
};

// AcceptPair is one event meeting one trigger that has to do with it: it makes a delivery, or would
// but for its key or its size.
typedef struct AcceptPair {
    Decision decision;
    DedupKey key;  // when decision.has_key
    Uuid delivery; // to make; for a duplicate see key.holder and key.public_id
    Str public_id; // likewise
    int64_t lane;  // the rule's, unless the recipient prefers another channel
} AcceptPair;

// Places are those of a lane whose rows go as they came in, whatever the clock says (channel.h:
// is_timeless): each is behind the last. Only transactions use them.
typedef struct Places {
    Instant last; // 0: nothing stands in the lane
} Places;

typedef struct AcceptItem {
    Event event;
    const Trigger *const *named; // the rules that it is for, whatever listens to its kind; none
    size_t named_count;          // 0: it is for those that listen
    bool is_open;                // it is for those that listen, too
    Places *places;              // of its deliveries; NULL: they stand where they fall due
    const Again *again;          // it is stored, and decided anew; NULL
    const Deferral *deferral;    // it puts a run of the named job off, or calls runs off; NULL
    Err err;                     // not ERR_OK: the item is bad and takes no part
    Error *error;                // why
    AcceptPair *pairs;
    size_t pair_count;
    size_t created_count;     // pairs that make a delivery, or would but for their key
    const AcceptPair *before; // while it is decided anew: the pairs of the last time, from here on
    size_t before_count;
    Str missed;        // what all other triggers decided, packed (domain/decision.h); none
    DedupKey identity; // when the event has one
    bool is_duplicate; // its identity came before: identity.holder is the first event
    size_t called_off; // deferred runs that it replaced or cancelled
} AcceptItem;

// Accept is what comes in together: one tenant, one moment.
typedef struct Accept {
    Arena *arena; // the caller's; what is decided lies there
    int64_t tenant;
    AcceptItem *items;
    size_t count;
    Instant now;
    size_t pairs_max; // that it may have to decide; 0: ACCEPT_PAIRS_MAX
    int depth;        // how many events it stems from, one by the other; 0: it came from outside

    int64_t decided; // on which of the tenant's triggers (registry_moved); 0: it is not, yet
    size_t weight;   // rows it writes, roughly
    Str alike;       // how the public ids of what it makes begin; none, where it is one event
} Accept;

// accept_decide takes items whose events are built (or that carry their error), gives their ids to
// those that have none (others say when they were received, too), and decides. The decisions refer
// to the registry, which the caller holds for as long, or another of which accept_decide() finds
// that nothing is to be decided anew. It refuses a chain of events past ACCEPT_DEPTH_MAX
// (ERR_CONFLICT) and more than it may be asked to decide at once (ERR_TOO_LARGE).
Err accept_decide(Accept *accept, const Registry *registry, Random *random, Error *error) MUST_USE;

// accept_pairs is how much there is to decide: each event with each trigger that looks at it, be it
// to make a delivery or to call some off.
size_t accept_pairs(const Accept *accept, const Registry *registry);

// accept_write writes accepts that were decided on tx->registry; of several the earlier came first.
// What became of each is in its items.
Err accept_write(Tx *tx, Accept *const *accepts, size_t count, Error *error) MUST_USE;

// accept_made says whether the pair made a delivery; accept_skipped, whether another holds its key.
bool accept_made(const AcceptItem *item, const AcceptPair *pair);
bool accept_skipped(const AcceptPair *pair);

// AcceptTrial is what one rule would make of an event if that came now.
typedef struct AcceptTrial {
    Decision decision; // of what was taken before it is DECISION_DUPLICATE
    Uuid holder;       // the delivery that holds its key; none
    Uuid before;       // the event that came before with its identity; none
    bool calls_off;    // it would call deliveries of the rule off
    bool is_opted_out; // the recipient does not want it
} AcceptTrial;

// accept_try says so of each event by itself, and writes nothing. Where it is stored (it has an
// id), what it made itself stands in nobody's way: its identity is its own, and so is a key that a
// delivery of it holds.
Err accept_try(Db *db, Arena *arena, const Registry *registry, const RegistryTrigger *rule,
               const Event *const *events, size_t count, Instant now, AcceptTrial *ret,
               Error *error) MUST_USE;
