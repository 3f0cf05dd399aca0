#include "api/served.h"

#include "api/feed.h"
#include "api/site.h"
#include "base/metric.h"
#include "base/usage.h"
#include "engine/engine.h"
#include "engine/measure.h"
#include "store/audit.h"
#include "store/health.h"

// /metrics: each row of base/metric.h in Prometheus' text format. What is counted as Peal runs is
// in memory; how deep lanes are, and what holds them, is asked of the store, by a thread with
// nothing else to do, and left out while the store is away. Who has no key learns how many there
// are, not whose; a key sees its own tenant, and the system every one. METRIC_LANES_SHOWN lanes are
// shown by name, those with the most to do; the rest are summed under OTHERS.

enum { TEXT_BYTES_MAX = 16 << 20, CLASSES = 8 };

#define OTHERS S("(others)")

// Held are the lanes that something holds at a time; beside them, facts that are not sealed yet.
typedef struct Held {
    Health *rows;
    size_t count;
    Instant now;
    int64_t unsealed;
    int64_t waiting; // in the inbox
} Held;

void metrics_request(const Route *route, int status)
{
    int64_t number = route ? route - routes + 1 : 0;
    metric_count(METRIC_REQUESTS, number * CLASSES + status / 100, 1);
}

void metrics_answered(const Served *served)
{
    const Call *call = &served->call;
    if (call->route && call->route->run.set)
        metric_observe(METRIC_INGEST, METRIC_ALONE,
                       clock_monotonic(call->api->clock) - served->whole_at);
}

static bool label_request(void *with, int64_t key, Buf *out)
{
    int64_t number = key / CLASSES, class = key % CLASSES;
    const Route *route = key > 0 && number > 0 ? &routes[number - 1] : NULL;
    char status[] = { key > 0 ? (char) ('0' + class) : 'x', 'x', 'x', '\0' };
    (void) with;
    metric_label(out, "method", route ? str_from(route->method) : OTHERS);
    metric_label(out, "route", route ? str_from(route->path) : OTHERS);
    metric_label(out, "status", str_from(status));
    return true;
}

static bool label_type(void *with, int64_t key, Buf *out)
{
    (void) with;
    metric_label(out, "type", measure_type(key));
    return true;
}

static bool label_row(void *with, int64_t key, Buf *out)
{
    (void) with;
    metric_label(out, "result", measured_row_text(key));
    return true;
}

static void label_verdict(Buf *out, int64_t key)
{
    int64_t verdict = key % MEASURE_VERDICTS;
    metric_label(out, "verdict", key >= 0 ? str_from(verdict_text((Verdict) verdict)) : OTHERS);
}

static bool label_type_verdict(void *with, int64_t key, Buf *out)
{
    label_type(with, key / MEASURE_VERDICTS, out);
    label_verdict(out, key);
    return true;
}

// lane_of finds a lane that the call may see; NULL: it may not, or nobody knows the lane any more.
static const RegistryLane *lane_of(const Call *call, int64_t number)
{
    const RegistryLane *lane = call->registry ? registry_lane(call->registry, number) : NULL;
    bool is_seen = lane && call->key && (call->key->is_system || lane->tenant == call->tenant);
    return is_seen ? lane : NULL;
}

static bool label_lane(void *with, int64_t key, Buf *out)
{
    const Call *call = with;
    const RegistryLane *lane = lane_of(call, key);
    const RegistryTenant *tenant = lane ? registry_tenant(call->registry, lane->tenant) : NULL;
    if (!tenant && !(key == METRIC_OTHERS && call->key->is_system))
        return false;
    metric_label(out, "tenant", tenant ? tenant->id : OTHERS);
    metric_label(out, "channel", tenant ? lane->channel_key : OTHERS);
    return true;
}

static bool label_lane_verdict(void *with, int64_t key, Buf *out)
{
    int64_t lane = key == METRIC_OTHERS ? METRIC_OTHERS : key / MEASURE_VERDICTS;
    if (!label_lane(with, lane, out))
        return false;
    label_verdict(out, key);
    return true;
}

