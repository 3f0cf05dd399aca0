#include "engine/state.h"

#include "base/log.h"
#include "domain/run.h"
#include "engine/compose.h"
#include "store/handover.h"

// From a claim to the channel: a flight starts as soon as its lane has a slot free, and goes out in
// a parcel, with others that wait there where its channel takes several at once (parcel.c). What
// may not start any more, or has waited for WAIT_MAX, is given back: it was never sent, so no
// attempt is spent and others may take it. What has no way out is parked, and spends none either.

static void start(Engine *engine, LaneState *lane, const RegistryLane *way);
static DeliveryReason why_not(const Engine *engine, const RegistryLane *way, const Flight *flight);
static void refuse(Flight *flight, DeliveryReason reason);
static void set_off(Flight *first, LaneState *lane, const RegistryLane *way);
static void give_back(Flight *flight);

void dispatch(Engine *engine, Round *round)
{
    Instant now = clock_now(engine->options.clock);
    round->unstarted = 1; // keeps the round while it dispatches
    for (size_t i = 0; i < round->claim.count; i++) {
        flight_new(round, &round->claim.claimed[i], now);
        round->claim.claimed[i].trigger = NULL; // the flight holds it now
    }
    size_t off_count = engine->off_count;
    dispatch_called_off(engine, engine->off,
                        off_count < CALLED_OFF_MAX ? off_count : CALLED_OFF_MAX);
    for (size_t i = 0; i < round->claim.lane_count; i++)
        dispatch_waiting(engine, lane_at(engine, round->lanes[i].lane));
    if (--round->unstarted == 0)
        round_release(round);
}

// dispatch_waiting starts what its lane has slots for, now that one may be free.
void dispatch_waiting(Engine *engine, LaneState *lane)
{
    const RegistryLane *way = registry_lane(engine->registry, lane->number);
    while (lane->waiting.first && lane->running < lane_slots(engine, lane, way))
        start(engine, lane, way);
}

// is_handed_over: its job has another handler by now. It goes there once it is given back.
static bool is_handed_over(const Engine *engine, const Flight *flight)
{
    const Claimed *claimed = &flight->claimed;
    return claimed->trigger &&
           handover_lane(engine->registry, claimed->trigger, claimed->promise.lane) != 0;
}

// start deals with the first that waits, and whatever goes with it.
static void start(Engine *engine, LaneState *lane, const RegistryLane *way)
{
    Flight *flight = lane->waiting.first;
    DeliveryReason reason;
    if (!flight_may_start(flight, lane) || is_handed_over(engine, flight))
        give_back(flight);
    else if ((reason = why_not(engine, way, flight)) != REASON_NONE)
        refuse(flight, reason);
    else
        set_off(flight, lane, way);
}

// flight_may_start: a node that was stopped for a while must not send by a lease that may be over.
// What a circuit holds goes back, but for its probe, and so does what is to pause, or was paid for
// in another window of the rate.
bool flight_may_start(const Flight *flight, LaneState *lane)
{
    Instant now = clock_now(flight->engine->options.clock);
    Span age = engine_monotonic(flight->engine) - flight->claimed_at;
    return engine_sends(flight->engine) && lane->may_send && age <= SEND_LEASE - RENEW_EVERY &&
           (flight->is_probe || lane_is_clear(lane)) && lane->paused_until <= now &&
           rate_is_paid(flight, lane, now);
}

// list_problem is why a delivery to a list has nobody to go to.
static DeliveryReason list_problem(const Claimed *claimed)
{
    const Rule *rule = &claimed->trigger->rule;
    if (rule->kind != RULE_NOTIFY)
        return REASON_NONE;
    if (rule->version == 0)
        return REASON_NO_LIST;
    return claimed->has_rows && !claimed->target_count && !claimed->others.count ? REASON_NO_TARGETS
                                                                                 : REASON_NONE;
}

// why_not is why there is no way out for a delivery, as far as is known before it is tried.
static DeliveryReason why_not(const Engine *engine, const RegistryLane *way, const Flight *flight)
{
    const Claimed *claimed = &flight->claimed;
    DeliveryReason reason = claimed->trigger ? list_problem(claimed) : REASON_UNREADABLE;
    // A delivery whose targets all have it would have ended with the last of them.
    if (claimed->has_rows && !claimed->target_count && claimed->others.count)
        return REASON_UNREADABLE;
    if (reason != REASON_NONE)
        return reason;
    if (flight->claimed.is_opted_out)
        return REASON_OPTED_OUT;
    return compose_refusal(way, lane_type(engine, way), claimed->trigger);
}

static void warn_unreadable(Uuid id)
{
    char text[UUID_TEXT_LEN + 1];
    log_warn("delivery.unreadable", "delivery=%.*s", STR_ARG(uuid_text(id, text)));
}

Settlement park_unreadable(Uuid id, const Live *live)
{
    warn_unreadable(id);
    return delivery_park(live, REASON_UNREADABLE);
}

