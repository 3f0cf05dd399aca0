#include "engine/state.h"

#include "store/sample.h"
#include "store/sequence.h"

// What happened gets its numbers, tenant by tenant, about a second later: waiting makes one slice
// of many transactions. What a node leaves behind, another finds within 5 seconds.

enum { TRANSACTIONS = 200 };

Err sequence_duty_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    return sequence_run(tx, TRANSACTIONS, &ret->has_more, error);
}

// A hold stops no sample: events come in meanwhile.
Err sample_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    (void) ret;
    return sample_take(tx, error);
}
