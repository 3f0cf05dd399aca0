#include "api/work.h"

#include "base/log.h"
#include "base/metric.h"
#include "domain/channel.h"
#include "domain/run.h"
#include "engine/engine.h"
#include "store/follow.h"
#include "store/handover.h"
#include "store/rate.h"

// A worker claims what is due in a lane: each delivery is his alone until he reports, or his lease
// ends. Claims that come at once are carried out in one transaction, one after the other.
//
// Who would wait looks first. Where there is nothing, the call is parked, and the engine calls when
// there may be something (engine/pull.c): it looks again, unless its client has hung up meanwhile,
// for whom nothing is claimed. What is claimed in the moment in which a client goes comes back when
// the lease ends. A call with an Idempotency-Key does not wait: the answer of its first look is
// kept.

// How long a lane is left alone that is due and gives nothing: others have its rows locked.
#define CLAIM_PAUSE ((Span) 50 * SPAN_MILLISECOND)

// Work is what a worker gets of a delivery; its strings are the call's.
typedef struct Work {
    Uuid id;
    int fence, attempt;
    Str job, entity, event_kind, payload; // job: none where another rule made it
    Str automation, trigger_event;        // of a run of one; of one that a trigger made; none
    Instant started_at, lease_until;
} Work;

// Waiter is a call that waits for work.
typedef struct Waiter {
    Puller puller; // first: a Puller * is a Waiter *
    Call *call;
} Waiter;

typedef struct Claiming {
    ClaimBody body;
    ClaimLane lane;
    Claim claim;
    Work *given;
    size_t count;
    RateShare share;   // of the channel's rate; no lane: it has none
    QueueNext next;    // when the lane falls due after it
    Instant now;       // of the transaction
    Instant rate_ends; // of the window that the share is for
    bool has_begun;    // to wait: it is known until when
    Waiter waiter;
} Claiming;

Err claim_read(Call *call, Error *error)
{
    Claiming *claiming = ARENA_NEW(call->arena, Claiming);
    claiming->body.max = 1;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &claim_body_shape, &claiming->body, error));
    call->with = claiming;
    return ERR_OK;
}

static size_t weigh_claim(const Call *call)
{
    const Claiming *claiming = call->with;
    return (size_t) claiming->body.max;
}

static Err decide_claim(Call *call, Error *error)
{
    (void) error;
    call->weight = weigh_claim(call);
    return ERR_OK;
}

// find_lane says which lane a claim is about; refused where nobody pulls from it. One whose channel
// is disabled has nothing to give: its deliveries park.
static Err find_lane(const Tx *tx, const Call *call, const RegistryLane **ret, Error *error)
{
    Str handler = ((const Claiming *) call->with)->body.handler;
    int64_t number = registry_lane_of(tx->registry, call->tenant, handler);
    const RegistryLane *lane = number ? registry_lane(tx->registry, number) : NULL;
    if (!registry_key_may(call->key, handler))
        return fail(error, ERR_FORBIDDEN, "the key is for other handlers");
    if (!lane || !lane->channel)
        return fail(error, ERR_NOT_FOUND, "there is no channel %.*s", STR_ARG(handler));
    if (!channel_is_pulled(&lane->channel->definition))
        return fail(error, ERR_CONFLICT, "%.*s is no worker's: Peal itself sends through it",
                    STR_ARG(handler));
    *ret = lane;
    return ERR_OK;
}

static Instant lease_until(const Tx *tx, const Claiming *claiming, const RegistryLane *lane)
{
    Span lease = claiming->body.lease;
    return tx->now + (lease ? lease : channel_lease(registry_config(tx->registry, lane->channel)));
}

static bool waits(const Call *call)
{
    const Claiming *claiming = call->with;
    return claiming->body.wait > 0 && !call->idempotency_key.at;
}

// take_rate takes what the claim may have of the channel's rate, which all nodes and workers share;
// ret is how many deliveries that are.
static Err take_rate(Tx *tx, Claiming *claiming, const RegistryLane *lane, int *ret, Error *error)
{
    Rows rows;
    RateShare *share = &claiming->share;
    const ChannelDefinition *definition = &lane->channel->definition;
    *share = (RateShare){ 0 };
    *ret = claiming->body.max;
    if (definition->rate_max == 0)
        return ERR_OK;
    *share = (RateShare){ .lane = lane->lane,
                          .window_at = rate_window(definition->rate_per, tx->now),
                          .max = definition->rate_max,
                          .wanted = earlier(claiming->body.max, definition->rate_max),
                          .future = tx->now + RATE_CLOCK_WRONG };
    rate_take(tx, &tx->arena, share, 1, &rows);
    TRY(tx_sync(tx, error));
    rate_granted(&rows, share, 1);
    claiming->rate_ends = share->window_at + definition->rate_per;
    *ret = (int) share->granted;
    return ERR_OK;
}

