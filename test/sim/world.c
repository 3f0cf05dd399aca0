#include "sim.h"

#include "../survive/powerloss_vfs.h"
#include "store/key.h"
#include "store/migrate.h"

#include <stdarg.h>

enum { STEPS_MAX = 60000, TRACE_LAST = 60, LINE_MAX = 160 };

struct Trace {
    char lines[TRACE_LAST][LINE_MAX];
    long count;
};

int draw(Sim *sim, int count)
{
    assert(count > 0);
    return (int) (random_u64(&sim->chance) % (uint64_t) count);
}

Span draw_span(Sim *sim, Span least, Span most)
{
    return least + (Span) (random_u64(&sim->chance) % (uint64_t) (most - least + 1));
}

bool chance(Sim *sim, int percent)
{
    return draw(sim, 100) < percent;
}

static void keep_line(Sim *sim, const char *format, va_list args)
{
    char *line = sim->trace->lines[sim->trace->count++ % TRACE_LAST];
    int used = snprintf(line, LINE_MAX, "%ld %9.4f ", sim->step,
                        (double) (sim->now - BEGINNING) / (double) SPAN_SECOND);
    vsnprintf(line + used, LINE_MAX - (size_t) used, format, args);
    for (const char *at = line; *at; at++)
        sim->hash = (sim->hash ^ (unsigned char) *at) * 0x100000001b3u;
    if (sim->is_tracing)
        printf("# %s\n", line);
}

void trace(Sim *sim, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_line(sim, format, args);
    va_end(args);
}

void broken(Sim *sim, const char *invariant, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (sim->has_failed)
        return;
    sim->has_failed = true;
    printf("# seed %llu, step %ld: %s does not hold: %s\n", (unsigned long long) sim->seed,
           sim->step, invariant, text);
    long from = sim->trace->count > TRACE_LAST ? sim->trace->count - TRACE_LAST : 0;
    for (long i = from; i < sim->trace->count && !sim->is_tracing; i++)
        printf("#   %s\n", sim->trace->lines[i % TRACE_LAST]);
    printf("# see it again: build/test/sim/sim --seed %llu --trace\n",
           (unsigned long long) sim->seed);
    fflush(stdout);
}

static void pass_to(Sim *sim, Instant at)
{
    Span span = at - sim->now;
    if (span <= 0)
        return;
    sim->now = at;
    for (int i = 0; i < sim->node_count; i++)
        clock_pass(&sim->nodes[i].clock, span);
}

// Due is what happens next. Of several at one moment the first in this order does.
typedef struct Due {
    Instant at;
    void (*move)(Sim *sim);
    void (*of_node)(Node *node);
    Node *node;
} Due;

static void consider(Due *due, Instant at, void (*of_node)(Node *node), Node *node)
{
    if (at < due->at)
        *due = (Due){ .at = at, .of_node = of_node, .node = node };
}

static bool somebody_stops(const Sim *sim)
{
    bool stops = false;
    for (int i = 0; i < sim->node_count; i++)
        stops |= sim->nodes[i].stops;
    return stops;
}

static Due next_due(Sim *sim)
{
    Due due = { .at = INSTANT_NONE };
    // A stop lets the world go on from within: a second one inside of it would hold up the first.
    bool may_stop = !somebody_stops(sim);
    for (int i = 0; i < sim->node_count; i++) {
        Node *node = &sim->nodes[i];
        consider(&due, node->starts_at, node_start, node);
        consider(&due, node_writes_at(node), node_write, node);
        consider(&due, node_wakes_at(node), node_turn, node);
        if (may_stop && node->is_up && !node->in_engine && !node->in_writer)
            consider(&due, node->stops_at, node_stop, node);
    }
    if (sim->client_at < due.at && sim->calls_left > 0)
        due = (Due){ .at = sim->client_at, .move = move_client };
    if (sim->worker_at < due.at)
        due = (Due){ .at = sim->worker_at, .move = move_worker };
    if (sim->trouble_at < due.at)
        due = (Due){ .at = sim->trouble_at, .move = move_trouble };
    return due;
}

