#include "engine/state.h"

#include "base/log.h"

static void watch_clock(Engine *engine, Instant now);
static void take_notes(Engine *engine);
static void take_rounds(Engine *engine, Instant now);
static void take_registry(Engine *engine);
static bool begin_round(Engine *engine, Instant now);
static Instant wake_at(const Engine *engine, Instant now);

Instant engine_round(Engine *engine)
{
    Instant now = clock_now(engine->options.clock);
    watch_clock(engine, now);
    take_registry(engine);
    take_notes(engine);
    take_rounds(engine, now); // first: results free the room that claims need
    while (engine->rounds_out < ROUNDS_MAX && begin_round(engine, now))
        ;
    if (command_run(engine, now))
        return now;
    return wake_at(engine, now);
}

// watch_clock notices a clock that jumps, before anything is claimed by it. The server, where there
// is one, is asked at once.
static void watch_clock(Engine *engine, Instant now)
{
    ClockWatch *watch = &engine->watch;
    if (engine->options.clock->is_manual)
        return;
    bool was_off = watch->is_off;
    if (clock_watch_look(watch, now, clock_monotonic(engine->options.clock))) {
        Span ahead = watch->seen - watch->believed;
        log_warn("clock.jumped", "by_ms=%lld", (long long) (ahead / SPAN_MILLISECOND));
        engine->beaten_at = 0;
    }
    if (was_off && !watch->is_off)
        log_warn("clock.believed", "detail=\"deliveries go on\"");
}

static LaneState *lane_state(Engine *engine, int64_t lane)
{
    if ((size_t) lane >= engine->lane_room) {
        size_t room = (size_t) lane + 64;
        engine->lanes = memory_grow(engine->lanes, room * sizeof *engine->lanes);
        for (size_t i = engine->lane_room; i < room; i++)
            engine->lanes[i] = (LaneState){ .due_at = INSTANT_NONE };
        engine->lane_room = room;
    }
    return &engine->lanes[lane];
}

static void lane_falls_due(Engine *engine, int64_t number, Instant due_at)
{
    LaneState *lane = lane_state(engine, number);
    lane->due_at = earlier(lane->due_at, due_at);
    lane->told = ++engine->news;
}

static void sweep_falls_due(Engine *engine, Instant due_at)
{
    engine->sweep_due = earlier(engine->sweep_due, due_at);
    engine->sweep_told = ++engine->news;
}

static void take_registry(Engine *engine)
{
    Registry *registry = writer_registry(engine->options.writer);
    if (engine->registry && registry->generation == engine->registry->generation) {
        registry_drop(registry);
        return;
    }
    bool was_held = engine->registry && engine->registry->is_held;
    registry_drop(engine->registry);
    engine->registry = registry;
    for (size_t i = 0; i < registry->lane_count; i++)
        lane_state(engine, registry->lanes[i].lane)->may_send =
            registry_lane_may_send(&registry->lanes[i]);
    if (!engine->polled_at || was_held != registry->is_held)
        engine->wants_probe = true;
}

static void take_notes(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->note_count; i++)
        lane_falls_due(engine, engine->notes[i].lane, engine->notes[i].due_at);
    engine->note_count = 0;
    if (engine->is_poked)
        engine->wants_probe = engine->has_operations = true;
    engine->is_poked = false;
    engine->shown = engine->tally;
    pthread_mutex_unlock(&engine->lock);
}

static void count_settled(Engine *engine, const Settle *settle)
{
    if (settle->is_stale) {
        engine->tally.stale++;
        log_info("settle.stale", "attempt=%d verdict=%s", settle->fence,
                 verdict_text(settle->attempt.outcome.verdict));
        return;
    }
    if (settle->attempt.outcome.verdict == VERDICT_DELIVERED)
        engine->tally.delivered++;
    else if (settle->to.live.state == DELIVERY_RETRYING)
        engine->tally.retried++;
    else if (settle->to.live.state == DELIVERY_PARKED)
        engine->tally.parked++;
}

