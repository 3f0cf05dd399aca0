#include "engine/state.h"

#include "base/log.h"
#include "domain/job.h"
#include "domain/run.h"
#include "engine/compose.h"
#include "engine/measure.h"

// From the channel to an outcome: the flights of a parcel go out by one request, are judged by one
// judgement, and settle each by itself. The first of them has the request and its memory. One with
// more targets than its channel takes in a request goes in several parcels, its legs (leg.c). What
// this machine lacked something to try is given back: nobody was asked, so no attempt is spent.
//
// The strings of a claim lie in its round, which is let go as soon as the request is made: from
// then on a message has its numbers and its targets. Messages live from here to their judgement,
// which for most is at once: they are made of the same few lines of the caches again and again.

#define PAUSE_LACKING SPAN_SECOND // of a lane for which this machine lacks something

static const Outcome untold = { .verdict = VERDICT_UNKNOWN };
static const Outcome opted_out = { .verdict = VERDICT_PERMANENT, .reason = REASON_OPTED_OUT };

static Str kept(Arena *arena, Str text)
{
    return text.at ? str_dup(arena, text) : STR_NONE;
}

static void pack(Flight *first, size_t count, const RegistryChannel *channel, Instant now);
static void capture(Flight *first);
static Err start_transfer(Flight *first, Span timeout, Error *error);
static Err start_process(Flight *first, Span timeout, Error *error);
static LaneState *hold_back(Flight *first);
static void turn_back(Flight *first, Str why);
static void land(Flight *first);
static Verdict settle_flight(Flight *flight);

void parcel_send(Flight *first, size_t count, const RegistryLane *way)
{
    Engine *engine = first->engine;
    Instant now = clock_now(engine->options.clock), monotonic = engine_monotonic(engine);
    for (Flight *flight = first; flight; flight = flight->also) {
        flight->type = lane_type(engine, way);
        flight->started_at = monotonic;
        flight->policy =
            registry_retry(engine->registry, way, flight->claimed.trigger, &flight->claimed.origin);
        measure_started(&flight->claimed.live, now);
    }
    pack(first, count, way->channel, now);
    if (legs_wanted(first)) {
        legs_begin(first);
        return;
    }
    parcel_carry(first, way);
    parcel_unpack(first);
}

// keep_others copies what is told of the targets that the message does not go to.
static void keep_others(Flight *flight)
{
    TargetsElse *others = &flight->others;
    if (others->told_count > 0)
        others->told =
            arena_copy(&flight->arena, others->told, others->told_count * sizeof *others->told);
}

// address copies the targets that the message goes to: the claim's are its round's. Where there is
// but one it is only, which lies beside the message.
static void address(Flight *flight, Target *only)
{
    const Claimed *claimed = &flight->claimed;
    keep_others(flight);
    if (!claimed->has_rows) {
        *only = (Target){ .address = claimed->promise.address, .outcome = untold };
        flight->targets = only;
        flight->target_count = 1;
        return;
    }
    flight->targets = ARENA_ARRAY(&flight->arena, Target, claimed->target_count);
    flight->target_count = claimed->target_count;
    for (size_t i = 0; i < flight->target_count; i++) {
        Target *target = &flight->targets[i];
        *target = claimed->targets[i];
        target->address = str_dup(&flight->arena, target->address);
        target->name = kept(&flight->arena, target->name);
        target->locale = kept(&flight->arena, target->locale);
        target->send = claimed->live.send;
        target->outcome = target->opts_out ? opted_out : untold;
    }
}

static void fill_in(Message *message, Target *only, Flight *flight, const ChannelType *type)
{
    Str template = flight->engine->options.url_template;
    address(flight, only);
    measure_missing(compose(&flight->claimed, type, template, flight->targets, flight->target_count,
                            &flight->arena, message));
}

static void pack(Flight *first, size_t count, const RegistryChannel *channel, Instant now)
{
    Message *messages = memory_grow(NULL, count * (sizeof(Message) + sizeof(Target)));
    Target *only = (Target *) (messages + count);
    const Json *config = registry_config(first->engine->registry, channel);
    bool is_run = trigger_is_run(first->claimed.trigger);
    first->parcel = (Parcel){ .type = first->type,
                              .config = config,
                              .messages = messages,
                              .arena = &first->arena,
                              .now = now,
                              .lease = is_run ? channel_lease(config) : 0,
                              .exec_folder = first->engine->options.exec_folder };
    for (Flight *flight = first; flight; flight = flight->also)
        fill_in(&messages[first->parcel.count++], only++, flight, first->type);
    assert(first->parcel.count == count);
}