void world_run(Sim *sim, Instant until)
{
    while (!sim->has_failed) {
        Due due = next_due(sim);
        if (due.at > until)
            break;
        pass_to(sim, due.at);
        if (++sim->step > STEPS_MAX)
            broken(sim, "I20", "it never comes to rest");
        if (due.move)
            due.move(sim);
        else
            due.of_node(due.node);
        for (int i = 0; i < sim->node_count; i++)
            node_reap(&sim->nodes[i]);
        if (sim->step % 10 == 0)
            laws_on_time(sim);
        if (sim->step % 100 == 0)
            laws_often(sim);
    }
    pass_to(sim, until);
}

static Err bootstrap(Tx *tx, void *with, Error *error)
{
    Sim *sim = with;
    KeyStart made;
    TRY(key_bootstrap(tx, &sim->arena, S("the key of the simulation"), &made, error));
    return moves_publish_all(tx, sim, error);
}

// make_store leaves a database with its definitions, as an administrator would.
static void make_store(Sim *sim)
{
    Db *db = NULL;
    Writer *writer = NULL;
    int applied;
    Error error = { 0 };
    Str url = str_format(&sim->arena, "sqlite:%s/sim.db?vfs=powerloss", getenv("SIM_FOLDER"));
    Err err = db_open(&(DbOptions){ .url = url }, &db, &error);
    if (err == ERR_OK)
        err = migrate_run(db, &applied, &error);
    db_close(db);
    WriterOptions options = { .url = url, .clock = &sim->nodes[0].clock, .random = &sim->chance };
    if (err == ERR_OK)
        err = writer_open(&options, &writer, &error);
    if (err == ERR_OK)
        err = writer_run(writer, bootstrap, sim, &error);
    if (err != ERR_OK)
        printf("Bail out! %s\n", error.detail);
    assert(err == ERR_OK);
    writer_close(writer);
}

static void draw_lanes(Sim *sim)
{
    static const struct {
        const char *key;
        int host; // two share one
    } ways[] = { { "http:0", 0 },  { "http:1", 1 }, { "http:2", 1 },  { "http:3", 2 },
                 { "email:0", 3 }, { "hand:0", 4 }, { "worker:0", 5 } };
    sim->lane_count = LANES_MAX;
    for (int i = 0; i < sim->lane_count; i++) {
        Lane *lane = &sim->lanes[i];
        *lane = (Lane){ .key = ways[i].key,
                        .host = ways[i].host,
                        .is_ordered = i == ORDERED_LANE,
                        .is_enabled = true,
                        .gone_at = INSTANT_NONE,
                        .changed_at = INSTANT_NONE,
                        .mood = &moods[0] };
        lane->concurrency = lane->loosest = 1 + draw(sim, 6);
        lane->timeout = draw_span(sim, 2, 25) * SPAN_SECOND;
        if (chance(sim, 30)) {
            lane->rate_max = 3 + draw(sim, 6);
            lane->rate_per = draw_span(sim, 1, 5) * SPAN_SECOND;
        }
    }
}

static void draw_world(Sim *sim)
{
    sim->node_count = chance(sim, 60) ? 1 : 2 + draw(sim, NODES_MAX - 1);
    // Swarms: a seed that has few kinds of trouble has them often.
    sim->appetite = 1;
    for (size_t i = 1; i < trouble_count(); i++)
        sim->appetite |= (unsigned) chance(sim, 40) << i;
    sim->calls_left = 20 + draw(sim, 80);
    draw_lanes(sim);
    for (int i = 0; i < sim->node_count; i++) {
        Node *node = &sim->nodes[i];
        *node = (Node){ .sim = sim,
                        .index = i,
                        .starts_at = sim->now,
                        .wakes_at = INSTANT_NONE,
                        .writes_at = INSTANT_NONE,
                        .stops_at = INSTANT_NONE,
                        .shaken_until = INSTANT_NONE,
                        .jumped_at = INSTANT_NONE,
                        .lost_time_at = INSTANT_NONE,
                        .writer_delay = 2 * SPAN_MILLISECOND,
                        .random = random_seeded(random_u64(&sim->chance)) };
        clock_init_simulated(&node->clock, sim->now);
    }
}