// settled lets go of the flights that a round has settled, and learns when they come back.
static void settled(Engine *engine, Round *round)
{
    size_t i = 0;
    for (Flight *flight = round->settling, *next; flight; flight = next, i++) {
        next = flight->next;
        const Settle *settle = &round->settles.rows[i];
        count_settled(engine, settle);
        const Live *live = &settle->to.live;
        if (!settle->is_stale && delivery_is_live(live->state)) {
            if (live->step == STEP_SEND)
                lane_falls_due(engine, settle->lane, live->due_at);
            else
                sweep_falls_due(engine, live->due_at);
        } else if (!settle->is_stale && live->state == DELIVERY_PARKED) {
            sweep_falls_due(engine, settle->to.expires_at);
        }
        flight_free(engine, flight);
    }
    round->settling = NULL;
}

static void learn_upcoming(Engine *engine, const Round *round)
{
    for (size_t i = 0; i < round->upcoming.lane_count; i++) {
        LaneState *lane = lane_state(engine, round->upcoming.lanes[i]);
        Instant due_at = round->upcoming.lane_due[i];
        lane->due_at = lane->told > round->news ? earlier(lane->due_at, due_at) : due_at;
    }
    Instant sweep_due = round->upcoming.sweep_due;
    engine->sweep_due =
        engine->sweep_told > round->news ? earlier(engine->sweep_due, sweep_due) : sweep_due;
    engine->is_probing = false;
}

static void take_failed(Engine *engine, Round *round)
{
    log_warn("round.failed", "error=%s detail=%s", err_code(round->err),
             log_quote(str_from(round->detail)));
    // The attempts were made: their settles wait for the store to come back.
    while (round->settling) {
        Flight *flight = round->settling;
        round->settling = flight->next;
        flight->next = NULL;
        *engine->finished_last = flight;
        engine->finished_last = &flight->next;
        engine->finished_count++;
    }
    engine->is_probing = false;
    engine->wants_probe = true;
    engine->renewed_at = 0; // leases grow old meanwhile
    if (round->beats)
        engine->beaten_at = 0;
    engine->has_operations |= round->steps_operations;
    engine->wants_orphans |= round->sweep.is_orphaned;
    engine->store_retry_at = clock_monotonic(engine->options.clock) + RETRY_STORE_EVERY;
    round_release(round);
}

static void take_beat(Engine *engine, const Round *round)
{
    Span offset = round->clock_offset;
    engine->other_nodes = round->other_nodes;
    clock_set_offset(engine->options.real, engine->options.real->offset + offset);
    const Clock *clock = engine->options.clock;
    if (clock->is_manual)
        return;
    if (clock != engine->options.real)
        clock_set_offset(engine->options.clock, engine->options.real->offset);
    if (engine->watch.has_peer) // it is corrected now, and that is no jump
        clock_watch_believe(&engine->watch, clock_now(clock), clock_monotonic(clock));
}

static void take_round(Engine *engine, Round *round)
{
    engine->rounds_out--;
    for (size_t i = 0; i < round->claim.lane_count; i++)
        lane_state(engine, round->lanes[i].lane)->asked -= round->lanes[i].free;
    if (round->err != ERR_OK) {
        take_failed(engine, round);
        return;
    }
    settled(engine, round);
    engine->tally.claimed += (int64_t) round->claim.count;
    for (size_t i = 0; i < round->claim.count; i++)
        lane_state(engine, round->claim.claimed[i].lane)->spent++;
    engine->tally.lapsed += round->sweep.lapsed;
    engine->tally.retried += round->sweep.retried;
    engine->tally.parked += round->sweep.parked;
    engine->tally.expired += round->sweep.expired;
    if (round->sweeps && round->sweep.retried + round->sweep.parked + round->sweep.expired > 0)
        engine->wants_probe = true;
    if (round->probes)
        learn_upcoming(engine, round);
    if (round->steps_operations) {
        engine->has_operations |= round->has_more_operations;
        engine->wants_probe = true;
    }
    if (round->beats)
        take_beat(engine, round);
    round->open_flights = 1; // keeps the round while it dispatches
    dispatch(engine, round);
    if (--round->open_flights == 0)
        round_release(round);
}

