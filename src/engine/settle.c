#include "engine/state.h"

#include "base/log.h"
#include "store/definition.h"
#include "store/follow.h"

// What became of an attempt goes to the store, once, in the next round. A round that fails leaves
// its settles owed: they go back among the finished and are tried again, for as long as it takes,
// because the attempts were made.
//
// A settle that the store refuses, whatever the reason, must not stop the others. While the store
// is there and rounds fail, each round does one thing (engine.c), and half as many settles as the
// one that failed, down to one. The guilty one is settled without its words: what the far side
// said, and its id. Where even that is refused it goes to the end of the line, again and again: it
// is never let go, for then it would be sent twice. Each round that goes well doubles the number.

bool settle_ask(Engine *engine, Round *round)
{
    size_t count = engine->finished.count;
    if (count > engine->settle_max)
        count = engine->settle_max;
    if (count == 0)
        return false;
    round->settling = ARENA_ARRAY(&round->arena, Flight *, count);
    round->settles.rows = ARENA_ARRAY(&round->arena, Settle, count);
    for (size_t i = 0; i < count; i++) {
        Flight *flight = engine->finished.first;
        round->settling[i] = flight;
        round->settles.rows[i] = flight->settle;
        flight_move(flight, &engine->settling);
    }
    round->settles.count = count;
    return true;
}

Err settle_apply(Tx *tx, Round *round, Error *error)
{
    return follow_settle(tx, &round->settles, error);
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

Err settle_check(Tx *tx, Round *round, Error *error)
{
    TRY(queue_settle_check(tx, &round->settles, error));
    TRY(follow_settled(tx, &round->settles, error));
    return disable_gone(tx, round, error);
}

static void count_settled(Engine *engine, const Settle *settle)
{
    if (!settle->has_attempt)
        return; // it was given back
    if (settle->is_stale) {
        engine->tally.stale++;
        log_info("settle.stale", "attempt=%d verdict=%s", settle->attempt.number,
                 verdict_text(settle->attempt.outcome.verdict));
        return;
    }
    bool goes_on = settle->to.live.state == DELIVERY_RETRYING && settle->to.reason == REASON_NONE;
    if (goes_on)
        return; // with its next targets
    if (settle->attempt.outcome.verdict == VERDICT_DELIVERED)
        engine->tally.delivered++;
    else if (settle->to.live.state == DELIVERY_RETRYING)
        engine->tally.retried++;
    else if (settle->to.live.state == DELIVERY_PARKED)
        engine->tally.parked++;
}

// learn_settled knows when the delivery comes back.
static void learn_settled(Engine *engine, const Settle *settle)
{
    const Live *live = &settle->to.live;
    if (settle->is_stale)
        return;
    if (live->state == DELIVERY_PARKED)
        duty_falls_due(engine, DUTY_EXPIRE, settle->to.expires_at);
    else if (delivery_is_live(live->state) && live->step == STEP_SEND)
        lane_falls_due(engine, settle->lane, live->due_at);
    else if (delivery_is_live(live->state))
        duty_falls_due(engine, DUTY_EXPIRE, live->due_at);
}

void settle_take(Engine *engine, Round *round)
{
    for (size_t i = 0; i < round->settles.count; i++) {
        assert(round->settling[i]->list == &engine->settling);
        count_settled(engine, &round->settles.rows[i]);
        learn_settled(engine, &round->settles.rows[i]);
        flight_free(round->settling[i]);
    }
    if (round->settles.count > 0 && engine->settle_max < CLAIM_MAX)
        engine->settle_max *= 2;
}

// strip leaves of a settle what any store takes: what the far side said, and its id, go.
static void strip(Flight *flight, const Round *round)
{
    if (flight->is_bare)
        return;
    flight->is_bare = true;
    flight->settle.attempt.outcome.detail = flight->settle.attempt.outcome.provider_id = STR_NONE;
    for (size_t i = 0; i < flight->target_count; i++)
        flight->targets[i].outcome.detail = flight->targets[i].outcome.provider_id = STR_NONE;
    char id[UUID_TEXT_LEN + 1];
    log_error("settle.stripped", "delivery=%.*s detail=%s",
              STR_ARG(uuid_text(flight->claimed.promise.id, id)),
              log_quote(str_from(round->detail)));
}

void settle_failed(Engine *engine, Round *round)
{
    size_t count = round->settles.count;
    for (size_t i = 0; i < count; i++)
        flight_move(round->settling[i], &engine->finished);
    if (round->is_narrow && count > 1)
        engine->settle_max = count / 2;
    if (round->is_narrow && count == 1)
        strip(round->settling[0], round);
}
