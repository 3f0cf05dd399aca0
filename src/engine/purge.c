#include "engine/state.h"

#include "store/idempotency.h"

// The purge deletes what is kept for a while only. Nothing waits for it: what is past its time
// counts for nothing already. It is a quiet duty, so that a clock that jumped deletes nothing.

enum { PURGE_MAX = 500 };

Err purge_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    TRY(idempotency_purge(tx, PURGE_MAX, &ret->tally.purged, error));
    ret->has_more = ret->tally.purged == PURGE_MAX;
    return ERR_OK;
}
