#include "engine/state.h"

#include "store/curve.h"
#include "store/sample.h"
#include "store/sequence.h"

// What happened gets its numbers, tenant by tenant, about a second later: waiting makes one slice
// of many transactions. While somebody follows it live it is done sooner (engine_hurry). What a
// node leaves behind, another finds within 5 seconds.

enum { TRANSACTIONS = 200 };

Err sequence_duty_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    return sequence_run(tx, TRANSACTIONS, &ret->has_more, &ret->sequenced, error);
}

void sequence_take(Engine *engine, const DutyReport *report)
{
    const Sequenced *sequenced = &report->sequenced;
    if (engine->options.numbered && sequenced->count > 0)
        engine->options.numbered(engine->options.numbered_with, sequenced);
}

// A hold stops no sample: events come in meanwhile.
Err sample_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    TRY(sample_take(tx, error));
    return curves_write(tx, writer_curves(options->writer), &ret->curves, error);
}

void sample_ran(Engine *engine, const DutyReport *report)
{
    curves_written(writer_curves(engine->options.writer), report->curves,
                   clock_now(engine->options.clock));
}