static void take_rounds(Engine *engine, Instant now)
{
    (void) now;
    pthread_mutex_lock(&engine->lock);
    Round *arrived = engine->arrived;
    engine->arrived = NULL;
    pthread_mutex_unlock(&engine->lock);
    while (arrived) {
        Round *round = arrived;
        arrived = round->next;
        take_round(engine, round);
    }
}

int lane_concurrency(const Engine *engine, const RegistryLane *lane)
{
    if (!lane->channel || engine->options.is_dev)
        return CAPTURE_CONCURRENCY;
    const ChannelType *type = channel_type_find(lane->channel->definition.type);
    return type && type->request ? lane->channel->definition.concurrency : CAPTURE_CONCURRENCY;
}

// ahead is how many more than its concurrency a lane may claim. A lane whose attempts take
// milliseconds is kept supplied, so that it need not wait for the store between them; one that is
// slow is not, for what waits here can no longer be called off.
static int ahead(const LaneState *lane, int at_once)
{
    return lane->took > 0 && lane->took < AHEAD_WHILE_UNDER ? at_once : 0;
}

// rate_left is how many attempts the channel's rate still allows now, for this node's share.
static int64_t rate_left(const Engine *engine, const RegistryLane *lane, LaneState *state,
                         Instant now)
{
    if (!lane->channel || lane->channel->definition.rate_max == 0)
        return INT64_MAX;
    const ChannelDefinition *definition = &lane->channel->definition;
    int64_t share = definition->rate_max / (engine->other_nodes + 1);
    Instant window = now - now % definition->rate_per;
    if (state->window != window) {
        state->window = window;
        state->spent = 0;
    }
    int64_t left = (share > 0 ? share : 1) - state->spent - state->asked;
    state->blocked_until = left > 0 ? 0 : window + definition->rate_per;
    return left;
}

// ask_lanes lists what each due lane has free, and forgets the due moment: the answer, or the
// probe that follows a full answer, tells it anew.
static size_t ask_lanes(Engine *engine, Round *round, Instant now)
{
    const Registry *registry = engine->registry;
    int64_t room = WINDOW_MAX - engine->in_flight;
    size_t count = 0;
    int left = CLAIM_MAX;
    if (registry->is_held || engine->watch.is_off || engine->is_stopping || room <= 0)
        return 0;
    for (size_t i = 0; i < registry->lane_count && left > 0; i++) {
        LaneState *lane = lane_state(engine, registry->lanes[i].lane);
        if (lane->due_at > now || !lane->may_send)
            continue;
        int at_once = lane_concurrency(engine, &registry->lanes[i]);
        int64_t free = at_once + ahead(lane, at_once) - lane->running - lane->waiting - lane->asked;
        free = free < left ? free : left;
        free = free < room ? free : room;
        int64_t rate = rate_left(engine, &registry->lanes[i], lane, now);
        free = free < rate ? free : rate;
        if (free <= 0)
            continue;
        if (!round->lanes)
            round->lanes = ARENA_ARRAY(&round->arena, ClaimLane, registry->lane_count);
        round->lanes[count++] = (ClaimLane){ registry->lanes[i].lane, (int) free };
        lane->asked += (int) free;
        left -= (int) free;
        room -= free;
    }
    round->claim.lane_count = count;
    return count;
}

static void take_finished(Engine *engine, Round *round)
{
    if (engine->finished_count == 0)
        return;
    round->settling = engine->finished;
    round->settles.rows = ARENA_ARRAY(&round->arena, Settle, engine->finished_count);
    for (Flight *flight = engine->finished; flight; flight = flight->next)
        round->settles.rows[round->settles.count++] = flight->settle;
    engine->finished = NULL;
    engine->finished_last = &engine->finished;
    engine->finished_count = 0;
}

static void take_renewals(Engine *engine, Round *round, Instant monotonic)
{
    engine->renewed_at = monotonic;
    size_t count = 0;
    for (Flight *flight = engine->air; flight; flight = flight->after)
        count++;
    round->renewals = ARENA_ARRAY(&round->arena, Renewal, count + 1);
    for (Flight *flight = engine->air; flight; flight = flight->after)
        round->renewals[round->renewal_count++] =
            (Renewal){ .tenant = flight->claimed->tenant,
                       .id = flight->claimed->id,
                       .fence = flight->claimed->live.attempt };
}