// parcel_forget: the channel may be another before the parcel is judged, and the strings of a claim
// gone with their round.
void parcel_forget(Flight *first)
{
    first->parcel.config = NULL;
    for (size_t i = 0; i < first->parcel.count; i++) {
        Message *message = &first->parcel.messages[i];
        Promise *promise = &message->promise;
        promise->public_id = promise->address = promise->locale = STR_NONE;
        promise->customer_ref = promise->entity = STR_NONE;
        message->event_kind = message->payload = message->trace = message->source = STR_NONE;
        message->list_name = STR_NONE;
        message->content = (Content){ 0 };
    }
}

// forget_only: where a message has but one target, that has no copy of its address.
static void forget_only(const Flight *first)
{
    for (const Flight *flight = first; flight; flight = flight->also)
        if (!flight->claimed.has_rows && flight->target_count > 0)
            flight->targets->address = STR_NONE;
}

void parcel_unpack(Flight *first)
{
    parcel_forget(first);
    forget_only(first);
    for (Flight *flight = first; flight; flight = flight->also)
        flight_started(flight);
}

// parcel_done: a leg's message lies in the memory of its flight.
void parcel_done(Flight *first)
{
    if (first->whole || !first->parcel.messages)
        return;
    for (Flight *flight = first; flight; flight = flight->also)
        if (!flight->claimed.has_rows)
            flight->target_count = 0; // the one that it had lay beside its message
    free(first->parcel.messages);
    first->parcel.messages = NULL;
    first->parcel.count = 0;
}

// timeout_of is what an attempt may take: what its channel says, else what is usual for its type. A
// job that says how long it may take is given that, but for a channel that itself says less.
static Span timeout_of(const Flight *first, const RegistryLane *way)
{
    const ChannelDefinition *channel = &way->channel->definition;
    Span own = registry_run_timeout(first->engine->registry, first->claimed.trigger);
    if (own > 0)
        return channel->has_timeout ? earlier(own, channel->timeout) : own;
    bool is_usual = !channel->has_timeout && first->type->timeout > 0;
    return is_usual ? first->type->timeout : channel->timeout;
}

// bound_of is the most that a job says its runs may take.
static Span bound_of(const Flight *first)
{
    Span own = registry_run_timeout(first->engine->registry, first->claimed.trigger);
    return own > 0 ? own : SPAN_DAY;
}

// parcel_carry hands a parcel to its carrier. Where nothing leaves the machine it is judged at
// once.
void parcel_carry(Flight *first, const RegistryLane *way)
{
    Span timeout = timeout_of(first, way);
    Error error = { .arena = first->parcel.arena };
    lane_at(first->engine, first->claimed.promise.lane)->running++;
    Carrier carrier = first->engine->options.is_dev ? CARRIER_CAPTURE : first->type->carrier;
    assert(carrier != CARRIER_PULLED); // such a lane is not claimed from
    if (parcel_is_judged(&first->parcel)) {
        land(first); // what it should say could not be rendered, or nobody wants it
        return;
    }
    if (carrier == CARRIER_CAPTURE) {
        capture(first);
        return;
    }
    Err err = carrier == CARRIER_PROCESS ? start_process(first, timeout, &error)
                                         : start_transfer(first, timeout, &error);
    if (err == ERR_OK)
        return;
    Outcome outcome = { .verdict = VERDICT_PERMANENT,
                        .reason = REASON_BAD_REQUEST,
                        .detail = str_dup(first->parcel.arena, str_from(error.detail)) };
    parcel_judge(&first->parcel, &outcome);
    land(first);
}

// capture stands in for every channel where Peal is tried out (dev).
static void capture(Flight *first)
{
    bool captures = first->type->carrier == CARRIER_CAPTURE;
    if (!captures)
        first->parcel.config = NULL;
    (captures ? first->type : &channel_memory)->capture(&first->parcel);
    land(first);
}

// comes_back: the parcel can be judged; one that was not even tried is given back.
static bool comes_back(Flight *first, bool is_tried, Str why)
{
    first->parcel.now = clock_now(first->engine->options.clock);
    if (!is_tried)
        turn_back(first, why);
    return is_tried;
}

