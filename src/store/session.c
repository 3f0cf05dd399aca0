#include "store/session.h"

#include "store/definition.h"

static const Statement insert = {
    .name = "session_insert",
    .scope = STATEMENT_TENANT,
    .params = "iuutibiii",
    .sql = "INSERT INTO api_key (tenant, id, parent, role, is_system, name, hash, created_at,"
           " expires_at, is_revoked, generation, site)"
           " VALUES ($1, $2, $3, $4, $5, '', $6, $7, $8, 0, $9, 0)",
};
// The time of a session that is closed is over: that is when it ended.
#define CLOSE "UPDATE api_key SET is_revoked = 1, expires_at = $3, generation = $4"
static const Statement close_one = {
    .name = "session_close",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = CLOSE " WHERE tenant = $1 AND id = $2 AND parent IS NOT NULL",
};
static const Statement close_all = {
    .name = "session_close_all",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = CLOSE " WHERE tenant = $1 AND parent = $2 AND is_revoked = 0 RETURNING id",
};
// Ids begin with their time: the oldest come first. Those that expired take no place.
static const Statement close_oldest = {
    .name = "session_close_oldest",
    .scope = STATEMENT_TENANT,
    .params = "iuiii",
    .sql = CLOSE " WHERE tenant = $1 AND is_revoked = 0 AND parent = $2 AND id <="
                 " (SELECT o.id FROM api_key o WHERE o.tenant = $1 AND o.parent = $2"
                 " AND o.is_revoked = 0 AND o.expires_at > $3"
                 " ORDER BY o.id DESC LIMIT 1 OFFSET $5) RETURNING id",
};
static const Statement shorten = {
    .name = "session_shorten",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .sql = "UPDATE api_key SET expires_at = $3"
           " WHERE tenant = $1 AND parent = $2 AND is_revoked = 0 AND expires_at > $3",
};
static const Statement any_expired = {
    .name = "session_any_expired",
    .scope = STATEMENT_SYSTEM,
    .params = "i",
    .sql = "SELECT tenant, id FROM api_key WHERE parent IS NOT NULL AND is_revoked = 0"
           " AND expires_at <= $1 ORDER BY expires_at LIMIT 1",
};
static const Statement expire = {
    .name = "session_expire",
    .scope = STATEMENT_SYSTEM,
    .params = "iii",
    .sql = "UPDATE api_key SET is_revoked = 1, generation = $2 WHERE (tenant, id) IN"
           " (SELECT tenant, id FROM api_key WHERE parent IS NOT NULL AND is_revoked = 0"
           " AND expires_at <= $1 ORDER BY expires_at LIMIT $3)",
};
static const Statement forget = {
    .name = "session_forget",
    .scope = STATEMENT_SYSTEM,
    .params = "ii",
    .sql = "DELETE FROM api_key WHERE (tenant, id) IN"
           " (SELECT tenant, id FROM api_key WHERE parent IS NOT NULL AND is_revoked = 1"
           " AND expires_at <= $1 ORDER BY expires_at LIMIT $2)",
};

const Statement *const session_statements[] = {
    &insert, &close_one, &close_all, &close_oldest, &shorten, &any_expired, &expire, &forget, NULL,
};

// tell has the audit say whose session it was: the row is gone long before the audit is.
static void tell(Tx *tx, FactKind kind, int64_t tenant, Uuid session, Uuid key, Str name)
{
    Str of = uuid_dup(&tx->arena, key), id = uuid_dup(&tx->arena, session);
    tx_fact(tx, kind, tenant,
            str_format(&tx->arena, "%.*s of %.*s%s%.*s", STR_ARG(id), STR_ARG(of),
                       name.len ? " " : "", STR_ARG(name)));
}

static void tell_closed(Tx *tx, int64_t tenant, const Rows *closed, Uuid key, Str name)
{
    for (size_t i = 0; i < closed->count; i++)
        tell(tx, FACT_SESSION_CLOSED, tenant, value_to_uuid(rows_at(closed, i)), key, name);
}

Err session_open(Tx *tx, const Key *key, Str text, Key *ret, Error *error)
{
    Rows closed, rows;
    Sha256 hash = sha256(text);
    Key session = *key;
    assert(tx->has_lock);
    session.id = uuid_new(tx->now, tx->random);
    session.is_session = true;
    session.session_of = key->id;
    session.created_at = tx->now;
    session.expires_at = earlier(tx->now + SESSION_LIFE, key->expires_at);
    Value oldest[] = { value_i64(key->tenant), value_uuid(&key->id), value_i64(tx->now),
                       value_i64(definition_generation(tx)), value_i64(SESSIONS_MAX - 1) };
    TRY(tx_query(tx, &close_oldest, oldest, &closed, error));
    tell_closed(tx, key->tenant, &closed, key->id, key->name);
    Value args[] = { value_i64(key->tenant),
                     value_uuid(&session.id),
                     value_uuid(&key->id),
                     value_text(str_from(role_text(key->role))),
                     value_i64(key->is_system),
                     value_bytes((Str){ (const char *) hash.b, sizeof hash.b }),
                     value_i64(session.created_at),
                     value_time(session.expires_at),
                     value_i64(definition_generation(tx)) };
    TRY(tx_query(tx, &insert, args, &rows, error));
    tx->changes_definitions = true;
    tell(tx, FACT_SESSION_OPENED, key->tenant, session.id, key->id, key->name);
    *ret = session;
    return ERR_OK;
}

Err session_close(Tx *tx, const Key *session, Error *error)
{
    Rows rows;
    assert(session->is_session && tx->has_lock);
    Value args[] = { value_i64(session->tenant), value_uuid(&session->id), value_i64(tx->now),
                     value_i64(definition_generation(tx)) };
    TRY(tx_query(tx, &close_one, args, &rows, error));
    tx->changes_definitions = true;
    tell(tx, FACT_SESSION_CLOSED, session->tenant, session->id, session->session_of, session->name);
    return ERR_OK;
}

Err session_close_all(Tx *tx, int64_t tenant, const Uuid *key, Error *error)
{
    Rows rows;
    assert(tx->has_lock);
    Value args[] = { value_i64(tenant), value_uuid(key), value_i64(tx->now),
                     value_i64(definition_generation(tx)) };
    TRY(tx_query(tx, &close_all, args, &rows, error));
    tell_closed(tx, tenant, &rows, *key, STR_NONE);
    return ERR_OK;
}

// session_shorten leaves the generation alone: what a snapshot thinks of a session ends with what
// it thinks of the key.
void session_shorten(Tx *tx, const Key *key)
{
    if (key->expires_at == INSTANT_NONE)
        return;
    Value args[] = { value_i64(key->tenant), value_uuid(&key->id), value_i64(key->expires_at) };
    db_send(tx->db, &tx->arena, &shorten, args, NULL);
}

Err session_purge(Tx *tx, int64_t limit, int64_t *ret_gone, Error *error)
{
    Rows expired, rows;
    Value now[] = { value_i64(tx->now) };
    TRY(tx_query(tx, &any_expired, now, &expired, error));
    if (expired.count > 0) {
        TRY(definition_lock(tx, error));
        Value args[] = { value_i64(tx->now), value_i64(definition_generation(tx)),
                         value_i64(limit) };
        TRY(tx_query(tx, &expire, args, &rows, error));
        tx->changes_definitions = true;
    }
    Value old[] = { value_i64(tx->now - SESSION_KEPT), value_i64(limit) };
    TRY(tx_query(tx, &forget, old, &rows, error));
    *ret_gone = rows.changed;
    return ERR_OK;
}
