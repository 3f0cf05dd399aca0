#include "sim.h"

// What far sides are spared: more than their rate, what comes while they asked for a pause, and
// what comes while they are dead. The simulation keeps its own view of every circuit, by what each
// node was told: one bad word more than it may have, and nothing goes out but probes, one at a
// time, each not before its time.

// Patience is what a circuit of a kind has with its far side: of a host, and of an ordered lane.
typedef struct Patience {
    int failures;
    Span first, longest;
} Patience;

static const Patience of_host = { 5, 5 * SPAN_SECOND, 5 * SPAN_MINUTE };
static const Patience of_order = { 1, SPAN_SECOND, SPAN_MINUTE };

static const Patience *patience_of(const Lane *lane)
{
    return lane->is_ordered ? &of_order : &of_host;
}

// is_bad: a host is when it brings no answer; an ordered lane, when what is first in it must wait.
static bool is_bad(const Lane *lane, const Send *send)
{
    bool is_over = send->answer == ANSWER_TAKEN || send->answer == ANSWER_REFUSED ||
                   send->answer == ANSWER_GONE;
    bool is_answered = send->answer < ANSWER_NO_CONNECTION || mail_was_answered(send);
    return lane->is_ordered ? !is_over : !is_answered;
}

static Shadow *shadow_of(Sim *sim, int node, int lane)
{
    return &sim->nodes[node].shadows[sim->lanes[lane].host];
}

// learns_since: what is younger a node may just have learnt of. One that stood still learns of what
// was published meanwhile, and shortly before, when it goes on.
static Instant learns_since(const Sim *sim, const Node *node)
{
    Span late = RENEW + 3 * SPAN_SECOND;
    bool was_still = node->frozen_until >= sim->now - late;
    return (was_still ? node->frozen_at : sim->now) - late;
}

// is_edited: a channel of the host was published, or switched off, so lately that the node may just
// have learnt of it, and tries at once.
static bool is_edited(const Sim *sim, int node, int host)
{
    Instant since = learns_since(sim, &sim->nodes[node]);
    for (int i = 0; i < sim->lane_count; i++) {
        const Lane *lane = &sim->lanes[i];
        bool is_changed = lane->changed_at != INSTANT_NONE && lane->changed_at >= since;
        bool is_gone = lane->gone_at != INSTANT_NONE && lane->gone_at >= since;
        if (lane->host == host && (is_changed || is_gone))
            return true;
    }
    return false;
}

// has_jumped: a clock was wrong by more than nodes may be apart, and windows came twice.
static bool has_jumped(const Sim *sim)
{
    for (int i = 0; i < sim->node_count; i++)
        if (sim->nodes[i].jumped_at != INSTANT_NONE)
            return true;
    return false;
}

// I18: all nodes together send no more in a window of a rate than it says.
static void i18_rate(Sim *sim, const Send *send)
{
    Lane *lane = &sim->lanes[send->lane];
    if (!lane->rate_max || has_jumped(sim))
        return;
    Instant now = clock_now(&sim->nodes[send->node].clock);
    Instant window = now - now % lane->rate_per;
    size_t at = (size_t) (window / lane->rate_per) % WINDOWS_MAX;
    if (lane->windows[at] != window)
        lane->spent[at] = 0;
    lane->windows[at] = window;
    if (++lane->spent[at] > lane->rate_max)
        broken(sim, "I18", "%d in a window of %s, which has %d", lane->spent[at], lane->key,
               lane->rate_max);
}

// I39: who was asked to pause does.
static void i39_paused(Sim *sim, const Send *send)
{
    const Node *node = &sim->nodes[send->node];
    Span left = node->paused_until[send->lane] - clock_now(&node->clock);
    if (left > 0 && !is_edited(sim, send->node, sim->lanes[send->lane].host))
        broken(sim, "I39", "n%d sends to %s %lld ms before it may", send->node,
               sim->lanes[send->lane].key, (long long) (left / SPAN_MILLISECOND));
}