// come_back ends a parcel that was judged. What waits goes before the next leg.
static void come_back(Flight *first)
{
    Engine *engine = first->engine;
    parcel_redact(&first->parcel);
    land(first);
    dispatch_waiting(engine, lane_at(engine, first->claimed.promise.lane));
    if (first->whole)
        legs_go_on(first->whole);
}

static void transfer_done(void *with, const TransferResult *result)
{
    Flight *first = with;
    if (!comes_back(first, result->problem != TRANSFER_NOT_TRIED, result->problem_text))
        return;
    first->type->judge(&first->parcel, result);
    come_back(first);
}

static Err start_transfer(Flight *first, Span timeout, Error *error)
{
    Transfer transfer = { 0 };
    TRY(compose_request(&first->parcel, &transfer, error));
    if (parcel_is_judged(&first->parcel)) {
        land(first);
        return ERR_OK;
    }
    if (!circuit_enter(first, lane_at(first->engine, first->claimed.promise.lane), transfer.url)) {
        hold_back(first);
        return ERR_OK;
    }
    parcel_hide(&first->parcel, &transfer);
    transfer.timeout = timeout;
    transfer.pool = first->claimed.promise.tenant;
    transport_start(first->engine->options.transport, &transfer, transfer_done, first);
    return ERR_OK;
}

static void process_done(void *with, const ProcessResult *result)
{
    Flight *first = with;
    if (!comes_back(first, result->end != PROCESS_NOT_TRIED, result->problem_text))
        return;
    first->type->judge_end(&first->parcel, result);
    come_back(first);
}

// process_line: a run can be followed while it goes on.
static void process_line(void *with, Str line)
{
    Flight *first = with;
    DEFER(arena_done) Arena arena = { 0 };
    Str message = judge_text(&arena, first->type->progress(line), PROGRESS_MESSAGE_MAX);
    if (message.at)
        said_add(first, message);
}

static Err start_process(Flight *first, Span timeout, Error *error)
{
    Process process = { 0 };
    TRY(first->type->command(&first->parcel, &process, error));
    if (first->type->progress && trigger_is_run(first->claimed.trigger))
        process.line = process_line;
    process.timeout = process.timeout ? earlier(process.timeout, bound_of(first)) : timeout;
    transport_spawn(first->engine->options.transport, &process, process_done, first);
    return ERR_OK;
}

static LaneState *leave_lane(const Flight *first)
{
    LaneState *lane = lane_at(first->engine, first->claimed.promise.lane);
    assert(lane->running > 0);
    lane->running--;
    return lane;
}

// hold_back gives a parcel back that nobody was asked to take.
static LaneState *hold_back(Flight *first)
{
    LaneState *lane = leave_lane(first);
    if (first->whole)
        leg_unclaim(first, lane);
    for (Flight *flight = first->whole ? NULL : first; flight; flight = flight->also)
        flight_unclaim(flight);
    parcel_done(first);
    circuit_leave(first, lane);
    lane_freed(first->engine, lane);
    return lane;
}

// turn_back gives back what this machine could not try. Its lane pauses: the next would fare alike.
static void turn_back(Flight *first, Str why)
{
    Engine *engine = first->engine;
    LaneState *lane = hold_back(first);
    Instant now = clock_now(engine->options.clock);
    if (lane->blocked_until <= now)
        log_warn("send.lacking", "lane=%lld detail=%s", (long long) lane->number, log_quote(why));
    lane_block(engine, lane, now + PAUSE_LACKING);
    if (first->whole)
        legs_go_on(first->whole);
}

// own copies what was told of a flight's targets from the memory of the first, which may be settled
// before it.
static void own(Flight *flight)
{
    for (size_t i = 0; i < flight->target_count; i++) {
        Outcome *outcome = &flight->targets[i].outcome;
        outcome->detail = kept(&flight->arena, outcome->detail);
        outcome->provider_id = kept(&flight->arena, outcome->provider_id);
    }
}

static Span took_of(const Flight *flight)
{
    return engine_monotonic(flight->engine) - flight->started_at + 1;
}

