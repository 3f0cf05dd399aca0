// curve.h - what a channel did in a stretch of time, and how such figures are packed into one row.
//
// A row is of one tenant: figures for each channel that did anything, by the number of its lane.
// How long sends took is a histogram of fixed buckets, four to each doubling, so that those of
// several nodes and minutes add up, and a percentile is off by an eighth at most.
#pragma once

#include "base/base.h"
#include "base/str.h"

enum {
    CURVE_BUCKETS = 112, // the first is below a millisecond, the last a day and more
    CURVE_NO_LANE = 0,   // what is of no channel: events
    CURVE_REST = -1,     // of channels beyond CURVE_LANES_MAX
    CURVE_LANES_MAX = 100,
};

typedef struct CurveFigures {
    int64_t received; // events, of CURVE_NO_LANE; else deliveries that were made
    int64_t delivered, failed, parked;
    uint32_t took[CURVE_BUCKETS];
} CurveFigures;

size_t curve_bucket(Span took);

// curve_percentile is what so many of a hundred took at most, in milliseconds; -1 where there are
// none.
int64_t curve_percentile(const CurveFigures *figures, int percent);

void curve_add(CurveFigures *to, const CurveFigures *from);

// curve_pack adds a lane and its figures to a packed row. curve_take takes the next from its front;
// false at its end, or where it was damaged: what is left of it counts for nothing.
void curve_pack(Buf *out, int64_t lane, const CurveFigures *figures);
bool curve_take(Str *rest, int64_t *ret_lane, CurveFigures *ret);
