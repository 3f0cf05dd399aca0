#include "store/rule.h"

#include "store/definition.h"
#include "store/lane.h"

// The select has a condition because SQLite would read its ON as a join's.
static const Statement insert = {
    .name = "rule_insert",
    .scope = STATEMENT_TENANT,
    .params = "iiti",
    .sql = "INSERT INTO rule (rule, tenant, kind, id, generation)"
           " SELECT COALESCE(MAX(rule), 0) + 1, $1, $2, $3, $4 FROM rule WHERE 1 = 1"
           " ON CONFLICT (tenant, kind, id) DO NOTHING",
};
static const Statement names = {
    .name = "rule_names",
    .scope = STATEMENT_TENANT,
    .params = "iii",
    .many = true,
    .sql = "SELECT $3, kind, id FROM rule WHERE tenant = $1 AND rule = $2",
    .postgres = "SELECT u.n, r.kind, r.id FROM unnest($1, $2, $3) AS u (tenant, rule, n)"
                " JOIN rule r ON r.tenant = u.tenant AND r.rule = u.rule",
};

static const Statement find = {
    .name = "rule_find",
    .scope = STATEMENT_TENANT,
    .params = "iit",
    .sql = "SELECT rule FROM rule WHERE tenant = $1 AND kind = $2 AND id = $3",
};

static const Statement find_lane = {
    .name = "rule_lane",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "SELECT lane FROM lane WHERE tenant = $1 AND channel = $2",
};

static const Statement made = {
    .name = "rule_made",
    .scope = STATEMENT_TENANT,
    .params = "iiui",
    .sql = "SELECT COUNT(*) FROM (SELECT d.id FROM delivery d WHERE d.rule ="
           " (SELECT z.rule FROM rule z WHERE z.tenant = $1 AND z.rule = $2)"
           " AND d.id >= $3 LIMIT $4) AS lately",
};

const Statement *const rule_statements[] = { &insert, &names, &find, &find_lane, &made, NULL };

Err rule_ensure(Tx *tx, int64_t tenant, RuleKind kind, Str id, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(kind), value_text(id),
                     value_i64(definition_generation(tx)) };
    TRY(tx_query(tx, &insert, args, &rows, error));
    if (rows.changed > 0)
        tx->changes_definitions = true;
    return ERR_OK;
}

Err rule_number(Db *db, Arena *arena, int64_t tenant, RuleKind kind, Str id, int64_t *ret,
                Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_i64(kind), value_text(id) };
    TRY(db_query(db, arena, &find, args, &rows, error));
    *ret = rows.count > 0 ? value_to_i64(rows.values) : 0;
    return ERR_OK;
}

// look_up fills in what is there of a rule that has no number, or no lane.
static Err look_up(Tx *tx, Rule *rule, Str channel, Error *error)
{
    Rows lanes;
    Value args[] = { value_i64(rule->tenant), value_text(channel) };
    if (!rule->number)
        TRY(rule_number(tx->db, &tx->arena, rule->tenant, rule->kind, rule->id, &rule->number,
                        error));
    if (rule->lane)
        return ERR_OK;
    TRY(tx_query(tx, &find_lane, args, &lanes, error));
    rule->lane = lanes.count > 0 ? value_to_i64(lanes.values) : 0;
    return ERR_OK;
}

Err rule_place(Tx *tx, Rule *rule, Str channel, Error *error)
{
    TRY(look_up(tx, rule, channel, error));
    if (rule->number && rule->lane)
        return ERR_OK;
    TRY(definition_lock(tx, error));
    if (!rule->number)
        TRY(rule_ensure(tx, rule->tenant, rule->kind, rule->id, error));
    if (!rule->lane)
        TRY(lane_ensure(tx, rule->tenant, channel, error));
    TRY(look_up(tx, rule, channel, error));
    assert(rule->number && rule->lane);
    return ERR_OK;
}

Err rule_names(Db *db, Arena *arena, int64_t tenant, const int64_t *numbers, size_t count,
               RuleName *ret, Error *error)
{
    Rows rows;
    Value *values = ARENA_ARRAY(arena, Value, count * 3 + 1);
    for (size_t i = 0; i < count; i++) {
        values[i * 3] = value_i64(tenant);
        values[i * 3 + 1] = value_i64(numbers[i]);
        values[i * 3 + 2] = value_i64((int64_t) i);
        ret[i] = (RuleName){ 0 };
    }
    db_send_many(db, arena, &names, values, count, &rows);
    TRY(db_sync(db, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        ret[value_to_i64(&row[0])] =
            (RuleName){ (RuleKind) value_to_i64(&row[1]), value_to_str(&row[2]) };
    }
    return ERR_OK;
}

Err rule_made(Db *db, Arena *arena, int64_t tenant, int64_t rule, Instant from, int64_t limit,
              int64_t *ret, Error *error)
{
    Rows rows;
    Uuid first = uuid_floor(from);
    Value args[] = { value_i64(tenant), value_i64(rule), value_uuid(&first), value_i64(limit) };
    TRY(db_query(db, arena, &made, args, &rows, error));
    *ret = value_to_i64(&rows.values[0]);
    return ERR_OK;
}
