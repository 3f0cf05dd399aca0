#include "engine/state.h"

#include "base/log.h"
#include "engine/measure.h"
#include "store/preference.h"
#include "store/schedule.h"

// A claim takes what is due and free. Each due lane says how many it could start now; the window is
// shared among them (window.h); the store takes the oldest of each lane, up to its share.
//
// A lane can start what its channel's concurrency and rate leave free: so many parcels, each of as
// many deliveries as its type takes in one. One whose attempts take milliseconds is claimed ahead,
// by what it does in the next AHEAD, so that it need not wait for the store between them. What
// waits here no other node can send; so it waits for WAIT_MAX at most (dispatch.c), and a lane that
// turns slow is not claimed ahead any more. From a lane that is held by a circuit one is claimed,
// as a probe, when it is time for it (circuit.c); from one that is ordered, as much as one parcel
// takes, and only where nothing of it is being sent, here or anywhere.
//
// Where a lane is behind, one claim in NEWEST_EVERY takes its newest: a single message does not
// wait for ten thousand that came before it in one batch.
//
// With the claim goes a probe: when the lanes that were asked fall due next. All lanes are probed
// where something may have changed that nobody told of, and now and then in any case.

enum {
    WISHES_MAX = 4096,
    NEWEST_EVERY = 4, // claims, where there is a backlog
    FRONT_MORE = 100, // rows of an ordered lane that may have come to stand before those being sent
};

#define BEHIND SPAN_SECOND
#define PAUSE ((Span) 50 * SPAN_MILLISECOND)   // of a lane that is due and gives nothing
#define PAUSE_FAILED ((Span) 30 * SPAN_SECOND) // of a lane whose claims fail

static void ask_lanes(Engine *engine, Round *round, Instant now);
static size_t list_wishes(Engine *engine, Arena *arena, Instant now, Wish **ret);
static int64_t want(Engine *engine, LaneState *lane, Instant now);
static void end_probes(Engine *engine, const Round *round);
static void ask_probe(Engine *engine, Round *round);
static void unask(Engine *engine, const Round *round);
static void learn_probed(Engine *engine, const Round *round);
static void pause_empty(Engine *engine, const Round *round, Instant now);

bool claim_ask(Engine *engine, Round *round, Instant now)
{
    if (engine_sends(engine))
        ask_lanes(engine, round, now);
    ask_probe(engine, round);
    bool rates = rate_ask(engine, round, now);
    return rates || round->claim.lane_count > 0 || round->probes;
}

static ClaimLane ask_of(const Engine *engine, const Wish *wish)
{
    const RegistryLane *way = registry_lane(engine->registry, wish->lane);
    const ChannelType *type = lane_type(engine, way);
    bool is_ordered = lane_is_ordered(engine->options.types, way);
    return (ClaimLane){ .lane = wish->lane,
                        .front = is_ordered ? lane_parcel(engine, way) + FRONT_MORE : 0,
                        .free = (int) wish->given.rows,
                        .bytes = wish->given.bytes,
                        .has_targets = type && type->targets_max > 1,
                        .is_timeless = type && type->is_timeless,
                        .reaches_members = type && channel_reaches_members(type) };
}

// is_behind: some lane of the round has a backlog, and none is ordered.
static bool is_behind(Engine *engine, const Round *round)
{
    bool is_behind = false;
    for (size_t i = 0; i < round->claim.lane_count; i++) {
        if (round->lanes[i].front > 0)
            return false;
        is_behind |= lane_at(engine, round->lanes[i].lane)->lag > BEHIND;
    }
    return is_behind;
}

static void ask_lanes(Engine *engine, Round *round, Instant now)
{
    Wish *wishes;
    size_t count = list_wishes(engine, &round->arena, now, &wishes);
    if (count == 0)
        return;
    int64_t row = (int64_t) engine->options.payload_max;
    Window window = { .max = { (int64_t) engine->options.flights_max,
                               later(WINDOW_BYTES, row * WINDOW_PAYLOADS) },
                      .held = engine->use,
                      .rows = CLAIM_MAX,
                      .bytes_row = row,
                      .turn = engine->lanes.turn++ };
    window_share(&window, wishes, count);
    round->wishes = ARENA_ARRAY(&round->arena, Wish, count);
    round->lanes = ARENA_ARRAY(&round->arena, ClaimLane, count);
    for (size_t i = 0; i < count; i++) {
        const Wish *wish = &wishes[i];
        if (wish->given.rows == 0)
            continue;
        LaneState *lane = lane_at(engine, wish->lane);
        bool is_held = !lane_is_clear(lane);
        if (is_held && !lane_probe(lane, now))
            continue; // another lane of its host has just begun to
        lane->asks_probe = is_held;
        lane->asked += wish->given.rows;
        lane_hold(engine, lane, wish->given);
        round->lanes[round->claim.lane_count] = ask_of(engine, wish);
        round->wishes[round->claim.lane_count++] = *wish;
    }
    round->claim.is_newest = window.turn % NEWEST_EVERY == 0 && is_behind(engine, round);
}

