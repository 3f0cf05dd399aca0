#include "sim.h"

// I43, I1, I35: what was committed stays, but for what has ended and whose time is over: that goes,
// with all that is of it, and the counters with it (look_agrees). What lives stays however old.

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    static const Statement due = {
        .name = "sim_purge_due",
        .scope = STATEMENT_SYSTEM,
        .params = "",
        .sql = "UPDATE purge SET next_at = 0",
    };
    Rows rows;
    (void) ops, (void) count;
    return tx_query(tx, &due, NULL, &rows, error);
}

// purge_ask stands for the day between two runs: nothing else would be left of a simulation.
void purge_ask(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim purge", .apply = apply };
    trace(sim, "client: n%d purge", node->index);
    call_submit(call_new(sim, node, CALL_PURGE), &kind, call_done);
}

void purge_on_vanish(Sim *sim, Track *track)
{
    const Row *row = &track->row;
    const Node *node = &sim->nodes[sim->last_writer];
    Span kept = row->state == DELIVERY_DELIVERED ? KEPT_DELIVERED : KEPT;
    trace(sim, "track %d is gone", name_of(sim, track));
    if (delivery_is_live(row->state))
        broken(sim, "I1", "track %d is gone, and was %s", name_of(sim, track),
               delivery_state_text(row->state));
    else if (row->ended_at + kept > clock_now(&node->clock))
        broken(sim, "I43", "track %d is gone %lld ms too early", name_of(sim, track),
               (long long) ((row->ended_at + kept - clock_now(&node->clock)) / SPAN_MILLISECOND));
    track->is_gone = true;
    sim->purged++;
}

size_t purge_gone_of(const Sim *sim, Uuid event)
{
    size_t count = 0;
    for (size_t i = 0; i < sim->track_count && sim->purged > 0; i++)
        count += sim->tracks[i].is_gone && uuid_cmp(sim->tracks[i].event, event) == 0;
    return count;
}

void purge_look(Sim *sim)
{
    for (int i = 0; i < sim->node_count; i++)
        sim->latest = later(sim->latest, clock_now(&sim->nodes[i].clock));
}

bool purge_may_take(const Sim *sim, Uuid event)
{
    return uuid_cmp(event, uuid_ceiling(sim->latest - KEPT_DELIVERED)) <= 0;
}
