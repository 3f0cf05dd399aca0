// outlook.h - what is still to be sent, and when: the next send of each delivery that has one.
//
// It is counted by minute and lane along the queue's own index, of which no more than
// OUTLOOK_LOOK_MAX rows are looked at: lanes share them, and what some leave others get. Where a
// lane has more than its share, everything is counted up to until, and estimated from there on: one
// event of 16 is in an index of its own (queue_sample), in 256 ranks, as many of which are read as
// have about OUTLOOK_SAMPLE_MAX rows in that time; one at least, which is one event of 4,096. An
// estimate is off by about 1 / sqrt(rows that it was made of); deliveries of one event are in it or
// not together. Of an entity the newest are looked at; there until says from when on it is at least
// so much.
//
// A delivery stands in it once: which reminders follow is not known before it was sent. Neither are
// the runs of schedules, which are made when they are due.
#pragma once

#include "store/db.h"

enum {
    OUTLOOK_LOOK_MAX = 6 * 1000,
    OUTLOOK_SAMPLE_MAX = 8 * 1000,
    OUTLOOK_LANES_MAX = 1000, // with more, all is estimated
    OUTLOOK_ENTITY_MAX = 1000,
};

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
    int64_t sampled; // rows that n is estimated from; 0: they were counted
} OutlookSlot;

typedef struct Outlook {
    OutlookSlot *slots; // by lane, then minute
    size_t count;
    bool is_partial;  // not everything was counted …
    bool is_estimate; // … and from until on it is estimated; else it is at least so much
    Instant until;    // INSTANT_NONE unless it is partial
} Outlook;

Err outlook_read(Db *db, Arena *arena, const OutlookAsked *asked, Outlook *ret,
                 Error *error) MUST_USE;

extern const Statement *const outlook_statements[]; // ends with NULL
