#include "engine/state.h"

// A round is one operation of the writer, and one transaction with whatever else is in its batch.
// Everything that can be is sent in one go, so that on PostgreSQL the settle of one round and the
// claim of the next cost one round trip and a commit. The order matters: leases are renewed before
// anything is swept, what is settled or swept can be claimed again, and the probe sees it all.

static Err apply(Tx *tx, Op **ops, size_t count, Error *error);
static void done(Op *op, Err err, const Error *error);

// They are kinds of their own: where a lock keeps the one from going on, the other does.
static const OpKind round_kind = { .name = "round", .apply = apply };
static const OpKind long_kind = { .name = "long round", .apply = apply };

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

void round_submit(Round *round)
{
    Engine *engine = round->engine;
    assert(engine->rounds_out - engine->long_out < ROUNDS_MAX);
    engine->rounds_out++;
    round->news = engine->news;
    round->asked_at = engine_monotonic(engine);
    round->op.weight = round->settles.count + 1;
    writer_submit(engine->options.writer, &round->op);
}

void round_submit_long(Round *round)
{
    round->op.kind = &long_kind;
    round->op.is_long = true;
    round->is_narrow = true;
    round->engine->long_out++;
    round_submit(round);
}

// do_duties: they move what was just settled on, so that is noted first. What happened is told in
// the order in which it did.
static Err do_duties(Tx *tx, Round *round, Error *error)
{
    TRY(tx_sync(tx, error));
    TRY(settle_check(tx, round, error));
    return duty_apply(tx, round, error);
}

static Err apply_one(Tx *tx, Round *round, Error *error)
{
    TRY(renew_apply(tx, round, error));
    TRY(settle_apply(tx, round, error));
    said_apply(tx, round);
    if (round->duties)
        TRY(do_duties(tx, round, error));
    health_apply(tx, round);
    claim_apply(tx, round);
    TRY(tx_sync(tx, error));
    if (!round->duties)
        TRY(settle_check(tx, round, error));
    return claim_check(tx, round, error);
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++)
        TRY(apply_one(tx, (Round *) ops[i], error));
    return ERR_OK;
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

void round_release(Round *round)
{
    queue_claim_drop(&round->claim);
    round->next = round->engine->free_rounds;
    round->engine->free_rounds = round;
}