// refusal is how what cannot be sent ends. That a run has no handler is a try of it that failed:
// whoever asks how it went is told.
static Settle refusal(const Claimed *claimed, DeliveryReason reason, Instant now)
{
    static const Plan unread = { 0 };
    const Outcome no_handler = { .verdict = VERDICT_PERMANENT,
                                 .reason = REASON_NO_HANDLER,
                                 .detail = RUN_NO_HANDLER };
    QueueRow row = claimed_row(claimed);
    const Plan *plan = claimed->trigger ? &claimed->trigger->rule.plan : &unread;
    if (reason == REASON_NO_HANDLER)
        return settle_tried(&row, delivery_park(&row.live, reason), &no_handler,
                            later(now, row.live.started_at));
    return settle_from(&row, delivery_refuse(&claimed->live, plan, reason, now));
}

// refuse ends what waits and cannot be sent, or is not wanted.
static void refuse(Flight *flight, DeliveryReason reason)
{
    const Claimed *claimed = &flight->claimed;
    if (!claimed->trigger)
        warn_unreadable(claimed->promise.id);
    LaneState *lane = lane_at(flight->engine, claimed->promise.lane);
    flight->settle = refusal(claimed, reason, clock_now(flight->engine->options.clock));
    flight_move(flight, &flight->engine->finished);
    flight_started(flight);
    circuit_leave(flight, lane);
    lane_freed(flight->engine, lane);
}

static size_t targets_of(const Flight *flight)
{
    return flight->claimed.has_rows ? flight->claimed.target_count : 1;
}

// fits: what one parcel may carry is bounded in targets, where its messages have several, and in
// bytes.
static bool fits(const ChannelType *type, size_t targets, int64_t bytes)
{
    return (type->targets_max <= 1 || targets <= TARGETS_MAX) && bytes <= PARCEL_BYTES_MAX;
}

// set_off sends the first that waits, and as many behind it as its channel takes in one parcel.
static void set_off(Flight *first, LaneState *lane, const RegistryLane *way)
{
    Engine *engine = first->engine;
    size_t count = 1, max = (size_t) lane_parcel(engine, way), targets = targets_of(first);
    const ChannelType *type = lane_type(engine, way);
    int64_t bytes = first->claimed.bytes;
    flight_move(first, &engine->running);
    for (Flight *last = first, *next; count < max && (next = lane->waiting.first); count++) {
        targets += targets_of(next);
        bytes += next->claimed.bytes;
        if (!fits(type, targets, bytes) || !flight_may_start(next, lane) ||
            is_handed_over(engine, next) || why_not(engine, way, next) != REASON_NONE)
            break;
        flight_move(next, &engine->running);
        last->also = next;
        last = next;
    }
    parcel_send(first, count, way);
}

// give_back ends a flight that never started. How one that cannot be read stood before is not
// known.
static void give_back(Flight *flight)
{
    Engine *engine = flight->engine;
    if (!flight->claimed.trigger) {
        refuse(flight, REASON_UNREADABLE);
        return;
    }
    LaneState *lane = lane_at(engine, flight->claimed.promise.lane);
    flight_unclaim(flight);
    flight_started(flight);
    circuit_leave(flight, lane);
    lane_freed(engine, lane);
}

// is_late: it must not start any more, or has waited so long that its lane is not quick any more.
static bool is_late(const Flight *flight, LaneState *lane)
{
    bool is_old = engine_monotonic(flight->engine) - flight->claimed_at > WAIT_MAX;
    if (is_old)
        lane->took = later(lane->took, QUICK);
    return is_old || !flight_may_start(flight, lane);
}

void dispatch_late(Engine *engine)
{
    Lanes *lanes = &engine->lanes;
    for (size_t i = lanes->waiting_count; i-- > 0;) {
        LaneState *lane = lanes->waiting[i];
        dispatch_waiting(engine, lane);
        while (lane->waiting.first && is_late(lane->waiting.first, lane))
            give_back(lane->waiting.first);
        if (lane->waiting.first)
            continue;
        lane->is_listed = false;
        lanes->waiting[i] = lanes->waiting[--lanes->waiting_count];
    }
}

// flight_is_among: it is called off. Where there are too many to name, any may be.
bool flight_is_among(const Flight *flight, const Uuid *ids, size_t count)
{
    for (size_t i = 0; i < count && count <= CALLED_OFF_MAX; i++)
        if (uuid_cmp(flight->claimed.promise.id, ids[i]) == 0)
            return true;
    return count > CALLED_OFF_MAX;
}

// dispatch_called_off gives back what waits and was cancelled or completed meanwhile: its row is
// gone, but on record is an attempt that was never made. Where there are too many to name, all that
// waits is given back. Of what goes in legs no more of them start.
void dispatch_called_off(Engine *engine, const Uuid *ids, size_t count)
{
    Lanes *lanes = &engine->lanes;
    for (size_t i = 0; i < lanes->waiting_count && count > 0; i++) {
        LaneState *lane = lanes->waiting[i];
        for (Flight *flight = lane->waiting.first, *next; flight; flight = next) {
            next = flight->next;
            if (flight_is_among(flight, ids, count))
                give_back(flight);
        }
    }
    if (count > 0)
        legs_call_off(engine, ids, count);
}
