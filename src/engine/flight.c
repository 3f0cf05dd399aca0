#include "engine/state.h"

#include "base/log.h"
#include "store/versions.h"

// The life of a flight. It is in exactly one list at any time, and the list says what it is:
//
//   waiting (its lane's) ─▶ running ─▶ finished ─▶ settling ─▶ free
//
// It waits where its lane has no slot free, for WAIT_MAX at most. It runs from the first byte to
// the judgement, and takes a slot of its lane, alone or with those that are in the same parcel. It
// is finished until a round takes its settle to the store, and back among the finished where that
// round fails. From claim to settle it holds its part of the window.

void flight_move(Flight *flight, FlightList *to)
{
    FlightList *from = flight->list;
    if (from) {
        assert(from->count > 0);
        *(flight->previous ? &flight->previous->next : &from->first) = flight->next;
        *(flight->next ? &flight->next->previous : &from->last) = flight->previous;
        from->count--;
    }
    flight->next = NULL;
    flight->previous = to->last;
    *(to->last ? &to->last->next : &to->first) = flight;
    to->last = flight;
    to->count++;
    flight->list = to;
}

Flight *flight_new(Round *round, const Claimed *claimed, Instant now)
{
    Engine *engine = round->engine;
    LaneState *lane = lane_at(engine, claimed->promise.lane);
    Flight *flight = engine->free_flights.last; // the caches know it best
    if (!flight)
        flight = memory_new(sizeof *flight);
    flight->engine = engine;
    flight->round = round;
    flight->claimed = *claimed;
    flight->bytes = (int64_t) claimed->payload.len;
    flight->claimed_at = round->claimed_at;
    flight->is_bare = false;
    flight->also = flight->whole = NULL;
    flight->has_legs = false;
    flight->host = NULL;
    flight->is_probe = lane->asks_probe;
    lane->asks_probe = false;
    flight->target_count = 0;
    flight->lines = 0;
    flight->others = claimed->others;
    rate_pay(flight, lane, now);
    round->unstarted++;
    lane_hold(engine, lane, (Use){ 1, flight->bytes });
    engine->in_flight++;
    flight_move(flight, &lane->waiting);
    lane_list(engine, lane);
    return flight;
}

void flight_started(Flight *flight)
{
    Round *round = flight->round;
    flight->round = NULL;
    assert(round->unstarted > 0);
    if (--round->unstarted == 0)
        round_release(round);
}

void flight_unclaim(Flight *flight)
{
    const Claimed *claimed = &flight->claimed;
    QueueRow row = claimed_row(claimed);
    flight->settle = settle_from(&row, delivery_release(&claimed->live, claimed->was));
    flight->engine->tally.released++;
    rate_refund(flight, lane_at(flight->engine, claimed->promise.lane));
    flight_move(flight, &flight->engine->finished);
}

void flight_free(Flight *flight)
{
    Engine *engine = flight->engine;
    LaneState *lane = lane_at(engine, flight->claimed.promise.lane);
    if (flight->round)
        flight_started(flight);
    parcel_done(flight);
    versions_drop(flight->claimed.trigger);
    lane_hold(engine, lane, (Use){ -1, -flight->bytes });
    engine->in_flight--;
    arena_reset(&flight->arena);
    flight_move(flight, &engine->free_flights);
}

static void list_free(FlightList *list)
{
    while (list->first)
        flight_free(list->first);
}

void flights_free(Engine *engine)
{
    for (size_t i = 0; i < engine->lanes.room; i++)
        if (engine->lanes.at[i])
            list_free(&engine->lanes.at[i]->waiting);
    list_free(&engine->running);
    list_free(&engine->finished);
    list_free(&engine->settling);
    for (Flight *flight = engine->free_flights.first, *next; flight; flight = next) {
        next = flight->next;
        arena_done(&flight->arena);
        free(flight);
    }
}

static void add_renewals(Round *round, const FlightList *list)
{
    for (Flight *flight = list->first; flight; flight = flight->next) {
        round->renewed[round->renewal_count] = flight;
        round->renewals[round->renewal_count++] = renewal_of(&flight->claimed);
    }
}

// renew_ask keeps the leases of living flights alive. A round that sweeps renews first, whatever
// the time: after an outage, what lives here looks lapsed. What waits is young, and needs it not.
bool renew_ask(Engine *engine, Round *round)
{
    Instant monotonic = engine_monotonic(engine);
    bool sweeps = round->duties & 1u << DUTY_SWEEP;
    size_t count = engine->running.count + engine->finished.count + engine->settling.count;
    if (count == 0 || (!sweeps && monotonic - engine->renewed_at < RENEW_EVERY))
        return false;
    engine->renewed_at = monotonic;
    round->renewed = ARENA_ARRAY(&round->arena, Flight *, count);
    round->renewals = ARENA_ARRAY(&round->arena, Renewal, count);
    add_renewals(round, &engine->running);
    add_renewals(round, &engine->finished);
    if (sweeps)
        add_renewals(round, &engine->settling);
    return round->renewal_count > 0;
}

Err renew_apply(Tx *tx, Round *round, Error *error)
{
    if (round->renewal_count == 0)
        return ERR_OK;
    return queue_renew(tx, round->renewals, round->renewal_count, tx->now + SEND_LEASE, error);
}

// renew_take tells of the leases that were lost: another node, or a person, has taken the delivery.
// The attempt is on its way; its settle will be stale and only note what came of it.
void renew_take(Engine *engine, const Round *round)
{
    for (size_t i = 0; i < round->renewal_count; i++) {
        const Flight *flight = round->renewed[i];
        bool is_same = uuid_cmp(flight->claimed.promise.id, round->renewals[i].id) == 0 &&
                       flight->list == &engine->running;
        if (round->renewals[i].is_lost && is_same)
            log_info("lease.lost", "attempt=%d", flight->claimed.live.attempt);
    }
}