static void put_counted(Call *call, Buf *out)
{
    metric_put_series(out, METRIC_EVENTS, NULL, NULL);
    metric_put_series(out, METRIC_CREATED, NULL, NULL);
    metric_put_series(out, METRIC_HANDOFF_FAILURES, NULL, NULL);
    metric_put_series(out, METRIC_INGEST, NULL, NULL);
    metric_put_series(out, METRIC_REQUESTS, label_request, NULL);
    metric_put_series(out, METRIC_WEBHOOKS, label_hook, NULL);
    metric_put_series(out, METRIC_COMMIT, NULL, NULL);
    metric_put_series(out, METRIC_COMMIT_OPERATIONS, NULL, NULL);
    metric_put_series(out, METRIC_COMMIT_TO_ATTEMPT, NULL, NULL);
    metric_put_series(out, METRIC_QUEUE_AGE, NULL, NULL);
    metric_put_series(out, METRIC_ATTEMPT, label_type, NULL);
    metric_put_series(out, METRIC_ATTEMPTS, label_type_verdict, NULL);
    metric_put_series(out, METRIC_SCHEDULE_FIRED, NULL, NULL);
    metric_put_series(out, METRIC_SCHEDULE_MISSED, NULL, NULL);
    metric_put_series(out, METRIC_SCHEDULE_LAG, NULL, NULL);
    metric_put_series(out, METRIC_POLL, NULL, NULL);
    metric_put_series(out, METRIC_POLL_BACKOFFS, NULL, NULL);
    metric_put_series(out, METRIC_WORKER_CLAIMS, NULL, NULL);
    metric_put_series(out, METRIC_WORKER_CLAIMED, NULL, NULL);
    metric_put_series(out, METRIC_MISSING, NULL, NULL);
    metric_put_series(out, METRIC_INBOX_DRAIN, NULL, NULL);
    metric_put_series(out, METRIC_PARSE_FAILURES, NULL, NULL);
    metric_put_series(out, METRIC_CAMPAIGN_ROWS, label_row, NULL);
    metric_put_series(out, METRIC_DEDUP_HITS, NULL, NULL);
    metric_put_series(out, METRIC_AUDIT_FAILURES, NULL, NULL);
    if (!call->key)
        return;
    metric_put_series(out, METRIC_CHANNEL_ATTEMPT, label_lane, call);
    metric_put_series(out, METRIC_CHANNEL_ATTEMPTS, label_lane_verdict, call);
}

static void put_alone(Buf *out, Metric metric, double value)
{
    metric_head(out, metric);
    metric_put(out, metric, STR_NONE, value);
}

static double seconds(Span span)
{
    return (double) span / (double) SPAN_SECOND;
}

static void put_engine(Call *call, Buf *out)
{
    Engine *engine = call->api->engine;
    Tally tally = engine_tally(engine);
    EngineHealth health = engine_health(engine);
    put_alone(out, METRIC_CLAIMED, (double) tally.claimed);
    put_alone(out, METRIC_RELEASED, (double) tally.released);
    put_alone(out, METRIC_DELIVERED, (double) tally.delivered);
    put_alone(out, METRIC_RETRIED, (double) tally.retried);
    put_alone(out, METRIC_PARKED, (double) tally.parked);
    put_alone(out, METRIC_EXPIRED, (double) tally.expired);
    put_alone(out, METRIC_LAPSED, (double) tally.lapsed);
    put_alone(out, METRIC_STALE_SETTLES, (double) tally.stale);
    put_alone(out, METRIC_PURGED, (double) tally.purged);
    put_alone(out, METRIC_IN_FLIGHT, (double) engine_in_flight(engine));
    put_alone(out, METRIC_CIRCUITS_OPEN, (double) health.circuits_open);
    put_alone(out, METRIC_CIRCUITS_OPENED, (double) health.circuits_opened);
    put_alone(out, METRIC_PAUSES, (double) health.pauses);
    put_alone(out, METRIC_ROUNDS_FAILED, (double) health.failed);
    put_alone(out, METRIC_STREAMS, (double) feed_count(call->api->feed));
    put_alone(out, METRIC_WORKERS_WAITING, (double) engine_pullers(engine));
    put_alone(out, METRIC_LAST_GOOD_ROUND, seconds(health.since_good));
    put_alone(out, METRIC_WRITER_WAITING, (double) writer_waiting(api_writer(call->api)));
    put_alone(out, METRIC_HELD, call->registry->is_held);
}