// ask_upcoming asks when lanes fall due: all of them, or only those that are claimed from.
static void ask_upcoming(Engine *engine, Round *round, bool all)
{
    const Registry *registry = engine->registry;
    size_t count = all ? registry->lane_count : round->claim.lane_count;
    int64_t *lanes = ARENA_ARRAY(&round->arena, int64_t, count + 1);
    for (size_t i = 0; i < count; i++)
        lanes[i] = all ? registry->lanes[i].lane : round->lanes[i].lane;
    round->upcoming = (QueueNext){ .lanes = lanes, .lane_count = count, .arena = &round->arena };
    round->probes = engine->is_probing = true;
    if (all)
        engine->wants_probe = false;
}

// begin_round sends a round if there is anything to do, and says whether it did.
static bool begin_round(Engine *engine, Instant now)
{
    Instant monotonic = clock_monotonic(engine->options.clock);
    if (monotonic < engine->store_retry_at)
        return false;
    Round *round = round_new(engine);
    bool is_held = engine->registry->is_held || engine->watch.is_off;
    take_finished(engine, round);
    size_t lanes = ask_lanes(engine, round, now);
    bool sweep_is_due = !is_held && !engine->is_stopping && engine->sweep_due <= now;
    round->sweeps = sweep_is_due || (engine->wants_orphans && !is_held);
    round->sweep = (Sweep){ .limit = SWEEP_MAX, .is_orphaned = engine->wants_orphans && !is_held };
    // Alone, a node knows of everything that is committed; polling is for what others leave behind.
    bool polls = monotonic - engine->polled_at >= (engine->other_nodes ? POLL_EVERY : RENEW_EVERY);
    if ((engine->wants_probe || polls || lanes > 0 || round->sweeps) && !engine->is_probing) {
        ask_upcoming(engine, round, engine->wants_probe || polls);
        engine->polled_at = polls ? monotonic : engine->polled_at;
    }
    // A round that sweeps renews first: after an outage, what is in the air here looks lapsed.
    if (engine->air && (round->sweeps || monotonic - engine->renewed_at >= RENEW_EVERY))
        take_renewals(engine, round, monotonic);
    round->beats = monotonic - engine->beaten_at >= RENEW_EVERY;
    round->steps_operations = engine->has_operations;
    if (round->settles.count == 0 && lanes == 0 && !round->sweeps && !round->probes &&
        round->renewal_count == 0 && !round->beats && !round->steps_operations) {
        round_release(round);
        return false;
    }
    if (round->beats)
        engine->beaten_at = monotonic;
    if (round->sweeps)
        engine->sweep_due = INSTANT_NONE;
    engine->has_operations = false;
    engine->wants_orphans = engine->wants_orphans && is_held;
    round->news = engine->news;
    round_submit(round);
    return true;
}

// wake_at is when the next round is wanted if nothing else happens: as an instant of the clock.
static Instant wake_at(const Engine *engine, Instant now)
{
    if (engine->rounds_out >= ROUNDS_MAX)
        return now + SPAN_SECOND;
    Instant wake = now + POLL_EVERY;
    if (engine->registry->is_held)
        return wake;
    if (engine->sweep_due > now)
        wake = earlier(wake, engine->sweep_due);
    for (size_t i = 0; i < engine->lane_room; i++) {
        Instant ready = lane_ready_at(&engine->lanes[i]);
        if (ready > now)
            wake = earlier(wake, ready);
    }
    Instant monotonic = clock_monotonic(engine->options.clock);
    if (engine->store_retry_at > monotonic)
        wake = earlier(wake, now + engine->store_retry_at - monotonic);
    return wake;
}

