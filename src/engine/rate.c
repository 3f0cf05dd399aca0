#include "engine/state.h"

#include "store/rate.h"

// A channel's rate holds over all nodes: shares of it are taken in the store, with the round that
// finds a lane without one, and the next round claims by them (store/rate.h). A share is for its
// window alone. What is claimed is paid for when it comes back, and starts in the window that it
// was paid from, or is given back. A lane whose channel has no rate asks nothing of all this.

static const ChannelDefinition *definition_of(const Engine *engine, const LaneState *lane)
{
    const RegistryLane *way = registry_lane(engine->registry, lane->number);
    return way && way->channel ? &way->channel->definition : NULL;
}

static bool has_rate(const ChannelDefinition *definition)
{
    return definition && definition->rate_max > 0;
}

static Instant window_at(const ChannelDefinition *definition, Instant now)
{
    return rate_window(definition->rate_per, now);
}

int64_t rate_left(const Engine *engine, LaneState *lane, Instant now)
{
    const ChannelDefinition *definition = definition_of(engine, lane);
    if (!has_rate(definition))
        return INT64_MAX;
    Instant window = window_at(definition, now);
    if (lane->rate_window != window) {
        lane->rate_window = window;
        lane->rate_share = 0;
    }
    return lane->rate_share - lane->asked;
}

void rate_want(Engine *engine, LaneState *lane, int64_t wanted)
{
    Lanes *lanes = &engine->lanes;
    lane_fill(engine, lane);
    if (lane->rate_wanted == 0)
        lanes->rated[lanes->rated_count++] = lane;
    lane->rate_wanted = wanted;
}

static int by_lane(const void *a, const void *b)
{
    const RateShare *x = a, *y = b;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

bool rate_ask(Engine *engine, Round *round, Instant now)
{
    Lanes *lanes = &engine->lanes;
    if (lanes->rated_count == 0)
        return false;
    round->shares = ARENA_ARRAY(&round->arena, RateShare, lanes->rated_count);
    for (size_t i = 0; i < lanes->rated_count; i++) {
        LaneState *lane = lanes->rated[i];
        const ChannelDefinition *definition = definition_of(engine, lane);
        int64_t wanted = lane->rate_wanted;
        lane->rate_wanted = 0;
        if (!has_rate(definition)) { // it has lost it meanwhile
            lane_freed(engine, lane);
            continue;
        }
        round->shares[round->share_count++] =
            (RateShare){ .lane = lane->number,
                         .window_at = window_at(definition, now),
                         .max = definition->rate_max,
                         .wanted = earlier(wanted, definition->rate_max),
                         .future = now + RATE_CLOCK_WRONG };
    }
    lanes->rated_count = 0;
    qsort(round->shares, round->share_count, sizeof *round->shares, by_lane);
    return round->share_count > 0;
}

void rate_apply(Tx *tx, Round *round)
{
    if (round->share_count > 0)
        rate_take(tx, &round->arena, round->shares, round->share_count, &round->granted);
}

void rate_check(Round *round)
{
    if (round->share_count > 0)
        rate_granted(&round->granted, round->shares, round->share_count);
}

void rate_came(Engine *engine, const Round *round, Instant now)
{
    for (size_t i = 0; i < round->share_count; i++) {
        const RateShare *share = &round->shares[i];
        LaneState *lane = lane_at(engine, share->lane);
        const ChannelDefinition *definition = definition_of(engine, lane);
        rate_left(engine, lane, now); // the window may be over
        lane_freed(engine, lane);
        if (!has_rate(definition) || lane->rate_window != share->window_at)
            continue;
        lane->rate_share += share->granted;
        if (lane->rate_share <= 0)
            lane_block(engine, lane, share->window_at + definition->rate_per);
    }
}

void rate_failed(Engine *engine, const Round *round)
{
    for (size_t i = 0; i < round->share_count; i++)
        lane_freed(engine, lane_at(engine, round->shares[i].lane));
}

void rate_pay(Flight *flight, LaneState *lane, Instant now)
{
    bool has_no_rate = rate_left(flight->engine, lane, now) == INT64_MAX;
    flight->rate_window = has_no_rate ? 0 : INSTANT_NONE;
    if (has_no_rate || lane->rate_share <= 0)
        return;
    lane->rate_share--;
    flight->rate_window = lane->rate_window;
}

bool rate_is_paid(const Flight *flight, LaneState *lane, Instant now)
{
    return flight->rate_window == 0 || (rate_left(flight->engine, lane, now) != INT64_MAX &&
                                        flight->rate_window == lane->rate_window);
}

// rate_refund: a lane that waits for the next window because this one was spent looks again.
void rate_refund(const Flight *flight, LaneState *lane)
{
    const ChannelDefinition *definition = definition_of(flight->engine, lane);
    if (flight->rate_window == 0 || flight->rate_window != lane->rate_window)
        return;
    lane->rate_share++;
    if (has_rate(definition) && lane->blocked_until == lane->rate_window + definition->rate_per)
        lane_block(flight->engine, lane, 0);
}
