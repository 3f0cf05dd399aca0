#include "engine/state.h"

// Legs: where a message has more targets than its channel takes in one request, its flight goes out
// in legs. Each is a flight of its own under it, with some of the targets and one request: it takes
// a slot of the lane and a place in the window, is paid for by the rate and is a sign to the
// circuits as any other parcel. The flight is running while one of them is; then it settles once,
// with what all were told.
//
// They start as slots are free, the next ones when one ends, for as long as their TURN lasts. What
// has not begun by then, or may not (a circuit has opened, the far side asks for a pause, the rate
// is spent, Peal stops), has no outcome: it stays due, and nothing is counted against it. So a list
// holds up what stands behind it for a turn and one call. What was claimed meanwhile goes before
// the next leg, and of every four slots one is left to others.
//
// Legs lie in the memory of their flight, and go with it.

#define TURN ((Span) 500 * SPAN_MILLISECOND)

bool legs_wanted(const Flight *first)
{
    size_t max = (size_t) first->type->targets_max;
    return max > 0 && first->target_count > max;
}

// has_left: some need a leg yet. What became of others is known beforehand: they opted out.
static bool has_left(Flight *whole)
{
    while (whole->legs_from < whole->target_count &&
           target_is_judged(&whole->targets[whole->legs_from]))
        whole->legs_from++;
    return whole->legs_from < whole->target_count;
}

static void drop_rest(Flight *whole)
{
    whole->legs_from = whole->target_count;
}

// leg_new makes the next one. The first has what its flight has: the payment, and the probe.
static Flight *leg_new(Flight *whole, LaneState *lane, const RegistryLane *way)
{
    Engine *engine = whole->engine;
    Instant now = clock_now(engine->options.clock);
    Flight *leg = ARENA_NEW(&whole->arena, Flight);
    Message *message = arena_copy(&whole->arena, whole->parcel.messages, sizeof *message);
    size_t left = whole->target_count - whole->legs_from, max = (size_t) whole->type->targets_max;
    *leg = (Flight){ .engine = engine,
                     .whole = whole,
                     .claimed = whole->claimed,
                     .claimed_at = whole->claimed_at,
                     .started_at = engine_monotonic(engine),
                     .type = whole->type,
                     .targets = &whole->targets[whole->legs_from],
                     .target_count = left < max ? left : max,
                     .is_probe = whole->is_probe };
    message->targets = leg->targets;
    message->target_count = leg->target_count;
    leg->parcel = (Parcel){ .type = whole->type,
                            .config = registry_config(engine->registry, way->channel),
                            .messages = message,
                            .count = 1,
                            .arena = &whole->arena,
                            .now = now };
    whole->is_probe = false;
    if (whole->has_legs)
        rate_pay(leg, lane, now);
    else
        leg->rate_window = whole->rate_window;
    whole->rate_window = 0;
    whole->has_legs = true;
    return leg;
}

// has_turn: another leg may be asked for. The first was let start with its flight.
static bool has_turn(const Flight *whole, LaneState *lane, const RegistryLane *way)
{
    const Engine *engine = whole->engine;
    if (!whole->has_legs)
        return true;
    return lane_type(engine, way) == whole->type && way->channel->definition.enabled &&
           engine_monotonic(engine) - whole->started_at < TURN &&
           rate_left(engine, lane, clock_now(engine->options.clock)) > 0;
}

static bool has_slot(const Flight *whole, const LaneState *lane, const RegistryLane *way)
{
    const Engine *engine = whole->engine;
    int slots = lane_slots(engine, lane, way);
    bool fits = engine->use.rows < (int64_t) engine->options.flights_max;
    return !whole->has_legs || (fits && lane->running < slots - slots / 4);
}

static void start(Flight *whole, LaneState *lane, const RegistryLane *way)
{
    Flight *leg = leg_new(whole, lane, way);
    if (!flight_may_start(leg, lane)) {
        rate_refund(leg, lane);
        drop_rest(whole);
        return;
    }
    whole->legs_from += leg->target_count;
    whole->legs_out++;
    lane_hold(whole->engine, lane, (Use){ 1, 0 });
    parcel_carry(leg, way);
    parcel_forget(leg);
}

// land gives back what was not tried, and settles what was. Where all have opted out there was no
// leg, and the probe, if it was to be one, goes back too.
static void land(Flight *whole)
{
    size_t told = 0;
    for (size_t i = 0; i < whole->target_count; i++)
        if (target_is_judged(&whole->targets[i]))
            whole->targets[told++] = whole->targets[i];
    if (!whole->has_legs)
        circuit_leave(whole, lane_at(whole->engine, whole->claimed.promise.lane));
    whole->claimed.has_more |= told < whole->target_count;
    whole->target_count = told;
    if (told == 0)
        flight_unclaim(whole);
    else
        parcel_settle(whole);
    parcel_done(whole);
}

void legs_go_on(Flight *whole)
{
    LaneState *lane = lane_at(whole->engine, whole->claimed.promise.lane);
    const RegistryLane *way = registry_lane(whole->engine->registry, lane->number);
    if (whole->starts_legs)
        return; // one has come back while it started
    whole->starts_legs = true;
    while (has_left(whole) && has_slot(whole, lane, way)) {
        if (has_turn(whole, lane, way))
            start(whole, lane, way);
        else
            drop_rest(whole);
    }
    whole->starts_legs = false;
    if (whole->round && (!has_left(whole) || whole->legs_out == 0))
        parcel_unpack(whole);
    if (whole->legs_out == 0)
        land(whole);
}

void legs_begin(Flight *whole)
{
    assert(whole->parcel.count == 1);
    whole->legs_from = 0;
    whole->legs_out = 0;
    whole->has_legs = whole->starts_legs = false;
    legs_go_on(whole);
}

void leg_over(Flight *leg)
{
    Flight *whole = leg->whole;
    assert(whole->legs_out > 0);
    whole->legs_out--;
    lane_hold(whole->engine, lane_at(whole->engine, whole->claimed.promise.lane), (Use){ -1, 0 });
}

// leg_unclaim: those behind it would fare alike.
void leg_unclaim(Flight *leg, LaneState *lane)
{
    rate_refund(leg, lane);
    drop_rest(leg->whole);
    leg_over(leg);
}

void legs_call_off(Engine *engine, const Uuid *ids, size_t count)
{
    for (Flight *flight = engine->running.first; flight; flight = flight->next)
        if (flight->has_legs && flight_is_among(flight, ids, count))
            drop_rest(flight);
}
