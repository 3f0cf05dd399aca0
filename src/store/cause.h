// cause.h - the causes for which deliveries are parked, or retried, and how many are each one's.
//
// Each such delivery has the number of its cause in its row (domain/cause.h, queue.c), and an index
// leads along causes: a page goes from one to the next and counts on the index alone. It counts no
// more than CAUSE_COUNT_MAX deliveries in all. Where there are more it ends within a cause, and the
// next page begins with the rest of that one: its count is to be added up.
#pragma once

#include "domain/cause.h"
#include "store/walk.h"

enum { CAUSE_COUNT_MAX = 10000 };

typedef struct Cause {
    int64_t cause;
    int64_t lane;
    DeliveryReason reason; // of the last attempt; where there was none, of where it stands
    int code;              // the protocol's own; 0 for none
    Str sample;            // what was said, without what differs; none
    int64_t count;         // of those that this page has counted
    Instant oldest;        // when the first of all was triggered; INSTANT_NONE
    Instant newest;        // when the last of all was
} Cause;

// cause_page reads causes of what is PARKED or RETRYING, those with the most first. walk->met_max
// is CAUSE_COUNT_MAX where it is 0.
Err cause_page(Db *db, Arena *arena, int64_t tenant, DeliveryState state, const Walk *walk,
               Cause **ret, Seen *ret_seen, Error *error) MUST_USE;

extern const Statement *const cause_statements[]; // ends with NULL
