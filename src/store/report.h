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
    int fence, attempt; // one of the two; the other is 0

    bool is_renewal; // he lives, and asks for a longer lease …
    Instant lease_until;
    Outcome outcome; // … else what became of it; never elsewhere

    bool is_stale; // result: it is not his any more, or never was
    Settlement to; // result, unless it is stale: where the delivery stands now
} Report;

// queue_report carries out many; a delivery may be named once.
Err queue_report(Tx *tx, Report *reports, size_t count, Error *error) MUST_USE;

extern const Statement *const report_statements[]; // ends with NULL
