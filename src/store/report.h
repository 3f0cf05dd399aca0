// report.h - what somebody outside tells of a delivery that he has: that he lives, or what became
// of it.
//
// He has it because he pulled it (queue_pull), or because a channel left it with him (a verdict of
// elsewhere), and names it by its fence, or by the number of the attempt where that is what he was
// given. A report that is late, about a delivery that moved on or was called off, changes nothing
// but the record of its attempt, and is told so.
#pragma once

#include "store/queue.h"

typedef struct Report {
    int64_t tenant;
    Uuid id;
    int fence, attempt;   // one of the three, the others 0 …
    int number;           // … here it is what his channel goes by (channel_is_pulled)
    const int64_t *lanes; // he may tell of what is in these alone; NULL: of all
    size_t lane_count;

    bool is_renewal;     // he lives, and asks for a longer lease …
    Instant lease_until; // … until then; 0: as long as his channel gives
    Outcome outcome;     // … else what became of it; never elsewhere

    bool is_missing;  // result: there is no such delivery
    bool is_barred;   // result: it is in none of his lanes
    bool is_stale;    // result: it is not his any more, or never was
    bool is_early;    // result: it is stale because the request that he was asked by is still open
    bool is_repeated; // result: it is stale because so it was told before, of the same claim
    Settlement to;    // result: where the delivery stands now; stale or repeated, its state alone
    bool by_attempt;  // private: number is an attempt's
} Report;

// queue_report carries out many. One delivery may be named several times: each report then finds
// what the one before it left.
Err queue_report(Tx *tx, Report *reports, size_t count, Error *error) MUST_USE;

extern const Statement *const report_statements[]; // ends with NULL
