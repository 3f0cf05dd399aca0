#include "scenario.h"

#include "domain/run.h"
#include "engine/sweep.h"
#include "errands.h"
#include "store/accept.h"
#include "store/act.h"
#include "store/definition.h"
#include "store/follow.h"
#include "store/idempotency.h"
#include "store/key.h"
#include "store/lane.h"
#include "store/migrate.h"
#include "store/node.h"
#include "store/operation.h"
#include "store/tenant.h"

enum { ITEMS = 6, SEED = 20260514, BEGINNING_LENGTH = 4, MIDDLE_LENGTH = 34 };

#define BEGAN_AT ((Instant) 1778735554 * SPAN_SECOND)
#define LEASE (15 * SPAN_SECOND)
#define ADMIN_KEY S("pk_0123456789abcdefghijklmnopqrstuvwxyz")

typedef struct Act {
    const char *name;
    Err (*run)(Scenario *scenario, Error *error);
    Span later; // than the step before; 0: a second
    bool skips; // what another transaction holds
} Act;

static int cycle_of(const Scenario *scenario)
{
    return scenario->step < BEGINNING_LENGTH
               ? 0
               : (int) ((scenario->step - BEGINNING_LENGTH) / MIDDLE_LENGTH);
}

size_t scenario_length(const ScenarioOptions *options)
{
    return BEGINNING_LENGTH + (size_t) options->cycles * MIDDLE_LENGTH;
}

static Err migrate(const ScenarioOptions *options, Error *error)
{
    Db *db;
    int applied;
    TRY(db_open(&(DbOptions){ .url = options->url, .is_weak = options->is_weak }, &db, error));
    Err err = migrate_run(db, &applied, error);
    db_close(db);
    return err;
}

Err scenario_open(Scenario *scenario, const ScenarioOptions *options, Error *error)
{
    *scenario = (Scenario){ .options = *options, .random = random_seeded(SEED) };
    clock_init_manual(&scenario->clock, BEGAN_AT);
    TRY(migrate(options, error));
    WriterOptions writer = { .url = options->url,
                             .clock = &scenario->clock,
                             .random = &scenario->random,
                             .ring = &scenario->ring,
                             .is_weak = options->is_weak,
                             .fault = options->fault,
                             .fault_with = options->fault_with };
    TRY(writer_open(&writer, &scenario->writer, error));
    writer_set_node(scenario->writer, 1); // one number in every run, so that rows can be compared
    return ERR_OK;
}

void scenario_close(Scenario *scenario)
{
    if (scenario->writer)
        writer_close(scenario->writer);
    arena_done(&scenario->scratch);
}

void scenario_reseed(Scenario *scenario)
{
    scenario->random = random_seeded(SEED + 1 + scenario->step);
}

static Err run(Scenario *scenario, Err (*work)(Tx *tx, void *with, Error *error), Error *error)
{
    return writer_run(scenario->writer, work, scenario, error);
}

// The beginning: what an installation needs before the first event.

static Err bootstrap_work(Tx *tx, void *with, Error *error)
{
    Scenario *scenario = with;
    KeyStart made;
    int64_t node;
    scenario_reseed(scenario);
    TRY(tx_sync(tx, error));
    TRY(key_bootstrap(tx, &scenario->scratch, ADMIN_KEY, &made, error));
    return node_join(tx, S("survivor"), S("1"), true, tx->now, &node, error);
}

static Err bootstrap(Scenario *scenario, Error *error)
{
    return run(scenario, bootstrap_work, error);
}

