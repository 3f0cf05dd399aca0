// curve.h - what came in, arrived, failed and was parked, minute by minute and by channel: the
// history behind charts (domain/curve.h has the figures).
//
// Every process gathers in memory what its commits did, and writes it about once a minute and when
// it stops: no attempt writes anything for it, and who is killed loses the last minute of his own.
// Each tenant has a row for each minute and each hour in which it did anything, by process. A row
// is written whole each time, so that writing it twice does no harm: its part is the process's and
// counts on, so that nobody else's is overwritten. Whoever reads adds up what is stored and, for
// what he himself has not written yet, what he has in memory; other nodes' last minute is seen when
// they have written it. Rows are kept for CURVE_KEPT.
//
// Of a tenant's channels the first CURVE_LANES_MAX of a minute have figures of their own, all
// others are one (CURVE_REST). CURVE_CELLS_MAX bounds what a process gathers for all tenants; what
// would be more is not gathered until the next minute.
#pragma once

#include "domain/curve.h"
#include "store/tx.h"

#define CURVE_KEPT ((Span) 400 * SPAN_DAY)

enum { CURVE_CELLS_MAX = 64 * 1024 };

typedef struct Curves Curves;
Curves *curves_new(void);
void curves_free(Curves *curves);

// curves_gather takes in what a transaction did, which has been committed.
void curves_gather(Curves *curves, const Tx *tx);

// curves_write sends what was gathered since it was written last; ret is for curves_written, after
// the commit, which lets go of minutes and hours that are over.
Err curves_write(Tx *tx, Curves *curves, int64_t *ret, Error *error) MUST_USE;
void curves_written(Curves *curves, int64_t written, Instant now);

// CurvePoint is what was done in one step of time.
typedef struct CurvePoint {
    CurveFigures figures; // of all that was asked for
    int64_t depth;        // sends that were still to be made; -1: not known
} CurvePoint;

typedef struct CurveFailures {
    int64_t lane; // or CURVE_REST
    int64_t total;
    int64_t *counts; // by point
} CurveFailures;

typedef struct CurveAsked {
    int64_t tenant;
    int64_t lane;     // 0: all
    Instant from, to; // at the ends of steps
    Span step;        // whole minutes; from an hour on, whole hours
} CurveAsked;

enum { CURVE_POINTS_MAX = 1500, CURVE_FAILURES_MAX = 50 };

typedef struct CurveReport {
    CurvePoint *points;
    size_t count;
    CurveFailures *failures; // the channels with the most; the last may be all others
    size_t failure_count;
    bool is_partial; // some of what the channel did may stand among all others
} CurveReport;

Err curve_read(Db *db, Arena *arena, Curves *curves, const CurveAsked *asked, CurveReport *ret,
               Error *error) MUST_USE;

// curve_purge deletes up to limit rows whose time is over, the oldest first, and counts them.
Err curve_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error) MUST_USE;

extern const Statement *const curve_statements[]; // ends with NULL