// I38: behind an open circuit one probe goes at a time, when it is time.
void care_on_send(Sim *sim, const Send *send)
{
    i18_rate(sim, send);
    i39_paused(sim, send);
    Shadow *shadow = shadow_of(sim, send->node, send->lane);
    Instant now = clock_now(&sim->nodes[send->node].clock);
    if (!shadow->is_open)
        return;
    if (shadow->probe)
        broken(sim, "I38", "n%d sends to %s while it probes it", send->node,
               sim->lanes[send->lane].key);
    if (now < shadow->probe_at && !shadow->is_set_back &&
        !is_edited(sim, send->node, sim->lanes[send->lane].host))
        broken(sim, "I38", "n%d probes %s %lld ms too early", send->node,
               sim->lanes[send->lane].key,
               (long long) ((shadow->probe_at - now) / SPAN_MILLISECOND));
    shadow->probe = send;
}

static void wait_for(Sim *sim, Shadow *shadow, const Send *send, Span wait)
{
    shadow->is_open = true;
    shadow->is_set_back = false;
    shadow->probe = NULL;
    shadow->wait = wait;
    shadow->probe_at = send->told_at + wait;
    trace(sim, "n%d: the circuit of %s is open for %lld s", send->node, sim->lanes[send->lane].key,
          (long long) (wait / SPAN_SECOND));
}

// A node that sees its clock before the moment in which a circuit opened does not wait on; what it
// claims then may be sent later. A pause that was over before the jump is over.
void care_on_jump(Node *node, Span jump)
{
    Instant now = clock_now(&node->clock);
    for (int i = 0; i < LANES_MAX; i++)
        if (node->paused_until[i] <= now - jump)
            node->paused_until[i] = 0;
    for (int i = 0; i < HOSTS_MAX; i++)
        node->shadows[i].is_set_back |= now < node->shadows[i].probe_at - node->shadows[i].wait;
}

static void pause_lane(Sim *sim, const Send *send)
{
    Instant *until = &sim->nodes[send->node].paused_until[send->lane];
    Lane *lane = &sim->lanes[send->lane];
    *until = later(*until, send->told_at + send->retry_after);
    lane->paused_until = later(lane->paused_until, sim->now + send->retry_after);
}

void care_on_told(Sim *sim, const Send *send)
{
    Shadow *shadow = shadow_of(sim, send->node, send->lane);
    const Lane *lane = &sim->lanes[send->lane];
    const Patience *patience = patience_of(lane);
    if (send->retry_after && send->answer < ANSWER_NO_CONNECTION)
        pause_lane(sim, send);
    if (!is_bad(lane, send)) {
        if (shadow->is_open)
            shadow->closed_at = sim->now;
        *shadow = (Shadow){ .closed_at = shadow->closed_at };
        return;
    }
    shadow->failures++;
    if (shadow->probe == send)
        wait_for(sim, shadow, send, earlier(shadow->wait * 2, patience->longest));
    else if (!shadow->is_open && shadow->failures >= patience->failures)
        wait_for(sim, shadow, send, patience->first);
}

void care_on_channel(Sim *sim, int lane)
{
    for (int i = 0; i < sim->node_count; i++)
        sim->nodes[i].paused_until[lane] = 0;
    for (int i = 0; i < sim->node_count; i++) {
        Shadow *shadow = shadow_of(sim, i, lane);
        shadow->probe_at = 0;
        shadow->freed_at = sim->now; // also for other lanes of this host
    }
}

bool care_holds(const Sim *sim, const Node *node, int lane, Instant since)
{
    const Shadow *shadow = &node->shadows[sim->lanes[lane].host];
    if (sim->lanes[lane].paused_until >= since)
        return true;
    if (!shadow->is_open)
        return shadow->closed_at >= since;
    return shadow->probe || shadow->freed_at >= since ||
           shadow->probe_at + sim->now - since > clock_now(&node->clock);
}

bool care_holds_all(const Sim *sim, int lane, Instant since)
{
    for (int i = 0; i < sim->node_count; i++)
        if (node_hears(&sim->nodes[i]) && !care_holds(sim, &sim->nodes[i], lane, since))
            return false;
    return true;
}
