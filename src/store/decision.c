#include "store/decision.h"

#include "store/rule.h"

// An event that is decided anew has a row, of which the new one is the longer.
#define OR_AGAIN " ON CONFLICT (tenant, event) DO UPDATE SET facts = excluded.facts"

static const Statement insert = {
    .name = "decision_insert",
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
    .sql = "SELECT facts FROM decision WHERE tenant = $1 AND event = $2",
};

const Statement *const decision_statements[] = { &insert, &of_event, NULL };

static Str facts_of(Arena *arena, const DecisionRow *row)
{
    if (row->count == 0)
        return row->missed;
    DecisionPack pack = decision_begin(arena, row->missed);
    for (size_t i = 0; i < row->count; i++)
        decision_add(&pack, &row->misses[i]);
    return decision_end(&pack);
}

void decision_insert(Tx *tx, const DecisionRow *rows, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 3);
    for (size_t i = 0; i < count; i++) {
        Value *row = values + i * 3;
        row[0] = value_i64(rows[i].tenant);
        row[1] = value_uuid(&rows[i].event);
        row[2] = value_bytes(facts_of(&tx->arena, &rows[i]));
    }
    db_send_many(tx->db, &tx->arena, &insert, values, count, NULL);
}

Err decision_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, Miss **ret,
                      size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&event) };
    *ret_count = 0;
    TRY(db_query(db, arena, &of_event, args, &rows, error));
    if (rows.count == 0)
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
