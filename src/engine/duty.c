#include "engine/state.h"

#include "base/log.h"

#define DUTY_RETRY ((Span) 5 * SPAN_SECOND)
#define FRESH ((Span) 3 * SPAN_SECOND)

static const Duty duties[DUTY_COUNT] = {
    [DUTY_BEAT] = { "beat", 5 * SPAN_SECOND, 0, false, beat_run, beat_take },
    [DUTY_SWEEP] = { "sweep", 0, 0, true, sweep_run, sweep_take, .is_fresh = true },
    [DUTY_EXPIRE] = { "expire", 0, 0, true, expire_run, sweep_take },
    [DUTY_OPERATE] = { "operate", 0, 0, false, operate_run, NULL },
    [DUTY_PURGE] = { "purge", SPAN_MINUTE, 0, true, purge_run, NULL },
    [DUTY_UPKEEP] = { "upkeep", SPAN_MINUTE, 0, true, upkeep_run, NULL },
    [DUTY_SEQUENCE] = { "sequence", 5 * SPAN_SECOND, SPAN_SECOND, false, sequence_duty_run,
                        sequence_take, .hurried = 50 * SPAN_MILLISECOND, .is_long = true },
    [DUTY_SEAL] = { "seal", 5 * SPAN_SECOND, SPAN_SECOND, false, seal_run, NULL, .is_long = true,
                    .failed = METRIC_AUDIT_FAILURES },
    [DUTY_SAMPLE] = { "sample", SPAN_MINUTE, 0, false, sample_run, sample_ran },
    [DUTY_DRAIN] = { "drain", SPAN_SECOND, 20 * SPAN_MILLISECOND, false, drain_run, drain_take,
                     .is_shared = true, .is_deaf = true, .retry = SPAN_SECOND / 5,
                     .is_long = true },
    [DUTY_FIRE] = { "fire", 0, 0, true, fire_run, fire_take, .retry = SPAN_SECOND / 5,
                    .failed_alone = fire_failed },
    [DUTY_POLL] = { "poll", SPAN_SECOND, 0, true, poll_run, poll_take, .is_shared = true },
    [DUTY_CAMPAIGN] = { "campaign", 5 * SPAN_SECOND, 0, false, campaign_run, campaign_ran,
                        .retry = SPAN_SECOND / 5, .is_long = true },
};

static Span soon_of(const Engine *engine, DutyName name)
{
    const Duty *duty = &duties[name];
    return duty->hurried && atomic_load(&engine->is_hurried) ? duty->hurried : duty->soon;
}

static bool is_due(const Engine *engine, DutyName name, Instant now)
{
    const Duty *duty = &duties[name];
    const DutyState *state = &engine->duties[name];
    Instant monotonic = engine_monotonic(engine);
    if (state->is_out || monotonic < state->retry_at)
        return false;
    if (duty->is_quiet && !engine_sends(engine))
        return false;
    bool is_told = duty->is_shared && engine->options.is_only_node;
    bool is_time = duty->every > 0 && !is_told && monotonic - state->ran_at >= duty->every;
    bool is_news = state->has_news && monotonic - state->ran_at >= soon_of(engine, name);
    return state->is_wanted || state->due_at <= now || is_time || is_news;
}

static void ask(Engine *engine, Round *round, DutyName name)
{
    DutyState *state = &engine->duties[name];
    round->duties |= 1u << name;
    state->is_wanted = state->has_news = false;
    state->is_out = true;
    state->due_at = INSTANT_NONE; // it says, or the probe does, when it is due again
    state->ran_at = engine_monotonic(engine);
    if (name == DUTY_POLL)
        polls_prepare(engine);
}

// is_alone: it has a round of its own, because there is something for it to do; a mere look goes
// along with whatever else is done. Where the store is a file there is one pen, and a round more
// would only be a commit more.
static bool is_alone(const Engine *engine, DutyName name)
{
    const DutyState *state = &engine->duties[name];
    bool has_work = state->is_wanted || state->has_news;
    return duties[name].is_long && has_work && !engine->options.is_only_node;
}

bool duty_ask(Engine *engine, Round *round, Instant now, bool one)
{
    for (DutyName name = 0; name < DUTY_COUNT; name++) {
        if (is_alone(engine, name) || !is_due(engine, name, now))
            continue;
        ask(engine, round, name);
        if (one)
            break;
    }
    return round->duties != 0;
}

bool duty_ask_alone(Engine *engine, Round *round, Instant now)
{
    for (DutyName name = 0; name < DUTY_COUNT && round->duties == 0; name++)
        if (is_alone(engine, name) && is_due(engine, name, now))
            ask(engine, round, name);
    return round->duties != 0;
}

