#include "engine/state.h"

#include "base/log.h"

// dispatch starts an attempt for every delivery that a round claimed, and turns what comes of it
// into a settle for a later round.

static void start_waiting(Engine *engine, int64_t number);

static void finish(Flight *flight, const Outcome *outcome)
{
    Engine *engine = flight->engine;
    LaneState *lane = &engine->lanes[flight->claimed->lane];
    Span took = clock_monotonic(engine->options.clock) - flight->started_monotonic + 1;
    lane->took = lane->took ? (lane->took * 7 + took) / 8 : took;
    lane->running--;
    const Claimed *claimed = flight->claimed;
    Instant now = clock_now(engine->options.clock);
    // Jitter is off under the manual clock, so that a test can say when a retry falls due.
    double jitter =
        engine->options.clock->is_manual
            ? 0
            : (double) (random_u64(engine->options.random) >> 11) / (double) (1ull << 53);
    flight->settle = (Settle){
        .tenant = claimed->tenant,
        .lane = claimed->lane,
        .id = claimed->id,
        .was = DELIVERY_SENDING,
        .fence = claimed->live.attempt,
        .to = claimed->trigger ? delivery_settle(&claimed->live, &claimed->trigger->rule.plan,
                                                 &flight->policy, outcome, now, jitter)
                               : delivery_park(&claimed->live, outcome->reason),
        .has_attempt = true,
        .attempt = { .number = claimed->live.attempt,
                     .send = claimed->live.send,
                     .started_at = claimed->live.started_at,
                     .finished_at = now,
                     .outcome = *outcome,
                     .node = engine->options.node },
    };
    flight->next = NULL;
    *engine->finished_last = flight;
    engine->finished_last = &flight->next;
    engine->finished_count++;
}

static void transfer_done(void *with, const TransferResult *result)
{
    Flight *flight = with;
    Outcome outcome =
        flight->type->judge(&flight->arena, result, clock_now(flight->engine->options.clock));
    finish(flight, &outcome);
    start_waiting(flight->engine, flight->claimed->lane);
}

static Message message_of(Flight *flight)
{
    const Claimed *claimed = flight->claimed;
    Engine *engine = flight->engine;
    return (Message){
        .delivery_id = claimed->id,
        .event_id = claimed->event,
        .tenant = claimed->tenant,
        .public_id = claimed->public_id,
        .event_kind = claimed->event_kind,
        .trigger_id = claimed->trigger_id,
        .send = claimed->live.send,
        .attempt = claimed->live.attempt,
        .address = claimed->address,
        .locale = claimed->locale,
        .customer_ref = claimed->customer_ref,
        .url = message_link(&flight->arena, engine->options.url_template, claimed->public_id),
        .occurred_at = claimed->occurred_at,
        .payload = claimed->payload,
        .now = clock_now(engine->options.clock),
    };
}

static void send(Flight *flight, const ChannelDefinition *definition)
{
    Message message = message_of(flight);
    message.channel = definition->key;
    bool captures = flight->engine->options.is_dev || !flight->type->request;
    if (captures) {
        Outcome outcome = flight->type->capture
                              ? flight->type->capture(&flight->arena, &message, definition->config)
                              : channel_memory.capture(&flight->arena, &message, NULL);
        finish(flight, &outcome);
        return;
    }
    Transfer transfer = { 0 };
    Error error = { .arena = &flight->arena };
    Err err =
        flight->type->request(&flight->arena, &message, definition->config, &transfer, &error);
    if (err != ERR_OK) {
        finish(flight, &(Outcome){ .verdict = VERDICT_PERMANENT,
                                   .reason = REASON_BAD_REQUEST,
                                   .detail = str_dup(&flight->arena, str_from(error.detail)) });
        return;
    }
    transfer.timeout = definition->timeout;
    transfer.pool = flight->claimed->tenant;
    transport_start(flight->engine->options.transport, &transfer, transfer_done, flight);
}