// send_claim sends one; ret_refused where it is refused.
static Err send_claim(Tx *tx, Call *call, bool *ret_refused, Error *error)
{
    int free;
    Error refusal = { .arena = call->arena };
    Claiming *claiming = call->with;
    const RegistryLane *lane;
    Err err = find_lane(tx, call, &lane, &refusal);
    claiming->count = 0;
    *ret_refused = err != ERR_OK;
    if (*ret_refused) {
        call_refuse(call, err, &refusal);
        return ERR_OK;
    }
    TRY(take_rate(tx, claiming, lane, &free, error));
    bool is_enabled = lane->channel->definition.enabled;
    claiming->lane = (ClaimLane){ .lane = lane->lane, .free = free, .bytes = WORK_BYTES_MAX };
    claiming->now = tx->now;
    claiming->next = (QueueNext){ .lanes = &claiming->lane.lane,
                                  .lane_count = is_enabled,
                                  .arena = call->arena };
    claiming->claim = (Claim){ .lanes = &claiming->lane,
                               .lane_count = is_enabled && free > 0,
                               .lease_until = lease_until(tx, claiming, lane),
                               .arena = call->arena };
    queue_claim(tx, &claiming->claim);
    if (waits(call))
        queue_next(tx->db, &claiming->next);
    return ERR_OK;
}

// automation_of is whose run it is, by a trigger or by itself; none: no automation's.
static Str automation_of(const Trigger *trigger)
{
    return trigger->rule.kind == RULE_AUTOMATION ? trigger->rule.id : trigger->automation;
}

static Work work_of(Arena *arena, const Claimed *claimed)
{
    const Trigger *trigger = claimed->trigger;
    Str automation = automation_of(trigger);
    return (Work){ .id = claimed->promise.id,
                   .fence = claimed->live.fence,
                   .attempt = claimed->live.attempt,
                   .job = trigger->job ? str_dup(arena, trigger->rule.id) : STR_NONE,
                   .automation = automation.at ? str_dup(arena, automation) : STR_NONE,
                   .trigger_event =
                       trigger->automation.at
                           ? run_event_id(arena, claimed->promise.event, claimed->promise.rule)
                           : STR_NONE,
                   .entity = claimed->promise.entity,
                   .event_kind = claimed->event_kind,
                   .payload = claimed->payload,
                   .started_at = claimed->live.started_at,
                   .lease_until = claimed->live.lease_until };
}

static Settle park(const Claimed *claimed)
{
    char id[UUID_TEXT_LEN + 1];
    QueueRow row = claimed_row(claimed);
    log_error("delivery.unreadable", "delivery=%.*s", STR_ARG(uuid_text(claimed->promise.id, id)));
    return settle_from(&row, delivery_park(&row.live, REASON_UNREADABLE));
}

// not_given says what becomes of a claim that no worker of this handler gets: what cannot be read
// is parked, and a run whose job has another handler by now goes there (store/handover.h). False:
// he gets it.
static bool not_given(const Tx *tx, const Claimed *claimed, Settle *ret)
{
    if (!claimed->trigger) {
        *ret = park(claimed);
        return true;
    }
    if (!handover_lane(tx->registry, claimed->trigger, claimed->promise.lane))
        return false;
    QueueRow row = claimed_row(claimed);
    *ret = settle_from(&row, delivery_release(&row.live, claimed->was));
    return true;
}

// take_claim gives what was claimed.
static Err take_claim(Tx *tx, Call *call, Error *error)
{
    Claiming *claiming = call->with;
    Claim *claim = &claiming->claim;
    SettleBatch kept = { 0 };
    TRY(queue_claim_take(tx, claim, error));
    if (waits(call))
        queue_next_take(&claiming->next);
    rate_return(tx, &claiming->share, claiming->share.granted - (int64_t) claim->count);
    claiming->given = ARENA_ARRAY(call->arena, Work, claim->count + 1);
    kept.rows = ARENA_ARRAY(&tx->arena, Settle, claim->count + 1);
    for (size_t i = 0; i < claim->count; i++)
        if (not_given(tx, &claim->claimed[i], &kept.rows[kept.count]))
            kept.count++;
        else
            claiming->given[claiming->count++] = work_of(call->arena, &claim->claimed[i]);
    return kept.count > 0 ? follow_settle_now(tx, &kept, error) : ERR_OK;
}

static Err carry_out(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    Call **going = ARENA_ARRAY(&tx->arena, Call *, count);
    size_t going_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_refused;
        TRY(send_claim(tx, calls[i], &is_refused, error));
        if (!is_refused)
            going[going_count++] = calls[i];
    }
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < going_count; i++)
        TRY(take_claim(tx, going[i], error));
    return ERR_OK;
}

static Err write_claims(Tx *tx, Call *const *calls, size_t count, Error *error)
{
    Err err = carry_out(tx, calls, count, error);
    for (size_t i = 0; i < count; i++)
        queue_claim_drop(&((Claiming *) calls[i]->with)->claim);
    return err;
}