static Err run(Tx *tx, DutyName name, const Round *round, DutyReport *ret, Error *error)
{
    const Duty *duty = &duties[name];
    const DutyState *state = &round->engine->duties[name]; // nobody touches it while it is out
    const EngineOptions *options = &round->engine->options;
    *ret = (DutyReport){ .fault = state->has_failed ? state->fault : NULL,
                         .tried = state->tried,
                         .trial = round->engine->trial,
                         .leases = round->engine->in_flight,
                         .unpacking = &round->engine->unpacking,
                         .firing = { .max = round->engine->fire_max,
                                     .carries_back = !round->engine->is_carried_back,
                                     .oldest = INSTANT_NONE },
                         .polling = &round->engine->polls.claims };
    ret->has_more = duty->is_fresh && clock_monotonic(options->clock) - round->asked_at > FRESH;
    return ret->has_more ? ERR_OK : duty->run(tx, options, ret, error);
}

Err duty_apply(Tx *tx, Round *round, Error *error)
{
    for (DutyName name = 0; name < DUTY_COUNT; name++)
        if (round->duties & 1u << name)
            TRY(run(tx, name, round, &round->reports[name], error));
    return ERR_OK;
}

void duty_take(Engine *engine, const Round *round)
{
    for (DutyName name = 0; name < DUTY_COUNT; name++) {
        if (!(round->duties & 1u << name))
            continue;
        const DutyReport *report = &round->reports[name];
        engine->duties[name].is_out = engine->duties[name].has_failed = false;
        engine->duties[name].is_wanted |= report->has_more;
        tally_add(&engine->tally, &report->tally);
        if (duties[name].take)
            duties[name].take(engine, report);
    }
}

void duty_failed(Engine *engine, const Round *round)
{
    for (DutyName name = 0; name < DUTY_COUNT; name++) {
        if (!(round->duties & 1u << name))
            continue;
        DutyState *state = &engine->duties[name];
        state->is_out = false;
        state->is_wanted = true;
        if (!round->is_narrow)
            continue;
        state->has_failed = true;
        snprintf(state->fault, sizeof state->fault, "%s", round->detail);
        state->tried = round->reports[name].tried;
        state->retry_at =
            engine_monotonic(engine) + (duties[name].retry ? duties[name].retry : DUTY_RETRY);
        if (duties[name].failed_alone)
            duties[name].failed_alone(engine);
        if (duties[name].failed)
            metric_count(duties[name].failed, METRIC_ALONE, 1);
        log_error("duty.failed", "duty=%s detail=%s", duties[name].name,
                  log_quote(str_from(round->detail)));
    }
}

void duty_falls_due(Engine *engine, DutyName name, Instant due_at)
{
    DutyState *state = &engine->duties[name];
    state->due_at = earlier(state->due_at, due_at);
    state->told = ++engine->news;
}

void duty_learn(Engine *engine, DutyName name, Instant due_at, uint64_t news)
{
    DutyState *state = &engine->duties[name];
    state->due_at = state->told > news ? earlier(state->due_at, due_at) : due_at;
}

void duties_have_news(Engine *engine)
{
    for (DutyName name = 0; name < DUTY_COUNT; name++)
        engine->duties[name].has_news |= duties[name].soon > 0 && !duties[name].is_deaf;
}

void duties_want_any(Engine *engine)
{
    engine->duties[DUTY_OPERATE].is_wanted = true;
    engine->duties[DUTY_DRAIN].is_wanted = true;
    engine->duties[DUTY_FIRE].is_wanted = true;
    engine->duties[DUTY_POLL].is_wanted = true;
    engine->duties[DUTY_CAMPAIGN].is_wanted = true;
}

Span duties_soon(const Engine *engine)
{
    Span soon = SPAN_DAY;
    Instant monotonic = engine_monotonic(engine);
    for (DutyName name = 0; name < DUTY_COUNT; name++) {
        const DutyState *state = &engine->duties[name];
        Instant at = later(state->ran_at + soon_of(engine, name), state->retry_at);
        if (state->has_news && !state->is_out)
            soon = earlier(soon, later(at, monotonic) - monotonic);
    }
    return soon;
}

// duties_next is when the next duty falls due by the clock; what waits for something else, or is
// due and may not run, is not counted.
Instant duties_next(const Engine *engine, Instant now)
{
    Instant next = INSTANT_NONE;
    for (DutyName name = 0; name < DUTY_COUNT; name++)
        if (engine->duties[name].due_at > now)
            next = earlier(next, engine->duties[name].due_at);
    return next;
}
