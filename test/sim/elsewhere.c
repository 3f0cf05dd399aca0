#include "sim.h"

#include "store/report.h"

// A far side that takes a delivery on (202) and tells later what became of it, or never does; and
// I42: it stays his for as long as his lease runs, and not longer; what he says counts, once, and
// only of the attempt that he has.

#define ELSEWHERE_LEASE ((Span) 20 * SPAN_SECOND)

static void judge(const Parcel *parcel, const TransferResult *result)
{
    Outcome taken_on = { .verdict = VERDICT_ELSEWHERE,
                         .reason = REASON_ACCEPTED,
                         .lease = ELSEWHERE_LEASE };
    if (result->problem == TRANSFER_ANSWERED && result->status == 202)
        parcel_judge(parcel, &taken_on);
    else
        channel_http.judge(parcel, result);
}

static Err request(const Parcel *parcel, Transfer *ret, Error *error)
{
    return channel_http.request(parcel, ret, error);
}

static const ChannelType channel_hand = { .type = "hand",
                                          .carrier = CARRIER_TRANSFER,
                                          .parcel_max = 1,
                                          .url = "url",
                                          .request = request,
                                          .judge = judge };
const ChannelType *const channel_types_here[] = { &channel_http, &channel_email, &channel_hand,
                                                  &channel_worker, NULL };

static bool is_elsewhere(const Track *track)
{
    return track->row.state == DELIVERY_SENDING && track->row.step == STEP_LEASE &&
           track->pattern->lane == HANDED_LANE;
}

// draw_left is mostly one that somebody has.
static Track *draw_left(Sim *sim)
{
    size_t count = 0;
    Track *found = NULL;
    for (size_t i = 0; i < sim->track_count; i++)
        if (is_elsewhere(&sim->tracks[i]) && draw(sim, (int) ++count) == 0)
            found = &sim->tracks[i];
    return found;
}

Outcome elsewhere_draw_outcome(Sim *sim)
{
    static const Outcome outcomes[] = {
        { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED },
        { .verdict = VERDICT_DELIVERED, .reason = REASON_ACCEPTED },
        { .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL },
        { .verdict = VERDICT_PERMANENT, .reason = REASON_REFUSED },
    };
    return outcomes[draw(sim, ARRAY_LEN(outcomes))];
}

static Err apply(Tx *tx, Op **ops, size_t count, Error *error)
{
    for (size_t i = 0; i < count; i++) {
        const Call *call = (const Call *) ops[i];
        TRY(tx_sync(tx, error));
        if (call->report->is_renewal)
            call->report->lease_until = tx->now + ELSEWHERE_LEASE;
        TRY(queue_report(tx, call->report, 1, error));
    }
    return ERR_OK;
}

void elsewhere_ask(Sim *sim, Node *node)
{
    static const OpKind kind = { .name = "sim report", .apply = apply };
    const Track *track = draw_left(sim);
    if (!track)
        return;
    bool is_late = track->row.attempt > 1 && chance(sim, 20);
    Call *call = call_new(sim, node, CALL_REPORT);
    call->report = ARENA_NEW(&sim->arena, Report);
    *call->report = (Report){ .tenant = OUR_TENANT,
                              .id = track->id,
                              .attempt = track->row.attempt - is_late,
                              .is_renewal = chance(sim, 20) };
    if (!call->report->is_renewal)
        call->report->outcome = elsewhere_draw_outcome(sim);
    trace(sim, "client: n%d reports of track %d, attempt %d", node->index, name_of(sim, track),
          call->report->attempt);
    call_submit(call, &kind, call_done);
}

void elsewhere_on_answer(Sim *sim, const Call *call)
{
    const Report *report = call->report;
    Track *track = track_of(sim, report->id, false);
    if (call->err != ERR_OK || report->is_stale || report->is_renewal)
        return;
    if (track->reported == report->attempt)
        broken(sim, "I42", "track %d: attempt %d is told of twice", name_of(sim, track),
               report->attempt);
    track->reported = report->attempt;
    track->told = report->outcome.verdict;
}

void elsewhere_on_left(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    const Send *send = track->sends[was->attempt];
    bool was_taken_on = send && send->is_told && send->status == 202;
    if (!was_taken_on || is->step != STEP_LEASE)
        broken(sim, "I42", "track %d is left with somebody who has it not", name_of(sim, track));
    else if (is->due_at != is->lease_until || is->attempt != was->attempt ||
             is->lease_until < send->told_at + ELSEWHERE_LEASE)
        broken(sim, "I42", "track %d is lent for %lld ms", name_of(sim, track),
               (long long) ((is->lease_until - send->told_at) / SPAN_MILLISECOND));
}

// is_failed: it may be tried again, or a person must decide; or its job's next occurrence comes.
static bool is_failed(const Track *track, const Row *is)
{
    return is->state == DELIVERY_RETRYING || is->state == DELIVERY_PARKED ||
           (is->state == DELIVERY_EXPIRED && job_may_be_overtaken(track));
}

static bool is_what_he_said(const Track *track, const Row *is)
{
    if (track->told == VERDICT_DELIVERED)
        return is->state == DELIVERY_DELIVERED;
    return is->state == DELIVERY_PARKED ||
           (track->told == VERDICT_TRANSIENT && is_failed(track, is));
}

// elsewhere_on_settle: it ends by what he said, by what a person did, or with his lease.
void elsewhere_on_settle(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    const Node *node = &sim->nodes[sim->last_writer];
    bool is_called_off = is->state == DELIVERY_CANCELLED || is->state == DELIVERY_COMPLETED;
    if (is_called_off)
        return;
    if (track->reported == was->attempt) {
        if (!is_what_he_said(track, is) && track->by_hand == 0)
            broken(sim, "I42", "track %d is %s, which nobody said", name_of(sim, track),
                   delivery_state_text(is->state));
        return;
    }
    bool is_over = was->lease_until <= clock_now(&node->clock);
    if (!is_over || !is_failed(track, is))
        broken(sim, "I42", "track %d is %s, %lld ms before his lease is over", name_of(sim, track),
               delivery_state_text(is->state),
               (long long) ((was->lease_until - clock_now(&node->clock)) / SPAN_MILLISECOND));
}