static const struct {
    const char *id, *body;
} triggers[] = {
    { "plain", "{\"id\":\"plain\",\"eventKind\":\"visit\",\"channel\":\"memory:default\","
               "\"dedupRecipe\":[\"candidate.number\"],"
               "\"retry\":{\"policy\":\"fixed\",\"interval\":\"10s\",\"max\":2}}" },
    { "reminded", "{\"id\":\"reminded\",\"eventKind\":\"visit\",\"channel\":\"memory:default\","
                  "\"dedupRecipe\":[\"candidate.number\",\"recipient.address\"],"
                  "\"schedule\":{\"reminders\":[\"30s\"]},\"expireAfter\":\"90s\","
                  "\"cancelOn\":{\"eventKind\":\"visit-gone\",\"match\":[\"candidate.number\"]}}" },
    { "filtered", "{\"id\":\"filtered\",\"eventKind\":\"visit\",\"channel\":\"memory:default\","
                  "\"filter\":{\"path\":\"candidate.number\",\"op\":\"==\",\"value\":\"none\"}}" },
    { "row", "{\"id\":\"row\",\"eventKind\":\"row\",\"channel\":\"memory:default\","
             "\"awaitAnswer\":true,\"schedule\":{\"initialDelay\":\"1000d\"}}" },
};

static Err define_work(Tx *tx, void *with, Error *error)
{
    (void) with;
    for (size_t i = 0; i < ARRAY_LEN(triggers); i++) {
        Definition made;
        TRY(definition_create(tx, TENANT_FIRST, DEFINITION_TRIGGER, str_from(triggers[i].id),
                              str_from(triggers[i].body), &made, error));
    }
    return lane_ensure(tx, TENANT_FIRST, CHANNEL_ALWAYS, error);
}

static Err define(Scenario *scenario, Error *error)
{
    return run(scenario, define_work, error);
}

// The way in.

typedef struct Posted {
    Accept accept;
    Str key; // of idempotency; none
} Posted;

static Err post_work(Tx *tx, void *with, Error *error)
{
    Posted *posted = with;
    Accept *accept = &posted->accept;
    Sha256 request = sha256(posted->key);
    Idempotency found = { 0 };
    TRY(accept_decide(accept, tx->registry, tx->random, error));
    if (posted->key.at)
        TRY(idempotency_begin(tx, TENANT_FIRST, posted->key, &request, &found, error));
    if (found.is_repeat)
        return ERR_OK;
    TRY(accept_write(tx, &accept, 1, error));
    if (posted->key.at)
        idempotency_finish(tx, TENANT_FIRST, posted->key, 202, S("{\"items\":[]}"));
    return ERR_OK;
}

static Err post(Scenario *scenario, Str kind, const Str *items, size_t count, Str key, Error *error)
{
    Arena *arena = &scenario->scratch;
    Posted posted = { .accept = { .arena = arena,
                                  .tenant = TENANT_FIRST,
                                  .items = ARENA_ARRAY(arena, AcceptItem, count),
                                  .count = count,
                                  .now = clock_now(&scenario->clock) },
                      .key = key };
    for (size_t i = 0; i < count; i++) {
        const Json *json;
        TRY(json_parse(arena, items[i], &json, error));
        TRY(event_build_item(arena, kind, json, &posted.accept.items[i].event, error));
    }
    return writer_run(scenario->writer, post_work, &posted, error);
}

// visit_item writes an item. Equal numbers share a dedup key, equal ids an identity.
static Str visit_item(Scenario *scenario, int number, int id)
{
    return str_format(&scenario->scratch,
                      "{\"id\":\"id-%d\",\"payload\":{\"number\":\"%d\",\"text\":\"%0120d\"},"
                      "\"recipient\":{\"address\":\"+964 770 %07d\",\"locale\":\"ar\"}}",
                      id, number, number, number);
}

static Err post_visits(Scenario *scenario, Error *error)
{
    Str items[ITEMS];
    int first = cycle_of(scenario) * 100;
    for (int i = 0; i < ITEMS; i++)
        items[i] = visit_item(scenario, first + i, first + i);
    items[4] = visit_item(scenario, first + 4, first + 3); // the event came before
    items[5] = visit_item(scenario, first + 1, first + 5); // its deliveries were made before
    return post(scenario, S("visit"), items, ITEMS, STR_NONE, error);
}

