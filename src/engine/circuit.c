#include "engine/state.h"

#include "base/log.h"
#include "net/url.h"

// What holds a lane: the circuit of the host that it goes to, which it shares with the tenant's
// other lanes that go there, and one of its own, for a login that is refused or, where it is
// ordered, for whatever stands first and cannot be sent (domain/circuit.h). Both are this node's:
// every node finds out by itself; what it found is shown to all (store/health.h).
//
// A lane that is held claims nothing but a probe: one row, when its time has come and no other lane
// of the host probes. What was claimed before, and has not begun, is given back. So a dead host
// holds no slots and no room in the window, and what waits for it spends no attempt.
//
// Which host a lane goes to is known from its requests: before the first, and after its channel was
// changed, it is tried.

enum { OWN = 1, HOSTS = 2 }; // which of its circuits a lane probes

#define LOOK_AGAIN SPAN_SECOND // while another lane probes; the end of that wakes all

static Circuit *host_circuit(const LaneState *lane)
{
    return lane->host ? &lane->host->circuit : NULL;
}

static bool is_closed(const Circuit *circuit)
{
    return !circuit || circuit->state == CIRCUIT_CLOSED;
}

bool lane_is_clear(const LaneState *lane)
{
    return is_closed(&lane->circuit) && is_closed(host_circuit(lane));
}

static Instant probe_at(const Circuit *circuit, Instant now)
{
    if (is_closed(circuit))
        return 0;
    return circuit->state == CIRCUIT_OPEN ? circuit_probe_at(circuit, now) : now + LOOK_AGAIN;
}

Instant lane_probe_at(const LaneState *lane, Instant now)
{
    return later(probe_at(&lane->circuit, now), probe_at(host_circuit(lane), now));
}

bool lane_probe(LaneState *lane, Instant now)
{
    Circuit *of_host = host_circuit(lane);
    if (lane->probing || lane_probe_at(lane, now) > now)
        return false;
    if (!is_closed(&lane->circuit)) {
        circuit_probe(&lane->circuit);
        lane->probing |= OWN;
    }
    if (!is_closed(of_host)) {
        circuit_probe(of_host);
        lane->probing |= HOSTS;
    }
    return true;
}

void lane_unprobe(Engine *engine, LaneState *lane)
{
    if (lane->probing & OWN)
        circuit_unprobe(&lane->circuit);
    if (lane->probing & HOSTS)
        circuit_unprobe(host_circuit(lane));
    lane->probing = 0;
    lane->asks_probe = false;
    lane_freed(engine, lane);
}

static Host **slot_of(Engine *engine, int64_t tenant, Str name)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t) tenant;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char) name.at[i]) * 0x100000001b3u;
    Host **at = &engine->hosts[hash % HOST_SLOTS];
    while (*at && ((*at)->tenant != tenant || !str_eq(str_from((*at)->name), name)))
        at = &(*at)->next;
    return at;
}

static Host *host_at(Engine *engine, int64_t tenant, Str name)
{
    Host **at = slot_of(engine, tenant, name);
    if (!*at) {
        *at = memory_new(sizeof **at);
        **at = (Host){ .tenant = tenant, .name = text_keep(name), .circuit.kind = CIRCUIT_OF_HOST };
    }
    return *at;
}

static void host_free(Host *host)
{
    free(host->name);
    free(host);
}

// host_let_go frees a host to which nothing goes any more.
static void host_let_go(Engine *engine, Host *host)
{
    if (host->lanes || host->running > 0)
        return;
    engine->circuits_open -= !is_closed(&host->circuit);
    Host **at = slot_of(engine, host->tenant, str_from(host->name));
    assert(*at == host);
    *at = host->next;
    host_free(host);
}

void hosts_free(Engine *engine)
{
    for (size_t i = 0; i < HOST_SLOTS; i++) {
        for (Host *host = engine->hosts[i], *next; host; host = next) {
            next = host->next;
            host_free(host);
        }
    }
}

static void leave_host(Engine *engine, LaneState *lane)
{
    Host *host = lane->host;
    if (!host)
        return;
    if (lane->probing & HOSTS)
        circuit_unprobe(&host->circuit);
    lane->probing &= ~(unsigned) HOSTS;
    LaneState **at = &host->lanes;
    while (*at != lane)
        at = &(*at)->beside;
    *at = lane->beside;
    lane->host = NULL;
    host_let_go(engine, host);
}

// origin_of is the URL up to its path: while it stays the same, so does the host.
static Str origin_of(Str url)
{
    size_t at = 0;
    while (at + 2 < url.len && memcmp(url.at + at, "://", 3) != 0)
        at++;
    for (at += 3; at < url.len && !strchr("/?#", url.at[at]);)
        at++;
    return (Str){ url.at, at < url.len ? at : url.len };
}

// go_to remembers where a lane goes. What cannot be read has no host: its transfer will say why.
static void go_to(Engine *engine, LaneState *lane, Str url)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str origin = origin_of(url), name;
    if (lane->host && str_eq(str_from(lane->origin), origin))
        return;
    bool was_held = !is_closed(host_circuit(lane));
    leave_host(engine, lane);
    if (!url_host(&arena, url, &name))
        return;
    free(lane->origin);
    lane->origin = text_keep(origin);
    lane->host = host_at(engine, lane->tenant, name);
    lane->beside = lane->host->lanes;
    lane->host->lanes = lane;
    bool is_held = !is_closed(host_circuit(lane));
    if (is_held && lane->beside)
        health_share(lane, lane->beside);
    if (was_held || is_held)
        health_note(engine, lane);
}

