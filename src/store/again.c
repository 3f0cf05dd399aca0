#include "store/again.h"

#include "store/decision.h"
#include "store/delivery.h"

static const Statement stored = {
    .name = "again_stored",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql =
        "SELECT " DECISION_HELD " FROM event e" DECISION_ANEW " WHERE e.tenant = $1 AND e.id = $2",
};
static const Statement made = {
    .name = "again_made",
    .scope = STATEMENT_TENANT,
    .params = "iuu",
    .sql = "SELECT id, rule FROM delivery WHERE tenant = $1 AND id >= $2 AND id <= $3 ORDER BY id",
};

const Statement *const again_statements[] = { &stored, &made, NULL };

static unsigned place_of(Uuid delivery)
{
    return (unsigned) delivery.b[14] << 8 | delivery.b[15];
}

Err again_load(Db *db, Arena *arena, int64_t tenant, Uuid event, const Again **ret, Error *error)
{
    Rows facts, rows;
    Uuid first = delivery_id_of(event, 1), last = delivery_id_of(event, UINT16_MAX);
    Value of_event[] = { value_i64(tenant), value_uuid(&event) };
    Value of_made[] = { value_i64(tenant), value_uuid(&first), value_uuid(&last) };
    db_send(db, arena, &stored, of_event, &facts);
    db_send(db, arena, &made, of_made, &rows);
    TRY(db_sync(db, error));
    *ret = NULL;
    if (facts.count == 0)
        return ERR_OK;
    int64_t *fired = ARENA_ARRAY(arena, int64_t, rows.count + 1);
    Again *again = ARENA_NEW(arena, Again);
    *again = (Again){ .fired = fired,
                      .fired_count = rows.count,
                      .facts = value_to_str(&facts.values[0]) };
    for (size_t i = 0; i < rows.count; i++) {
        fired[i] = value_to_i64(&rows_at(&rows, i)[1]);
        again->last = place_of(value_to_uuid(&rows_at(&rows, i)[0]));
    }
    *ret = again;
    return ERR_OK;
}

bool again_has_fired(const Again *again, int64_t rule)
{
    for (size_t i = 0; again && i < again->fired_count; i++)
        if (again->fired[i] == rule)
            return true;
    return false;
}