static Err post_keyed(Scenario *scenario, Error *error)
{
    int first = cycle_of(scenario) * 100 + 50;
    Str items[] = { visit_item(scenario, first, first),
                    visit_item(scenario, first + 1, first + 1) };
    Str key = str_format(&scenario->scratch, "call-%d", first);
    return post(scenario, S("visit"), items, ARRAY_LEN(items), key, error);
}

static Err post_recall(Scenario *scenario, Error *error)
{
    int first = cycle_of(scenario) * 100;
    Str items[] = { str_format(&scenario->scratch, "{\"payload\":{\"number\":\"%d\"}}",
                               first + 2) };
    return post(scenario, S("visit-gone"), items, ARRAY_LEN(items), STR_NONE, error);
}

// Rounds, as the engine makes them: settle, sweep, claim and renew in one transaction.

typedef struct Round {
    Scenario *scenario;
    bool settles, sweeps, claims, renews;
    Settle settle_rows[SCENARIO_CLAIM_MAX];
    SettleBatch settled;
    ClaimLane lane;
    Claim claim;
    Arena arena;
} Round;

static Outcome outcome_of(const Held *held)
{
    switch ((held->id.b[15] + held->live.attempt + held->id.b[9]) % 4) {
    case 0:
        return (Outcome){ .verdict = VERDICT_TRANSIENT, .reason = REASON_UNWELL, .code = 503 };
    case 1:
        return (Outcome){ .verdict = VERDICT_PERMANENT,
                          .reason = REASON_REFUSED,
                          .code = 400,
                          .detail = S("no such customer") };
    default:
        return (Outcome){ .verdict = VERDICT_DELIVERED,
                          .reason = REASON_ACCEPTED,
                          .is_captured = true };
    }
}

static QueueRow held_row(const Held *held)
{
    return (QueueRow){ .tenant = held->tenant,
                       .id = held->id,
                       .lane = held->lane,
                       .rule = held->rule,
                       .bytes = held->bytes,
                       .is_run = run_of_rule(held->trigger->rule.kind),
                       .live = held->live };
}

// told_of: whatever became of a list's, all of its targets were told the same.
static const Target *told_of(const Held *held, const Outcome *outcome, Arena *arena)
{
    Target *told = arena_copy(arena, held->targets, sizeof held->targets);
    for (size_t i = 0; i < held->target_count; i++) {
        told[i].send = held->live.send;
        told[i].outcome = *outcome;
    }
    return told;
}

static void fill_settles(Round *round, Tx *tx)
{
    const Scenario *scenario = round->scenario;
    round->settled = (SettleBatch){ .rows = round->settle_rows };
    for (size_t i = 0; round->settles && i < scenario->held_count; i++) {
        const Held *held = &scenario->held[i];
        Outcome outcome = outcome_of(held);
        const RegistryLane *lane = registry_lane(tx->registry, held->lane);
        RetryPolicy policy =
            registry_retry(tx->registry, lane, held->trigger, &(Origin){ .source = S("api") });
        Settlement to =
            delivery_settle(&held->live, &held->trigger->rule.plan, &policy, &outcome, tx->now, 0);
        QueueRow row = held_row(held);
        Settle *settle = &round->settle_rows[round->settled.count++];
        *settle = settle_tried(&row, to, &outcome, tx->now);
        settle->targets = told_of(held, &outcome, &tx->arena);
        settle->target_count = held->target_count;
        settle->round = held->live.failures;
    }
}

static void find_lane(Round *round, const Tx *tx)
{
    round->lane.lane = registry_lane_of(tx->registry, TENANT_FIRST, CHANNEL_ALWAYS);
}

