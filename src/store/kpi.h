// kpi.h - a few figures that tell how a tenant's queue does, in all and by site.
//
// They come from the counters (counter.h) and from pace.h; nothing counts the deliveries. What the
// counters do not tell apart is looked at in the queue, KPI_LOOK_MAX rows at a time: what is due;
// where that is more, what is not due for long, for then all the rest is; and what is retried.
// Where none of the first two can be looked at whole, or not the third, is_exact is false: at least
// so many are due or stuck as is said, and none is older but those that were not looked at. Where
// more is due than is looked at, the oldest of a site is the oldest that was; of all it is the
// oldest in any lane.
//
// Whatever is live is in queue_depth or in scheduled. What was sent and waits is scheduled: for its
// next reminder, which is due like any other send when its time comes, or for the end of its grace.
// Counters do not tell these two apart. So where more is due than is looked at, reminders among it
// are those that were met, and is_exact needs all that waits to be among them.
#pragma once

#include "store/db.h"

enum { KPI_LOOK_MAX = 1000 };

typedef struct Kpi {
    int64_t number;      // of the site; 0: of what came from none
    Str site;            // its name; none
    int64_t queue_depth; // due, being sent or retried
    int64_t sending;     // of these
    int64_t scheduled;   // pending or waiting, and not yet due
    int64_t waiting;     // of these, as far as they were not met in the queue
    int64_t stuck;       // due or retried, and first due DELIVERY_STUCK_AFTER ago or longer
    int64_t parked;
    int64_t delivered; // in the last whole minute
    Instant oldest;    // when the oldest that is due or retried first was; INSTANT_NONE
} Kpi;

typedef struct KpiFilter {
    Str site;                  // none: all
    bool is_notification_only; // what lists made
} KpiFilter;

typedef struct KpiReport {
    Kpi total;
    Kpi *sites; // that have anything, by number; without what came from no site
    size_t site_count;
    bool is_exact;
} KpiReport;

Err kpi_read(Db *db, Arena *arena, int64_t tenant, const KpiFilter *filter, Instant now,
             KpiReport *ret, Error *error) MUST_USE;

extern const Statement *const kpi_statements[]; // ends with NULL
