#include "store/decision.h"

static const Statement insert = {
    .name = "decision_insert",
    .scope = STATEMENT_TENANT,
    .params = "iutiiiiu",
    .many = true,
    .sql = "INSERT INTO decision (tenant, event, trigger_id, trigger_version, kind, reason, leaf,"
           " delivery) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    .postgres = "INSERT INTO decision (tenant, event, trigger_id, trigger_version, kind, reason,"
                " leaf, delivery) SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)",
};

static const Statement of_event = {
    .name = "decision_of_event",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = "SELECT trigger_id, trigger_version, kind, reason, leaf, delivery FROM decision"
           " WHERE tenant = $1 AND event = $2 ORDER BY trigger_id",
};

const Statement *const decision_statements[] = { &insert, &of_event, NULL };

void decision_insert(Tx *tx, const DecisionRow *rows, size_t count)
{
    Value *values = ARENA_ARRAY(&tx->arena, Value, count * 8);
    for (size_t i = 0; i < count; i++) {
        const DecisionRow *decision = &rows[i];
        Value *row = values + i * 8;
        row[0] = value_i64(decision->tenant);
        row[1] = value_uuid(&decision->event);
        row[2] = value_text(decision->trigger_id);
        row[3] = value_i64(decision->trigger_version);
        row[4] = value_i64(decision->kind);
        row[5] = value_i64(decision->reason);
        row[6] = decision->leaf >= 0 ? value_i64(decision->leaf) : value_null();
        row[7] = uuid_is_none(decision->delivery) ? value_null() : value_uuid(&decision->delivery);
    }
    db_send_many(tx->db, &tx->arena, &insert, values, count, NULL);
}

Err decision_of_event(Db *db, Arena *arena, int64_t tenant, Uuid event, DecisionRow **ret,
                      size_t *ret_count, Error *error)
{
    Rows rows;
    Value args[] = { value_i64(tenant), value_uuid(&event) };
    TRY(db_query(db, arena, &of_event, args, &rows, error));
    DecisionRow *decisions = ARENA_ARRAY(arena, DecisionRow, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        decisions[i] = (DecisionRow){
            .tenant = tenant,
            .event = event,
            .trigger_id = value_to_str(&row[0]),
            .trigger_version = value_to_i64(&row[1]),
            .kind = (DecisionKind) value_to_i64(&row[2]),
            .reason = (DecisionReason) value_to_i64(&row[3]),
            .leaf = row[4].type == VALUE_NULL ? -1 : (int) value_to_i64(&row[4]),
            .delivery = value_to_uuid(&row[5]),
        };
    }
    *ret = decisions;
    *ret_count = rows.count;
    return ERR_OK;
}