static void send_claim(Round *round, Tx *tx)
{
    const Scenario *scenario = round->scenario;
    size_t kept = round->settles ? 0 : scenario->held_count;
    round->lane.free = (int) (SCENARIO_CLAIM_MAX - kept);
    round->lane.bytes = 1 << 20;
    round->lane.has_targets = round->lane.reaches_members = true;
    round->claim = (Claim){ .lanes = &round->lane,
                            .lane_count = round->claims && round->lane.free > 0,
                            .node = 1,
                            .lease_until = tx->now + LEASE,
                            .arena = &round->arena };
    queue_claim(tx, &round->claim);
}

static Err renew(const Round *round, Tx *tx, Error *error)
{
    const Scenario *scenario = round->scenario;
    Renewal renewals[SCENARIO_CLAIM_MAX];
    for (size_t i = 0; i < scenario->held_count; i++)
        renewals[i] = (Renewal){ .tenant = scenario->held[i].tenant,
                                 .id = scenario->held[i].id,
                                 .fence = scenario->held[i].live.fence,
                                 .holder = scenario->held[i].live.holder };
    return queue_renew(tx, renewals, scenario->held_count, tx->now + LEASE, error);
}

static Err round_work(Tx *tx, void *with, Error *error)
{
    Round *round = with;
    scenario_reseed(round->scenario);
    fill_settles(round, tx);
    find_lane(round, tx);
    TRY(queue_settle(tx, &round->settled, error));
    if (round->sweeps) {
        Sweep sweep = { .lanes = &round->lane.lane, .lane_count = 1, .limit = 100 };
        TRY(tx_sync(tx, error));
        TRY(sweep_leases(tx, &sweep, error));
        TRY(sweep_others(tx, &sweep, error));
    }
    send_claim(round, tx);
    TRY(tx_sync(tx, error));
    TRY(queue_settle_check(tx, &round->settled, error));
    TRY(follow_settled(tx, &round->settled, error));
    TRY(queue_claim_take(tx, &round->claim, error));
    if (round->renews && round->scenario->held_count > 0)
        TRY(renew(round, tx, error));
    return node_beat(tx, &(NodeBeat){ .node = 1, .real_now = tx->now }, error);
}

static Held held_of(const Claimed *claimed)
{
    Held held = { .tenant = claimed->promise.tenant,
                  .lane = claimed->promise.lane,
                  .rule = claimed->promise.rule,
                  .bytes = claimed->bytes,
                  .id = claimed->promise.id,
                  .live = claimed->live,
                  .trigger = claimed->trigger };
    assert(!claimed->has_rows || claimed->target_count <= SCENARIO_TARGETS);
    for (size_t i = 0; claimed->has_rows && i < claimed->target_count; i++)
        held.targets[held.target_count++] = (Target){ .n = claimed->targets[i].n };
    return held;
}

static Err round_of(Scenario *scenario, Round *round, Error *error)
{
    round->scenario = scenario;
    Err err = writer_run(scenario->writer, round_work, round, error);
    if (err == ERR_OK && (round->settles || round->sweeps))
        scenario->held_count = 0;
    for (size_t i = 0; err == ERR_OK && i < round->claim.count; i++)
        scenario->held[scenario->held_count++] = held_of(&round->claim.claimed[i]);
    arena_done(&round->arena);
    return err;
}

static Err claim(Scenario *scenario, Error *error)
{
    return round_of(scenario, &(Round){ .claims = true }, error);
}

static Err renew_and_claim(Scenario *scenario, Error *error)
{
    return round_of(scenario, &(Round){ .renews = true, .claims = true }, error);
}

static Err settle_and_claim(Scenario *scenario, Error *error)
{
    return round_of(scenario, &(Round){ .settles = true, .claims = true }, error);
}

static Err settle(Scenario *scenario, Error *error)
{
    return round_of(scenario, &(Round){ .settles = true }, error);
}

// sweep comes so late that every lease has lapsed.
static Err sweep(Scenario *scenario, Error *error)
{
    return round_of(scenario, &(Round){ .sweeps = true }, error);
}

