#include "engine/state.h"

#include "store/idempotency.h"
#include "store/list.h"
#include "store/pace.h"
#include "store/sample.h"

// The purge deletes what is kept for a while only. Nothing waits for it: what is past its time
// counts for nothing already. It is a quiet duty, so that a clock that jumped deletes nothing.

enum { PURGE_MAX = 500 };

Err purge_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    (void) options;
    int64_t keys, samples, paces, members;
    TRY(idempotency_purge(tx, PURGE_MAX, &keys, error));
    TRY(sample_purge(tx, PURGE_MAX, &samples, error));
    TRY(pace_purge(tx->db, &tx->arena, tx->now, PURGE_MAX, &paces, error));
    TRY(list_sweep(tx, PURGE_MAX, &members, error));
    ret->tally.purged = keys + samples + paces;
    ret->has_more =
        keys == PURGE_MAX || samples == PURGE_MAX || paces == PURGE_MAX || members == PURGE_MAX;
    return ERR_OK;
}
