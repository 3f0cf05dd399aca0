#include "engine/state.h"

#include "base/log.h"
#include "domain/event.h"

// The engine goes round. Each time it looks at what it was told, takes in the rounds that are back
// from the writer, and sends another where there is anything to do:
//
//   note.c      what was told: lanes that fall due, deliveries that were called off
//   pull.c      who waits outside for work is called when there may be some
//   claim.c     what is due and free, shared fairly (window.c) over tenants and lanes (lane.c)
//   dispatch.c  each claimed delivery starts, or is given back
//   circuit.c   far sides that are dead are left alone, but for a probe
//   health.c    what holds a lane is told to all; what all are asked to pause is heard
//   rate.c      a channel's rate is shared with the other nodes
//   parcel.c    it goes out over its channel, with others where that takes several, and is judged
//   settle.c    what became of it goes to the store
//   said.c      what commands say while they run goes there too
//   flight.c    the life of one delivery from its claim to its settle; its lease is renewed
//   poll.c      providers are asked what is new, and poll_write.c writes it
//   drain.c     what waits in the inbox becomes events; unpacking.c has a thread read what is long
//   duty.c      what else has to be done now and then, a row each: beat, sweep, operations, purge
//
// What a round does is asked for together, travels in one transaction (round.c), and is taken in
// together. Settles, duties and claims each have an ask(), an apply(), a take() and a failed(), and
// a check() where the store has to answer first; renewals are asked for anew when they fail. ask,
// take and failed run here; apply and check run on a pen's thread and touch the round alone.
//
// What may be due is known from three sources: notes (somebody committed something), settles, and
// probes of the store. lane.c says how they are kept from contradicting each other.
//
// A round that fails because the store is away leaves everything owed, and is tried again. One that
// fails by its own fault makes the engine wary: for a while each round does one thing only, so that
// whatever is wrong fails alone, can be blamed, and keeps nothing else from happening. Where the
// store goes on failing it does the same, blaming nobody: one thing may be all that it cannot do.

static void watch_clock(Engine *engine, Instant now);
static void take_registry(Engine *engine);
static void take_rounds(Engine *engine, Instant now);
static void take_round(Engine *engine, Round *round, Instant now);
static void note_health(Engine *engine, const Round *round);
static void take_failed(Engine *engine, Round *round, Instant now);
static void show(Engine *engine);
static bool has_room(const Engine *engine);
static bool begin_long(Engine *engine, Instant now);
static bool begin_round(Engine *engine, Instant now);
static bool ask_all(Engine *engine, Round *round, Instant now);
static bool ask_narrowly(Engine *engine, Round *round, Instant now);
static Instant wake_at(const Engine *engine, Instant now);
static Instant fall_asleep(Engine *engine, Instant wake);

Instant engine_round(Engine *engine)
{
    Instant now = clock_now(engine->options.clock);
    EngineCommand *quiets = command_take_quiets(engine); // before what they are to have seen
    watch_clock(engine, now);
    take_registry(engine);
    notes_take(engine);
    pulls_take(engine);
    take_rounds(engine, now); // first: results free the room that claims need
    polls_go_on(engine);
    unpacking_watch(engine);
    dispatch_late(engine);
    show(engine);
    command_tell_quiet(engine, quiets);
    lanes_wake(engine, now);
    pulls_end(engine, now);
    while (begin_long(engine, now))
        ;
    while (has_room(engine) && begin_round(engine, now))
        ;
    if (command_run(engine, now))
        return now;
    return fall_asleep(engine, wake_at(engine, now));
}