// What a person does.

static const Statement first_waiting = {
    .name = "survive_first_waiting",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT id FROM queue WHERE tenant = $1 AND state = 3 ORDER BY id LIMIT 1",
};
static const Statement first_parked = {
    .name = "survive_first_parked",
    .scope = STATEMENT_TENANT,
    .params = "i",
    .sql = "SELECT id FROM ended WHERE tenant = $1 AND state = 4 ORDER BY id LIMIT 1",
};

static Err act_on_first(Tx *tx, const Statement *which, DeliveryAction action, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(TENANT_FIRST) };
    TRY(tx_query(tx, which, args, &rows, error));
    if (rows.count == 0)
        return ERR_OK;
    Uuid id = value_to_uuid(&rows.values[0]);
    return act_one(tx, TENANT_FIRST, id, action, S("as agreed"), error);
}

static Err cancel_work(Tx *tx, void *with, Error *error)
{
    const Scenario *scenario = with;
    if (scenario->held_count == 0)
        return ERR_OK;
    return act_one(tx, TENANT_FIRST, scenario->held[0].id, DELIVERY_ACTION_CANCEL,
                   S("no longer wanted"), error);
}

static Err cancel_in_flight(Scenario *scenario, Error *error)
{
    return run(scenario, cancel_work, error);
}

static Err complete_work(Tx *tx, void *with, Error *error)
{
    (void) with;
    return act_on_first(tx, &first_waiting, DELIVERY_ACTION_COMPLETE, error);
}

static Err complete(Scenario *scenario, Error *error)
{
    return run(scenario, complete_work, error);
}

static Err retry_work(Tx *tx, void *with, Error *error)
{
    (void) with;
    return act_on_first(tx, &first_parked, DELIVERY_ACTION_RETRY, error);
}

static Err retry(Scenario *scenario, Error *error)
{
    return run(scenario, retry_work, error);
}

static Err discard_work(Tx *tx, void *with, Error *error)
{
    (void) with;
    return act_on_first(tx, &first_parked, DELIVERY_ACTION_DISCARD, error);
}

static Err discard(Scenario *scenario, Error *error)
{
    return run(scenario, discard_work, error);
}

static Err operation_add_work(Tx *tx, void *with, Error *error)
{
    Scenario *scenario = with;
    bool is_even = cycle_of(scenario) % 2 == 0;
    scenario_reseed(scenario);
    Operation operation = { .tenant = TENANT_FIRST,
                            .id = uuid_new(tx->now, tx->random),
                            .action = is_even ? DELIVERY_ACTION_RETRY : DELIVERY_ACTION_CANCEL,
                            .filter = is_even ? S("{}") : S("{\"trigger\":\"plain\"}"),
                            .reason = S("all of them"),
                            .created_at = tx->now };
    operation_add(tx, &operation);
    return tx_sync(tx, error);
}

static Err operate(Scenario *scenario, Error *error)
{
    return run(scenario, operation_add_work, error);
}

static Err operation_step_work(Tx *tx, void *with, Error *error)
{
    (void) with;
    bool more;
    return operation_step(tx, 2, &more, error);
}

static Err carry_on(Scenario *scenario, Error *error)
{
    return run(scenario, operation_step_work, error);
}

static Err replace_work(Tx *tx, void *with, Error *error)
{
    Scenario *scenario = with;
    Definition replaced;
    Str body =
        str_format(&tx->arena,
                   "{\"id\":\"plain\",\"eventKind\":\"visit\",\"channel\":\"memory:default\","
                   "\"dedupRecipe\":[\"candidate.number\"],"
                   "\"retry\":{\"policy\":\"fixed\",\"interval\":\"%ds\",\"max\":2}}",
                   11 + cycle_of(scenario));
    TRY(definition_replace(tx, TENANT_FIRST, DEFINITION_TRIGGER, S("plain"), DEFINITION_ANY_VERSION,
                           body, &replaced, error));
    return tx_sync(tx, error);
}

