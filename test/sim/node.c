#include "sim.h"

#include "../survive/powerloss_vfs.h"
#include "store/migrate.h"
#include "store/node.h"

#include <sqlite3.h>

#define TURN_COST ((Span) 200) // of an engine's turn: time passes even where nothing else takes any
enum { SPINS_MAX = 200 };

static int fault(void *with, const char *call)
{
    Node *node = with;
    Sim *sim = node->sim;
    if (node->is_dead || node->is_mute)
        return SQLITE_INTERRUPT;
    if (node->dies_in > 0 && --node->dies_in == 0) {
        node_die(node, "inside a transaction");
        return SQLITE_INTERRUPT;
    }
    if (node->dies_at_commit && strcmp(call, "COMMIT") == 0) {
        trace(sim, "n%d dies after its COMMIT", node->index);
        node->is_mute = true;
        return 0;
    }
    if (sim->now >= node->trouble_until || node->trouble == TROUBLE_NONE)
        return 0;
    switch (node->trouble) {
    case TROUBLE_BUSY:
        return SQLITE_BUSY;
    case TROUBLE_FULL:
        return strncmp(call, "BEGIN", 5) == 0 || strncmp(call, "SELECT", 6) == 0 ? 0 : SQLITE_FULL;
    case TROUBLE_LOST:
        return DB_FAULT_LOST;
    case TROUBLE_NONE:
        break;
    }
    return 0;
}

bool node_hears(const Node *node)
{
    return node->is_up && !node->is_dead && !node->is_mute;
}

// pause is the writer's wait for its store: the rest of the world goes on.
static void pause_writer(void *with, Span span)
{
    Node *node = with;
    node->is_dead |= node->sim->has_failed;
    if (node->is_dead || node->is_mute)
        clock_pass(&node->clock, SPAN_HOUR); // nobody waits for the dead
    else
        world_run(node->sim, node->sim->now + span);
}

static void stop_program(void *with)
{
    node_die(with, "of a failed fsync");
}

static Err join(Tx *tx, void *with, Error *error)
{
    Node *node = with;
    TRY(tx_sync(tx, error));
    return node_join(tx, S("sim"), S("1"), false, clock_now(&node->clock), &node->number, error);
}

static Err open_writer(Node *node)
{
    Sim *sim = node->sim;
    Error error = { 0 };
    char url[128];
    snprintf(url, sizeof url, "sqlite:%s/n%d/sim.db?vfs=powerloss", getenv("SIM_FOLDER"),
             node->index);
    WriterOptions options = {
        .url = str_dup(&sim->arena, str_from(url)),
        .pen_count = sim->node_count > 1 ? 2 : 1, // as one on a server has, and one with a file
        .is_stepped = true,
        .seams = { node, pause_writer, stop_program },
        .clock = &node->clock,
        .random = &node->random,
        .fault = fault,
        .fault_with = node,
    };
    TRY(writer_open(&options, &node->writer, &error));
    Err err = writer_run(node->writer, join, node, &error);
    if (err != ERR_OK) {
        writer_close(node->writer);
        node->writer = NULL;
    }
    return err;
}

void node_start(Node *node)
{
    Sim *sim = node->sim;
    node->starts_at = INSTANT_NONE;
    node->is_dead = node->is_mute = node->dies_at_commit = node->stops = false;
    node->dies_in = 0;
    memset(node->shadows, 0, sizeof node->shadows);
    memset(node->paused_until, 0, sizeof node->paused_until);
    node->in_writer++;
    Err err = open_writer(node);
    node->in_writer--;
    if (err != ERR_OK) {
        trace(sim, "n%d cannot start: %s", node->index, err_code(err));
        node->is_dead = node->is_mute = false;
        node->starts_at = sim->now + SPAN_SECOND;
        return;
    }
    look(sim);
    writer_set_node(node->writer, node->number);
    node->transport = far_transport(node);
    EngineOptions options = { .writer = node->writer,
                              .clock = &node->clock,
                              .real = &node->clock,
                              .random = &node->random,
                              .transport = &node->transport,
                              .types = channel_types_here,
                              .node = node->number,
                              .is_only_node = sim->node_count == 1,
                              .payload_max = 1 << 20,
                              .kept = KEPT,
                              .kept_delivered = KEPT_DELIVERED };
    node->engine = engine_new(&options);
    writer_follow(node->writer, engine_moved, node->engine);
    node->is_up = true;
    node->life++;
    node->born_at = sim->now;
    node->frozen_at = node->frozen_until = sim->now; // the one that stood still is gone
    node->wakes_at = sim->now;
    node->writes_at = INSTANT_NONE;
    node->shaken_until = node->jumped_at = node->lost_time_at = INSTANT_NONE;
    node->is_dazed = false;
    trace(sim, "n%d starts as node %lld", node->index, (long long) node->number);
    if (chance(sim, 25)) // its very first rounds may fail
        node_trouble(node, TROUBLE_FULL, draw_span(sim, 1, 800 * SPAN_MILLISECOND));
}

Instant node_wakes_at(const Node *node)
{
    if (!node_hears(node) || node->in_engine > 0)
        return INSTANT_NONE;
    return later(earlier(node->wakes_at, far_next(node)), node->frozen_until);
}

Instant node_writes_at(const Node *node)
{
    if (!node_hears(node) || node->in_writer > 0 || node->writes_at == INSTANT_NONE)
        return INSTANT_NONE;
    return later(node->writes_at, node->frozen_until);
}