// watch_clock notices a clock that jumps, before anything is claimed by it. The server, where there
// is one, is asked at once.
static void watch_clock(Engine *engine, Instant now)
{
    ClockWatch *watch = &engine->watch;
    if (engine->options.clock->is_manual)
        return;
    bool was_off = watch->is_off;
    if (clock_watch_look(watch, now, engine_monotonic(engine))) {
        Span ahead = watch->seen - watch->believed;
        log_warn("clock.jumped", "by_ms=%lld", (long long) (ahead / SPAN_MILLISECOND));
        engine->duties[DUTY_BEAT].is_wanted = true;
    }
    if (was_off && !watch->is_off) {
        log_warn("clock.believed", "detail=\"deliveries go on\"");
        lanes_unblock(engine);
        fire_anew(engine);
    }
}

static void take_registry(Engine *engine)
{
    Registry *registry = writer_registry(engine->options.writer);
    Registry *old = engine->registry;
    if (old && registry->stamp == old->stamp) {
        registry_drop(registry);
        return;
    }
    if (!old || old->is_held != registry->is_held)
        engine->wants_probe = true;
    engine->registry = registry;
    lanes_take_registry(engine, old);
    registry_drop(old);
}

static void take_rounds(Engine *engine, Instant now)
{
    pthread_mutex_lock(&engine->lock);
    Round *arrived = engine->arrived;
    engine->arrived = NULL;
    pthread_mutex_unlock(&engine->lock);
    while (arrived) {
        Round *round = arrived;
        arrived = round->next;
        take_round(engine, round, now);
    }
}

static void take_round(Engine *engine, Round *round, Instant now)
{
    engine->rounds_out--;
    engine->long_out -= round->op.is_long;
    assert(engine->rounds_out >= 0 && engine->long_out >= 0);
    note_health(engine, round);
    if (round->err != ERR_OK) {
        take_failed(engine, round, now);
        return;
    }
    engine->failures = 0;
    renew_take(engine, round);
    settle_take(engine, round);
    duty_take(engine, round);
    health_take(engine, round);
    said_take(engine, round);
    claim_take(engine, round, now);
    dispatch(engine, round);
    if (engine->off_rounds > 0 && --engine->off_rounds == 0)
        engine->off_count = 0;
}

static void note_health(Engine *engine, const Round *round)
{
    bool is_good = round->err == ERR_OK;
    pthread_mutex_lock(&engine->lock);
    if (is_good)
        engine->good_at = engine_monotonic(engine);
    else
        engine->health.failed++;
    engine->health.is_failing = !is_good;
    snprintf(engine->health.detail, sizeof engine->health.detail, "%s", round->detail);
    pthread_mutex_unlock(&engine->lock);
}

static bool is_the_stores(Err err)
{
    return err == ERR_UNAVAILABLE || err == ERR_BUSY || err == ERR_DISK_FULL;
}

static void take_failed(Engine *engine, Round *round, Instant now)
{
    Instant monotonic = engine_monotonic(engine);
    log_warn("round.failed", "error=%s detail=%s", err_code(round->err),
             log_quote(str_from(round->detail)));
    engine->failures++;
    if (!is_the_stores(round->err) && !round->op.is_long)
        engine->wary_until = monotonic + WARY_FOR;
    else if (engine->failures >= FAILURES_MAX)
        engine->wary_until = monotonic + RETRY_STORE_EVERY * 8;
    round->is_narrow = round->is_narrow && !is_the_stores(round->err); // else nobody is to blame
    engine->store_retry_at = monotonic + RETRY_STORE_EVERY;
    engine->renewed_at = 0; // leases grow old meanwhile
    if (round->claim.lane_count > 0)
        engine->sweeps_until = monotonic + SWEEP_FOR; // it may have been committed all the same
    settle_failed(engine, round);
    duty_failed(engine, round);
    health_failed(engine, round);
    said_failed(engine, round);
    claim_failed(engine, round, now);
    round_release(round);
}

// show lets others see how far the engine has come. It follows what the rounds that are back have
// brought: the next may be a second away.
static void show(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->shown = engine->tally;
    engine->health.is_clock_off = engine->watch.is_off;
    engine->health.circuits_open = engine->circuits_open;
    engine->health.circuits_opened = engine->circuits_opened;
    engine->health.pauses = engine->pauses;
    pthread_mutex_unlock(&engine->lock);
}