bool circuit_enter(Flight *first, LaneState *lane, Str url)
{
    Engine *engine = first->engine;
    if (lane->circuit.kind == CIRCUIT_OF_ORDER)
        return true; // its own circuit is stricter, and is all that holds it
    go_to(engine, lane, url);
    if (!lane_is_clear(lane) && !first->is_probe) {
        first->is_probe = lane_probe(lane, clock_now(engine->options.clock));
        if (!first->is_probe)
            return false;
    }
    first->host = lane->host;
    if (first->host)
        first->host->running++;
    return true;
}

// sign_of is what the targets of a parcel say together: one that came through is enough, but for
// order, where one that did not is.
static CircuitSign sign_of(const Flight *first, CircuitKind kind)
{
    CircuitSign sign = kind == CIRCUIT_OF_ORDER ? CIRCUIT_GOOD : CIRCUIT_SILENT;
    for (const Flight *flight = first; flight; flight = flight->also) {
        for (size_t i = 0; i < flight->target_count; i++) {
            CircuitSign one = circuit_sign(kind, &flight->targets[i].outcome);
            bool counts = kind == CIRCUIT_OF_ORDER ? one < sign : one > sign;
            sign = counts ? one : sign;
        }
    }
    return sign;
}

static const Outcome *worst_of(const Flight *first, CircuitKind kind)
{
    for (const Flight *flight = first; flight; flight = flight->also)
        for (size_t i = 0; i < flight->target_count; i++)
            if (circuit_sign(kind, &flight->targets[i].outcome) == CIRCUIT_BAD)
                return &flight->targets[i].outcome;
    return NULL;
}

static void log_moved(const LaneState *lane, const Circuit *circuit, const Flight *first)
{
    const Outcome *outcome = worst_of(first, circuit->kind);
    Str host = lane->host ? str_from(lane->host->name) : S("");
    if (is_closed(circuit))
        log_info("circuit.closed", "lane=%lld host=%s", (long long) lane->number, log_quote(host));
    else if (circuit->since == circuit->probe_at - circuit->wait && outcome)
        log_warn("circuit.opened", "lane=%lld host=%s reason=%s failures=%d detail=%s",
                 (long long) lane->number, log_quote(host), reason_code(outcome->reason),
                 circuit->failures, log_quote(outcome->detail));
}

// wake has a lane look again at what holds it.
static void wake(Engine *engine, LaneState *lane)
{
    lane_block(engine, lane, 0);
}

// told has a lane show what holds it, and look again.
static void told(Engine *engine, LaneState *lane, const Outcome *outcome)
{
    if (outcome)
        health_remember(lane, outcome);
    health_note(engine, lane);
    wake(engine, lane);
}

// host_most is what a host takes at once, where a lane has so many slots of its own.
static int64_t host_most(const Engine *engine, int own)
{
    int most = engine->options.host_max;
    return most ? most : later(own, HOST_CONCURRENCY);
}

void circuit_leave(Flight *first, LaneState *lane)
{
    Host *host = first->host;
    first->host = NULL;
    if (first->is_probe)
        lane_unprobe(first->engine, lane);
    first->is_probe = false;
    if (!host)
        return;
    assert(host->running > 0);
    bool was_full = host->running-- >= host_most(first->engine, 0);
    for (LaneState *at = host->lanes; at && was_full; at = at->beside)
        lane_freed(first->engine, at);
    host_let_go(first->engine, host);
}

// tell takes a sign in, and counts circuits.
static bool tell(Engine *engine, Circuit *circuit, CircuitSign sign, bool is_probe)
{
    bool was_closed = is_closed(circuit);
    bool has_moved = circuit_tell(circuit, sign, is_probe, clock_now(engine->options.clock));
    engine->circuits_open += was_closed - is_closed(circuit);
    engine->circuits_opened += was_closed && !is_closed(circuit);
    return has_moved;
}

void circuit_land(Flight *first, LaneState *lane)
{
    Engine *engine = first->engine;
    Host *host = first->host;
    unsigned probed = first->is_probe ? lane->probing : 0;
    bool is_own = tell(engine, &lane->circuit, sign_of(first, lane->circuit.kind), probed & OWN);
    if (is_own) {
        log_moved(lane, &lane->circuit, first);
        told(engine, lane, worst_of(first, lane->circuit.kind));
    }
    if (host && tell(engine, &host->circuit, sign_of(first, CIRCUIT_OF_HOST), probed & HOSTS)) {
        log_moved(lane, &host->circuit, first);
        for (LaneState *at = host->lanes; at; at = at->beside)
            told(engine, at, worst_of(first, CIRCUIT_OF_HOST));
    }
    circuit_leave(first, lane);
}

void circuit_changed(Engine *engine, LaneState *lane, bool is_ordered)
{
    Instant now = clock_now(engine->options.clock);
    lane->circuit.kind = is_ordered ? CIRCUIT_OF_ORDER : CIRCUIT_OF_LOGIN;
    circuit_hasten(&lane->circuit, now);
    if (lane->host)
        circuit_hasten(&lane->host->circuit, now);
    lane->paused_until = 0; // who changed it has lifted that for all nodes (store/health.h)
    wake(engine, lane);
}

int host_free_slots(const Engine *engine, const LaneState *lane, int own)
{
    if (!lane->host)
        return own;
    int64_t left = later(host_most(engine, own) - lane->host->running, 0);
    return (int) earlier(own, lane->running + left);
}