static Err replace(Scenario *scenario, Error *error)
{
    return run(scenario, replace_work, error);
}

// hide_work hides and makes anew, so that the next cycle finds the trigger in place.
static Err hide_work(Tx *tx, void *with, Error *error)
{
    Definition made;
    (void) with;
    TRY(definition_hide(tx, TENANT_FIRST, DEFINITION_TRIGGER, S("filtered"), DEFINITION_ANY_VERSION,
                        error));
    TRY(tx_sync(tx, error));
    TRY(definition_create(tx, TENANT_FIRST, DEFINITION_TRIGGER, S("filtered"),
                          str_from(triggers[2].body), &made, error));
    return tx_sync(tx, error);
}

static Err hide(Scenario *scenario, Error *error)
{
    return run(scenario, hide_work, error);
}

static const Act beginning[] = {
    { "bootstrap", bootstrap, 0 },
    { "define", define, 0 },
    { "list", errand_list, 0 },
    { "job", errand_job, 0 },
};
_Static_assert(ARRAY_LEN(beginning) == BEGINNING_LENGTH, "every step is counted");

static const Act middle[] = {
    { "post", post_visits, 0 },
    { "post with a key", post_keyed, 0 },
    { "post with the key again", post_keyed, 0 },
    { "emit", errand_emit, 0 },
    { "drain", errand_drain, 0, true },
    { "notify", errand_notify, 0 },
    { "fire", errand_fire, 0, true },
    { "campaign", errand_campaign, 0 },
    { "rows", errand_rows, 0, true },
    { "defer", errand_defer, 0 },
    { "claim", claim, 0, true },
    { "progress", errand_progress, 0 },
    { "renew and claim", renew_and_claim, 0, true },
    { "cancel in flight", cancel_in_flight, 0 },
    { "settle and claim", settle_and_claim, 0, true },
    { "complete", complete, 0 },
    { "settle", settle, 0 },
    { "retry", retry, 0 },
    { "operate", operate, 0 },
    { "carry on", carry_on, 0, true },
    { "recall", post_recall, 0 },
    { "discard", discard, 0 },
    { "replace", replace, 0 },
    { "hide and make anew", hide, 0 },
    { "carry on again", carry_on, 0, true },
    { "defer in its stead", errand_defer, 0 },
    { "claim and let lapse", claim, 30 * SPAN_SECOND, true },
    { "sweep", sweep, 60 * SPAN_SECOND, true },
    { "fire what was missed", errand_fire, 0, true },
    { "call off", errand_call_off, 0 },
    { "drop the file", errand_rows, 0, true },
    { "number", errand_number, 0 },
    { "seal", errand_seal, 0 },
    { "sample", errand_sample, 0 },
};
_Static_assert(ARRAY_LEN(middle) == MIDDLE_LENGTH, "every step is counted");

static const Act *step_at(size_t number)
{
    if (number < BEGINNING_LENGTH)
        return &beginning[number];
    return &middle[(number - BEGINNING_LENGTH) % MIDDLE_LENGTH];
}

const char *scenario_name(const Scenario *scenario)
{
    return step_at(scenario->step)->name;
}

bool scenario_skips(const Scenario *scenario)
{
    return step_at(scenario->step)->skips;
}

Err scenario_step(Scenario *scenario, Error *error)
{
    Instant now = BEGAN_AT;
    for (size_t i = 0; i <= scenario->step; i++)
        now += step_at(i)->later ? step_at(i)->later : SPAN_SECOND;
    clock_set(&scenario->clock, now);
    arena_reset(&scenario->scratch);
    scenario_reseed(scenario);
    TRY(step_at(scenario->step)->run(scenario, error));
    scenario->step++;
    return ERR_OK;
}