static void put_process(Call *call, Buf *out)
{
    Usage usage = usage_now();
    Buf version = buf_new(call->arena, 100);
    metric_label(&version, "version", str_from(call->api->version));
    metric_head(out, METRIC_BUILD_INFO);
    metric_put(out, METRIC_BUILD_INFO, buf_str(&version), 1);
    put_alone(out, METRIC_PROCESS_START, seconds(call->api->started_at));
    put_alone(out, METRIC_PROCESS_CPU, seconds(usage.cpu));
    put_alone(out, METRIC_PROCESS_RESIDENT, (double) usage.resident_bytes);
    put_alone(out, METRIC_PROCESS_VIRTUAL, (double) usage.virtual_bytes);
    put_alone(out, METRIC_PROCESS_FDS, (double) usage.descriptors);
    put_alone(out, METRIC_PROCESS_FDS_MAX, (double) usage.descriptors_max);
}

static void add_depth(Depth *sum, const Depth *more)
{
    for (size_t i = 0; i < DELIVERY_STATE_COUNT; i++)
        sum->n[i] += more->n[i];
    sum->known |= more->known;
    sum->due_at = earlier(sum->due_at, more->due_at);
}

static int by_need(const void *a, const void *b)
{
    const Depth *x = *(const Depth *const *) a, *y = *(const Depth *const *) b;
    int64_t left = depth_live(x) + x->n[DELIVERY_PARKED];
    int64_t right = depth_live(y) + y->n[DELIVERY_PARKED];
    if (left != right)
        return left > right ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

// shown_depths lists what the call may see: lanes by need, and at the end, as a lane that there is
// not, the sum of all others. Without a key there is only the sum.
static size_t shown_depths(const Call *call, const Depths *depths, const Depth ***ret)
{
    const Depth **shown = ARENA_ARRAY(call->arena, const Depth *, depths->count + 1);
    Depth *sum = ARENA_NEW(call->arena, Depth);
    size_t count = 0;
    *sum = (Depth){ .lane = METRIC_OTHERS, .due_at = INSTANT_NONE };
    for (size_t i = 0; i < depths->count; i++) {
        if (!call->key)
            add_depth(sum, &depths->rows[i]);
        else if (lane_of(call, depths->rows[i].lane))
            shown[count++] = &depths->rows[i];
    }
    qsort(shown, count, sizeof *shown, by_need);
    for (size_t i = METRIC_LANES_SHOWN; i < count; i++)
        add_depth(sum, shown[i]);
    if (count > METRIC_LANES_SHOWN)
        count = METRIC_LANES_SHOWN;
    if (!call->key)
        sum->known = (1u << DELIVERY_STATE_COUNT) - 1;
    if (sum->known)
        shown[count++] = sum;
    *ret = shown;
    return count;
}

static Buf lane_labels(Call *call, int64_t lane)
{
    Buf labels = buf_new(call->arena, 1024);
    if (call->key && !label_lane(call, lane, &labels)) {
        metric_label(&labels, "tenant", call_tenant_id(call)); // the rest of its own
        metric_label(&labels, "channel", OTHERS);
    }
    return labels;
}

static void put_depths(Call *call, const Depths *depths, Buf *out)
{
    Instant now = clock_now(call->api->clock);
    const Depth **shown;
    size_t count = shown_depths(call, depths, &shown);
    metric_head(out, METRIC_DELIVERIES);
    for (size_t i = 0; i < count; i++) {
        for (DeliveryState state = 0; state < DELIVERY_STATE_COUNT; state++) {
            Buf labels = lane_labels(call, shown[i]->lane);
            metric_label(&labels, "state", str_from(delivery_state_text(state)));
            if (shown[i]->known & 1u << state)
                metric_put(out, METRIC_DELIVERIES, buf_str(&labels), (double) shown[i]->n[state]);
        }
    }
    metric_head(out, METRIC_QUEUE_OLDEST);
    for (size_t i = 0; i < count; i++) {
        Buf labels = lane_labels(call, shown[i]->lane);
        metric_put(out, METRIC_QUEUE_OLDEST, buf_str(&labels),
                   shown[i]->due_at < now ? seconds(now - shown[i]->due_at) : 0);
    }
}

static bool is_held_by(Metric metric, const Health *health, Instant now)
{
    if (metric == METRIC_CHANNEL_CIRCUIT)
        return health->circuit != CIRCUIT_CLOSED;
    return health->paused_until != INSTANT_NONE && health->paused_until > now;
}

// put_held names the channels that something holds, of those that the call may see; without a key
// it tells how many there are.
static void put_held(Call *call, const Held *held, Metric metric, Buf *out)
{
    size_t shown = 0, others = 0;
    metric_head(out, metric);
    for (size_t i = 0; i < held->count; i++) {
        int64_t lane = held->rows[i].lane;
        if (!is_held_by(metric, &held->rows[i], held->now) || (call->key && !lane_of(call, lane)))
            continue;
        if (!call->key || shown == METRIC_LANES_SHOWN) {
            others++;
            continue;
        }
        Buf labels = lane_labels(call, lane);
        metric_put(out, metric, buf_str(&labels), 1);
        shown++;
    }
    Buf labels = lane_labels(call, METRIC_OTHERS);
    if (!call->key || others)
        metric_put(out, metric, buf_str(&labels), (double) others);
}

// put_backlog tells what a site still has to hand on.
static void put_backlog(const Site *site, const Depths *depths, Buf *out)
{
    int64_t backlog = 0;
    for (size_t i = 0; i < depths->count; i++)
        if (depths->rows[i].lane == site->rule.rule.lane)
            backlog += depth_live(&depths->rows[i]);
    put_alone(out, METRIC_SITE_BACKLOG, (double) backlog);
}

// answer writes what is known; depths and held are NULL where the store cannot be asked.
static void answer(Call *call, const Depths *depths, const Held *held)
{
    Buf out = buf_new(call->arena, TEXT_BYTES_MAX);
    put_process(call, &out);
    put_alone(&out, METRIC_STORE_UP, depths != NULL);
    if (depths)
        put_depths(call, depths, &out);
    for (Metric metric = METRIC_CHANNEL_CIRCUIT; held && metric <= METRIC_CHANNEL_PAUSED; metric++)
        put_held(call, held, metric, &out);
    if (held) {
        put_alone(&out, METRIC_AUDIT_BACKLOG, (double) held->unsealed);
        put_alone(&out, METRIC_INBOX_DEPTH, (double) held->waiting);
    }
    if (depths && call->api->site)
        put_backlog(call->api->site, depths, &out);
    if (call->registry)
        put_engine(call, &out);
    put_counted(call, &out);
    call->reply = (Reply){ .status = 200,
                           .type = S("text/plain; version=0.0.4; charset=utf-8"),
                           .body = buf_str(&out) };
}

static Call *call_of_read(Read *read)
{
    return (Call *) ((char *) read - offsetof(Call, read));
}

static Err run(Read *read, Db *db, Error *error)
{
    Call *call = call_of_read(read);
    Api *api = call->api;
    TRY(depths_renew(&api->depths, db, api->clock, error));
    Held held = { .now = clock_now(api->clock) };
    TRY(health_held(db, call->arena, held.now, &held.rows, &held.count, error));
    TRY(audit_backlog(db, call->arena, &held.unsealed, error));
    TRY(inbox_depth(db, call->arena, &held.waiting, error));
    answer(call, &api->depths, &held);
    return ERR_OK;
}

static void done(Read *read, Err err, const Error *error)
{
    Call *call = call_of_read(read);
    (void) error;
    if (err != ERR_OK)
        answer(call, NULL, NULL);
    call_reply(call);
}

void metrics_get(Call *call)
{
    Writer *writer = api_writer(call->api);
    if (writer) {
        call->registry = writer_registry(writer);
        call_identify(call);
    }
    if (writer && writer_is_up(writer)) {
        call->read = (Read){ .run = run, .done = done };
        reader_submit(call->api->watcher, &call->read);
        return;
    }
    answer(call, NULL, NULL);
    call_reply(call);
}
