// progress.h - what whoever runs a job says while it does: lines, in their order, append-only.
//
// A line belongs to an attempt of a delivery. n counts the lines of a delivery from 1, over all its
// attempts; a run that says more than PROGRESS_LINES_MAX is not listened to any more, so that one
// that talks without end fills nobody's disk. Lines are clean text (judge_text in
// channels/channel.h) and go when their delivery is gone.
//
// Nothing is decided by a line, so none is guarded by a fence here: whoever writes one has seen to
// it that the attempt is his, in the same transaction.
#pragma once

#include "store/tx.h"

enum { PROGRESS_LINES_MAX = 1000, PROGRESS_MESSAGE_MAX = 1000 };

typedef struct Progress {
    int64_t tenant;
    Uuid delivery;
    int attempt;
    Instant at;
    Str message;
    int n; // read only
} Progress;

// progress_add sends lines, those of one delivery in their order; what is beyond the most is left
// out.
void progress_add(Tx *tx, const Progress *rows, size_t count);

// progress_load reads all lines of deliveries, the newest delivery first, each by n. More than a
// page holds (db_page) is not read: ret_cut then, and lines of the last delivery may be missing. A
// page holds those of several.
Err progress_load(Db *db, Arena *arena, int64_t tenant, const Uuid *deliveries, size_t count,
                  Progress **ret, size_t *ret_count, bool *ret_cut, Error *error) MUST_USE;

extern const Statement *const progress_statements[]; // ends with NULL
