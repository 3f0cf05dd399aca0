#include "store/handover.h"

#include "domain/run.h"
#include "store/operation.h"
#include "store/rule.h"
#include "store/versions.h"

#define BEGUN_BY S("its handler is another")

// What a trigger made before it had an automation is no run. Where the promise is missing, 0.
#define MADE_UNDER                                                                                 \
    "COALESCE((SELECT d.version FROM delivery d WHERE d.tenant = q.tenant AND d.id = q.id), 0)"

// Step 1 is a send's, and state 1 means that it is under way.
static const Statement waiting = {
    .name = "handover_waiting",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "SELECT " STANDING_COLUMNS(
        "q.") ", " MADE_UNDER " FROM (SELECT * FROM queue WHERE lane = $2"
              " AND step = 1 AND state <> 1 ORDER BY due_at, id LIMIT $4) AS q"
              " WHERE q.tenant = $1 AND q.rule = $3 ORDER BY q.id",
};
static const Statement beyond = {
    .name = "handover_beyond",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .sql = "SELECT 1 FROM (SELECT tenant FROM queue WHERE lane = $2 AND step = 1 AND state <> 1"
           " ORDER BY due_at, id LIMIT 1 OFFSET $3) AS q WHERE q.tenant = $1",
};
static const Statement has_run = {
    .name = "handover_has_run",
    .scope = STATEMENT_TENANT,
    .params = "ii",
    .sql = "SELECT 1 FROM delivery WHERE tenant = $1 AND rule = $2 LIMIT 1",
};
static const Statement standing = {
    .name = "handover_standing",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .many = true,
    .sql = "SELECT " STANDING_COLUMNS(
        "q.") ", " MADE_UNDER
              " FROM queue q WHERE q.tenant = $1 AND q.id = $2 AND q.step = 1 AND q.state <> 1",
    .postgres = "SELECT " STANDING_COLUMNS(
        "q.") ", " MADE_UNDER
              " FROM unnest($1, $2) AS u (tenant, id) JOIN queue q ON q.tenant = u.tenant"
              " AND q.id = u.id AND q.step = 1 AND q.state <> 1 ORDER BY q.id",
};
static const Statement promise = {
    .name = "handover_promise",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "UPDATE delivery SET lane = $3 WHERE tenant = $1 AND id = $2",
    .postgres = "UPDATE delivery d SET lane = s.lane FROM unnest($1, $2, $3) AS s"
                " (tenant, id, lane) WHERE d.tenant = s.tenant AND d.id = s.id",
};

const Statement *const handover_statements[] = {
    &waiting, &beyond, &has_run, &standing, &promise, NULL,
};

// lane_of is the lane of the handler that runs of a rule have now; 0: they are none, or there is no
// such rule any more. What a trigger makes goes by the automation that it names now.
static int64_t lane_of(const Registry *registry, int64_t tenant, RuleKind kind, Str id)
{
    const RegistryTrigger *rule = registry_rule(registry, tenant, kind, id);
    if (!rule || (!rule->automation.at && !run_of_rule(kind)))
        return 0;
    const RegistryTrigger *now = registry_runs(registry, rule);
    return now ? now->lane : 0;
}

int64_t handover_lane(const Registry *registry, const Trigger *made_under, int64_t lane)
{
    const Rule *rule = &made_under->rule;
    if (!trigger_is_run(made_under))
        return 0;
    int64_t now = lane_of(registry, rule->tenant, rule->kind, rule->id);
    return now != lane ? now : 0;
}

static void promise_lanes(Tx *tx, const SettleBatch *batch)
{
    size_t count = 0;
    Value *values = ARENA_ARRAY(&tx->arena, Value, batch->count * 3 + 1);
    for (size_t i = 0; i < batch->count; i++) {
        const Settle *settle = &batch->rows[i];
        if (!settle->is_run || !settle->from_lane)
            continue;
        values[count * 3] = value_i64(settle->tenant);
        values[count * 3 + 1] = value_uuid(&settle->id);
        values[count++ * 3 + 2] = value_i64(settle->lane);
    }
    if (count > 0)
        db_send_many(tx->db, &tx->arena, &promise, values, count, NULL);
}

static void send_to(Settle *settle, int64_t lane)
{
    if (!lane || lane == settle->lane)
        return;
    settle->from_lane = settle->lane;
    settle->lane = lane;
}

