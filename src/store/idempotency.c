#include "store/idempotency.h"

// While the work is under way its row has status 0. Nobody else sees it: it is committed with the
// answer or not at all.
static const Statement take = {
    .name = "idempotency_take",
    .scope = STATEMENT_TENANT,
    .params = "itibi",
    .sql = "INSERT INTO idempotency (tenant, key, request, status, body, created_at)"
           " VALUES ($1, $2, $4, 0, '', $5) ON CONFLICT (tenant, key) DO UPDATE"
           " SET request = excluded.request, status = 0, body = '',"
           " created_at = excluded.created_at WHERE idempotency.created_at <= $3",
};
static const Statement find = {
    .name = "idempotency_find",
    .scope = STATEMENT_TENANT,
    .params = "iti",
    .sql = "SELECT request, status, body FROM idempotency WHERE tenant = $1 AND key = $2"
           " AND created_at > $3",
};
static const Statement finish = {
    .name = "idempotency_finish",
    .scope = STATEMENT_TENANT,
    .params = "itit",
    .sql = "UPDATE idempotency SET status = $3, body = $4 WHERE tenant = $1 AND key = $2",
};
static const Statement cancel = {
    .name = "idempotency_cancel",
    .scope = STATEMENT_TENANT,
    .params = "it",
    .sql = "DELETE FROM idempotency WHERE tenant = $1 AND key = $2 AND status = 0",
};

// Nodes purge at the same time, and a key that is being taken again is not waited for.
#define OLDEST                                                                                     \
    "SELECT tenant, key FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT $2"
static const Statement purge = {
    .name = "idempotency_purge",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "DELETE FROM idempotency WHERE (tenant, key) IN (" OLDEST ")",
    .postgres =
        "DELETE FROM idempotency WHERE (tenant, key) IN (" OLDEST " FOR UPDATE SKIP LOCKED)",
};

const Statement *const idempotency_statements[] = { &take, &find, &finish, &cancel, &purge, NULL };

// judge says what a key's row means to a request, which has just taken it or not.
static Err judge(const Value *row, const Sha256 *request, bool is_taken, Idempotency *ret,
                 Error *error)
{
    Str hash = { (const char *) request->b, sizeof request->b };
    int status = (int) value_to_i64(&row[1]);
    if (is_taken && !str_eq(value_to_str(&row[0]), hash))
        return fail(error, ERR_KEY_REUSED, "another request came with this Idempotency-Key");
    *ret = (Idempotency){ .is_repeat = is_taken && status != 0,
                          .is_under_way = is_taken && status == 0,
                          .status = status,
                          .body = value_to_str(&row[2]) };
    return ERR_OK;
}

Err idempotency_begin(Tx *tx, int64_t tenant, Str key, const Sha256 *request, Idempotency *ret,
                      Error *error)
{
    Rows taken, found;
    Str hash = { (const char *) request->b, sizeof request->b };
    Value args[] = { value_i64(tenant), value_text(key), value_i64(tx->now - IDEMPOTENCY_SPAN),
                     value_bytes(hash), value_i64(tx->now) };
    // Both at once, for one round trip: the second sees what the first did or met.
    db_send(tx->db, &tx->arena, &take, args, &taken);
    TRY(tx_query(tx, &find, args, &found, error));
    if (found.count != 1)
        return fail(error, ERR_BUSY, "an idempotency key vanished meanwhile");
    return judge(found.values, request, taken.changed == 0, ret, error);
}

Err idempotency_look(Db *db, Arena *arena, int64_t tenant, Str key, const Sha256 *request,
                     Instant now, Idempotency *ret, Error *error)
{
    Rows found;
    Value args[] = { value_i64(tenant), value_text(key), value_i64(now - IDEMPOTENCY_SPAN) };
    TRY(db_query(db, arena, &find, args, &found, error));
    *ret = (Idempotency){ 0 };
    return found.count == 0 ? ERR_OK : judge(found.values, request, true, ret, error);
}

void idempotency_finish(Tx *tx, int64_t tenant, Str key, int status, Str body)
{
    Value args[] = { value_i64(tenant), value_text(key), value_i64(status),
                     value_text(body.at ? body : S("")) };
    db_send(tx->db, &tx->arena, &finish, args, NULL);
}

void idempotency_cancel(Tx *tx, int64_t tenant, Str key)
{
    Value args[] = { value_i64(tenant), value_text(key) };
    db_send(tx->db, &tx->arena, &cancel, args, NULL);
}

Err idempotency_purge(Tx *tx, int64_t limit, int64_t *ret, Error *error)
{
    Rows gone;
    Value args[] = { value_i64(tx->now - IDEMPOTENCY_SPAN), value_i64(limit) };
    TRY(tx_query(tx, &purge, args, &gone, error));
    *ret = gone.changed;
    return ERR_OK;
}