// list_wishes asks the lanes that are due, in turns where there are very many of them.
static size_t list_wishes(Engine *engine, Arena *arena, Instant now, Wish **ret)
{
    Lanes *lanes = &engine->lanes;
    size_t count = 0, max = lanes->due_count < WISHES_MAX ? lanes->due_count : WISHES_MAX;
    LaneState **due = ARENA_ARRAY(arena, LaneState *, max + 1);
    *ret = ARENA_ARRAY(arena, Wish, max + 1);
    for (size_t i = 0; i < max; i++) // want() changes the list
        due[i] = lanes->due[(lanes->turn + i) % lanes->due_count];
    for (size_t i = 0; i < max; i++) {
        int64_t wanted = want(engine, due[i], now);
        if (wanted > 0)
            (*ret)[count++] = (Wish){ .lane = due[i]->number,
                                      .tenant = due[i]->tenant,
                                      .want = wanted,
                                      .held = due[i]->use,
                                      .tenant_held = lane_tenant_use(engine, due[i]) };
    }
    return count < lanes->max ? count : lanes->max;
}

static int64_t ahead(const LaneState *lane, int at_once)
{
    if (lane->circuit.kind == CIRCUIT_OF_ORDER)
        return 0;
    return lane->took > 0 && lane->took < QUICK ? at_once * AHEAD / lane->took : 0;
}

// want_probe is what a lane wants that a circuit holds: one, once what it had before is gone.
static int64_t want_probe(Engine *engine, LaneState *lane, Instant now)
{
    Instant until = lane_probe_at(lane, now);
    bool is_free = lane->waiting.count == 0 && lane->asked == 0 && !lane->probing;
    if (!is_free)
        lane_fill(engine, lane);
    else if (until > now)
        lane_block(engine, lane, until);
    return is_free && until <= now;
}

// want is how many the lane could start now. One that can start none leaves the list of the due.
static int64_t want(Engine *engine, LaneState *lane, Instant now)
{
    const RegistryLane *channel = registry_lane(engine->registry, lane->number);
    assert(channel);
    Instant until = later(lane->blocked_until, lane->paused_until);
    if (later(lane_due_at(lane), until) > now) {
        lane_block(engine, lane, until); // it pauses, or the clock was set back
        return 0;
    }
    int at_once = lane_slots(engine, lane, channel);
    int64_t parcels = at_once + ahead(lane, at_once) - lane->running;
    int64_t free =
        parcels * lane_parcel(engine, channel) - (int64_t) lane->waiting.count - lane->asked;
    int64_t rate = rate_left(engine, lane, now);
    if (free <= 0)
        lane_fill(engine, lane);
    else if (rate <= 0)
        rate_want(engine, lane, free);
    else if (!lane_is_clear(lane))
        return want_probe(engine, lane, now);
    return free < rate ? free : rate;
}

static size_t lanes_claimed(Round *round, int64_t **ret)
{
    *ret = ARENA_ARRAY(&round->arena, int64_t, round->claim.lane_count);
    for (size_t i = 0; i < round->claim.lane_count; i++)
        (*ret)[i] = round->lanes[i].lane;
    return round->claim.lane_count;
}

// ask_probe asks when lanes fall due: all of them, or only those that are claimed from.
static void ask_probe(Engine *engine, Round *round)
{
    Instant monotonic = engine_monotonic(engine);
    // Alone, a node knows of everything that is committed; polling is for what others leave behind.
    bool polls = monotonic - engine->polled_at >= (engine->other_nodes ? POLL_EVERY : RENEW_EVERY);
    bool all = engine->wants_probe || polls;
    if (engine->is_probing || !(all || round->claim.lane_count > 0))
        return;
    int64_t *lanes;
    size_t count = lanes_claimed(round, &lanes);
    round->upcoming =
        (QueueNext){ .lanes = lanes, .lane_count = all ? 0 : count, .arena = &round->arena };
    round->all_lanes = (LaneNext){ .arena = &round->arena };
    round->probes_all = all;
    round->probes = engine->is_probing = true;
    if (all)
        engine->wants_probe = false;
    if (polls)
        engine->polled_at = monotonic;
}