// Place is where the runs of a rule go now.
typedef struct Place {
    int64_t tenant, rule, lane;
} Place;

// find_place finds that of a settle's rule; neighbours mostly have the same.
static Err find_place(Tx *tx, const Settle *settle, Place *place, Error *error)
{
    RuleName name;
    if (place->tenant == settle->tenant && place->rule == settle->rule)
        return ERR_OK;
    TRY(rule_names(tx->db, &tx->arena, settle->tenant, &settle->rule, 1, &name, error));
    *place = (Place){ settle->tenant, settle->rule, 0 };
    if (name.id.at)
        place->lane = lane_of(tx->registry, settle->tenant, name.kind, name.id);
    return ERR_OK;
}

// find_kind says whether a row is a run's, by the version that it was made under; where that is
// missing, it may be.
static Err find_kind(Tx *tx, QueueRow *row, int64_t version, Error *error)
{
    const Trigger *made_under;
    TRY(versions_load(tx->versions, tx->db, row->tenant, row->rule, version, &made_under, error));
    row->is_run = !made_under || trigger_is_run(made_under);
    versions_drop(made_under);
    return ERR_OK;
}

// move lets runs that wait go to a lane, or with 0 each to that of its handler.
static Err move(Tx *tx, const Rows *rows, int64_t lane, size_t *ret_moved, Error *error)
{
    Place place = { 0 };
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows->count + 1) };
    for (size_t i = 0; i < rows->count; i++) {
        QueueRow row;
        Settle *settle = &batch.rows[batch.count];
        queue_read(rows_at(rows, i), &row);
        TRY(find_kind(tx, &row, value_to_i64(&rows_at(rows, i)[STANDING_COLUMN_COUNT]), error));
        if (row.is_unsound || !row.is_run)
            continue; // whoever claims what is unsound parks it
        *settle = settle_from(&row, delivery_pass_on(&row.live));
        if (!lane)
            TRY(find_place(tx, settle, &place, error));
        send_to(settle, lane ? lane : place.lane);
        batch.count += settle->from_lane != 0;
    }
    *ret_moved = batch.count;
    promise_lanes(tx, &batch);
    return queue_settle_now(tx, &batch, error);
}

Err handover_these(Tx *tx, int64_t tenant, const Uuid *ids, size_t count, size_t *ret_moved,
                   Error *error)
{
    Rows rows;
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 2 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 2] = value_i64(tenant);
        values[i * 2 + 1] = value_uuid(&ids[i]);
    }
    *ret_moved = 0;
    if (count == 0)
        return ERR_OK;
    db_send_many(tx->db, &tx->arena, &standing, values, count, &rows);
    TRY(tx_sync(tx, error));
    return move(tx, &rows, 0, ret_moved, error);
}

// hand_over_later leaves it to an operation, which finds the runs wherever they wait.
static void hand_over_later(Tx *tx, const Rule *rule)
{
    Buf filter = buf_new(&tx->arena, BUF_WHOLE);
    JsonOut out = json_out(&filter);
    json_open(&out, '{');
    if (rule->kind != RULE_AUTOMATION)
        json_put_str(&out, rule->kind == RULE_JOB ? S("job") : S("trigger"), rule->id);
    json_close(&out, '}');
    operation_add(tx, &(Operation){ .tenant = rule->tenant,
                                    .id = uuid_new(tx->now, tx->random),
                                    .kind = OPERATION_HANDOVER,
                                    .filter = buf_str(&filter),
                                    .reason = BEGUN_BY,
                                    .created_at = tx->now });
}

// hand_over_any leaves to it what a rule made, if it made anything, where nobody knows any more in
// which lane that waits.
static Err hand_over_any(Tx *tx, const Rule *rule, Error *error)
{
    Rows runs;
    Value args[] = { value_i64(rule->tenant), value_i64(rule->number) };
    TRY(tx_query(tx, &has_run, args, &runs, error));
    if (runs.count > 0)
        hand_over_later(tx, rule);
    return ERR_OK;
}

