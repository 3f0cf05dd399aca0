// delivery.h - deliveries as rows: what was promised, insert-only; as they are shown, and in lists.
//
// The changing part of a delivery is in the queue (queue.h) while it lives, and in `ended`
// afterwards.
#pragma once

#include "domain/delivery.h"
#include "domain/event.h"
#include "domain/rule.h"
#include "store/queue.h"
#include "store/tx.h"
#include "store/walk.h"

// The promise behind its tenant as columns, in the one order in which it is written, selected and
// read.
#define PROMISE_FIELDS(X, a, b)                                                                    \
    X(a, b, id)                                                                                    \
    X(a, b, event)                                                                                 \
    X(a, b, public_id)                                                                             \
    X(a, b, rule)                                                                                  \
    X(a, b, version)                                                                               \
    X(a, b, lane)                                                                                  \
    X(a, b, site)                                                                                  \
    X(a, b, triggered_at)                                                                          \
    X(a, b, address)                                                                               \
    X(a, b, locale)                                                                                \
    X(a, b, customer_ref)                                                                          \
    X(a, b, entity)
#define PROMISE_NAME_(prefix, unused, name) ", " prefix #name
#define PROMISE_COLUMN_(owner, path, name) COLUMN(owner, path name),

#define PROMISE_LIST_(prefix) prefix "tenant" PROMISE_FIELDS(PROMISE_NAME_, prefix, )

// PROMISE_NAMES names the columns of a Promise, PROMISE_OF_D those of `delivery d`. PROMISE_COLUMNS
// reads them into owner, at a path such as "promise." or none.
#define PROMISE_NAMES PROMISE_LIST_("")
#define PROMISE_OF_D PROMISE_LIST_("d.")
#define PROMISE_COLUMNS(owner, path)                                                               \
    COLUMN(owner, path tenant), PROMISE_FIELDS(PROMISE_COLUMN_, owner, path)

void delivery_insert(Tx *tx, const Promise *rows, size_t count);

// delivery_id_of gives the id of the nth delivery (from 1) of an event: the event's first 14 bytes
// and n. So an event's deliveries are a range of the primary key.
Uuid delivery_id_of(Uuid event, unsigned n);

// DeliveryView is all that can be said of one delivery: what was promised, of which event, where it
// stands and what went wrong last. Where the event's row got lost, origin has only its id; where
// the rule's or the lane's did, rule_id or channel is none.
typedef struct DeliveryView {
    Promise promise;
    Str rule_id, channel;
    RuleKind rule_kind; // of what made it; a trigger, where the rule's row got lost
    Str site;           // that its event came from; none
    Event origin;       // the event it was made of
    DeliveryState state;
    DeliveryReason reason; // of where it stands; while retrying, of the attempt that failed
    Instant due_at;        // of the next send; INSTANT_NONE
    Instant expires_at;    // when no send is due and an answer is awaited; INSTANT_NONE
    Instant last_sent_at, opened_at, ended_at;
    Instant last_tried_at; // start of the last attempt; INSTANT_NONE
    int attempt, send, reminders_left;
    int failures;      // of the current send
    bool is_in_flight; // a send is under way, or was when it was called off: it may still arrive
    Str last_error;    // what the last attempt failed with; none when it was delivered
    Str note;          // a person's words; none
    Str provider_id;   // what the far side called the last attempt; none
} DeliveryView;

// view_status is the word that a family has for where it stands; none: it has none. view_family is
// that of its rule: of automations, for what a trigger of a provider or of one makes, as that is
// defined now.
Str view_status(StatusFamily family, const DeliveryView *view);
StatusFamily view_family(const Registry *registry, const DeliveryView *view);

// delivery_view reads one; ERR_NOT_FOUND for another tenant's.
Err delivery_view(Db *db, Arena *arena, int64_t tenant, Uuid id, DeliveryView *ret,
                  Error *error) MUST_USE;

// delivery_view_awaited reads the one that awaits an answer under its public id (awaiting.h), of
// whichever tenant: ERR_NOT_FOUND. delivery_awaited reads no more of it than Awaited has, which is
// all that somebody needs who only looks.
typedef struct Awaited {
    Promise promise;
    DeliveryState state;
    Instant opened_at;
} Awaited;
Err delivery_view_awaited(Db *db, Arena *arena, Str public_id, DeliveryView *ret,
                          Error *error) MUST_USE;
Err delivery_awaited(Db *db, Arena *arena, Str public_id, Awaited *ret, Error *error) MUST_USE;

// delivery_missing is the answer where there is none.
Err delivery_missing(Uuid id, Error *error);

// DeliveryFilter says which deliveries; what is none does not restrict. Start from
// delivery_filter_any().
typedef struct DeliveryFilter {
    DeliveryState state;
    bool has_state;
    bool is_live; // any live state
    Str trigger, list, job, channel, entity, site;
    bool has_event;
    Uuid event;
    Str cause; // what it is parked for, or fails of while it is live (domain/cause.h)
    Str q;     // words, each of which stands in the address, customer reference, public id or
               // entity, or in the subject of a notification
    Instant stuck_before; // overdue or retrying since before then; INSTANT_NONE for any
    Instant from;         // triggered at or after
    Instant to;           // triggered before
    bool is_to_list;      // it goes to a list
    bool is_run;          // of a job or an automation
    bool is_stuck;        // stuck_before is to be set, by whoever knows the moment
    Uuid *ids;            // these alone; only for delivery_walk()
    size_t id_count;      // 0: any

    // fits asks of what was read whatever else it likes; NULL: nothing. Only for a page.
    bool (*fits)(const DeliveryView *view, const void *with);
    const void *fits_with;
} DeliveryFilter;

enum { DELIVERY_QUERY_MAX = 200, DELIVERY_IDS_MAX = 1000 };

DeliveryFilter delivery_filter_any(void);

// delivery_filter_read reads a filter that lies at pointer, by the rows of delivery_filter_shape.
extern const Shape delivery_filter_shape;
Err delivery_filter_read(Arena *arena, const Json *source, Str pointer, DeliveryFilter *ret,
                         Error *error) MUST_USE;

// delivery_page reads deliveries newest first. It walks along the index that meets the fewest: a
// trigger's, an entity's, the parked, the live, the ended or all; from and to bound the ids that
// are looked at. What moved on meanwhile is left out.
Err delivery_page(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter,
                  const Walk *walk, DeliveryView **ret, Seen *ret_seen, Error *error) MUST_USE;

// delivery_views reads those that there are of some, newest first as they are given; ret_cut: a
// page does not hold them all.
Err delivery_views(Db *db, Arena *arena, int64_t tenant, Uuid *ids, size_t count,
                   DeliveryView **ret, size_t *ret_count, bool *ret_cut, Error *error) MUST_USE;

// delivery_of_event reads up to limit deliveries of an event behind the nth, in their order,
// without the event's payload and recipient.
Err delivery_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, unsigned after,
                      int64_t limit, DeliveryView **ret, size_t *ret_count, Error *error) MUST_USE;

// delivery_rules_of_event tells by number which rules made a delivery of an event.
Err delivery_rules_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, int64_t **ret,
                            size_t *ret_count, Error *error) MUST_USE;

// delivery_walk gives the ids of what was made up to the id until, oldest first, for a filter on
// parked or live ones.
Err delivery_walk(Db *db, Arena *arena, int64_t tenant, const DeliveryFilter *filter, Uuid until,
                  const Walk *walk, IdsSeen *ret, Error *error) MUST_USE;

extern const Statement *const delivery_statements[]; // ends with NULL
