// measure.h - what the engine measures (base/metric.h), and what the keys of its series stand for:
// a lane's number, or a type of channel's; with the verdict, measure_key() of one and the other; a
// MeasuredRow.
#pragma once

#include "channels/channel.h"

enum { MEASURE_NO_TYPE = 0, MEASURE_VERDICTS = 8 };
_Static_assert(TABLE_ROWS(VERDICT_TABLE) <= MEASURE_VERDICTS, "a key has room for every verdict");

static inline int64_t measure_key(int64_t of, Verdict verdict)
{
    return of * MEASURE_VERDICTS + (int64_t) verdict;
}

// MeasuredRow is what became of a row of a campaign.
typedef enum MeasuredRow {
    MEASURED_CREATED = 1,
    MEASURED_SKIPPED,
    MEASURED_FAILED,
} MeasuredRow;

Str measured_row_text(int64_t key);
void measure_row(MeasuredRow row, int64_t n);

// measure_type is the text of a type's number.
Str measure_type(int64_t key);

void measure_claimed(const Live *live, Instant now);
void measure_started(const Live *live, Instant now);
void measure_missing(size_t placeholders); // of one message
void measure_ended(const ChannelType *type, int64_t lane, Verdict verdict, Span took);
