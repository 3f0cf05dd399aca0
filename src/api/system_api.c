#include "api/handlers.h"

#include "api/shapes.h"
#include "engine/engine.h"
#include "store/inbox.h"
#include "store/meta.h"
#include "store/operation.h"

#define ROUNDS_LATE ((Span) 15 * SPAN_SECOND)

void livez_get(Call *call)
{
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("status"), S("alive"));
    json_close(json, '}');
    call_reply(call);
}

// add_hold tells that nothing is sent; a person's words are for those who have a key.
static void add_hold(Call *call)
{
    const Registry *registry = call->registry;
    bool is_told = call->key || registry->is_doubted;
    Str why = is_told ? registry->hold_reason : S("ask with a key to see why");
    json_add_str(
        &call->json,
        str_format(call->arena, "held: %.*s; events are taken in, nothing is sent", STR_ARG(why)));
}

// add_waiting names the channels that wait for their key to those whose channels they are, and to
// the system; anyone else learns that there are some.
static void add_waiting(Call *call)
{
    const Registry *registry = call->registry;
    if (call->api->is_key_foreign)
        json_add_str(&call->json, S("the master key of this node is not this database's"));
    const RegistryChannel **sealed;
    size_t count = registry_sealed(registry, call->arena, &sealed);
    if (!call->key && count > 0)
        json_add_str(&call->json,
                     str_format(call->arena,
                                "channels whose secret cannot be opened with this master key wait:"
                                " %zu",
                                count));
    for (size_t i = 0; i < count && call->key; i++)
        if (sealed[i]->tenant == call->tenant || call->key->is_system)
            json_add_str(&call->json, registry_wait(call->arena, sealed[i]));
}

// add_health says whether rounds go well; the engine goes round every 5 s at least.
static void add_health(Call *call, const EngineHealth *health)
{
    if (health->since_good > ROUNDS_LATE)
        json_add_str(&call->json,
                     str_format(call->arena,
                                "no delivery goes on: the last good round was %lld s ago",
                                (long long) (health->since_good / SPAN_SECOND)));
    if (health->is_clock_off)
        json_add_str(&call->json, S("the clock has jumped; nothing is sent until it is believed"));
}

void readyz_get(Call *call)
{
    Writer *writer = call->api->writer;
    bool is_up = writer && writer_is_up(writer);
    EngineHealth health = is_up ? engine_health(call->api->engine) : (EngineHealth){ 0 };
    bool is_ready = is_up && health.since_good <= ROUNDS_LATE;
    // The route is answered without the store too, so nobody has taken a snapshot for it yet.
    if (is_up) {
        call->registry = writer_registry(writer);
        call_identify(call);
    }
    bool is_held = is_up && call->registry->is_held;
    JsonOut *json = call_json(call, is_ready ? 200 : 503);
    json_open(json, '{');
    json_put_str(json, S("status"), is_ready ? S("ready") : S("not ready"));
    json_key(json, S("reasons"));
    json_open(json, '[');
    if (!is_up)
        json_add_str(json, S("the store is away; Peal keeps trying to reach it"));
    add_health(call, &health);
    if (is_held)
        add_hold(call);
    if (is_up)
        add_waiting(call);
    json_close(json, ']');
    json_put_bool(json, S("held"), is_held);
    json_close(json, '}');
    call_reply(call);
}

static Err tell_clock(Call *call, Error *error)
{
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_time(json, S("now"), clock_now(call->api->clock));
    json_put_str(json, S("mode"), call->api->clock->is_manual ? S("manual") : S("system"));
    json_close(json, '}');
    return ERR_OK;
}

void clock_get(Call *call)
{
    call_tell(call, tell_clock);
}

static Err read_move(Call *call, Instant *ret, Error *error)
{
    TRY(call_body(call, error));
    if (!call->api->clock->is_manual)
        return fail(error, ERR_CONFLICT,
                    "the clock is the system's; start Peal with --clock manual to move it");
    ClockBody body = { 0 };
    TRY(fields_read(call->arena, call->body, S(""), &clock_body_shape, &body, error));
    *ret = body.has_set ? body.set : clock_now(call->api->clock) + body.advance;
    return ERR_OK;
}

// is_refused answers for a command that the engine did not carry out.
static bool is_refused(Call *call, const EngineReport *report)
{
    Error error = { 0 };
    if (report->err == ERR_OK)
        return false;
    call_turn_down(call, fail(&error, report->err, "%s", report->refused), &error);
    return true;
}

