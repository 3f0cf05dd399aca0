// zone.h - the clocks of a place: an IANA time zone, read from the system's tzdata.
//
// A Zone is immutable and kept for good, so it may be used by every thread and held for as long as
// one likes; there are some six hundred names, each read from its file once. A change of tzdata is
// seen by the next start. UTC needs no file. Files come from TZDIR, or /usr/share/zoneinfo (the
// package tzdata); what is no name of a zone, or a file that breaks the format (RFC 8536, version 2
// or later, without leap seconds), is ERR_INVALID and never believed in part.
//
// Time in a zone is a row of periods, each with one offset from UTC. Where a period is ahead of the
// one before, the clocks skip a stretch (a gap); where it is behind, they show a stretch twice (an
// overlap). Past the table of the file its closing rule goes on for ever.
//
// A "wall" is what the clocks show, as the Instant at which clocks in UTC show the same.
#pragma once

#include "base/err.h"
#include "base/str.h"

typedef struct Zone Zone;

enum { ZONE_NAME_MAX = 64, ZONE_FILE_MAX = 128 * 1024 };

// ZONE_PAST and ZONE_FUTURE are the ends of the first and of the last period. Nothing that is added
// to them overflows.
#define ZONE_PAST (-(INT64_C(1) << 60))
#define ZONE_FUTURE (INT64_C(1) << 60)

// ZONE_OFFSET_MAX is farther from UTC than any zone may be.
#define ZONE_OFFSET_MAX (26 * SPAN_HOUR)

typedef struct ZonePeriod {
    Instant from, until; // the next period begins at until
    Span offset;         // how far its clocks are ahead of UTC
    Span before;         // the offset of the period before it; its own where there is none
} ZonePeriod;

extern const Zone *const zone_utc;

Err zone_find(Str name, const Zone **ret, Error *error) MUST_USE;

// zone_read makes a zone of the bytes of a file; the zone lives as long as the arena.
Err zone_read(Arena *arena, Str name, Str file, const Zone **ret, Error *error) MUST_USE;

Str zone_name(const Zone *zone);

// zone_period finds the period that an instant lies in.
ZonePeriod zone_period(const Zone *zone, Instant at);

// zone_change finds the first period after at in which the clocks are set otherwise than in the one
// before; false where they are never set again.
bool zone_change(const Zone *zone, Instant at, ZonePeriod *ret);
