// outlook.h - what is still to be sent, and when: the next send of each delivery that has one.
//
// It is counted by minute and lane along the queue's own index, and no more than OUTLOOK_LOOK_MAX
// rows are looked at, however many there are: lanes share them, and what some leave others get.
// Where a lane has more than its share, is_partial says so: up to until all is counted, from there
// on at least so much is still to be sent.
//
// A delivery stands in it once: which reminders follow is not known before it was sent. Neither are
// the runs of schedules, which are made when they are due.
#pragma once

#include "store/db.h"

enum { OUTLOOK_LOOK_MAX = 15 * 1000, OUTLOOK_LANES_MAX = 1000, OUTLOOK_ENTITY_MAX = 1000 };

typedef struct OutlookAsked {
    int64_t tenant;
    Instant from, to;
    Str channel; // none: all
    Str trigger; // none: whatever made it
    Str entity;  // none: whatever it is about
} OutlookAsked;

// OutlookSlot is a minute of a lane in which something is due.
typedef struct OutlookSlot {
    int64_t lane;
    Instant minute;
    int64_t n;
} OutlookSlot;

typedef struct Outlook {
    OutlookSlot *slots; // by lane, then minute
    size_t count;
    bool is_partial;
    Instant until; // INSTANT_NONE unless it is partial
} Outlook;

Err outlook_read(Db *db, Arena *arena, const OutlookAsked *asked, Outlook *ret,
                 Error *error) MUST_USE;

extern const Statement *const outlook_statements[]; // ends with NULL
