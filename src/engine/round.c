#include "engine/state.h"

#include "base/log.h"
#include "store/definition.h"
#include "store/node.h"
#include "store/operation.h"

// A round is one operation of the writer. Everything it needs is sent in one go, so that on
// PostgreSQL the settle of one round and the claim of the next cost one round trip and a commit.

static Err apply(Tx *tx, Op **ops, size_t count, Error *error);
static void done(Op *op, Err err, const Error *error);

static const OpKind round_kind = { .name = "round", .apply = apply };

Round *round_new(Engine *engine)
{
    Round *round = engine->free_rounds;
    if (round)
        engine->free_rounds = round->next;
    else
        round = memory_new(sizeof *round);
    Arena arena = round->arena;
    arena_reset(&arena);
    *round = (Round){ .engine = engine, .arena = arena };
    round->op.kind = &round_kind;
    round->op.done = done;
    round->op.patience = SPAN_SECOND;
    round->op.is_urgent = true;
    return round;
}

void round_release(Round *round)
{
    queue_claim_drop(&round->claim);
    round->next = round->engine->free_rounds;
    round->engine->free_rounds = round;
}

void round_submit(Round *round)
{
    Engine *engine = round->engine;
    engine->rounds_out++;
    round->op.weight = round->settles.count + 1;
    writer_submit(engine->options.writer, &round->op);
}

// done runs on the writer's thread: it only hands the round back.
static void done(Op *op, Err err, const Error *error)
{
    Round *round = (Round *) op;
    Engine *engine = round->engine;
    round->err = err;
    if (err != ERR_OK)
        snprintf(round->detail, sizeof round->detail, "%s", error->detail);
    pthread_mutex_lock(&engine->lock);
    round->next = engine->arrived;
    engine->arrived = round;
    pthread_mutex_unlock(&engine->lock);
    transport_wake(engine->options.transport);
}

static Err beat(Tx *tx, Round *round, Error *error)
{
    const EngineOptions *options = &round->engine->options;
    Instant real_now = clock_now(options->real);
    TRY(node_beat(tx, options->node, real_now, error));
    TRY(node_others(tx->db, options->node, real_now, &round->other_nodes, error));
    return node_offset(tx->db, options->real, &round->clock_offset, error);
}

// disable_gone switches off the channels whose far side says, for good, that it is gone.
static Err disable_gone(Tx *tx, const Round *round, Error *error)
{
    for (size_t i = 0; i < round->settles.count; i++) {
        const Settle *settle = &round->settles.rows[i];
        if (settle->is_stale || settle->attempt.outcome.reason != REASON_GONE)
            continue;
        const RegistryLane *lane = registry_lane(tx->registry, settle->lane);
        if (!lane || !lane->channel || !lane->channel->definition.enabled)
            continue;
        log_warn("channel.gone", "channel=%s detail=\"410: the channel is disabled\"",
                 log_quote(lane->channel_key));
        TRY(definition_disable(tx, lane->tenant, DEFINITION_CHANNEL, lane->channel_key, error));
    }
    return ERR_OK;
}

static Err apply_one(Tx *tx, Round *round, Error *error)
{
    TRY(queue_settle(tx, &round->settles, error));
    if (round->renewal_count)
        TRY(queue_renew(tx, round->renewals, round->renewal_count, tx->now + SEND_LEASE, error));
    if (round->sweeps) {
        TRY(tx_sync(tx, error));
        TRY(queue_sweep(tx, &round->sweep, error));
    }
    if (round->steps_operations)
        TRY(operation_step(tx, SWEEP_MAX, &round->has_more_operations, error));
    // The lease runs from this try, however long the round waited for the store before.
    round->claimed_at_monotonic = clock_monotonic(round->engine->options.clock);
    round->claim.lanes = round->lanes;
    round->claim.arena = &round->arena;
    round->claim.node = round->engine->options.node;
    round->claim.lease_until = tx->now + SEND_LEASE;
    queue_claim(tx, &round->claim);
    // The probe must see the claim done: on SQLite that takes a second step.
    if (!db_is_postgres(tx->db))
        TRY(queue_claim_take(tx, &round->claim, error));
    if (round->probes)
        queue_next(tx->db, &round->upcoming);
    TRY(tx_sync(tx, error));
    TRY(queue_settle_check(tx, &round->settles, error));
    TRY(disable_gone(tx, round, error));
    if (db_is_postgres(tx->db))
        TRY(queue_claim_take(tx, &round->claim, error));
    if (round->probes)
        queue_next_take(&round->upcoming);
    if (round->beats)
        TRY(beat(tx, round, error));
    return ERR_OK;
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++)
        TRY(apply_one(tx, (Round *) ops[i], error));
    return ERR_OK;
}
