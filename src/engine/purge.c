#include "engine/state.h"

#include "store/curve.h"
#include "store/definition.h"
#include "store/idempotency.h"
#include "store/inbox.h"
#include "store/list.h"
#include "store/pace.h"
#include "store/purge.h"
#include "store/sample.h"
#include "store/sequence.h"
#include "store/session.h"
#include "store/tally.h"

// The purge deletes what is kept for a while only. Nothing waits for it: what is past its time
// counts for nothing already. It is a quiet duty, so that a clock that jumped deletes nothing. Each
// round does a slice of each row below, no more, so that sending goes on meanwhile: what is kept
// for hours or days goes within a minute, the rest in one run a day (store/purge.h). The upkeep's
// rows look through what they keep each time, so they are not asked for every slice of a run.

typedef struct Purge {
    const char *what;
    int limit; // of a slice
    Err (*run)(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret, Error *error);
} Purge;

static Err of_keys(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret, Error *error)
{
    (void) options;
    TRY(idempotency_purge(tx, limit, &ret->gone, error));
    ret->has_more = ret->gone == limit;
    return ERR_OK;
}

static Err of_samples(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                      Error *error)
{
    (void) options;
    TRY(sample_purge(tx, limit, &ret->gone, error));
    ret->has_more = ret->gone == limit;
    return ERR_OK;
}

static Err of_curves(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                     Error *error)
{
    (void) options;
    TRY(curve_purge(tx, limit, &ret->gone, error));
    ret->has_more = ret->gone == limit;
    return ERR_OK;
}

static Err of_paces(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret, Error *error)
{
    (void) options;
    TRY(pace_purge(tx->db, &tx->arena, tx->now, limit, &ret->gone, error));
    ret->has_more = ret->gone == limit;
    return ERR_OK;
}

static Err of_hooks(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret, Error *error)
{
    (void) options;
    TRY(inbox_purge(tx, limit, &ret->gone, error));
    ret->has_more = ret->gone == limit;
    return ERR_OK;
}

static Err of_members(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                      Error *error)
{
    int64_t members;
    (void) options;
    TRY(list_sweep(tx, limit, &members, error));
    ret->has_more = members == limit;
    return ERR_OK;
}

static Err of_secrets(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                      Error *error)
{
    int64_t definitions;
    (void) options;
    TRY(definition_forget(tx, limit, &definitions, error));
    ret->has_more = definitions == limit;
    return ERR_OK;
}

static Err of_sessions(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                       Error *error)
{
    (void) options;
    TRY(session_purge(tx, limit, &ret->gone, error));
    ret->has_more = ret->gone == limit;
    return ERR_OK;
}

static Err of_counters(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                       Error *error)
{
    (void) limit;
    (void) ret;
    return counter_gather(tx->db, &tx->arena, clock_now(options->real), error);
}

static Err of_tallies(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                      Error *error)
{
    int64_t taken;
    TRY(tally_gather(tx, clock_now(options->real), limit, &taken, error));
    ret->has_more = taken == limit;
    return ERR_OK;
}

static Err of_history(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret,
                      Error *error)
{
    (void) options;
    return sequence_purge(tx, limit, &ret->has_more, error);
}

static Err of_ended(Tx *tx, const EngineOptions *options, int limit, PurgeReport *ret, Error *error)
{
    PurgeTimes times = { options->kept ? options->kept : PURGE_KEPT, options->kept_delivered };
    if (times.delivered == 0)
        times.delivered = times.kept;
    return purge_walk(tx, &times, limit, ret, error);
}

static const Purge purge_rows[] = {
    { "idempotency keys", 500, of_keys },
    { "samples", 500, of_samples },
    { "curves", 500, of_curves },
    { "paces", 500, of_paces },
    { "hooks", 100, of_hooks }, // which may be large
    { "members of lists that were replaced", 500, of_members },
    { "secrets whose overlap is over", 100, of_secrets },
    { "sessions that are over", 500, of_sessions },
    { "all that has ended", PURGE_SLICE, of_ended },
};
static const Purge upkeep_rows[] = {
    { "counters of the gone", 0, of_counters },
    { "tallies of days that are over, and of the gone", 500, of_tallies },
    { "journal and its numbers", 1000, of_history },
};

static Err run_all(const Purge *rows, size_t count, Tx *tx, const EngineOptions *options,
                   DutyReport *ret, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        PurgeReport report = { 0 };
        TRY(rows[i].run(tx, options, rows[i].limit, &report, error));
        ret->tally.purged += report.gone;
        ret->has_more |= report.has_more;
    }
    return ERR_OK;
}

Err purge_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    return run_all(purge_rows, ARRAY_LEN(purge_rows), tx, options, ret, error);
}

Err upkeep_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    return run_all(upkeep_rows, ARRAY_LEN(upkeep_rows), tx, options, ret, error);
}
