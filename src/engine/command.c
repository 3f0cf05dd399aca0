#include "engine/state.h"

#include "base/log.h"

#define STOPPING "try again when it is back"

// Commands run between rounds. A tick ends when nothing that is due now is left to do. An advance
// does the same at every due moment up to its goal, so that each sees the clock at its own time.

// next_due is the next moment at which something happens, or has been due already.
static Instant next_due(const Engine *engine)
{
    return earlier(lanes_next(engine), earlier(engine->duties[DUTY_POLL].due_at,
                                               earlier(engine->duties[DUTY_EXPIRE].due_at,
                                                       engine->duties[DUTY_FIRE].due_at)));
}

static void refuse(EngineCommand *command, Err err, const char *why)
{
    command->done(command->with, &(EngineReport){ .err = err, .refused = why });
    free(command);
}

static void report(Engine *engine)
{
    EngineCommand *command = engine->command;
    Tally before = command->before, after = engine->tally;
    EngineReport result = {
        .tally = { after.claimed - before.claimed, after.delivered - before.delivered,
                   after.retried - before.retried, after.parked - before.parked,
                   after.expired - before.expired, after.lapsed - before.lapsed,
                   after.stale - before.stale, after.released - before.released,
                   after.purged - before.purged, after.fired - before.fired },
        .next_at = next_due(engine),
        .now = clock_now(engine->options.clock),
    };
    engine->command = NULL;
    command->done(command->with, &result);
    free(command);
}

static bool take_command(Engine *engine)
{
    if (engine->command)
        return true;
    pthread_mutex_lock(&engine->lock);
    engine->command = engine->commands;
    if (engine->command)
        engine->commands = engine->command->next;
    pthread_mutex_unlock(&engine->lock);
    if (!engine->command)
        return false;
    engine->command->before = engine->tally;
    return true;
}

// tidies_first has what is past its time deleted before the command ends: by the clock that the
// command is about, and not by the machine's, the purge may be due long since. What the command did
// is in the audit then, too.
static bool tidies_first(Engine *engine, EngineCommand *command)
{
    if (command->has_tidied || !engine_sends(engine))
        return false;
    command->has_tidied = true;
    engine->duties[DUTY_PURGE].is_wanted = true;
    engine->duties[DUTY_CAMPAIGN].is_wanted = true; // uploads that broke off
    engine->duties[DUTY_SEQUENCE].is_wanted = true;
    engine->duties[DUTY_SEAL].is_wanted = true;
    return true;
}

// Where what comes in waits: the inbox, and the files of campaigns.
static const DutyName intakes[] = { DUTY_DRAIN, DUTY_CAMPAIGN };

// takes_in_first has what waits there become events before the command looks for what is due: true
// where it has just been asked for, which the next turn does.
static bool takes_in_first(Engine *engine, EngineCommand *command)
{
    bool is_asked = !command->has_taken_in;
    for (size_t i = 0; i < ARRAY_LEN(intakes); i++)
        engine->duties[intakes[i]].is_wanted |= is_asked;
    command->has_taken_in = true;
    return is_asked;
}

static bool is_taking_in(const Engine *engine)
{
    bool is_left = false;
    for (size_t i = 0; i < ARRAY_LEN(intakes); i++) {
        const DutyState *duty = &engine->duties[intakes[i]];
        is_left |= duty->is_wanted && engine_monotonic(engine) >= duty->retry_at;
    }
    return is_left;
}

bool command_run(Engine *engine, Instant now)
{
    if (!take_command(engine))
        return false;
    EngineCommand *command = engine->command;
    if (command->kind == COMMAND_ADVANCE && engine->other_nodes > 0) {
        engine->command = NULL;
        refuse(command, ERR_CONFLICT, "the clock cannot be moved while another node lives");
        return true;
    }
    if (command->kind == COMMAND_ADVANCE && !command->has_begun && command->to < now) {
        clock_set(engine->options.clock, command->to);
        report(engine);
        return true;
    }
    command->has_begun = true;
    if (takes_in_first(engine, command))
        return true;
    if (is_taking_in(engine) || !engine_is_idle(engine) || engine->is_probing)
        return false;
    // What is due is known for sure only after a probe that began when nothing was under way.
    if (!command->has_probed) {
        command->has_probed = true;
        engine->wants_probe = true;
        return true;
    }
    if (engine->wants_probe)
        return false;
    Instant next = engine_sends(engine) ? next_due(engine) : INSTANT_NONE;
    command->has_probed = false;
    if (next <= now)
        return true;
    if (command->kind == COMMAND_ADVANCE && now < command->to)
        clock_set(engine->options.clock, earlier(next, command->to));
    else if (!tidies_first(engine, command))
        report(engine);
    return true;
}

static void submit(Engine *engine, EngineCommand command)
{
    EngineCommand *made = memory_new(sizeof *made);
    *made = command;
    pthread_mutex_lock(&engine->lock);
    bool is_refused = engine->refuses_commands;
    EngineCommand **last = made->kind == COMMAND_QUIET ? &engine->quiets : &engine->commands;
    while (*last)
        last = &(*last)->next;
    if (!is_refused)
        *last = made;
    pthread_mutex_unlock(&engine->lock);
    if (is_refused)
        refuse(made, ERR_STOPPING, STOPPING);
    else
        transport_wake(engine->options.transport);
}

static void refuse_list(EngineCommand *list)
{
    for (EngineCommand *command = list, *next; command; command = next) {
        next = command->next;
        refuse(command, ERR_STOPPING, STOPPING);
    }
}

void command_refuse_all(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->refuses_commands = true;
    EngineCommand *waiting = engine->commands, *quiets = engine->quiets;
    engine->commands = engine->quiets = NULL;
    pthread_mutex_unlock(&engine->lock);
    if (engine->command)
        refuse(engine->command, ERR_STOPPING, STOPPING);
    engine->command = NULL;
    refuse_list(waiting);
    refuse_list(quiets);
}

EngineCommand *command_take_quiets(Engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    EngineCommand *quiets = engine->quiets;
    engine->quiets = NULL;
    pthread_mutex_unlock(&engine->lock);
    return quiets;
}

void command_tell_quiet(Engine *engine, EngineCommand *quiets)
{
    EngineReport report = { .in_flight = (int64_t) engine->running.count,
                            .now = clock_now(engine->options.clock) };
    for (EngineCommand *quiet = quiets, *next; quiet; quiet = next) {
        next = quiet->next;
        quiet->done(quiet->with, &report);
        free(quiet);
    }
}

void engine_quiet(Engine *engine, EngineDone *done, void *with)
{
    submit(engine, (EngineCommand){ .kind = COMMAND_QUIET, .done = done, .with = with });
}

void engine_tick(Engine *engine, EngineDone *done, void *with)
{
    submit(engine, (EngineCommand){ .kind = COMMAND_TICK, .done = done, .with = with });
}

void engine_advance(Engine *engine, Instant to, EngineDone *done, void *with)
{
    submit(engine,
           (EngineCommand){ .kind = COMMAND_ADVANCE, .to = to, .done = done, .with = with });
}