static void sim_open(Sim *sim)
{
    sim->chance = random_seeded(sim->seed);
    sim->now = BEGINNING;
    sim->hash = 0xcbf29ce484222325u;
    sim->trace = memory_new(sizeof *sim->trace);
    sim->tracks = memory_new(TRACKS_MAX * sizeof *sim->tracks);
    sim->sends = memory_new(SENDS_MAX * sizeof *sim->sends);
    sim->calls = memory_new(CALLS_MAX * sizeof(Call *));
    sim->emits = memory_new(EMITS_MAX * sizeof *sim->emits);
    sim->lent = memory_new(LENT_MAX * sizeof *sim->lent);
    poll_open(sim);
    powerloss_forget();
    draw_world(sim);
    make_store(sim);
    look_open(sim);
    for (int i = 0; i < sim->lane_count; i++)
        sim->lanes[i].number = look_lane(sim, sim->lanes[i].key);
    sim->client_at = sim->worker_at = sim->now + SPAN_SECOND;
    sim->trouble_at = sim->now + draw_span(sim, SPAN_SECOND, 10 * SPAN_SECOND);
}

static void sim_close(Sim *sim)
{
    for (int i = 0; i < sim->node_count; i++) {
        node_die(&sim->nodes[i], "with the simulation");
        node_reap(&sim->nodes[i]);
    }
    for (size_t i = 0; i < sim->call_count; i++)
        registry_drop(sim->calls[i]->registry);
    look_close(sim);
    powerloss_forget();
    free(sim->trace);
    free(sim->tracks);
    free(sim->sends);
    free(sim->calls);
    free(sim->emits);
    free(sim->lent);
    poll_close(sim);
    arena_done(&sim->arena);
    arena_done(&sim->scratch);
}

static bool has_live(const Sim *sim)
{
    for (size_t i = 0; i < sim->track_count; i++)
        if (delivery_is_live(sim->tracks[i].row.state))
            return true;
    return false;
}

bool sim_run(Sim *sim)
{
    sim_open(sim);
    while (sim->calls_left > 0 && !sim->has_failed)
        world_run(sim, sim->now + 5 * SPAN_SECOND);
    world_run(sim, sim->now + draw_span(sim, 0, 60 * SPAN_SECOND));
    moves_end_all(sim);
    world_run(sim, sim->now + 30 * SPAN_SECOND);
    if (!sim->has_failed)
        moves_open_all(sim);
    world_run(sim, sim->now + 60 * SPAN_SECOND);
    laws_often(sim);
    laws_at_peace(sim);
    if (!sim->has_failed)
        job_retire(sim, &sim->nodes[0]);
    world_run(sim, sim->now + 5 * SPAN_SECOND);
    Instant end = sim->now + 16 * SPAN_MINUTE; // a circuit may have to wait for five
    while (sim->now < end && !sim->has_failed && (has_live(sim) || poll_waits(sim)))
        world_run(sim, sim->now + 20 * SPAN_SECOND);
    world_run(sim, sim->now + 12 * SPAN_SECOND); // the audit follows
    laws_often(sim);
    laws_at_end(sim);
    if (!sim->has_failed)
        purge_ask(sim, &sim->nodes[0]);
    world_run(sim, sim->now + SPAN_MINUTE + 5 * SPAN_SECOND);
    laws_often(sim);
    for (size_t i = 0; i < sim->track_count; i++)
        sim->reached[sim->tracks[i].row.state]++;
    sim_close(sim);
    return !sim->has_failed;
}