static void start(Flight *flight)
{
    Engine *engine = flight->engine;
    flight->started_monotonic = clock_monotonic(engine->options.clock);
    engine->lanes[flight->claimed->lane].running++;
    if (!flight->claimed->trigger) {
        finish(flight, &(Outcome){ .verdict = VERDICT_PERMANENT, .reason = REASON_UNREADABLE });
        return;
    }
    const RegistryLane *lane = registry_lane(engine->registry, flight->claimed->lane);
    const RegistryChannel *channel = lane ? lane->channel : NULL;
    flight->policy = registry_retry(lane, flight->claimed->trigger);
    flight->type = channel ? channel_type_find(channel->definition.type) : NULL;
    if (!flight->type)
        finish(flight, &(Outcome){ .verdict = VERDICT_PERMANENT, .reason = REASON_NO_CHANNEL });
    else if (!channel->definition.enabled)
        finish(flight,
               &(Outcome){ .verdict = VERDICT_PERMANENT, .reason = REASON_CHANNEL_DISABLED });
    else
        send(flight, &channel->definition);
}

static Flight *flight_new(Engine *engine, Round *round, const Claimed *claimed)
{
    Flight *flight = engine->free_flights;
    if (flight)
        engine->free_flights = flight->next;
    else
        flight = memory_new(sizeof *flight);
    Arena arena = flight->arena;
    *flight = (Flight){ .engine = engine, .round = round, .claimed = claimed, .arena = arena };
    flight->after = engine->air;
    if (engine->air)
        engine->air->previous = flight;
    engine->air = flight;
    engine->in_flight++;
    return flight;
}

void flight_free(Engine *engine, Flight *flight)
{
    if (flight->previous)
        flight->previous->after = flight->after;
    else
        engine->air = flight->after;
    if (flight->after)
        flight->after->previous = flight->previous;
    engine->in_flight--;
    if (--flight->round->open_flights == 0)
        round_release(flight->round);
    arena_reset(&flight->arena);
    flight->next = engine->free_flights;
    engine->free_flights = flight;
}

// start_or_drop starts a claimed flight, unless its lease may be over (a node that was stopped must
// not send then) or its channel was sealed with another key since. What it claimed lapses, and is
// swept like that of a dead node.
static void start_or_drop(Engine *engine, Flight *flight)
{
    bool may_send = engine->lanes[flight->claimed->lane].may_send;
    Span age = clock_monotonic(engine->options.clock) - flight->round->claimed_at_monotonic;
    if (may_send && age <= SEND_LEASE - RENEW_EVERY) {
        start(flight);
        return;
    }
    log_warn(may_send ? "claim.late" : "claim.sealed", "delivery=%s",
             log_quote(flight->claimed->public_id));
    flight_free(engine, flight);
}

static bool has_room(const Engine *engine, int64_t number)
{
    const RegistryLane *lane = registry_lane(engine->registry, number);
    return !lane || engine->lanes[number].running < lane_concurrency(engine, lane);
}

// start_waiting goes on with what was claimed ahead, now that an attempt has ended.
static void start_waiting(Engine *engine, int64_t number)
{
    LaneState *lane = &engine->lanes[number];
    while (lane->first_waiting && has_room(engine, number)) {
        Flight *flight = lane->first_waiting;
        lane->first_waiting = flight->next;
        lane->waiting--;
        start_or_drop(engine, flight);
    }
}

static void wait_in_lane(LaneState *lane, Flight *flight)
{
    flight->next = NULL;
    if (lane->first_waiting)
        lane->last_waiting->next = flight;
    else
        lane->first_waiting = flight;
    lane->last_waiting = flight;
    lane->waiting++;
}

void dispatch(Engine *engine, Round *round)
{
    for (size_t i = 0; i < round->claim.count; i++) {
        const Claimed *claimed = &round->claim.claimed[i];
        round->open_flights++;
        Flight *flight = flight_new(engine, round, claimed);
        LaneState *lane = &engine->lanes[claimed->lane];
        if (!lane->first_waiting && has_room(engine, claimed->lane))
            start_or_drop(engine, flight);
        else
            wait_in_lane(lane, flight);
    }
}
