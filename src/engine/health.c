#include "engine/state.h"

#include "store/health.h"

// What this node has found out of its lanes goes to the store with the next round, so that all
// nodes show it; and what a far side asked of all of them, to pause, comes from there with every
// look at all lanes. One round at a time takes it along: of two, the later might be written first.
//
// The store has the last word on pauses: whoever changes a channel ends its pause there, and a node
// whose own has been told and is not there any more ends it too.

#define UNTOLD UINT64_MAX // of a pause that this node was asked for

enum { ERROR_KEPT_MAX = 500, DETAIL_KEPT_MAX = 400 };

// cut keeps whole characters.
static Str cut(Str text)
{
    size_t len = 0;
    for (size_t n; (n = str_utf8_len(str_skip(text, len))) > 0 && len + n <= DETAIL_KEPT_MAX;)
        len += n;
    return (Str){ text.at, len };
}

void health_note(Engine *engine, LaneState *lane)
{
    Lanes *lanes = &engine->lanes;
    if (lane->is_noted)
        return;
    lane->is_noted = true;
    lanes->noted[lanes->noted_count++] = lane;
}

void health_remember(LaneState *lane, const Outcome *outcome)
{
    DEFER(arena_done) Arena arena = { 0 };
    Buf text = buf_new(&arena, ERROR_KEPT_MAX);
    buf_add(&text, str_from(reason_code(outcome->reason)));
    if (outcome->code)
        buf_add_format(&text, " (%d)", outcome->code);
    if (outcome->detail.len > 0)
        buf_add_format(&text, ": %.*s", STR_ARG(cut(outcome->detail)));
    free(lane->error);
    lane->error = text_keep(buf_str(&text));
}

void health_share(LaneState *lane, const LaneState *with)
{
    if (!with->error)
        return;
    free(lane->error);
    lane->error = text_keep(str_from(with->error));
}

static Instant shown(Instant at)
{
    return at ? at : INSTANT_NONE;
}

static Health health_of(Arena *arena, const LaneState *lane)
{
    const Circuit *own = &lane->circuit;
    const Circuit *circuit =
        own->state == CIRCUIT_CLOSED && lane->host ? &lane->host->circuit : own;
    bool is_held = circuit->state != CIRCUIT_CLOSED || lane->paused_until;
    return (Health){ .tenant = lane->tenant,
                     .lane = lane->number,
                     .circuit = circuit->state,
                     .failures = circuit->failures,
                     .since = shown(circuit->since),
                     .probe_at = shown(circuit->probe_at),
                     .error =
                         is_held && lane->error ? str_dup(arena, str_from(lane->error)) : STR_NONE,
                     .paused_until =
                         lane->pause_told == UNTOLD ? shown(lane->paused_until) : INSTANT_NONE };
}

static int by_lane(const void *a, const void *b)
{
    const Health *x = a, *y = b;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

bool health_ask(Engine *engine, Round *round)
{
    Lanes *lanes = &engine->lanes;
    if (lanes->noted_count == 0 || engine->tells_health)
        return false;
    engine->tells_health = true;
    round->healths = ARENA_ARRAY(&round->arena, Health, lanes->noted_count);
    for (size_t i = 0; i < lanes->noted_count; i++) {
        lanes->noted[i]->is_noted = false;
        round->healths[i] = health_of(&round->arena, lanes->noted[i]);
    }
    round->health_count = lanes->noted_count;
    lanes->noted_count = 0;
    qsort(round->healths, round->health_count, sizeof *round->healths, by_lane);
    return true;
}

void health_apply(Tx *tx, Round *round)
{
    health_put(tx, round->healths, round->health_count);
    if (round->probes_all)
        health_pauses(tx->db, &round->arena, tx->now, &round->pauses);
}

// pause: told is since when the store knows of it.
static void pause(Engine *engine, LaneState *lane, Instant until, uint64_t told)
{
    if (until <= lane->paused_until)
        return;
    lane->paused_until = until;
    lane->pause_told = told;
    lane_block(engine, lane, until);
}

static void lift(Engine *engine, LaneState *lane)
{
    if (!lane->paused_until)
        return;
    lane->paused_until = 0;
    lane_block(engine, lane, 0);
}

// take_pauses takes in which lanes pause, by number. What the store knew of before the round left,
// and does not show, is over or was lifted.
static void take_pauses(Engine *engine, const Round *round)
{
    size_t at = 0, count = round->pauses.count;
    for (size_t i = 0; i < count; i++)
        lane_at(engine, health_pause(&round->pauses, i).lane); // another node's may be new
    for (size_t number = 0; number < engine->lanes.room; number++) {
        LaneState *lane = engine->lanes.at[number];
        if (!lane)
            continue;
        if (at < count && health_pause(&round->pauses, at).lane == lane->number)
            pause(engine, lane, health_pause(&round->pauses, at++).paused_until, 0);
        else if (lane->pause_told <= round->news)
            lift(engine, lane);
    }
}

static void is_told(Engine *engine, const Round *round)
{
    if (round->health_count > 0)
        engine->tells_health = false;
}

void health_take(Engine *engine, const Round *round)
{
    is_told(engine, round);
    for (size_t i = 0; i < round->health_count; i++) {
        LaneState *lane = lane_at(engine, round->healths[i].lane);
        if (round->healths[i].paused_until == lane->paused_until)
            lane->pause_told = ++engine->news;
    }
    if (round->probes_all)
        take_pauses(engine, round);
}

void health_failed(Engine *engine, const Round *round)
{
    is_told(engine, round);
    for (size_t i = 0; i < round->health_count; i++)
        health_note(engine, lane_at(engine, round->healths[i].lane));
}

// pause_asked is how long the far side of a parcel asks to be left alone.
static Span pause_asked(const Flight *first, const Outcome **ret)
{
    Span longest = 0;
    for (const Flight *flight = first; flight; flight = flight->also) {
        for (size_t i = 0; i < flight->target_count; i++) {
            const Outcome *outcome = &flight->targets[i].outcome;
            if (outcome->verdict == VERDICT_TRANSIENT && outcome->retry_after > longest) {
                longest = outcome->retry_after;
                *ret = outcome;
            }
        }
    }
    return longest;
}

void health_land(const Flight *first, LaneState *lane)
{
    const Outcome *outcome = NULL;
    Span asked = pause_asked(first, &outcome);
    if (asked == 0)
        return;
    first->engine->pauses++;
    health_remember(lane, outcome);
    pause(first->engine, lane, clock_now(first->engine->options.clock) + asked, UNTOLD);
    health_note(first->engine, lane);
}