// has_room: one that takes long keeps no other from being sent, unless the store fails them all.
static bool has_room(const Engine *engine)
{
    int beside = engine->failures == 0 ? engine->long_out : 0;
    return engine->rounds_out - beside < ROUNDS_MAX;
}

// begin_long sends a round for what takes long, if there is any, and says whether it did.
static bool begin_long(Engine *engine, Instant now)
{
    if (engine_monotonic(engine) < engine->store_retry_at)
        return false;
    Round *round = round_new(engine);
    bool asks = duty_ask_alone(engine, round, now);
    if (asks)
        round_submit_long(round);
    else
        round_release(round);
    return asks;
}

// begin_round sends a round if there is anything to do, and says whether it did.
static bool begin_round(Engine *engine, Instant now)
{
    Instant monotonic = engine_monotonic(engine);
    if (monotonic < engine->store_retry_at)
        return false;
    Round *round = round_new(engine);
    bool is_wary = monotonic < engine->wary_until;
    bool asks = is_wary ? ask_narrowly(engine, round, now) : ask_all(engine, round, now);
    bool renews = renew_ask(engine, round);
    if (asks || renews)
        round_submit(round);
    else
        round_release(round);
    return asks || renews;
}

static bool ask_all(Engine *engine, Round *round, Instant now)
{
    bool settles = settle_ask(engine, round);
    bool works = duty_ask(engine, round, now, false);
    bool claims = claim_ask(engine, round, now);
    bool tells = health_ask(engine, round);
    bool says = said_ask(engine, round);
    return settles || works || claims || tells || says;
}

// ask_narrowly asks for one thing, in turns.
static bool ask_narrowly(Engine *engine, Round *round, Instant now)
{
    enum { PARTS = 4 };
    round->is_narrow = true;
    for (size_t tries = 0; tries < PARTS; tries++) {
        size_t part = engine->part++ % PARTS;
        if ((part == 0 && settle_ask(engine, round)) ||
            (part == 1 && duty_ask(engine, round, now, true)) ||
            (part == 2 && claim_ask(engine, round, now)) || (part == 3 && said_ask(engine, round)))
            return true;
    }
    return false;
}

// wake_at is when the next round is wanted if nothing else happens: as an instant of the clock.
static Instant wake_at(const Engine *engine, Instant now)
{
    Instant wake = now + POLL_EVERY;
    if (!has_room(engine))
        return wake;
    Instant monotonic = engine_monotonic(engine);
    if (engine->ends_at != INSTANT_NONE)
        wake = earlier(wake, now + later(engine->ends_at - monotonic, 0));
    if (engine->lanes.waiting_count > 0)
        wake = earlier(wake, now + WAIT_MAX);
    if (engine->store_retry_at > monotonic)
        wake = earlier(wake, now + engine->store_retry_at - monotonic);
    else
        wake = earlier(wake, now + duties_soon(engine));
    if (!engine_sends(engine))
        return wake;
    return earlier(wake, earlier(lanes_later(engine), duties_next(engine, now)));
}

// fall_asleep tells the others until when the engine sleeps: what is due later needs no waking.
static Instant fall_asleep(Engine *engine, Instant wake)
{
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->note_count; i++)
        wake = earlier(wake, engine->notes[i].due_at);
    engine->wakes_at = wake;
    pthread_mutex_unlock(&engine->lock);
    return wake;
}

