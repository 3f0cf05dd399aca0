#include "engine/state.h"

#include "store/schedule.h"

// The beat keeps this node's row alive, so that others know that it lives; counts them; and, where
// the store is a server, measures how far its clock is from ours. Every node then runs by the
// server's clock, whatever its own says. A clock that jumped is believed again when the server has
// said what time it is (watch.h); an answer that was long under way does not say it.

#define ROUND_TRIP_MAX SPAN_SECOND

Err beat_run(Tx *tx, const EngineOptions *options, DutyReport *ret, Error *error)
{
    Instant real_now = clock_now(options->real);
    TRY(node_others(tx->db, options->node, real_now, &ret->other_nodes, error));
    TRY(node_offset(tx->db, options->real, &ret->clock, error));
    // What is measured is what our offset still lacks: together they are the machine's own.
    NodeBeat beat = { .node = options->node,
                      .real_now = real_now,
                      .clock_offset = options->real->offset + ret->clock.span,
                      .leases = ret->leases };
    return node_beat(tx, &beat, error);
}

void beat_take(Engine *engine, const DutyReport *report)
{
    Clock *clock = engine->options.clock, *real = engine->options.real;
    Instant monotonic = engine_monotonic(engine);
    engine->other_nodes = report->other_nodes;
    if (engine->other_nodes > 0)
        engine->sweeps_until = monotonic + SWEEP_FOR;
    engine->duties[DUTY_SWEEP].is_wanted |= monotonic < engine->sweeps_until;
    if (report->clock.round_trip > ROUND_TRIP_MAX || report->clock.round_trip < 0)
        return;
    clock_set_offset(real, real->offset + report->clock.span);
    if (clock->is_manual)
        return;
    if (clock != real)
        clock_set_offset(clock, real->offset);
    if (engine->watch.is_off || report->clock.span < -SCHEDULE_AHEAD)
        fire_anew(engine);
    if (engine->watch.has_peer) // it is corrected now, and that is no jump
        clock_watch_believe(&engine->watch, clock_now(clock), monotonic);
}