static void put_work(const Call *call, JsonOut *json, const Work *work)
{
    json_open(json, '{');
    json_put_id(json, S("id"), work->id);
    json_put_i64(json, S("fence"), work->fence);
    json_put_str(json, S("executionId"), run_execution_id(call->arena, work->id, work->attempt));
    json_put_str(json, S("job"), work->job);
    if (work->automation.at) {
        json_put_str(json, S("automation"), work->automation);
        json_put_id(json, S("runId"), work->id);
    }
    if (work->trigger_event.at)
        json_put_str(json, S("triggerEventId"), work->trigger_event);
    json_put_str(json, S("entity"), work->entity);
    json_put_str(json, S("eventKind"), work->event_kind);
    json_put_raw(json, S("payload"), work->payload);
    json_put_i64(json, S("attempt"), work->attempt);
    json_put_time(json, S("startedAt"), work->started_at);
    json_put_time(json, S("leaseUntil"), work->lease_until);
    json_close(json, '}');
}

static Err answer_claim(Call *call, Error *error)
{
    const Claiming *claiming = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_key(json, S("items"));
    json_open(json, '[');
    for (size_t i = 0; i < claiming->count; i++)
        put_work(call, json, &claiming->given[i]);
    json_close(json, ']');
    json_close(json, '}');
    return ERR_OK;
}

// tell_engine tells what a claim took and, of one that waits, what it left behind: where more is
// due than it took, that is worth two as large as itself.
static void tell_engine(const Call *call)
{
    const Claiming *claiming = call->with;
    const Clock *clock = call->api->clock;
    Pulled pulled = { .lane = claiming->lane.lane,
                      .lease_until = claiming->count ? claiming->claim.lease_until : INSTANT_NONE,
                      .due_at = INSTANT_NONE };
    if (waits(call) && claiming->next.lane_count > 0)
        pulled.due_at = claiming->next.lane_due[0];
    const RateShare *share = &claiming->share;
    if (share->lane && (int64_t) claiming->count == share->granted) // it may be all there was of it
        pulled.due_at =
            later(pulled.due_at, share->granted < share->wanted ? claiming->rate_ends : 0);
    bool is_due = pulled.due_at <= claiming->now;
    if (is_due && claiming->count == 0)
        pulled.due_at = clock->is_manual ? INSTANT_NONE : claiming->now + CLAIM_PAUSE;
    if (is_due && claiming->count > 0)
        pulled.count = 2 * (int64_t) claiming->body.max;
    engine_pulled(call->api->engine, &pulled);
}

static bool is_gone(const Puller *puller)
{
    return !exchange_is_alive(((const Waiter *) puller)->call->exchange);
}

// call_worker goes on with a call that was parked: it looks, or has waited in vain.
static void call_worker(Puller *puller, bool is_over)
{
    Call *call = ((Waiter *) puller)->call;
    Claiming *claiming = call->with;
    if (!call_unpark(call))
        return;
    claiming->count = 0;
    bool has_left = !is_over && is_gone(puller);
    if (has_left) // another gets what this one was called for
        engine_pulled(call->api->engine, &(Pulled){ .lane = puller->lane,
                                                    .lease_until = INSTANT_NONE,
                                                    .due_at = claiming->now,
                                                    .count = puller->max });
    if (is_over || has_left)
        call_tell(call, answer_claim);
    else
        call_write(call);
}

// begin_wait says until when: the machine's time and, where that is moved by hand, the clock's.
static void begin_wait(Call *call)
{
    Claiming *claiming = call->with;
    Span wait = claiming->body.wait;
    const Clock *clock = call->api->clock;
    claiming->has_begun = true;
    claiming->waiter = (Waiter){
        .puller = { .max = claiming->body.max,
                    .until = clock_monotonic(clock) + wait,
                    .until_clock = clock->is_manual ? clock_now(clock) + wait : INSTANT_NONE,
                    .is_gone = is_gone,
                    .call = call_worker },
        .call = call,
    };
}

// is_crowded: so many wait that whoever only wants to tell something would not get in.
static bool is_crowded(const Call *call)
{
    const Claiming *claiming = call->with;
    return !claiming->has_begun &&
           engine_pullers(call->api->engine) >= (int64_t) call->api->waiting_max;
}

// stay_claim parks a claim that found nothing.
static bool stay_claim(Call *call)
{
    Claiming *claiming = call->with;
    metric_count(METRIC_WORKER_CLAIMS, METRIC_ALONE, 1);
    metric_count(METRIC_WORKER_CLAIMED, METRIC_ALONE, (int64_t) claiming->count);
    tell_engine(call);
    if (claiming->count > 0 || !waits(call))
        return false;
    if (is_crowded(call)) {
        Error crowd = { .arena = call->arena };
        call_refuse(call, fail(&crowd, ERR_BUSY, "too many wait for work already"), &crowd);
        return false;
    }
    if (!claiming->has_begun)
        begin_wait(call);
    claiming->waiter.puller.lane = claiming->lane.lane;
    call_park(call);
    engine_pull(call->api->engine, &claiming->waiter.puller);
    return true;
}

void claim_start(Call *call)
{
    call_write(call);
}

const RouteSet claim_set = {
    .weigh = weigh_claim,
    .decide = decide_claim,
    .write = write_claims,
    .answer = answer_claim,
    .stays = stay_claim,
};