Engine *engine_new(const EngineOptions *options)
{
    Engine *engine = memory_new(sizeof *engine);
    engine->options = *options;
    if (engine->options.flights_max == 0 || engine->options.flights_max > WINDOW_ROWS)
        engine->options.flights_max = WINDOW_ROWS;
    if (!engine->options.types)
        engine->options.types = channel_types;
    if (engine->options.payload_max == 0)
        engine->options.payload_max = EVENT_PAYLOAD_MAX;
    engine->settle_max = CLAIM_MAX;
    engine->lease_at = engine->ends_at = engine->ends_by_clock = INSTANT_NONE;
    engine->lanes.max = CLAIM_MAX;
    engine->wants_probe = true;
    for (DutyName name = 0; name < DUTY_COUNT; name++)
        engine->duties[name].due_at = INSTANT_NONE;
    engine->duties[DUTY_BEAT].is_wanted = engine->duties[DUTY_SWEEP].is_wanted = true;
    duties_want_any(engine);
    engine->sweeps_until = engine_monotonic(engine) + SWEEP_FOR;
    engine->watch.has_peer = !options->is_only_node;
    engine->good_at = engine_monotonic(engine);
    engine->unpacking.engine = engine;
    pthread_mutex_init(&engine->lock, NULL);
    return engine;
}

void engine_free(Engine *engine)
{
    flights_free(engine);
    while (engine->arrived) { // and nobody looked at them: the process is being taken down
        Round *round = engine->arrived;
        engine->arrived = round->next;
        round_release(round);
    }
    registry_drop(engine->registry);
    while (engine->free_rounds) {
        Round *round = engine->free_rounds;
        engine->free_rounds = round->next;
        arena_done(&round->arena);
        free(round);
    }
    lanes_free(engine);
    hosts_free(engine);
    said_free(&engine->said);
    polls_free(engine);
    unpacking_empty(&engine->unpacking);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
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
    engine->is_stopping = true;
    transport_wake(engine->options.transport);
    if (engine->has_thread)
        pthread_join(engine->thread, NULL);
    // From here on this thread runs the engine: nothing is claimed, what is in flight may finish.
    command_refuse_all(engine);
    pulls_end_all(engine);
    Instant deadline = engine_monotonic(engine) + grace;
    while (!engine_is_idle(engine) && engine_monotonic(engine) < deadline) {
        if (engine_monotonic(engine) >= deadline - STOP_PROGRAMS)
            transport_stop(engine->options.transport);
        engine_round(engine);
        transport_wait(engine->options.transport, 20 * SPAN_MILLISECOND);
    }
    engine_round(engine); // what was answered in the last moment is settled too
    deadline = later(deadline, engine_monotonic(engine)) + LAST_ROUNDS;
    while (engine->rounds_out > 0 && engine_monotonic(engine) < deadline) {
        take_rounds(engine, clock_now(engine->options.clock));
        transport_wait(engine->options.transport, 20 * SPAN_MILLISECOND);
    }
    return engine->rounds_out == 0;
}

bool engine_is_idle(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool is_told = engine->note_count > 0 || engine->is_poked || engine->is_asked;
    pthread_mutex_unlock(&engine->lock);
    return engine->in_flight == 0 && engine->rounds_out == 0 && engine->said.count == 0 &&
           engine->polls.count == 0 && unpacking_stage(&engine->unpacking) == UNPACKING_FREE &&
           !is_told;
}

void engine_wait(Engine *engine, Instant until)
{
    Span wait = until - clock_now(engine->options.clock);
    if (wait > SPAN_SECOND)
        wait = SPAN_SECOND;
    transport_wait(engine->options.transport, wait > 0 ? wait : 0);
}

bool engine_has_company(Engine *engine)
{
    return engine->other_nodes > 0;
}

void tally_add(Tally *tally, const Tally *more)
{
    tally->claimed += more->claimed;
    tally->delivered += more->delivered;
    tally->retried += more->retried;
    tally->parked += more->parked;
    tally->expired += more->expired;
    tally->lapsed += more->lapsed;
    tally->stale += more->stale;
    tally->released += more->released;
    tally->purged += more->purged;
    tally->fired += more->fired;
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

EngineHealth engine_health(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    EngineHealth health = engine->health;
    health.since_good = engine_monotonic(engine) - engine->good_at;
    pthread_mutex_unlock(&engine->lock);
    return health;
}