// hand_over_first hands over what waits in front of a lane; whether more waits there is told.
static Err hand_over_first(Tx *tx, const Rule *rule, int64_t from, bool *ret_more, Error *error)
{
    Rows rows, behind;
    size_t moved;
    Value args[] = { value_i64(rule->tenant), value_i64(from), value_i64(rule->number),
                     value_i64(HANDOVER_LOOK) };
    Value place[] = { args[0], args[1], args[3] };
    TRY(tx_query(tx, &beyond, place, &behind, error));
    *ret_more = behind.count > 0;
    TRY(tx_query(tx, &waiting, args, &rows, error));
    return move(tx, &rows, rule->lane, &moved, error);
}

// hand_over_runs hands over what a trigger made that waits in the lane from; 0: in whatever lane.
static Err hand_over_runs(Tx *tx, const RegistryTrigger *trigger, int64_t from, int64_t to,
                          Error *error)
{
    bool has_more;
    Rule rule = { .tenant = trigger->tenant,
                  .kind = RULE_TRIGGER,
                  .id = trigger->id,
                  .number = trigger->rule,
                  .lane = to };
    if (!from)
        return hand_over_any(tx, &rule, error);
    TRY(hand_over_first(tx, &rule, from, &has_more, error));
    if (has_more)
        hand_over_later(tx, &rule);
    return ERR_OK;
}

// hand_over_runners does so for all triggers that run an automation whose handler is another.
static Err hand_over_runners(Tx *tx, const Rule *now, int64_t from, Error *error)
{
    const RegistryTrigger **runners;
    size_t count = registry_runners(tx->registry, &tx->arena, now->tenant, now->id, &runners);
    for (size_t i = 0; now->kind == RULE_AUTOMATION && i < count; i++)
        TRY(hand_over_runs(tx, runners[i], from, now->lane, error));
    return ERR_OK;
}

Err handover_trigger(Tx *tx, int64_t tenant, Str id, Str automation, Error *error)
{
    const RegistryTrigger *last = registry_rule(tx->registry, tenant, RULE_TRIGGER, id);
    const RegistryTrigger *was =
        last && last->automation.at ? registry_runs(tx->registry, last) : NULL;
    const RegistryTrigger *now = registry_rule(tx->registry, tenant, RULE_AUTOMATION, automation);
    if (!now || (was && was->lane == now->lane))
        return ERR_OK;
    if (was)
        return hand_over_runs(tx, last, was->lane, now->lane, error);
    Rule rule = { .tenant = tenant, .kind = RULE_TRIGGER, .id = id };
    TRY(rule_number(tx->db, &tx->arena, tenant, rule.kind, id, &rule.number, error));
    return hand_over_any(tx, &rule, error);
}

Err handover_all(Tx *tx, int64_t tenant, const Trigger *saved, Error *error)
{
    const Rule *rule = &saved->rule;
    const RegistryTrigger *last = registry_rule(tx->registry, tenant, rule->kind, rule->id);
    Rule now = { .tenant = tenant, .kind = rule->kind, .id = rule->id };
    bool has_more = false;
    now.number = last ? last->rule : 0;
    TRY(rule_place(tx, &now, saved->channel, error));
    if (last && now.lane != last->lane) {
        TRY(hand_over_first(tx, &now, last->lane, &has_more, error));
        TRY(hand_over_runners(tx, &now, last->lane, error));
    }
    if (!last) {
        TRY(hand_over_any(tx, &now, error));
        TRY(hand_over_runners(tx, &now, 0, error));
    }
    if (has_more)
        hand_over_later(tx, &now);
    return ERR_OK;
}

// goes_back: it stands in its lane afterwards, for whoever claims from that.
static bool goes_back(const Settle *settle)
{
    const Live *live = &settle->to.live;
    return settle->is_run && live->step == STEP_SEND &&
           (live->state == DELIVERY_PENDING || live->state == DELIVERY_RETRYING);
}

Err handover_settles(Tx *tx, SettleBatch *batch, Error *error)
{
    Place place = { 0 };
    for (size_t i = 0; i < batch->count; i++) {
        Settle *settle = &batch->rows[i];
        if (!goes_back(settle))
            continue;
        if (settle->from_lane) // the transaction is replayed
            settle->lane = settle->from_lane;
        settle->from_lane = 0;
        TRY(find_place(tx, settle, &place, error));
        send_to(settle, place.lane);
    }
    promise_lanes(tx, batch);
    return ERR_OK;
}
