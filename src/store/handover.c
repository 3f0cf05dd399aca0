#include "store/handover.h"

#include "domain/run.h"
#include "store/rule.h"

// Step 1 is a send's, and state 1 means that it is under way.
static const Statement waiting = {
    .name = "handover_waiting",
    .scope = STATEMENT_TENANT,
    .params = "iiii",
    .sql = "SELECT " STANDING_COLUMNS(
        "q.") " FROM (SELECT * FROM queue WHERE lane = $2"
              " AND step = 1 AND state <> 1 ORDER BY due_at, id LIMIT $4) AS q"
              " WHERE q.tenant = $1 AND q.rule = $3 ORDER BY q.id",
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

const Statement *const handover_statements[] = { &waiting, &promise, NULL };

static int64_t lane_of(const Registry *registry, int64_t tenant, RuleKind kind, Str id)
{
    const RegistryTrigger *now =
        run_of_rule(kind) ? registry_rule(registry, tenant, kind, id) : NULL;
    return now ? now->lane : 0;
}

int64_t handover_lane(const Registry *registry, const Trigger *made_under, int64_t lane)
{
    const Rule *rule = &made_under->rule;
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

Err handover_all(Tx *tx, int64_t tenant, const Trigger *saved, Error *error)
{
    const Rule *rule = &saved->rule;
    const RegistryTrigger *last = registry_rule(tx->registry, tenant, rule->kind, rule->id);
    Rule now = { .tenant = tenant, .kind = rule->kind, .id = rule->id };
    if (!last)
        return ERR_OK;
    now.number = last->rule;
    TRY(rule_place(tx, &now, saved->channel, error));
    if (now.lane == last->lane)
        return ERR_OK;
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(last->lane), value_i64(last->rule),
                     value_i64(HANDOVER_LOOK) };
    TRY(tx_query(tx, &waiting, args, &rows, error));
    SettleBatch batch = { .rows = ARENA_ARRAY(&tx->arena, Settle, rows.count + 1),
                          .count = rows.count };
    for (size_t i = 0; i < rows.count; i++) {
        QueueRow row = { .is_run = true };
        queue_read(rows_at(&rows, i), &row);
        batch.rows[i] = settle_from(&row, delivery_pass_on(&row.live));
        batch.rows[i].is_run = true;
        send_to(&batch.rows[i], now.lane);
    }
    promise_lanes(tx, &batch);
    return queue_settle_now(tx, &batch, error);
}

// goes_back: it stands in its lane afterwards, for whoever claims from that.
static bool goes_back(const Settle *settle)
{
    const Live *live = &settle->to.live;
    return settle->is_run && live->step == STEP_SEND &&
           (live->state == DELIVERY_PENDING || live->state == DELIVERY_RETRYING);
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