// node_plan_write has the writer look at what was submitted a while later: a disk takes its time.
void node_plan_write(Node *node)
{
    Sim *sim = node->sim;
    if (writer_waiting(node->writer) == 0)
        node->writes_at = INSTANT_NONE;
    else if (node->writes_at == INSTANT_NONE)
        node->writes_at = sim->now + draw_span(sim, 100, node->writer_delay);
}

void node_turn(Node *node)
{
    Sim *sim = node->sim;
    engine_wait(node->engine, clock_now(&node->clock));
    Instant until = engine_round(node->engine);
    Span sleep = earlier(later(until - clock_now(&node->clock), 0), SPAN_SECOND);
    node->wakes_at = sim->now + later(sleep, TURN_COST);
    node->spins = sleep > 0 ? 0 : node->spins + 1;
    if (node->spins > SPINS_MAX)
        broken(sim, "I20", "n%d: the engine spins", node->index);
    node_plan_write(node);
}

void node_write(Node *node)
{
    Sim *sim = node->sim;
    node->in_writer++;
    node->writes_at = INSTANT_NONE;
    trace(sim, "n%d writes %zu", node->index, writer_waiting(node->writer));
    writer_step(node->writer);
    node->in_writer--;
    sim->commits++;
    sim->last_writer = node->index;
    if (node->is_mute)
        node_die(node, "after its COMMIT");
    if (node->freezes_at_commit)
        node_freeze(node); // what it has claimed grows old before it learns of it
    look(sim);
    if (node_hears(node)) {
        node_plan_write(node);
        node->wakes_at = earlier(node->wakes_at, sim->now + TURN_COST);
    }
}

void node_freeze(Node *node)
{
    Sim *sim = node->sim;
    Span length = draw_span(sim, 100 * SPAN_MILLISECOND, 2 * LEASE);
    node->freezes_at_commit = false;
    node->frozen_at = sim->now;
    node->frozen_until = sim->now + length;
    node_shake(node, length);
    trace(sim, "n%d stands still for %lld ms", node->index,
          (long long) (length / SPAN_MILLISECOND));
}

void node_shake(Node *node, Span length)
{
    Instant until = node->sim->now + length;
    if (length >= RENEW)
        node->shaken_until =
            node->shaken_until == INSTANT_NONE ? until : later(node->shaken_until, until);
}

void node_trouble(Node *node, Trouble trouble, Span length)
{
    node->trouble = trouble;
    node->trouble_until = later(node->trouble_until, node->sim->now + length);
    node_shake(node, length);
}

void node_die(Node *node, const char *how)
{
    Sim *sim = node->sim;
    if (!node->is_up && !node->in_writer)
        return;
    trace(sim, "n%d dies %s", node->index, how);
    node->is_dead = true;
    sim->deaths++;
    clock_pass(&node->clock, SPAN_HOUR); // its waits are over
}

static void take_down(Node *node)
{
    Sim *sim = node->sim;
    far_forget(node);
    node->is_dead = true;
    while (writer_step(node->writer)) // hands the rounds back to the engine that owns them
        ;
    writer_follow(node->writer, NULL, NULL);
    engine_free(node->engine);
    writer_close(node->writer);
    node->engine = NULL;
    node->writer = NULL;
    node->is_up = node->is_dead = node->is_mute = node->dies_at_commit = false;
    node->dies_in = 0;
    node->wakes_at = node->writes_at = node->stops_at = INSTANT_NONE;
    node->starts_at = sim->now + draw_span(sim, 100 * SPAN_MILLISECOND, 20 * SPAN_SECOND);
    clock_init_simulated(&node->clock, sim->now + node->skew); // which its death had moved
}

void node_reap(Node *node)
{
    if (node->is_up && node->is_dead && node->in_writer == 0 && node->in_engine == 0)
        take_down(node);
}

// wait_for_writer: what the engine submitted last, as its grace ended, is written too.
static void wait_for_writer(Node *node)
{
    node_plan_write(node);
    world_run(node->sim, node->sim->now + 10 * SPAN_MILLISECOND);
    node->is_dead |= node->sim->has_failed;
}

void node_stop(Node *node)
{
    Sim *sim = node->sim;
    Instant from = sim->now;
    trace(sim, "n%d stops", node->index);
    node->stops_at = INSTANT_NONE;
    node->stops = true;
    node->in_engine++;
    engine_stop(node->engine, GRACE);
    while (!node->is_dead && (writer_waiting(node->writer) > 0 || node->in_writer > 0))
        wait_for_writer(node);
    node->in_engine--;
    node->stops = false;
    look(sim);
    if (!node->is_dead)
        laws_on_stop(sim, node, sim->now - from);
    trace(sim, "n%d has stopped", node->index);
    node->is_dead = true; // what is left of it
    node_reap(node);
}

void power_loss(Sim *sim)
{
    uint64_t fate = random_u64(&sim->chance);
    trace(sim, "the power is cut");
    powerloss_cut();
    look_close(sim);
    for (int i = 0; i < sim->node_count; i++) {
        if (!sim->nodes[i].is_up)
            continue;
        node_die(&sim->nodes[i], "with the power");
        take_down(&sim->nodes[i]);
    }
    powerloss_restore(POWERLOSS_CHANCE, fate);
    look_open(sim);
    look(sim);
}
