#include "sim.h"

#include "store/report.h"

// Workers outside: they pull, and tell in time, late, twice or never; and I50: what one has nobody
// else has. Each time it is lent its fence is another; whoever holds the last one is believed for
// as long as his lease runs, and nobody else is.

#define WORKER_LEASE ((Span) 20 * SPAN_SECOND)
enum { PULLED_MAX = 8, FORGETS_PERCENT = 12, AGAIN_PERCENT = 15, RENEWS_PERCENT = 20 };

static void learn_lent(Sim *sim, const Call *call, const Claimed *claimed)
{
    Track *track = track_of(sim, claimed->promise.id, true);
    const Row *row = &track->row;
    // What a node had while the lane was off it may give back in the very commit that lends it.
    bool is_his = row->state == DELIVERY_SENDING && row->holder == 0 &&
                  row->lease_until > call->claim.lease_until - WORKER_LEASE;
    if (is_his)
        broken(sim, "I50", "track %d is lent while somebody has it", name_of(sim, track));
    for (size_t i = 0; i < sim->lent_count; i++)
        if (sim->lent[i].track == track && sim->lent[i].fence >= claimed->live.fence)
            broken(sim, "I50", "track %d is lent twice under fence %d", name_of(sim, track),
                   claimed->live.fence);
    assert(sim->lent_count < LENT_MAX);
    sim->lent[sim->lent_count++] = (Lent){ .track = track,
                                           .fence = claimed->live.fence,
                                           .attempt = claimed->live.attempt,
                                           .is_forgotten = chance(sim, FORGETS_PERCENT) };
}

// worker_on_pull: what was committed is lent, whether or not he hears of it.
void worker_on_pull(Sim *sim, Call *call)
{
    bool is_heard = node_hears(call->node) && call->node->life == call->life;
    size_t first = sim->lent_count;
    for (size_t i = 0; i < call->claim.count && call->err == ERR_OK; i++)
        learn_lent(sim, call, &call->claim.claimed[i]);
    for (size_t i = first; i < sim->lent_count; i++)
        sim->lent[i].is_forgotten |= !is_heard;
    queue_claim_drop(&call->claim);
}

static Err apply_pull(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        Call *call = (Call *) ops[i];
        TRY(tx_sync(tx, error));
        call->claim.lease_until = tx->now + WORKER_LEASE;
        TRY(queue_pull(tx, &call->claim, error));
    }
    return ERR_OK;
}

static void pull(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim pull", .apply = apply_pull };
    Call *call = call_new(sim, node, CALL_PULL);
    ClaimLane *lane = ARENA_NEW(&sim->arena, ClaimLane);
    *lane = (ClaimLane){ .lane = sim->lanes[PULLED_LANE].number,
                         .free = 1 + draw(sim, PULLED_MAX),
                         .bytes = 1 << 20 };
    call->claim = (Claim){ .lanes = lane, .lane_count = 1, .arena = &sim->arena };
    trace(sim, "worker: pulls %d of n%d", lane->free, node->index);
    call_submit(call, &kind, call_done);
}

static Err apply_report(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Call *call = (const Call *) ops[i];
        TRY(tx_sync(tx, error));
        call->report->lease_until = tx->now + WORKER_LEASE;
        TRY(queue_report(tx, call->report, 1, error));
    }
    return ERR_OK;
}

// draw_lent is one that a worker remembers: seldom one that he has told of.
static Lent *draw_lent(Sim *sim)
{
    Lent *found = NULL;
    int count = 0;
    bool is_again = chance(sim, AGAIN_PERCENT);
    for (size_t i = 0; i < sim->lent_count; i++) {
        Lent *lent = &sim->lent[i];
        if (!lent->is_forgotten && lent->is_told == is_again && draw(sim, ++count) == 0)
            found = lent;
    }
    return found;
}

static void report(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim worker's report", .apply = apply_report };
    Lent *lent = draw_lent(sim);
    if (!lent)
        return;
    Call *call = call_new(sim, node, CALL_TOLD);
    call->lent = lent;
    call->report = ARENA_NEW(&sim->arena, Report);
    *call->report = (Report){ .tenant = OUR_TENANT,
                              .id = lent->track->id,
                              .fence = lent->fence,
                              .is_renewal = !sim->is_calm && chance(sim, RENEWS_PERCENT),
                              .outcome = elsewhere_draw_outcome(sim) };
    trace(sim, "worker: tells n%d of track %d, fence %d", node->index, name_of(sim, lent->track),
          lent->fence);
    call_submit(call, &kind, call_done);
}

// worker_on_told: the row is still as it was before the batch.
void worker_on_told(Sim *sim, const Call *call)
{
    Lent *lent = call->lent;
    const Report *report = call->report;
    const Row *row = &lent->track->row;
    bool is_his = row->state == DELIVERY_SENDING && row->fence == lent->fence;
    bool is_over = row->lease_until <= clock_now(&call->node->clock);
    if (call->err != ERR_OK)
        return;
    if (!report->is_stale && !is_his)
        broken(sim, "I50", "track %d: who had fence %d is believed at fence %d",
               name_of(sim, lent->track), lent->fence, row->fence);
    if (report->is_stale && is_his && !is_over && !lent->is_told && lent->track->by_hand == 0)
        broken(sim, "I50", "track %d: who has it is not believed", name_of(sim, lent->track));
    if (report->is_stale || report->is_renewal) {
        lent->is_forgotten |= report->is_stale && !lent->is_told; // he was told that it is over
        return;
    }
    if (lent->is_told)
        broken(sim, "I50", "track %d: fence %d is told of twice", name_of(sim, lent->track),
               lent->fence);
    lent->is_told = true;
    lent->track->reported = lent->attempt;
    lent->track->told = report->outcome.verdict;
}

void move_worker(Sim *sim)
{
    Node *node = &sim->nodes[draw(sim, sim->node_count)];
    sim->worker_at = sim->now + draw_span(sim, 100 * SPAN_MILLISECOND, 4 * SPAN_SECOND);
    if (!node_hears(node) || node->stops || sim->is_held)
        return;
    if (chance(sim, 50))
        pull(sim, node);
    else
        report(sim, node);
}
