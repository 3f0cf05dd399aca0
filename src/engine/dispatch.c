#include "engine/state.h"

#include "base/log.h"
#include "engine/measure.h"

// From a claim to an outcome: each flight starts as soon as its lane has a slot free, goes out over
// its channel, and is judged. What may not start any more, or has waited for WAIT_MAX, or could not
// be tried because this machine lacked something, is given back: it was never sent, so no attempt
// is spent and others may take it.

#define PAUSE_LACKING SPAN_SECOND // of a lane for which this machine lacks something

static const Outcome unreadable = { .verdict = VERDICT_PERMANENT, .reason = REASON_UNREADABLE };

static bool may_start(const Flight *flight, const LaneState *lane);
static void start(Flight *flight);
static void refuse(Flight *flight, DeliveryReason reason);
static void pack(Flight *flight, const RegistryChannel *channel);
static void send(Flight *flight, const RegistryChannel *channel);
static void capture(Flight *flight);
static void transfer_done(void *with, const TransferResult *result);
static void land(Flight *flight, const Outcome *outcome);
static Settle settle_of(const Flight *flight, const Outcome *outcome);
static void turn_back(Flight *flight, Str why);
static void give_back(Flight *flight);
static void unclaim(Flight *flight);

void dispatch(Engine *engine, Round *round)
{
    round->unstarted = 1; // keeps the round while it dispatches
    for (size_t i = 0; i < round->claim.count; i++) {
        flight_new(round, &round->claim.claimed[i]);
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
    int at_once = lane_concurrency(engine, registry_lane(engine->registry, lane->number));
    while (lane->waiting.first && lane->running < at_once) {
        if (may_start(lane->waiting.first, lane))
            start(lane->waiting.first);
        else
            give_back(lane->waiting.first);
    }
}

// may_start: a node that was stopped for a while must not send by a lease that may be over.
static bool may_start(const Flight *flight, const LaneState *lane)
{
    Span age = engine_monotonic(flight->engine) - flight->claimed_at;
    return engine_sends(flight->engine) && lane->may_send && age <= SEND_LEASE - RENEW_EVERY;
}

static void start(Flight *flight)
{
    Engine *engine = flight->engine;
    LaneState *lane = lane_at(engine, flight->claimed.promise.lane);
    const RegistryLane *way = registry_lane(engine->registry, lane->number);
    const RegistryChannel *channel = way ? way->channel : NULL;
    assert(flight->list == &lane->waiting);
    flight->started_at = engine_monotonic(engine);
    measure_started(&flight->claimed.live, clock_now(engine->options.clock));
    if (flight->claimed.trigger)
        flight->policy = registry_retry(way, flight->claimed.trigger);
    flight->type = lane_type(engine, way);
    lane->running++;
    flight_move(flight, &engine->running);
    if (!flight->claimed.trigger)
        land(flight, &unreadable);
    else if (!flight->type)
        refuse(flight, REASON_NO_CHANNEL);
    else if (!channel->definition.enabled)
        refuse(flight, REASON_CHANNEL_DISABLED);
    else
        send(flight, channel);
    flight_started(flight);
}

static void refuse(Flight *flight, DeliveryReason reason)
{
    land(flight, &(Outcome){ .verdict = VERDICT_PERMANENT, .reason = reason });
}

// send hands the parcel to the channel. Where nothing leaves the machine it is judged at once.
static void send(Flight *flight, const RegistryChannel *channel)
{
    const EngineOptions *options = &flight->engine->options;
    pack(flight, channel);
    if (options->is_dev || flight->type->carrier == CARRIER_CAPTURE) {
        capture(flight);
        return;
    }
    Transfer transfer = { 0 };
    Error error = { .arena = &flight->arena };
    if (flight->type->request(&flight->parcel, &transfer, &error) != ERR_OK) {
        land(flight, &(Outcome){ .verdict = VERDICT_PERMANENT,
                                 .reason = REASON_BAD_REQUEST,
                                 .detail = str_dup(&flight->arena, str_from(error.detail)) });
        return;
    }
    flight->parcel.config = NULL; // the channel may be another before this is judged
    transfer.timeout = channel->definition.timeout;
    transfer.pool = flight->claimed.promise.tenant;
    transport_start(options->transport, &transfer, transfer_done, flight);
}

static Message message_of(Flight *flight)
{
    const Claimed *claimed = &flight->claimed;
    Str template = flight->engine->options.url_template;
    return (Message){
        .promise = claimed->promise,
        .event_kind = claimed->event_kind,
        .trigger_id = claimed->trigger->rule.id,
        .send = claimed->live.send,
        .attempt = claimed->live.attempt,
        .url = message_link(&flight->arena, template, claimed->promise.public_id),
        .occurred_at = claimed->occurred_at,
        .trace = claimed->trace,
        .payload = claimed->payload,
        .targets = &flight->target,
        .target_count = 1,
    };
}

static void pack(Flight *flight, const RegistryChannel *channel)
{
    flight->message = message_of(flight);
    flight->target = (Target){ .address = flight->claimed.promise.address };
    flight->parcel = (Parcel){ .config = registry_config(flight->engine->registry, channel),
                               .messages = &flight->message,
                               .count = 1,
                               .arena = &flight->arena,
                               .now = clock_now(flight->engine->options.clock) };
}

// capture stands in for every channel where Peal is tried out (--dev).
static void capture(Flight *flight)
{
    bool captures = flight->type->carrier == CARRIER_CAPTURE;
    if (!captures)
        flight->parcel.config = NULL;
    (captures ? flight->type : &channel_memory)->capture(&flight->parcel);
    land(flight, &flight->target.outcome);
}

static void transfer_done(void *with, const TransferResult *result)
{
    Flight *flight = with;
    Engine *engine = flight->engine;
    if (result->problem == TRANSFER_NOT_TRIED) {
        turn_back(flight, result->problem_text);
        return;
    }
    flight->parcel.now = clock_now(engine->options.clock);
    flight->type->judge(&flight->parcel, result);
    land(flight, &flight->target.outcome);
    dispatch_waiting(engine, lane_at(engine, flight->claimed.promise.lane));
}

// land ends an attempt: its slot is free, and the next round settles it.
static void land(Flight *flight, const Outcome *outcome)
{
    Engine *engine = flight->engine;
    LaneState *lane = lane_at(engine, flight->claimed.promise.lane);
    Span took = engine_monotonic(engine) - flight->started_at + 1;
    assert(flight->list == &engine->running && lane->running > 0);
    lane->took = lane->took ? (lane->took * 7 + took) / 8 : took;
    measure_ended(flight->type, lane->number, outcome->verdict, took);
    lane->running--;
    flight->settle = settle_of(flight, outcome);
    flight_move(flight, &engine->finished);
    lane_freed(engine, lane);
}

// jitter is off under the manual clock, so that a test can say when a retry falls due.
static double jitter(const Engine *engine)
{
    if (engine->options.clock->is_manual)
        return 0;
    return (double) (random_u64(engine->options.random) >> 11) / (double) (1ull << 53);
}

static Settlement settlement_of(const Flight *flight, const Outcome *outcome, Instant now)
{
    const Claimed *claimed = &flight->claimed;
    if (!claimed->trigger)
        return park_unreadable(claimed->promise.id, &claimed->live);
    return delivery_settle(&claimed->live, &claimed->trigger->rule.plan, &flight->policy, outcome,
                           now, jitter(flight->engine));
}

static Settle settle_of(const Flight *flight, const Outcome *outcome)
{
    QueueRow row = claimed_row(&flight->claimed);
    // The clock may have been put back since, by a little.
    Instant now = later(clock_now(flight->engine->options.clock), row.live.started_at);
    return settle_tried(&row, settlement_of(flight, outcome, now), outcome, now);
}

Settlement park_unreadable(Uuid id, const Live *live)
{
    char text[UUID_TEXT_LEN + 1];
    log_warn("delivery.unreadable", "delivery=%.*s", STR_ARG(uuid_text(id, text)));
    return delivery_park(live, REASON_UNREADABLE);
}

// turn_back gives back what this machine could not try. Its lane pauses: the next would fare alike.
static void turn_back(Flight *flight, Str why)
{
    Engine *engine = flight->engine;
    LaneState *lane = lane_at(engine, flight->claimed.promise.lane);
    Instant now = clock_now(engine->options.clock);
    assert(flight->list == &engine->running && lane->running > 0);
    lane->running--;
    unclaim(flight);
    if (lane->blocked_until <= now)
        log_warn("send.lacking", "lane=%lld detail=%s", (long long) lane->number, log_quote(why));
    lane_block(engine, lane, now + PAUSE_LACKING);
}

// give_back ends a flight that never started.
static void give_back(Flight *flight)
{
    Engine *engine = flight->engine;
    LaneState *lane = lane_at(engine, flight->claimed.promise.lane);
    assert(flight->list == &lane->waiting);
    unclaim(flight);
    flight_started(flight);
    lane_freed(engine, lane);
}

// unclaim settles a flight of which nothing was sent: the delivery stands as it did before the
// claim. One that cannot be read is parked all the same: how it stood before is not known.
static void unclaim(Flight *flight)
{
    const Claimed *claimed = &flight->claimed;
    QueueRow row = claimed_row(claimed);
    flight->settle = claimed->trigger
                         ? settle_from(&row, delivery_release(&claimed->live, claimed->was))
                         : settle_of(flight, &unreadable);
    flight->engine->tally.released += claimed->trigger != NULL;
    flight_move(flight, &flight->engine->finished);
}

// is_late: it must not start any more, or has waited so long that its lane is not quick any more.
static bool is_late(const Flight *flight, LaneState *lane)
{
    bool is_old = engine_monotonic(flight->engine) - flight->claimed_at > WAIT_MAX;
    if (is_old)
        lane->took = later(lane->took, QUICK);
    return is_old || !may_start(flight, lane);
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

static bool is_among(const Flight *flight, const Uuid *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (uuid_cmp(flight->claimed.promise.id, ids[i]) == 0)
            return true;
    return false;
}

// dispatch_called_off lets go of what waits and was cancelled or completed meanwhile: its row is
// gone. Where there are too many to name, all that waits is given back.
void dispatch_called_off(Engine *engine, const Uuid *ids, size_t count)
{
    Lanes *lanes = &engine->lanes;
    for (size_t i = 0; i < lanes->waiting_count && count > 0; i++) {
        LaneState *lane = lanes->waiting[i];
        for (Flight *flight = lane->waiting.first, *next; flight; flight = next) {
            next = flight->next;
            if (count > CALLED_OFF_MAX)
                give_back(flight);
            else if (is_among(flight, ids, count))
                flight_free(flight);
        }
        lane_freed(engine, lane);
    }
}