static void clock_moved(void *with, const EngineReport *report)
{
    if (call_unpark(with) && !is_refused(with, report))
        call_write(with);
}

// clock_keep keeps the manual clock across a restart.
Err clock_keep(Call *call, Tx *tx, Error *error)
{
    TRY(tx_sync(tx, error));
    meta_put(tx, META_CLOCK,
             str_format(&tx->arena, "%lld", (long long) clock_now(call->api->clock)));
    inbox_open(tx, clock_now(call->api->clock), call->api->payload_max);
    call_later(call, tell_clock);
    return ERR_OK;
}

void clock_post(Call *call)
{
    Error error = { .arena = call->arena };
    Instant to = 0;
    Err err = read_move(call, &to, &error);
    if (err != ERR_OK) {
        call_turn_down(call, err, &error);
        return;
    }
    call_park(call);
    engine_advance(call->api->engine, to, clock_moved, call);
}

static Err tell_tick(Call *call, Error *error)
{
    const EngineReport *report = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_i64(json, S("claimed"), report->tally.claimed);
    json_put_i64(json, S("delivered"), report->tally.delivered);
    json_put_i64(json, S("retried"), report->tally.retried);
    json_put_i64(json, S("parked"), report->tally.parked);
    json_put_i64(json, S("expired"), report->tally.expired);
    json_put_i64(json, S("fired"), report->tally.fired);
    json_put_i64(json, S("purged"), report->tally.purged);
    json_put_time(json, S("nextAt"), report->next_at);
    json_close(json, '}');
    return ERR_OK;
}

static void ticked(void *with, const EngineReport *report)
{
    Call *call = with;
    if (!call_unpark(call) || is_refused(call, report))
        return;
    call->with = arena_copy(call->arena, report, sizeof *report);
    if (call->idempotency_key.at)
        call_write(call);
    else
        call_tell(call, tell_tick);
}

// tick_keep has only its answer to keep.
Err tick_keep(Call *call, Tx *tx, Error *error)
{
    (void) tx, (void) error;
    call_later(call, tell_tick);
    return ERR_OK;
}

void tick_post(Call *call)
{
    call_park(call);
    engine_tick(call->api->engine, ticked, call);
}

// Held is what a hold has to tell. What is under way is null until the engine was asked: that is
// the answer which is kept with the hold itself, in case that the program dies before it knows.
typedef struct Held {
    Str reason;
    bool is_asked;
    int64_t in_flight;
} Held;

static Err tell_held(Call *call, Error *error)
{
    const Held *held = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_bool(json, S("held"), true);
    json_put_str(json, S("reason"), held->reason);
    json_key(json, S("inFlight"));
    if (held->is_asked)
        json_add_i64(json, held->in_flight);
    else
        json_add_null(json);
    json_close(json, '}');
    return ERR_OK;
}

Err hold_post(Call *call, Tx *tx, Error *error)
{
    Str reason = STR_NONE;
    if (call->body)
        TRY(fields_read(call->arena, call->body, S(""), &reason_shape, &reason, error));
    if (!reason.len)
        reason = S("by an operator");
    TRY(tx_sync(tx, error));
    meta_put(tx, META_HOLD, reason);
    tx->changes_definitions = true;
    tx_fact(tx, FACT_HELD, 0, reason);
    Held *held = ARENA_NEW(call->arena, Held);
    *held = (Held){ .reason = reason };
    call->with = held;
    call_later(call, tell_held);
    return ERR_OK;
}

static void hold_seen(void *with, const EngineReport *report)
{
    Call *call = with;
    Held *held = call->with;
    if (!call_unpark(call) || is_refused(call, report))
        return;
    held->is_asked = true;
    held->in_flight = report->in_flight;
    call_keep(call, tell_held);
}

// hold_after answers once nothing more is started, on this node; a repeated call is told what the
// first one was.
void hold_after(Call *call)
{
    if (!call->with) {
        call_reply(call);
        return;
    }
    call_park(call);
    engine_quiet(call->api->engine, hold_seen, call);
}

static Err tell_released(Call *call, Error *error)
{
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_bool(json, S("held"), false);
    json_put_str(json, S("reason"), STR_NONE);
    json_close(json, '}');
    return ERR_OK;
}

Err release_post(Call *call, Tx *tx, Error *error)
{
    TRY(epoch_release(tx, call->api->guard, error));
    call_later(call, tell_released);
    return ERR_OK;
}