void claim_apply(Tx *tx, Round *round)
{
    rate_apply(tx, round);
    // The lease runs from this try, however long the round waited for the store before.
    round->claimed_at = clock_monotonic(round->engine->options.clock);
    round->claim.lanes = round->lanes;
    round->claim.arena = &round->arena;
    round->claim.node = round->engine->options.node;
    round->claim.lease_until = tx->now + SEND_LEASE;
    queue_claim(tx, &round->claim);
    if (round->probes)
        queue_next(tx->db, &round->upcoming);
    if (round->probes_all) {
        lane_next(tx->db, &round->all_lanes);
        schedules_due(tx->db, &round->arena, &round->schedules);
    }
}

static void take_all_lanes(Round *round)
{
    QueueNext *upcoming = &round->upcoming;
    int64_t *lanes;
    upcoming->lane_count = lane_next_take(&round->all_lanes, &lanes, &upcoming->lane_due);
    upcoming->lanes = lanes;
}

Err claim_check(Tx *tx, Round *round, Error *error)
{
    TRY(queue_claim_take(tx, &round->claim, error));
    TRY(preference_screen(tx, &round->claim, error));
    if (round->probes)
        queue_next_take(&round->upcoming);
    if (round->probes_all)
        take_all_lanes(round);
    rate_check(round);
    return ERR_OK;
}

void claim_take(Engine *engine, Round *round, Instant now)
{
    unask(engine, round);
    rate_came(engine, round, now);
    engine->tally.claimed += (int64_t) round->claim.count;
    for (size_t i = 0; i < round->claim.count; i++) {
        LaneState *lane = lane_at(engine, round->claim.claimed[i].promise.lane);
        Span late = now - round->claim.claimed[i].live.due_at;
        measure_claimed(&round->claim.claimed[i].live, now);
        if (!round->claim.is_newest)
            lane->lag = lane->got ? later(lane->lag, late) : late;
        lane->got++;
    }
    end_probes(engine, round);
    if (round->probes) {
        engine->is_probing = false;
        learn_probed(engine, round);
        pause_empty(engine, round, now);
    }
    if (round->claim.lane_count > 0 && engine->lanes.max < WISHES_MAX)
        engine->lanes.max *= 2;
}

// unask ends what the round had asked for, whether it got it or not.
static void unask(Engine *engine, const Round *round)
{
    for (size_t i = 0; i < round->claim.lane_count; i++) {
        const Use *given = &round->wishes[i].given;
        LaneState *lane = lane_at(engine, round->wishes[i].lane);
        lane->asked -= given->rows;
        assert(lane->asked >= 0);
        lane_hold(engine, lane, (Use){ -given->rows, -given->bytes });
        lane_freed(engine, lane);
        lane->got = 0;
    }
}

// end_probes ends those of circuits for which there was nothing to send.
static void end_probes(Engine *engine, const Round *round)
{
    for (size_t i = 0; i < round->claim.lane_count; i++) {
        LaneState *lane = lane_at(engine, round->wishes[i].lane);
        if (lane->asks_probe && !lane->got)
            lane_unprobe(engine, lane);
    }
}

static void learn_probed(Engine *engine, const Round *round)
{
    const QueueNext *upcoming = &round->upcoming;
    if (round->probes_all)
        lanes_learn(engine, upcoming, round->news);
    for (size_t i = 0; i < upcoming->lane_count && !round->probes_all; i++)
        lane_learn(engine, upcoming->lanes[i], upcoming->lane_due[i], round->news);
    duty_learn(engine, DUTY_EXPIRE, upcoming->sweep_due, round->news);
    if (round->probes_all)
        duty_learn(engine, DUTY_FIRE, schedules_due_take(&round->schedules), round->news);
}

// pause_empty keeps the engine from asking a lane again and again that is due and gives nothing:
// its rows are held by somebody else.
static void pause_empty(Engine *engine, const Round *round, Instant now)
{
    if (engine->options.clock->is_manual)
        return; // a pause would never end there
    for (size_t i = 0; i < round->claim.lane_count; i++) {
        LaneState *lane = lane_at(engine, round->wishes[i].lane);
        if (!lane->got && lane_due_at(lane) <= now)
            lane_block(engine, lane, now + PAUSE);
    }
}

void claim_failed(Engine *engine, Round *round, Instant now)
{
    unask(engine, round);
    rate_failed(engine, round);
    end_probes(engine, round);
    if (round->probes) {
        engine->is_probing = false;
        engine->wants_probe = true;
    }
    if (!round->is_narrow || round->claim.lane_count == 0)
        return;
    if (round->claim.lane_count > 1) {
        engine->lanes.max = round->claim.lane_count / 2;
        return;
    }
    log_error("claim.failed", "lane=%lld detail=%s", (long long) round->lanes[0].lane,
              log_quote(str_from(round->detail)));
    lane_block(engine, lane_at(engine, round->lanes[0].lane), now + PAUSE_FAILED);
}