Engine *engine_new(const EngineOptions *options)
{
    Engine *engine = memory_new(sizeof *engine);
    engine->options = *options;
    engine->finished_last = &engine->finished;
    engine->sweep_due = INSTANT_NONE;
    engine->wants_probe = true;
    engine->has_operations = true;
    // Where only this process can have the store open, whoever held a lease before is dead.
    engine->wants_orphans = options->is_only_node;
    engine->watch.has_peer = !options->is_only_node;
    pthread_mutex_init(&engine->lock, NULL);
    return engine;
}

void engine_free(Engine *engine)
{
    while (engine->air)
        flight_free(engine, engine->air);
    while (engine->arrived) { // and nobody looked at them: the process is being taken down
        Round *round = engine->arrived;
        engine->arrived = round->next;
        round_release(round);
    }
    registry_drop(engine->registry);
    while (engine->free_flights) {
        Flight *flight = engine->free_flights;
        engine->free_flights = flight->next;
        arena_done(&flight->arena);
        free(flight);
    }
    while (engine->free_rounds) {
        Round *round = engine->free_rounds;
        engine->free_rounds = round->next;
        arena_done(&round->arena);
        free(round);
    }
    pthread_mutex_destroy(&engine->lock);
    free(engine->lanes);
    free(engine);
}

bool engine_is_idle(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool is_told = engine->note_count > 0 || engine->is_poked;
    pthread_mutex_unlock(&engine->lock);
    return engine->in_flight == 0 && engine->rounds_out == 0 && engine->finished_count == 0 &&
           !is_told;
}

void engine_wait(Engine *engine, Instant until)
{
    Span wait = until - clock_now(engine->options.clock);
    if (wait > SPAN_SECOND)
        wait = SPAN_SECOND;
    transport_wait(engine->options.transport, wait > 0 ? wait : 0);
}

static void *engine_main(void *with)
{
    Engine *engine = with;
    while (!engine->is_stopping)
        engine_wait(engine, engine_round(engine));
    return NULL;
}

void engine_start(Engine *engine)
{
    engine->has_thread = true;
    if (pthread_create(&engine->thread, NULL, engine_main, engine) != 0)
        abort();
}

bool engine_stop(Engine *engine, Span grace)
{
    const Clock *clock = engine->options.clock;
    engine->is_stopping = true;
    transport_wake(engine->options.transport);
    if (engine->has_thread)
        pthread_join(engine->thread, NULL);
    // From here on this thread runs the engine: nothing is claimed, what is in flight may finish.
    command_refuse_all(engine);
    Instant deadline = clock_monotonic(clock) + grace;
    while (!engine_is_idle(engine) && clock_monotonic(clock) < deadline) {
        engine_round(engine);
        transport_wait(engine->options.transport, 20 * SPAN_MILLISECOND);
    }
    deadline = later(deadline, clock_monotonic(clock)) + LAST_ROUNDS;
    while (engine->rounds_out > 0 && clock_monotonic(clock) < deadline) {
        take_rounds(engine, 0);
        transport_wait(engine->options.transport, 20 * SPAN_MILLISECOND);
    }
    return engine->rounds_out == 0;
}

void engine_note(Engine *engine, int64_t lane, Instant due_at)
{
    bool is_new = true;
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->note_count && is_new; i++) {
        Note *note = &engine->notes[i];
        if (note->lane == lane) {
            // A note that says at least as much is still unread: the engine is awake already.
            is_new = due_at < note->due_at;
            if (is_new)
                note->due_at = due_at;
            pthread_mutex_unlock(&engine->lock);
            if (is_new)
                transport_wake(engine->options.transport);
            return;
        }
    }
    if (engine->note_count < NOTES_MAX)
        engine->notes[engine->note_count++] = (Note){ lane, due_at };
    else
        engine->is_poked = true;
    pthread_mutex_unlock(&engine->lock);
    transport_wake(engine->options.transport);
}

void engine_poke(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->is_poked = true;
    pthread_mutex_unlock(&engine->lock);
    transport_wake(engine->options.transport);
}

Tally engine_tally(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    Tally tally = engine->shown;
    pthread_mutex_unlock(&engine->lock);
    return tally;
}

int64_t engine_in_flight(Engine *engine)
{
    return engine->in_flight;
}