// land ends the attempts of a parcel: its slot is free, and the next round settles them. A leg's is
// that of its flight, which ends with the last of them.
static void land(Flight *first)
{
    Engine *engine = first->engine;
    LaneState *lane = leave_lane(first);
    Span took = took_of(first);
    lane->took = lane->took ? (lane->took * 7 + took) / 8 : took;
    health_land(first, lane);
    circuit_land(first, lane);
    if (first->whole)
        leg_over(first);
    for (Flight *flight = first->whole ? NULL : first; flight; flight = flight->also) {
        if (flight != first)
            own(flight);
        parcel_settle(flight);
    }
    parcel_done(first);
    lane_freed(engine, lane);
}

void parcel_settle(Flight *flight)
{
    Engine *engine = flight->engine;
    assert(flight->list == &engine->running);
    Verdict verdict = settle_flight(flight);
    measure_ended(flight->type, flight->claimed.promise.lane, verdict, took_of(flight));
    if (flight->list == &engine->running) // an ordered lane may have given it back
        flight_move(flight, &engine->finished);
}

// jitter is off under the manual clock, so that a test can say when a retry falls due.
static double jitter(const Engine *engine)
{
    if (engine->options.clock->is_manual)
        return 0;
    return (double) (random_u64(engine->options.random) >> 11) / (double) (1ull << 53);
}

// keeps_place: in an ordered lane nothing overtakes what could not be sent, and it is not given up.
static bool keeps_place(const Flight *flight, const Outcome *outcome)
{
    const LaneState *lane = lane_at(flight->engine, flight->claimed.promise.lane);
    return lane->circuit.kind == CIRCUIT_OF_ORDER &&
           circuit_sign(CIRCUIT_OF_ORDER, outcome) == CIRCUIT_BAD;
}

// is_partly_done: some of its targets were told something that has to be kept.
static bool is_partly_done(const Flight *flight)
{
    for (size_t i = 0; i < flight->target_count; i++)
        if (circuit_sign(CIRCUIT_OF_ORDER, &flight->targets[i].outcome) == CIRCUIT_GOOD)
            return true;
    return false;
}

// goes_on_at: behind what is due by now, but not in an ordered lane.
static Instant goes_on_at(const Flight *flight, Instant now)
{
    const LaneState *lane = lane_at(flight->engine, flight->claimed.promise.lane);
    return lane->circuit.kind == CIRCUIT_OF_ORDER ? flight->claimed.live.due_at : now;
}

// next_of is what an outcome makes of the delivery; one with more targets than an attempt carries
// goes on with the others first, whatever became of these.
static Settlement next_of(const Flight *flight, const Outcome *outcome, Instant now)
{
    const Claimed *claimed = &flight->claimed;
    if (keeps_place(flight, outcome))
        return delivery_stay(&claimed->live, outcome->reason);
    if (claimed->has_more)
        return delivery_go_on(&claimed->live, goes_on_at(flight, now));
    return delivery_settle(&claimed->live, &claimed->trigger->rule.plan, &flight->policy, outcome,
                           now, jitter(flight->engine));
}

// settle_flight makes of what its targets were told what becomes of the delivery. Where the far
// side has taken it on, the attempt is not over, and none is recorded yet.
static Verdict settle_flight(Flight *flight)
{
    const Claimed *claimed = &flight->claimed;
    QueueRow row = claimed_row(claimed);
    for (size_t i = 0; i < flight->target_count; i++)
        assert(flight->targets[i].outcome.verdict != VERDICT_UNKNOWN);
    Outcome outcome =
        outcome_fold(&flight->arena, flight->targets, flight->target_count, &flight->others);
    // The clock may have been put back since, by a little.
    Instant now = later(clock_now(flight->engine->options.clock), row.live.started_at);
    if (keeps_place(flight, &outcome) && !is_partly_done(flight)) {
        flight->rate_window = 0; // it was sent: what it has of a rate is spent
        flight_unclaim(flight);
        return outcome.verdict;
    }
    Settlement to = next_of(flight, &outcome, now);
    bool is_over = outcome.verdict != VERDICT_ELSEWHERE || claimed->has_more;
    flight->settle = is_over ? settle_tried(&row, to, &outcome, now) : settle_from(&row, to);
    if (claimed->has_rows) {
        flight->settle.targets = flight->targets;
        flight->settle.target_count = flight->target_count;
        // What keeps its place is tried again before a failure is counted.
        flight->settle.round = claimed->live.failures - keeps_place(flight, &outcome);
    }
    return outcome.verdict;
}
