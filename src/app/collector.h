// collector.h - takes in what programs left in a site's spool (lib/spool.h) while it was away.
//
// Records become rows of the store, as if they had been posted, many in one transaction; what was
// taken in before is known by its id. Then the spool is cut. What cannot be read as a row goes to a
// file beside it, PATH.refused, for a person to look at: nothing that was acknowledged is dropped.
//
// collector_open takes in all there is before it returns, so that nothing that is posted later
// overtakes it; a thread then looks whenever the spool changes.
#pragma once

#include "api/site.h"
#include "store/writer.h"

typedef struct Collector Collector;

typedef struct CollectorOptions {
    Str path; // of the spool
    const Site *site;
    Writer *writer;
    Clock *clock;
} CollectorOptions;

Err collector_open(const CollectorOptions *options, Collector **ret, Error *error) MUST_USE;
void collector_close(Collector *collector); // NULL is allowed
