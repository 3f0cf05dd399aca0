#include "store/duty.h"

static const Statement take = {
    .name = "duty_lease",
    .scope = STATEMENT_SYSTEM,
    .params = "tiii",
    .sql = "INSERT INTO duty (name, holder, until) VALUES ($1, $2, $3)"
           " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"
           " WHERE duty.holder = excluded.holder OR duty.until <= $4 RETURNING holder",
};

const Statement *const duty_statements[] = { &take, NULL };

Err duty_lease(Tx *tx, Str name, int64_t node, Instant until, bool *ret, Error *error)
{
    return duty_lease_at(tx, name, node, tx->now, until, ret, error);
}

Err duty_lease_at(Tx *tx, Str name, int64_t node, Instant now, Instant until, bool *ret,
                  Error *error)
{
    Rows rows;
    Value args[] = { value_text(name), value_i64(node), value_i64(until), value_i64(now) };
    TRY(tx_query(tx, &take, args, &rows, error));
    *ret = rows.count == 1;
    return ERR_OK;
}
