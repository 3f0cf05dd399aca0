#include "store/decision.h"

#include "store/rule.h"

// It may not be the first time: of two rows the new one is the longer.
#define OR_AGAIN " ON CONFLICT (tenant, event) DO UPDATE SET facts = excluded.facts"

static const Statement renew = {
    .name = "decision_renew",
    .scope = STATEMENT_TENANT,
    .params = "iub",
    .many = true,
    .sql = "INSERT INTO decision (tenant, event, facts) VALUES ($1, $2, $3)" OR_AGAIN,
    .postgres =
        "INSERT INTO decision (tenant, event, facts) SELECT * FROM unnest($1, $2, $3)" OR_AGAIN,
};
static const Statement of_event = {
    .name = "decision_of_event",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql =
        "SELECT " DECISION_HELD " FROM event e" DECISION_ANEW " WHERE e.tenant = $1 AND e.id = $2",
};

const Statement *const decision_statements[] = { &renew, &of_event, NULL };

Str decision_facts(Arena *arena, Str missed, const Miss *misses, size_t count)
{
    if (count == 0)
        return missed;
    DecisionPack pack = decision_begin(arena, missed);
    for (size_t i = 0; i < count; i++)
        decision_add(&pack, &misses[i]);
    return decision_end(&pack);
}

void decision_renew(Tx *tx, const DecisionRow *rows, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3);
    for (size_t i = 0; i < count; i++) {
        Value *row = values + i * 3;
        row[0] = value_i64(rows[i].tenant);
        row[1] = value_uuid(&rows[i].event);
        row[2] = value_bytes(rows[i].facts);
    }
    db_send_many(tx->db, &tx->arena, &renew, values, count, NULL);
}

Err decision_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, Miss **ret,
                      size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&event) };
    *ret_count = 0;
    TRY(db_query(db, arena, &of_event, args, &rows, error));
    if (rows.count == 0 || rows.values[0].type == VALUE_NULL)
        return ERR_OK;
    return decision_unpack(arena, value_to_str(&rows.values[0]), ret, ret_count, error);
}

Err decision_names(Db *db, Arena *arena, int64_t tenant, const Miss *misses, size_t count,
                   RuleName *ret, Error *error)
{
    int64_t *numbers = ARENA_ARRAY(arena, int64_t, count + 1);
    for (size_t i = 0; i < count; i++)
        numbers[i] = misses[i].rule;
    return rule_names(db, arena, tenant, numbers, count, ret, error);
}
